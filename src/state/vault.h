/* Encrypted entries behind tokens, in HOME/vault.sqlite or the home's PostgreSQL. The caller encrypts and
 * decrypts them, so this file cannot read them; what is known of a row is its scope (a digest), its token's
 * name and when it ends. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

struct state_vault;

int state_vault_open(const char *home, struct state_vault **ret_vault, struct err *err);
void state_vault_close(struct state_vault *v); /* NULL is fine */
/* In PostgreSQL: every access may be slow. */
bool state_vault_is_remote(const struct state_vault *v);

/* Between begin and commit everything is stored atomically. */
int state_vault_begin(struct state_vault *v, struct err *err);
int state_vault_put(struct state_vault *v, struct slice scope, struct slice id, struct slice sealed,
                    uint64_t expires_ms, struct err *err);
int state_vault_commit(struct state_vault *v, struct err *err); /* rolls everything back if it fails */

/* 1 and the encrypted bytes in the arena; 0 if there are none or they have expired; -1. */
int state_vault_find(struct state_vault *v, struct slice scope, struct slice id, uint64_t now_ms,
                     struct arena *a, struct slice *ret_sealed, struct err *err);
/* The same; also false if the store failed. */
bool state_vault_get(struct state_vault *v, struct slice scope, struct slice id, uint64_t now_ms,
                     struct arena *a, struct slice *ret_sealed);
/* Rows of the scope whose id starts with this: 0, 1 (filled) or 2 for "several". */
unsigned state_vault_prefix(struct state_vault *v, struct slice scope, struct slice prefix, uint64_t now_ms,
                            struct arena *a, struct slice *ret_id, struct slice *ret_sealed);
/* Deletes expired rows; returns their number. */
size_t state_vault_expire(struct state_vault *v, uint64_t now_ms);
