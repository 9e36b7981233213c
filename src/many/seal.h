/* Signed texts that clients send back: cursors and the like. A seal binds a text to its purpose and to its
 * principal; it is not accepted from another principal, nor when changed. Seals are valid until the process
 * ends. */
#pragma once

#include "base/arena.h"

struct session;

struct slice seal_make(const struct session *s, struct arena *a, const char *purpose, struct slice text);
/* False: not one of ours, or for another purpose or principal. *ret_text points into `sealed`. */
bool seal_open(const struct session *s, const char *purpose, struct slice sealed, struct slice *ret_text);
