/* Members of a document: their place, and their values by type. */
#include "policy/load.h"

static struct slice pointer_escape(struct loader *l, struct slice key) {
    char *out = arena_alloc(l->arena, 2 * key.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < key.len; i++) {
        char c = key.ptr[i];
        if (c == '~' || c == '/')
            out[len++] = '~';
        out[len++] = c == '~' ? '0' : c == '/' ? '1' : c;
    }
    return slice_of(out, len);
}

struct place policy_place_index(struct loader *l, struct place place, const char *list, size_t index) {
    return (struct place){
        .prefix = arena_printf(l->arena, "%.*s.%s[%zu]", SLICE_FMT(place.prefix), list, index),
        .pointer = arena_printf(l->arena, "%.*s/%s/%zu", SLICE_FMT(place.pointer), list, index),
    };
}

struct place policy_place_key(struct loader *l, struct place place, struct slice key) {
    const char *dot = place.prefix.len ? "." : "";
    return (struct place){
        .prefix = arena_printf(l->arena, "%.*s%s%.*s", SLICE_FMT(place.prefix), dot, SLICE_FMT(key)),
        .pointer =
            arena_printf(l->arena, "%.*s/%.*s", SLICE_FMT(place.pointer), SLICE_FMT(pointer_escape(l, key))),
    };
}

static void wrong_type(struct loader *l, const struct tree *at, struct place place, const char *key,
                       const char *want) {
    if (place.prefix.len)
        policy_problem(l, at, place.pointer, (struct slice){0}, "%.*s: %s must be %s",
                       SLICE_FMT(place.prefix), key, want);
    else
        policy_problem(l, at, place.pointer, (struct slice){0}, "%s must be %s", key, want);
}

struct slice policy_member_text(struct loader *l, const struct tree *map, struct place place,
                                const char *key) {
    const struct tree *t = tree_get(map, key);
    if (!t || t->type == TREE_NULL)
        return (struct slice){0};
    if (t->type == TREE_LIST || t->type == TREE_MAP) {
        wrong_type(l, t, place, key, "a string");
        return (struct slice){0};
    }
    if (t->text.len > POLICY_TEXT_MAX) {
        wrong_type(l, t, place, key, "shorter");
        return (struct slice){0};
    }
    return t->text;
}

bool policy_member_bool(struct loader *l, const struct tree *map, struct place place, const char *key,
                        bool fallback) {
    const struct tree *t = tree_get(map, key);
    if (!t || t->type == TREE_NULL)
        return fallback;
    if (t->type != TREE_BOOL)
        wrong_type(l, t, place, key, "true or false");
    return t->type == TREE_BOOL ? t->truth : fallback;
}

const struct tree *policy_member_list(struct loader *l, const struct tree *map, struct place place,
                                      const char *key) {
    const struct tree *t = tree_get(map, key);
    if (!t || t->type == TREE_NULL)
        return NULL;
    if (t->type == TREE_LIST)
        return t;
    wrong_type(l, t, place, key, "a list");
    return NULL;
}

const struct tree *policy_member_map(struct loader *l, const struct tree *map, struct place place,
                                     const char *key) {
    const struct tree *t = tree_get(map, key);
    if (!t || t->type == TREE_NULL)
        return NULL;
    if (t->type == TREE_MAP)
        return t;
    wrong_type(l, t, place, key, "a mapping");
    return NULL;
}

bool policy_member_shadow(struct loader *l, const struct tree *map, struct place place) {
    struct slice mode = policy_member_text(l, map, place, "mode");
    if (mode.len && !slice_is(mode, "shadow") && !slice_is(mode, "enforce"))
        wrong_type(l, tree_get(map, "mode"), place, "mode", "\"enforce\" or \"shadow\"");
    return slice_is(mode, "shadow");
}

enum strictness policy_member_strict(struct loader *l, const struct tree *map, struct place place) {
    struct slice text = policy_member_text(l, map, place, "arguments");
    if (slice_is(text, "strict"))
        return STRICT_YES;
    if (slice_is(text, "loose"))
        return STRICT_NO;
    if (text.len)
        wrong_type(l, tree_get(map, "arguments"), place, "arguments", "\"strict\" or \"loose\"");
    return STRICT_UNSAID;
}

struct slice policy_member_missing(struct loader *l, const struct tree *map, struct place place) {
    struct slice missing = policy_member_text(l, map, place, "on_missing");
    if (missing.len && !slice_is(missing, "deny") && !slice_is(missing, "pass"))
        policy_problem(l, tree_get(map, "on_missing"), place.pointer, (struct slice){0},
                       "%.*s: on_missing must be \"deny\" or \"pass\", got \"%.*s\"", SLICE_FMT(place.prefix),
                       SLICE_FMT(missing));
    return missing;
}

uint64_t policy_member_duration(struct loader *l, const struct tree *map, struct place place,
                                const char *key) {
    struct slice text = policy_member_text(l, map, place, key);
    uint64_t ms = 0;
    if (text.len && !policy_duration_parse(text, &ms))
        wrong_type(l, tree_get(map, key), place, key, "a duration such as \"30m\"");
    return ms;
}
