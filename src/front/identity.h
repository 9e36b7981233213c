/* Clients without a grant: their claims become facts, and the rules of the settings
 * say what they may do.
 *
 *   claims {"sub":"anna","groups":["ops"]} ──▶ identity.sub = anna, identity.groups.ops = true
 */
#pragma once

#include "call/principal.h"
#include "crypto/jwt.h"
#include "front/limits.h"

struct settings_rule;

struct identity {
    enum principal_kind kind;
    const char *id;
    struct policy_fact *facts; /* allocated in the arena */
    size_t count, cap;
    bool excess; /* some facts were left out: a deny rule could depend on them, so every call is denied */
};

/* "KIND:NAME", or a hash of the name if that is too long or not plain. Allocated in the arena. */
const char *identity_id(struct arena *a, const char *kind, struct slice name);
/* Adds "identity.NAME" = value. A fact that is too long or one too many is left out and sets `excess`. */
void identity_add(struct identity *who, struct arena *a, const char *name, struct slice value);
void identity_from_claims(struct identity *who, struct arena *a, const struct jwt *jwt);

/* The first matching rule, or NULL. */
const struct settings_rule *identity_rule(const struct identity *who, const struct settings_rule *rules,
                                          size_t count);
/* A principal with the permissions of the rule (NULL: all), without its policy and its grant. */
struct principal *identity_principal(const struct identity *who, const struct settings_rule *rule);
/* A text that is equal for identities with the same claims and permissions. Allocated in the arena. */
struct slice identity_key(const struct identity *who, const struct settings_rule *rule, struct arena *a);
