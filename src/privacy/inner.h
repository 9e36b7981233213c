/* What the files of the PII part share. Not for other rooms. */
#pragma once

#include "privacy/privacy_rules.h"
#include "state/vault.h"

struct shared_vault {
    char *who; /* the principal; key of the map */
    struct vault *vault;
};

struct privacy {
    struct pii_engine *engine;
    enum filter_mode mode;
    enum privacy_scope scope;
    uint64_t keep_ms;
    struct pii_rules *rules;
    struct state_vault *store; /* NULL when everything stays in memory */
    uint8_t key[64];           /* for tokens, then for sealing */
    struct map shared;         /* scopes of principals, or the one of the organisation */
    struct privacy_counts counts;
};

/* Nothing is looked for in what this server says, whoever reads it. */
bool privacy_off(const struct session *s, const struct server *server);
/* What happens to what in a result of this tool (or in a message, when `tool` is empty). */
void privacy_modes(const struct session *s, const struct server *server, struct slice tool,
                   struct filter_options *ret_options);
/* Kinds that the model may see in results of this tool because a rule says so, whatever the mode. */
uint64_t privacy_shown(const struct session *s, const struct server *server, struct slice tool);
/* Is it the tool whose answer is its arguments? They are for the model, or for code that the model wrote. */
bool privacy_is_restore(const struct server *server, struct slice tool);
/* The name under which a server's values are remembered. */
struct slice privacy_origin(const struct server *server);
/* Who may have what of the tokens in arguments of this tool. */
struct filter_rules privacy_restore_rules(const struct session *s, const struct server *server,
                                          struct slice tool, struct arena *a);
/* What a result or message of the session held, for metrics and for the policy. */
void privacy_note(struct session *s, const struct filter_report *report);
void privacy_count(struct privacy *pii, const struct filter_report *report);
