/* People and machines that show no grant: what is known of them becomes facts, and the rules of the settings
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
    struct policy_fact *facts; /* in the arena */
    size_t count, cap;
    bool excess; /* some facts could not be held: then nothing that is left out may be what a rule denies */
};

/* "KIND:NAME", or a hash of the name where that is too long or not plain; in the arena. */
const char *identity_id(struct arena *a, const char *kind, struct slice name);
/* "identity.NAME" = value; what is too long or too much is left out and sets `excess`. */
void identity_add(struct identity *who, struct arena *a, const char *name, struct slice value);
void identity_from_claims(struct identity *who, struct arena *a, const struct jwt *jwt);

/* The first rule that fits, or NULL. */
const struct settings_rule *identity_rule(const struct identity *who, const struct settings_rule *rules,
                                          size_t count);
/* A principal that may do what the rule says (NULL: everything), except for its policy and its grant. */
struct principal *identity_principal(const struct identity *who, const struct settings_rule *rule);
/* A text that is equal for two identities with the same claims and permissions; in the arena. */
struct slice identity_key(const struct identity *who, const struct settings_rule *rule, struct arena *a);
