/* Scopes of tokens, each with a vault for the values behind them. */
#pragma once

#include "call/core.h"
#include "filter/filter.h"
#include "state/vault.h"

struct call;
struct vault;

enum vault_reach {
    VAULT_SESSION,      /* tokens of a session mean nothing outside of it; kept in memory only */
    VAULT_GRANT,        /* the same tokens in all sessions of one principal */
    VAULT_ORGANISATION, /* the same for all principals */
};

/* What all vaults of a gate share. */
struct vaults {
    enum vault_reach reach;
    uint64_t keep_ms;
    struct pii_engine *engine; /* the present one */
    struct state_vault *store; /* NULL when everything stays in memory */
    struct state_vault *puts;  /* the same, of the thread that waits for the disk */
    bool remote;               /* PostgreSQL: only that thread asks it */
    char *home;
    struct io_loop *loop;     /* NULL: the caller that flushes waits for the disk */
    uint8_t key[64];          /* for tokens, then for encryption */
    struct map shared;        /* vaults of principals, or the one of the organisation */
    uint64_t flushes, stored; /* writes that were started, and that ended; in this order */
    struct list waiting;      /* calls whose tokens are still on their way to the store */
};

void vaults_init(struct vaults *vs, enum vault_reach reach);
/* The store and its key; nothing to do for VAULT_SESSION. */
int vaults_open(struct vaults *vs, const char *home, struct io_loop *loop, struct err *err);
void vaults_free(struct vaults *vs);
/* From now on, in those that are open too. */
void vaults_set_engine(struct vaults *vs, const struct core *core, struct pii_engine *engine);

/* The one that a session's tokens belong to; NULL when there are too many. */
struct vault *vault_of(struct vaults *vs, struct session *s);
struct filter_scope *vault_scope(struct vault *v);
/* Starts to store new values. They are in memory meanwhile, and this gate restores their tokens
 * immediately. */
void vault_flush(struct vault *v);
/* False: the call waits, and is resumed when everything that was started up to now is stored. Another gate of
 * this home must know a token before a client can send it there. */
bool vault_stored(struct vaults *vs, struct call *c);
/* Between these two, values that are only in another gate's memory and in PostgreSQL are noted. True: the
 * call waits for them, once; c->vault_failed says that they cannot be had. */
void vault_expect(struct vault *v);
bool vault_fetches(struct vault *v, struct call *c);
void vault_leave(struct call *c);
void vault_free(struct vault *v); /* NULL is fine */
