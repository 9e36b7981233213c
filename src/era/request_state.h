/* Data that a client keeps for the gate between two requests: encrypted and authenticated, and valid on
 * any node that has the key. `owner` is the principal that may send it back. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#define REQUEST_STATE_MARK "sp2." /* the digit is the version of the format */

struct core;

struct request_state_config {
    const char *home; /* directory of request-state.key unless `key` is set; NULL: a key for this run only */
    const char *key;  /* its path, or NULL */
    uint64_t keep_ms; /* how long a state is valid; 0: PARK_MS */
};

/* The file is created at first use, under the rule of crypto/keyfile.h. It contains keys of 32 bytes: the
 * first one encrypts; the others are older and only decrypt. It is read again whenever it has changed. */
int request_state_init(struct core *core, const struct request_state_config *config, struct err *err);
void request_state_free(struct core *core);
uint64_t request_state_ms(const struct core *core);
struct slice request_state_encrypt(const struct core *core, struct slice owner, struct slice text,
                                   struct arena *a);
/* Empty when the state was not encrypted for this owner. */
struct slice request_state_decrypt(const struct core *core, struct slice owner, struct slice sealed,
                                   struct arena *a);
