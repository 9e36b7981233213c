/* What a client keeps for us between two requests: encrypted and authenticated, so that it comes back as it
 * was or not at all, on any node that has the key. AES-256-GCM; `owner` is who may bring it back. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#define KEEP_MARK "sp1."

struct session_core;

/* The key, from request-state.key in the directory (made at first use, 0600). home NULL: one for this run
 * only. */
int session_keep_init(struct session_core *core, const char *home, struct err *err);
struct slice keep_close(const struct session_core *core, struct slice owner, struct slice text,
                        struct arena *a);
/* Empty when it was not sealed here for this owner. */
struct slice keep_open(const struct session_core *core, struct slice owner, struct slice sealed,
                       struct arena *a);
