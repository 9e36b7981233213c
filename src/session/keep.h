/* What a client keeps for us between two requests: encrypted and authenticated, so that it comes back as it
 * was or not at all, on any node that has the key. AES-256-GCM; `owner` is who may bring it back. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#define KEEP_MARK "sp1."

struct session_core;

struct session_keep_config {
    const char
        *home; /* where request-state.key lies unless `key` says otherwise; NULL: one for this run only */
    const char *key;  /* its path, or NULL */
    uint64_t keep_ms; /* how long a client has time to come back; 0: SESSION_PARK_MS */
};

/* The file is made at first use (0600). It holds keys of 32 bytes: the first one seals; the others, from
 * before, open what is still on its way. It is read again whenever it has changed. */
int session_keep_init(struct session_core *core, const struct session_keep_config *config, struct err *err);
void session_keep_free(struct session_core *core);
uint64_t keep_ms(const struct session_core *core);
struct slice keep_close(const struct session_core *core, struct slice owner, struct slice text,
                        struct arena *a);
/* Empty when it was not sealed here for this owner. */
struct slice keep_open(const struct session_core *core, struct slice owner, struct slice sealed,
                       struct arena *a);
