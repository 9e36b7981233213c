/* Personal data and secrets on their way through the gate.
 *
 *   result ── call_redact ──▶ client           values become tokens, marks or a refusal
 *   arguments ── call_restore ──▶ server       tokens become values where the rules allow it
 *   arguments ── session_pii_arguments ──▶ log
 *
 * What happens to which kind is said by one mode, by servers' own modes and by rules of a file (pii_file.c);
 * where values are kept, by the scope (vault.c). With core->pii NULL nothing of this room is touched. */
#pragma once

#include "filter/filter.h"
#include "session/session.h"

enum session_pii_scope {
    SESSION_PII_SESSION,      /* tokens of a session mean nothing outside of it; kept in memory only */
    SESSION_PII_GRANT,        /* the same tokens in all sessions of one principal */
    SESSION_PII_ORGANISATION, /* the same for everybody */
};

struct session_pii_config {
    const char *home;
    enum filter_mode mode;
    enum session_pii_scope scope;
    uint64_t keep_ms;  /* how long a value is kept; 0: SESSION_PII_KEEP_MS */
    const char *rules; /* a file, or NULL */
};

struct session_pii;
int session_pii_new(const struct session_pii_config *config, struct session_pii **ret_pii, struct err *err);
void session_pii_free(struct session_pii *pii); /* NULL is fine */
/* From now on; what has been replaced stays so. NULL is fine. */
void session_pii_set(struct session_pii *pii, enum filter_mode mode, uint64_t keep_ms);

/* Could the rules of that file (NULL: none) be followed? */
int session_pii_check(const char *rules, struct err *err);
/* They are in force from now on, in open sessions too; on failure those before stay. */
int session_pii_follow(struct session_core *core, const char *rules, struct err *err);

/* Since the start, for metrics: counts, never values. */
struct session_pii_counts {
    uint64_t found[PII_KINDS_MAX]; /* by kind */
    uint64_t literals;             /* token-shaped text from outside, made harmless */
    uint64_t restored;
    uint64_t refused; /* tokens and secrets that a destination may not have */
    uint64_t unknown; /* tokens that nobody knows */
    uint64_t blocked; /* results and messages that were kept back whole */
};
const struct session_pii_counts *session_pii_counts(const struct session_pii *pii);
const char *session_pii_kind_name(const struct session_pii *pii, unsigned kind); /* NULL behind the last */

/* ---- for the steps of a call ---- */

/* What the results of this session held so far, for the policy: every kind that is looked for. */
const struct policy_pii *session_pii_seen(const struct session *s, struct arena *a, size_t *ret_count);

/* A message of the server's own. False: it is kept back. */
bool session_redact_message(struct session *s, struct session_server *server, const struct msg *m,
                            struct splice *text);
/* The params of a question that reaches the client in the words of the other era. False: it must not. */
bool session_redact_params(struct session *s, struct session_server *server, struct slice *params,
                           struct arena *a);
/* The arguments with their values as tokens; empty when they can not be shown. */
struct slice session_pii_arguments(struct session *s, struct session_server *server, const struct tape *t,
                                   uint32_t args, struct arena *a);

/* ---- inside ---- */

struct session_vault; /* vault.c: a scope of tokens and what is behind them */
/* The scope that a session's tokens belong to; NULL when there are too many. */
struct session_vault *session_vault_of(struct session *s);
struct filter_scope *session_vault_scope(struct session_vault *v);
/* What is new goes to the store. */
void session_vault_flush(struct session_vault *v);
void session_vault_free(struct session_vault *v); /* NULL is fine */
