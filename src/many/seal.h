/* Texts that leave the gate and come back: cursors and their like. A seal binds one to its purpose and to the
 * principal it was made for; anybody else's, and any that was changed, is not opened. They last as long as
 * the process. */
#pragma once

#include "base/arena.h"

struct session;

struct slice seal_make(const struct session *s, struct arena *a, const char *purpose, struct slice text);
/* False: not one of ours, not for this, or not for this principal. *ret_text points into `sealed`. */
bool seal_open(const struct session *s, const char *purpose, struct slice sealed, struct slice *ret_text);
