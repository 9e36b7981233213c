#include "mcp/names.h"

#define HASH_CHARS 8
#define WRAP "sallyport:"

/* URI schemes by which clients detect apps and skills. */
static const struct slice kept_schemes[] = {SLICE("ui://"), SLICE("skill://")};
#define KEPT_SCHEMES (sizeof(kept_schemes) / sizeof(kept_schemes[0]))

/* FNV-1a: the same in every run. A collision helps no attacker: both tools are on one server, and the
 * second is not listed. */
static void hash_text(struct slice text, char out[HASH_CHARS]) {
    static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)text.ptr[i]) * 1099511628211u;
    hash ^= hash >> 32;
    for (size_t i = 0; i < HASH_CHARS; i++, hash >>= 5)
        out[i] = digits[hash & 31];
}

struct slice names_join(struct arena *a, struct slice prefix, struct slice name) {
    return arena_printf(a, "%.*s__%.*s", SLICE_FMT(prefix), SLICE_FMT(name));
}

struct slice names_show(struct arena *a, struct slice prefix, struct slice tool) {
    if (prefix.len + 2 + tool.len <= NAMES_TOOL_MAX)
        return names_join(a, prefix, tool);
    char hash[HASH_CHARS];
    hash_text(tool, hash);
    size_t room = NAMES_TOOL_MAX - (prefix.len + 2 + HASH_CHARS + 1);
    struct slice end = slice_from(tool, tool.len - room);
    while (end.len && ((unsigned char)end.ptr[0] & 0xc0) == 0x80) /* does not cut a character */
        end = slice_from(end, 1);
    return arena_printf(a, "%.*s__%.*s_%.*s", SLICE_FMT(prefix), HASH_CHARS, hash, SLICE_FMT(end));
}

bool names_is_short(struct slice shown) {
    struct slice prefix, name;
    return shown.len + 3 >= NAMES_TOOL_MAX && shown.len <= NAMES_TOOL_MAX &&
           names_split(shown, &prefix, &name) && name.len > HASH_CHARS && name.ptr[HASH_CHARS] == '_';
}

bool names_split(struct slice shown, struct slice *ret_prefix, struct slice *ret_name) {
    const char *at = shown.len ? memmem(shown.ptr, shown.len, "__", 2) : NULL;
    if (!at || at == shown.ptr)
        return false;
    size_t len = (size_t)(at - shown.ptr);
    *ret_prefix = slice_upto(shown, len);
    *ret_name = slice_from(shown, len + 2);
    return true;
}

struct slice names_show_uri(struct arena *a, struct slice prefix, struct slice uri) {
    for (size_t i = 0; i < KEPT_SCHEMES; i++)
        if (slice_starts(uri, kept_schemes[i]))
            return arena_printf(a, "%.*s%.*s/%.*s", SLICE_FMT(kept_schemes[i]), SLICE_FMT(prefix),
                                SLICE_FMT(slice_from(uri, kept_schemes[i].len)));
    return arena_printf(a, WRAP "%.*s/%.*s", SLICE_FMT(prefix), SLICE_FMT(uri));
}

bool names_split_uri(struct arena *a, struct slice shown, struct slice *ret_prefix, struct slice *ret_uri) {
    struct slice scheme = {0}, rest;
    if (slice_starts(shown, SLICE(WRAP))) {
        rest = slice_from(shown, sizeof(WRAP) - 1);
    } else {
        for (size_t i = 0; i < KEPT_SCHEMES; i++)
            if (slice_starts(shown, kept_schemes[i]))
                scheme = kept_schemes[i];
        if (!scheme.len)
            return false;
        rest = slice_from(shown, scheme.len);
    }
    if (!slice_cut(&rest, '/', ret_prefix) || !ret_prefix->len)
        return false;
    *ret_uri = scheme.len ? arena_printf(a, "%.*s%.*s", SLICE_FMT(scheme), SLICE_FMT(rest)) : rest;
    return true;
}

/* The literal parts must stand in the URI in their order, the first at its start and the last at its end.
 * Taking the earliest place for each part in between is right because expressions may stand for anything. */
bool names_fit_template(struct slice template, struct slice uri) {
    bool first = true;
    for (;;) {
        struct slice part;
        bool more = slice_cut(&template, '{', &part);
        if (first && !more)
            return slice_eq(part, uri);
        if (first) {
            if (!slice_starts(uri, part))
                return false;
            uri = slice_from(uri, part.len);
        } else if (!more) {
            return slice_ends(uri, part);
        } else if (part.len) {
            const char *at = memmem(uri.ptr, uri.len, part.ptr, part.len);
            if (!at)
                return false;
            uri = slice_from(uri, (size_t)(at - uri.ptr) + part.len);
        }
        first = false;
        struct slice expression;
        if (!slice_cut(&template, '}', &expression))
            return false;
    }
}
