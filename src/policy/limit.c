#include "policy/limit.h"

#include "policy/path.h"
#include "wire/canon.h"

/* Micro-units of an argument; with a unit of 100 the argument counts in hundredths. */
static bool node_amount(const struct limit_rule *rule, const struct tape *t, uint32_t node, struct arena *a,
                        int64_t *ret_amount) {
    struct slice text;
    if (tape_is(t, node, TAPE_NUMBER))
        text = tape_raw(t, node);
    else if (rule->numeric_strings && tape_is(t, node, TAPE_STRING))
        text = tape_text(t, node, a);
    else
        return false;
    int64_t micro;
    if (!policy_amount_parse(text, &micro))
        return false;
    *ret_amount = micro / rule->unit + (micro % rule->unit != 0);
    return true;
}

/* Is there a larger amount, or what may be one, in an argument that the schema does not list? Where it is
 * another name of the counted one, some servers use what stands last (@JsonAlias of Jackson). */
static bool has_larger(struct eval *e, const struct limit_rule *rule, int64_t amount) {
    const struct tape *t = e->facts->tape;
    for (uint32_t i = 0; e->strict && i < e->unlisted.count; i++) {
        const uint32_t root = e->unlisted.nodes[i];
        for (uint32_t node = root; node < tape_node(t, root)->next; node++) {
            int64_t other;
            if (!policy_spend(&e->budget, 1))
                return true;
            if (tape_is(t, node, TAPE_NUMBER) &&
                (!node_amount(rule, t, node, e->arena, &other) || other > amount))
                return true;
            if (tape_is(t, node, TAPE_STRING) &&
                policy_amount_parse(slice_trim(tape_text(t, node, e->arena)), &other) &&
                other / rule->unit > amount)
                return true;
        }
    }
    return e->strict && e->unlisted.has_more;
}

/* If several arguments may be meant, the largest counts: it is unknown which one the server uses. */
static bool find_amount(struct eval *e, const struct limit_rule *rule, int64_t *ret_amount) {
    const struct tape *t = e->facts->tape;
    bool found = false;
    int64_t most = 0, one;
    e->amount_path = (struct slice){0};
    for (uint32_t i = 0; policy_has_args(e->facts) && i < rule->from_count; i++) {
        uint32_t node = policy_path_find(&rule->from[i], t, e->facts->args);
        if (!node)
            continue;
        if (node == POLICY_PATH_UNSURE || !node_amount(rule, t, node, e->arena, &one)) {
            e->amount_path = rule->from[i].text;
            return false;
        }
        most = one > most ? one : most;
        found = true;
    }
    if (found && has_larger(e, rule, most)) {
        e->amount_path = rule->from[0].text;
        return false;
    }
    *ret_amount = most;
    return found;
}

static struct slice scope_id(const struct policy_facts *f, enum scope scope) {
    switch (scope) {
    case SCOPE_GRANT:
        return f->limits.len ? f->limits : f->grant;
    case SCOPE_IDENTITY:
        return f->identity.len ? f->identity : f->grant;
    case SCOPE_SESSION:
        return f->session;
    case SCOPE_SERVER:
        return f->server;
    case SCOPE_POLICY:
    case SCOPE_GLOBAL:
        break;
    }
    return (struct slice){0};
}

/* scope/ID/counter, with the length of the ID in front so that no ID can collide with another's keys. */
static struct slice scoped_key(struct eval *e, const struct limit_rule *rule, size_t *ret_scope_len) {
    static const char *const names[] = {"", "grant", "identity", "session", "server", "global"};
    *ret_scope_len = 0;
    if (rule->scope == SCOPE_POLICY || rule->scope == SCOPE_GLOBAL)
        return rule->key;
    struct slice id = slice_upto(scope_id(e->facts, rule->scope), POLICY_SCOPE_ID_MAX);
    struct slice scope = slice_str(names[rule->scope]);
    size_t len = scope.len + 1 + 4 + id.len + 1 + rule->key.len;
    char *key = arena_alloc(e->arena, len), *at = key;
    memcpy(at, scope.ptr, scope.len);
    at += scope.len;
    *at++ = '/';
    for (unsigned shift = 100; shift; shift /= 10)
        *at++ = (char)('0' + id.len / shift % 10);
    *at++ = ':';
    if (id.len)
        memcpy(at, id.ptr, id.len);
    at += id.len;
    *ret_scope_len = (size_t)(at - key);
    *at++ = '/';
    memcpy(at, rule->key.ptr, rule->key.len);
    return slice_of(key, len);
}

/* FNV-1a over the structure. The members of an object are summed so that their order does not matter. A
 * client gains nothing from a collision with itself, so a fast hash is enough. */
#define HASH_START 0xcbf29ce484222325u
#define HASH_PRIME 0x100000001b3u

static uint64_t hash_bytes(uint64_t hash, struct slice s) {
    for (size_t i = 0; i < s.len; i++)
        hash = (hash ^ (unsigned char)s.ptr[i]) * HASH_PRIME;
    return hash;
}

static uint64_t hash_mix(uint64_t x) {
    x ^= x >> 31;
    x *= 0x9e3779b97f4a7c15u;
    return x ^ x >> 29;
}

/* 1, 1.0 and 1e0 are one number. */
static struct slice scalar_text(const struct tape *t, uint32_t node, struct arena *a) {
    if (tape_is(t, node, TAPE_STRING))
        return tape_text(t, node, a);
    if (!tape_is(t, node, TAPE_NUMBER))
        return tape_raw(t, node);
    cleanup_buf struct buf text;
    buf_init(&text, TAPE_BYTES_MAX);
    return canon_write(t, node, a, &text) ? arena_dup(a, buf_slice(&text)) : tape_raw(t, node);
}

/* Each scalar is hashed with the keys and indexes that lead to it; the result is the sum of all hashes. */
static uint64_t hash_args(const struct tape *t, uint32_t root, struct arena *a) {
    struct {
        uint64_t hash;
        uint32_t end, index;
        bool is_map;
    } stack[TAPE_DEPTH_MAX + 1];
    uint32_t depth = 0, i = root, end = tape_node(t, root)->next;
    uint64_t sum = 0, here = HASH_START;
    while (i < end) {
        while (depth && i >= stack[depth - 1].end)
            depth--;
        if (depth) {
            here = stack[depth - 1].hash;
            if (stack[depth - 1].is_map)
                here = hash_bytes(here, tape_text(t, i++, a)) * HASH_PRIME;
            else
                here = hash_mix(here + ++stack[depth - 1].index);
        }
        enum tape_type type = tape_type(t, i);
        here = hash_mix(here + type);
        if (type == TAPE_ARRAY || type == TAPE_OBJECT) {
            sum += hash_mix(here + tape_node(t, i)->count);
            stack[depth].hash = here;
            stack[depth].end = tape_node(t, i)->next;
            stack[depth].index = 0;
            stack[depth++].is_map = type == TAPE_OBJECT;
        } else {
            sum += hash_mix(hash_bytes(here, scalar_text(t, i, a)));
        }
        i++;
    }
    return sum;
}

static struct slice identical_key(struct eval *e, struct slice key) {
    const struct policy_facts *f = e->facts;
    struct slice hash = f->args_hash;
    if (!policy_has_args(f) || tape_node(f->tape, f->args)->count == 0)
        hash = SLICE("{}"); /* no arguments, and none in an object */
    else if (!hash.len)
        hash = arena_printf(e->arena, "%016llx",
                            (unsigned long long)hash_args(e->facts->tape, e->facts->args, e->arena));
    return arena_printf(e->arena, "%.*s#%.*s#%.*s", SLICE_FMT(key), SLICE_FMT(e->facts->tool),
                        SLICE_FMT(hash));
}

bool policy_limit_build(struct eval *e, const struct limit_rule *rule, struct policy_limit *ret_limit) {
    size_t scope_len;
    struct slice key = scoped_key(e, rule, &scope_len);
    uint64_t now = e->facts->now_ms;
    *ret_limit = (struct policy_limit){
        .kind = rule->kind,
        .refund = rule->refund,
        .fail = rule->fail,
        .key = rule->identical ? identical_key(e, key) : key,
        .scope_len = scope_len,
        .label = rule->label,
        .window_ms = rule->window_ms,
        .start_ms = rule->kind == POLICY_FIXED ? policy_window_start(now, rule->window_ms) : now,
        .max = rule->max,
        .refill = rule->refill,
        .shadow = rule->shadow || e->policy->shadow,
        .whole_calls = !rule->from_count && !rule->check_only && !rule->identical,
        .all_servers = rule->scope == SCOPE_GLOBAL,
        .rule = rule->name,
        .pointer = rule->pointer,
        .text = rule->text,
    };
    if (!rule->check_only && !rule->from_count)
        ret_limit->amount = rule->amount;
    return rule->check_only || !rule->from_count || find_amount(e, rule, &ret_limit->amount);
}
