#include "front/identity.h"

#include "base/hex.h"
#include "base/mem.h"
#include "front/settings.h"
#include "state/grants.h"

#include <stdio.h>

#define CLAIM_DEPTH_MAX 8
#define FACTS_MIN 32

/* Names in logs, keys and paths are short and plain. Where that would lose information, a hash keeps two
 * names distinct. */
const char *identity_id(struct arena *a, const char *kind, struct slice name) {
    bool plain = name.len <= FRONT_ID_MAX;
    for (size_t i = 0; plain && i < name.len; i++)
        plain = (unsigned char)name.ptr[i] >= 0x20 && name.ptr[i] != 0x7f;
    if (plain)
        return arena_printf(a, "%s:%.*s", kind, SLICE_FMT(name)).ptr;
    unsigned char hash[STATE_HASH_BYTES];
    char hex[2 * STATE_HASH_BYTES + 1];
    state_token_hash(name, hash);
    hex_str(hash, sizeof(hash), hex);
    return arena_printf(a, "%s:#%s", kind, hex).ptr;
}

void identity_add(struct identity *who, struct arena *a, const char *name, struct slice value) {
    size_t len = strlen(name);
    if (who->count == FRONT_FACTS_MAX || len + value.len > FRONT_FACT_MAX) {
        who->excess = true;
        return;
    }
    if (who->count == who->cap) {
        size_t cap = who->cap ? who->cap * 2 : FACTS_MIN;
        struct policy_fact *facts = arena_array(a, struct policy_fact, cap);
        if (who->count)
            memcpy(facts, who->facts, who->count * sizeof(*facts));
        who->facts = facts;
        who->cap = cap;
    }
    who->facts[who->count++] = (struct policy_fact){
        .key = arena_printf(a, "identity.%s", name),
        .value = arena_dup(a, value),
    };
}

/* ---- claims ---- */

/* A claim about the token, not about its subject: it differs between tokens of the same subject. */
static bool is_of_the_token(struct slice claim) {
    static const char *const names[] = {"exp",   "iat",     "nbf",    "jti", "aud", "auth_time",
                                        "nonce", "at_hash", "c_hash", "sid", "uti", "rh"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (slice_is(claim, names[i]))
            return true;
    return false;
}

struct place {
    uint32_t at, end; /* node of the next key or element, and the first node after the container */
    bool list;
    struct slice name; /* of the container, with a dot at the end; empty for the root */
};

static void add_scalar(struct identity *who, struct arena *a, const struct tape *t, uint32_t node,
                       struct slice name) {
    struct slice value = tape_is(t, node, TAPE_STRING) ? tape_text(t, node, a) : tape_raw(t, node);
    identity_add(who, a, name.ptr, value);
    if (!slice_is(name, "scope"))
        return;
    struct slice word; /* a list under another name */
    while (value.len) {
        slice_cut(&value, ' ', &word);
        identity_add(who, a, arena_printf(a, "scope.%.*s", SLICE_FMT(word)).ptr, SLICE("true"));
    }
}

static struct slice name_of(struct arena *a, const struct place *in, struct slice key) {
    /* identity.name is the principal's own name: a claim called `name` must not replace it. */
    if (!in->name.len && slice_is(key, "name"))
        key = SLICE("full_name");
    return arena_printf(a, "%.*s%.*s", SLICE_FMT(in->name), SLICE_FMT(key));
}

void identity_from_claims(struct identity *who, struct arena *a, const struct jwt *jwt) {
    const struct tape *t = &jwt->claims;
    struct place stack[CLAIM_DEPTH_MAX] = {{.at = 1, .end = tape_node(t, 0)->next}};
    size_t depth = 1;
    while (depth) {
        struct place *in = &stack[depth - 1];
        if (in->at >= in->end) {
            depth--;
            continue;
        }
        uint32_t key = in->at, node = in->list ? key : key + 1;
        in->at = tape_node(t, node)->next;
        bool nested = tape_is(t, node, TAPE_OBJECT) || tape_is(t, node, TAPE_ARRAY);
        if (in->list) { /* a list of strings; other lists are ignored */
            if (tape_is(t, node, TAPE_STRING))
                identity_add(who, a, name_of(a, in, tape_text(t, node, a)).ptr, SLICE("true"));
            continue;
        }
        struct slice text = tape_text(t, key, a);
        if (depth == 1 && is_of_the_token(text))
            continue;
        struct slice name = name_of(a, in, text);
        /* OpenID Connect 5.6.2: the issuer left claims out and refers to another source for them. */
        if (depth == 1 && slice_is(text, "_claim_names"))
            who->excess = true;
        if (nested && depth == CLAIM_DEPTH_MAX)
            who->excess = true;
        if (!nested) {
            add_scalar(who, a, t, node, name);
        } else if (depth < CLAIM_DEPTH_MAX) {
            stack[depth++] = (struct place){.at = node + 1,
                                            .end = tape_node(t, node)->next,
                                            .list = tape_is(t, node, TAPE_ARRAY),
                                            .name = arena_printf(a, "%.*s.", SLICE_FMT(name))};
        }
    }
}

/* ---- rules ---- */

static bool fact_is(const struct identity *who, struct slice key, struct slice value) {
    for (size_t i = 0; i < who->count; i++)
        if (slice_eq(who->facts[i].key, key) && slice_eq(who->facts[i].value, value))
            return true;
    return false;
}

/* Does the claim have that value, or is it a list that contains it? */
static bool claim_fits(const struct identity *who, const char *pair, struct arena *a) {
    struct slice value = slice_str(pair), claim;
    slice_cut(&value, '\n', &claim);
    return fact_is(who, arena_printf(a, "identity.%.*s", SLICE_FMT(claim)), value) ||
           fact_is(who, arena_printf(a, "identity.%.*s.%.*s", SLICE_FMT(claim), SLICE_FMT(value)),
                   SLICE("true"));
}

const struct settings_rule *identity_rule(const struct identity *who, const struct settings_rule *rules,
                                          size_t count) {
    cleanup_arena struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < count; i++) {
        bool fits = true;
        for (size_t k = 0; fits && k < rules[i].when.count; k++)
            fits = claim_fits(who, rules[i].when.items[k], &a);
        if (fits)
            return &rules[i];
    }
    return NULL;
}

/* ---- principals ---- */

struct principal *identity_principal(const struct identity *who, const struct settings_rule *rule) {
    struct principal *p = principal_new(who->kind, who->id);
    struct policy_fact *facts = arena_array(&p->arena, struct policy_fact, who->count + 1);
    for (size_t i = 0; i < who->count; i++)
        facts[i] = (struct policy_fact){arena_dup(&p->arena, who->facts[i].key),
                                        arena_dup(&p->arena, who->facts[i].value)};
    p->facts = facts;
    p->fact_count = who->count;
    if (!rule)
        return p;
    p->servers = arena_dup_list(&p->arena, rule->servers.items, rule->servers.count);
    p->server_count = rule->servers.count;
    p->tools = arena_dup_list(&p->arena, rule->tools.items, rule->tools.count);
    p->tool_count = rule->tools.count;
    if (rule->limits)
        p->limits = arena_dup(&p->arena, slice_str(rule->limits)).ptr;
    for (size_t i = 0; i < rule->roles.count; i++)
        p->roles |= state_role_from(slice_str(rule->roles.items[i]));
    return p;
}

struct slice identity_key(const struct identity *who, const struct settings_rule *rule, struct arena *a) {
    struct buf out;
    buf_init(&out, FRONT_FACTS_MAX * (FRONT_FACT_MAX + 64) + 4096);
    buf_printf(&out, "%d %s\n%p\n", (int)who->kind, who->id, (const void *)rule);
    for (size_t i = 0; i < who->count; i++)
        buf_printf(&out, "%zu %.*s=%zu %.*s\n", who->facts[i].key.len, SLICE_FMT(who->facts[i].key),
                   who->facts[i].value.len, SLICE_FMT(who->facts[i].value));
    struct slice key = arena_dup(a, buf_slice(&out));
    buf_free(&out);
    return key;
}
