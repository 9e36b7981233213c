/* Personal data and secrets in messages.
 *
 *   result    ── redact.c  ──▶ client   values become tokens, marks or a refusal
 *   arguments ── restore.c ──▶ server   tokens become values if the rules allow it; plain values are refused
 *   arguments ── redact.c  ──▶ log
 *
 * The treatment of a kind depends on the global mode, on servers' own modes and on the rules file
 * (privacy_rules.c); the scope decides where values are kept (vault.c). If core->privacy is NULL, this room
 * does nothing. */
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
    struct io_loop *loop; /* thread that writes values to disk; NULL: the caller waits for the disk */
};

int privacy_new(const struct privacy_config *config, struct privacy **ret_pii, struct err *err);
void privacy_free(struct privacy *pii); /* NULL is fine */
/* Applies from now on; values that were already replaced stay tokens. NULL is fine. */
void privacy_set(struct privacy *pii, const struct privacy_config *config);

/* Are the rules of that file (NULL: none) valid? */
int privacy_check(const char *rules, struct err *err);
/* Applies them, also to open sessions; on failure the current ones stay. */
int privacy_follow(struct core *core, const char *rules, struct err *err);

/* Since the start, for metrics: counts, never values. */
struct privacy_counts {
    uint64_t found[PII_KINDS_MAX]; /* by kind */
    uint64_t literals;             /* token-shaped text from outside, made harmless */
    uint64_t restored;
    uint64_t refused;             /* tokens and secrets that a destination may not get */
    uint64_t unknown;             /* tokens that are in no vault */
    uint64_t blocked;             /* results and messages that were withheld */
    uint64_t sent[PII_KINDS_MAX]; /* plain values in what clients sent, by kind: reported or refused */
};
const struct privacy_counts *privacy_counts(const struct privacy *pii);
const char *privacy_kind_name(const struct privacy *pii, unsigned kind); /* NULL behind the last */

/* The kinds that the results of this session contained so far, for the policy: every detected kind. */
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

/* Results of this server are not scanned, for any client. */
bool privacy_off(const struct session *s, const struct server *server);
/* The treatment of each kind in a result of this tool (or in a message, when `tool` is empty). */
void privacy_modes(const struct session *s, const struct server *server, struct slice tool,
                   struct filter_options *ret_options);
/* Kinds that a rule always shows to the model in results of this tool. */
uint64_t privacy_shown(const struct session *s, const struct server *server, struct slice tool);
/* Does the tool return its arguments? They are for the model, or for code that the model wrote. */
bool privacy_is_restore(const struct server *server, struct slice tool);
/* The name under which a server's values are remembered. */
struct slice privacy_origin(const struct server *server);
/* The kinds of tokens that are restored in arguments of this tool. */
struct filter_rules privacy_restore_rules(const struct session *s, const struct server *server,
                                          struct slice tool, struct arena *a);
/* The kinds that are refused, and those that are counted, in what a client sends to this tool (or with
 * another method, when `tool` is empty). */
void privacy_arguments(const struct session *s, const struct server *server, struct slice tool,
                       struct filter_rules *rules);
/* Kinds that are checked in requests to any tool of this server; a server may receive its own values. */
uint64_t privacy_judged(const struct session *s, const struct server *server);
/* Counts the finds in a result or message of the session, for metrics and for the policy. */
void privacy_note(struct session *s, const struct filter_report *report);
void privacy_count(struct privacy *pii, const struct filter_report *report);
