/* Data that a client keeps for us between two requests: encrypted and authenticated, and valid on any node
 * that has the key. `owner` is who may send it back. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#define REQUEST_STATE_MARK "sp2." /* the number is that of the format */

struct core;

struct request_state_config {
    const char
        *home; /* where request-state.key lies unless `key` says otherwise; NULL: one for this run only */
    const char *key;  /* its path, or NULL */
    uint64_t keep_ms; /* how long a client has time to come back; 0: PARK_MS */
};

/* The file is made at first use, under the rule of crypto/keyfile.h. It holds keys of 32 bytes: the first one
 * encrypts; the others are older and only decrypt. It is read again whenever it has changed. */
int request_state_init(struct core *core, const struct request_state_config *config, struct err *err);
void request_state_free(struct core *core);
uint64_t request_state_ms(const struct core *core);
struct slice request_state_encrypt(const struct core *core, struct slice owner, struct slice text,
                                   struct arena *a);
/* Empty when it was not encrypted here for this owner. */
struct slice request_state_decrypt(const struct core *core, struct slice owner, struct slice sealed,
                                   struct arena *a);
