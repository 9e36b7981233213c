/* Personal data and secrets on their way through the gate.
 *
 *   result ── redact.c ──▶ client     values become tokens, marks or a refusal
 *   arguments ── restore.c ──▶ server    tokens become values where the rules allow it; plain ones are
 * refused arguments ── redact.c ──▶ log
 *
 * What happens to which kind depends on one mode, on servers' own modes and on rules of a file
 * (privacy_rules.c); where values are kept, by the scope (vault.c). With core->privacy NULL nothing of this
 * room is touched. */
#pragma once

#include "privacy/limits.h"
#include "privacy/privacy_rules.h"
#include "privacy/vault.h"
#include "server/server.h"

struct privacy_config {
    const char *home;
    enum filter_mode mode;
    enum pii_arguments arguments;
    enum vault_reach scope;
    uint64_t keep_ms;     /* how long a value is kept; 0: PRIVACY_KEEP_MS */
    const char *rules;    /* a file, or NULL */
    struct io_loop *loop; /* beside which values are written to disk; NULL: the caller waits for it */
};

int privacy_new(const struct privacy_config *config, struct privacy **ret_pii, struct err *err);
void privacy_free(struct privacy *pii); /* NULL is fine */
/* Applies from now on; values already replaced stay so. NULL is fine. */
void privacy_set(struct privacy *pii, const struct privacy_config *config);

/* Are the rules of that file (NULL: none) valid? */
int privacy_check(const char *rules, struct err *err);
/* Puts them in force, in open sessions too; on failure the current ones stay. */
int privacy_follow(struct core *core, const char *rules, struct err *err);

/* Since the start, for metrics: counts, never values. */
struct privacy_counts {
    uint64_t found[PII_KINDS_MAX]; /* by kind */
    uint64_t literals;             /* token-shaped text from outside, made harmless */
    uint64_t restored;
    uint64_t refused;             /* tokens and secrets that a destination may not have */
    uint64_t unknown;             /* tokens that are in no vault */
    uint64_t blocked;             /* results and messages that were withheld */
    uint64_t sent[PII_KINDS_MAX]; /* plain values in what clients sent, by kind: reported or refused */
};
const struct privacy_counts *privacy_counts(const struct privacy *pii);
const char *privacy_kind_name(const struct privacy *pii, unsigned kind); /* NULL behind the last */

/* What the results of this session held so far, for the policy: every kind that is looked for. */
const struct policy_pii *privacy_seen(const struct session *s, struct arena *a, size_t *ret_count);
/* The vault of the session's tokens; NULL when there are too many, or privacy is off. */
struct vault *privacy_vault(struct session *s);
/* The session ends. */
void privacy_forget(struct session *s);

/* ---- inside the room ---- */

struct privacy {
    struct pii_engine *engine;
    enum filter_mode mode;
    enum pii_arguments arguments;
    struct pii_rules *rules;
    struct vaults vaults;
    struct privacy_counts counts;
    struct {
        uint64_t minute;
        uint32_t unknown;
    } brakes[RESTORE_BRAKES]; /* unknown tokens that an identity has sent, by its hash; restore.c */
};

/* Nothing is looked for in the results of this server, for any client. */
bool privacy_off(const struct session *s, const struct server *server);
/* What happens to what in a result of this tool (or in a message, when `tool` is empty). */
void privacy_modes(const struct session *s, const struct server *server, struct slice tool,
                   struct filter_options *ret_options);
/* Kinds that a rule shows to the model in results of this tool, whatever the mode. */
uint64_t privacy_shown(const struct session *s, const struct server *server, struct slice tool);
/* Is it the tool that returns its arguments? They are for the model, or for code that the model wrote. */
bool privacy_is_restore(const struct server *server, struct slice tool);
/* The name under which a server's values are remembered. */
struct slice privacy_origin(const struct server *server);
/* Which tokens in arguments of this tool are restored. */
struct filter_rules privacy_restore_rules(const struct session *s, const struct server *server,
                                          struct slice tool, struct arena *a);
/* Which kinds are refused, and which counted, in what a client sends to this tool (or with another method,
 * when `tool` is empty). */
void privacy_arguments(const struct session *s, const struct server *server, struct slice tool,
                       struct filter_rules *rules);
/* Kinds that are checked in what goes to any tool of this server; a server may receive its own values. */
uint64_t privacy_judged(const struct session *s, const struct server *server);
/* What a result or message of the session held, for metrics and for the policy. */
void privacy_note(struct session *s, const struct filter_report *report);
void privacy_count(struct privacy *pii, const struct filter_report *report);
