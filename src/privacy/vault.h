/* Scopes of tokens, each with a vault for the values behind them. */
#pragma once

#include "call/core.h"
#include "filter/filter.h"
#include "state/vault.h"

struct call;
struct vault;

enum vault_reach {
    VAULT_SESSION,      /* tokens of a session are invalid outside it; kept in memory only */
    VAULT_GRANT,        /* the same tokens in all sessions of one principal */
    VAULT_ORGANISATION, /* the same for all principals */
};

/* What all vaults of a gate share. */
struct vaults {
    enum vault_reach reach;
    uint64_t keep_ms;
    struct pii_engine *engine; /* the current settings */
    struct state_vault *store; /* NULL: everything stays in memory */
    struct state_vault *puts;  /* the same for the thread that waits for the disk */
    bool remote;               /* PostgreSQL: only that thread queries it */
    char *home;
    struct io_loop *loop;     /* NULL: the caller that flushes waits for the disk */
    uint8_t key[64];          /* for tokens, then for encryption */
    struct map shared;        /* vaults of principals, or the one of the organisation */
    uint64_t flushes, stored; /* number of writes started and of writes completed; they complete in order */
    struct list waiting;      /* calls whose tokens are still on their way to the store */
};

void vaults_init(struct vaults *vs, enum vault_reach reach);
/* The store and its key; nothing to do for VAULT_SESSION. */
int vaults_open(struct vaults *vs, const char *home, struct io_loop *loop, struct err *err);
void vaults_free(struct vaults *vs);
/* Applies from now on, also to open ones. */
void vaults_set_engine(struct vaults *vs, const struct core *core, struct pii_engine *engine);

/* The vault of a session's tokens; NULL when there are too many. */
struct vault *vault_of(struct vaults *vs, struct session *s);
struct filter_scope *vault_scope(struct vault *v);
/* Starts to store new values. They are already in memory, so this gate can restore their tokens
 * immediately. */
void vault_flush(struct vault *v);
/* False: the call waits, and is resumed when all writes started so far are stored. Another gate of this
 * home must be able to restore a token before a client can send it there. */
bool vault_stored(struct vaults *vs, struct call *c);
/* Between these two calls, tokens that are not in memory and only in PostgreSQL are collected. True: the
 * call waits for them, once; c->vault_failed says that they could not be fetched. */
void vault_expect(struct vault *v);
bool vault_fetches(struct vault *v, struct call *c);
void vault_leave(struct call *c);
void vault_free(struct vault *v); /* NULL is fine */
