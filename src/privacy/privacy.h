/* Personal data and secrets on their way through the gate.
 *
 *   result ── redact_answer ──▶ client           values become tokens, marks or a refusal
 *   arguments ── restore_arguments ──▶ server       tokens become values where the rules allow it
 *   arguments ── redact_arguments ──▶ log
 *
 * What happens to which kind is said by one mode, by servers' own modes and by rules of a file (pii_file.c);
 * where values are kept, by the scope (vault.c). With core->privacy NULL nothing of this room is touched. */
#pragma once

#include "filter/filter.h"
#include "session/session.h"

enum privacy_scope {
    PRIVACY_SESSION,      /* tokens of a session mean nothing outside of it; kept in memory only */
    PRIVACY_GRANT,        /* the same tokens in all sessions of one principal */
    PRIVACY_ORGANISATION, /* the same for everybody */
};

struct privacy_config {
    const char *home;
    enum filter_mode mode;
    enum privacy_scope scope;
    uint64_t keep_ms;  /* how long a value is kept; 0: PRIVACY_KEEP_MS */
    const char *rules; /* a file, or NULL */
};

struct privacy;
int privacy_new(const struct privacy_config *config, struct privacy **ret_pii, struct err *err);
void privacy_free(struct privacy *pii); /* NULL is fine */
/* From now on; what has been replaced stays so. NULL is fine. */
void privacy_set(struct privacy *pii, enum filter_mode mode, uint64_t keep_ms);

/* Could the rules of that file (NULL: none) be followed? */
int privacy_check(const char *rules, struct err *err);
/* They are in force from now on, in open sessions too; on failure those before stay. */
int privacy_follow(struct core *core, const char *rules, struct err *err);

/* Since the start, for metrics: counts, never values. */
struct privacy_counts {
    uint64_t found[PII_KINDS_MAX]; /* by kind */
    uint64_t literals;             /* token-shaped text from outside, made harmless */
    uint64_t restored;
    uint64_t refused; /* tokens and secrets that a destination may not have */
    uint64_t unknown; /* tokens that nobody knows */
    uint64_t blocked; /* results and messages that were kept back whole */
};
const struct privacy_counts *privacy_counts(const struct privacy *pii);
const char *privacy_kind_name(const struct privacy *pii, unsigned kind); /* NULL behind the last */

/* ---- for the steps of a call ---- */

/* What the results of this session held so far, for the policy: every kind that is looked for. */
const struct policy_pii *privacy_seen(const struct session *s, struct arena *a, size_t *ret_count);

/* A message of the server's own. False: it is kept back. */
bool redact_message(struct session *s, struct server *server, const struct msg *m, struct splice *text);
/* The params of a question that reaches the client in the words of the other era. False: it must not. */
bool redact_params(struct session *s, struct server *server, struct slice *params, struct arena *a);
/* The arguments with their values as tokens; empty when they can not be shown. */
struct slice redact_arguments(struct session *s, struct server *server, const struct tape *t, uint32_t args,
                              struct arena *a);

/* ---- inside ---- */

struct vault; /* vault.c: a scope of tokens and what is behind them */
/* The scope that a session's tokens belong to; NULL when there are too many. */
struct vault *vault_of(struct session *s);
struct filter_scope *vault_scope(struct vault *v);
/* What is new goes to the store. */
void vault_flush(struct vault *v);
void vault_free(struct vault *v); /* NULL is fine */
