#include "base/fold.h"
#include "base/hex.h"
#include "policy/limits.h"
#include "policy/match.h"
#include "wire/tape.h"

/* The byte that %41 or %u0041 at `at` encodes, and its length; -1: neither. */
static int encoded_byte(struct slice path, size_t at, size_t *ret_len) {
    size_t digits = at + 1 < path.len && (path.ptr[at + 1] | 0x20) == 'u' ? 4 : 2;
    size_t first = at + (digits == 4 ? 2 : 1);
    int value = 0;
    if (path.ptr[at] != '%' || first + digits > path.len)
        return -1;
    for (size_t i = first; i < first + digits; i++) {
        int digit = hex_value(path.ptr[i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    *ret_len = first + digits - at;
    return value > 0xff ? -1 : value;
}

/* Would a server that decodes percent signs once or twice find an encoded dot, slash, backslash, NUL or
 * percent sign, or bytes that are not UTF-8 (an overlong dot)? */
static bool has_encoded_step(struct slice path, struct arena *a) {
    for (int round = 0; round < 2 && slice_find(path, '%') >= 0; round++) {
        char *out = arena_alloc(a, path.len);
        size_t len = 0, size = 1;
        for (size_t i = 0; i < path.len; i += size) {
            int byte = encoded_byte(path, i, &size);
            if (byte == '.' || byte == '/' || byte == '\\' || byte == 0 || byte == '%')
                return true;
            if (byte < 0)
                size = 1;
            out[len++] = (char)(byte < 0 ? path.ptr[i] : byte);
        }
        path = slice_of(out, len);
        if (!tape_utf8_valid(path))
            return true;
    }
    return false;
}

static size_t count_steps(struct slice path) {
    size_t count = 0;
    struct slice part;
    for (bool more = true; more; count += (size_t)slice_is(part, "..") + more)
        more = slice_cut(&path, '/', &part);
    return count;
}

/* Full-width and small dots and slashes, which servers that normalise (NFKC) turn into real ones. */
static bool has_folded_step(struct slice path, struct arena *a) {
    if (fold_is_ascii(path))
        return false;
    struct slice folded = fold_text(path, a);
    return slice_find(folded, '\\') >= 0 || count_steps(folded) > count_steps(path);
}

bool policy_under_clean(struct slice path, struct arena *a, struct slice *ret_clean) {
    if (path.len == 0 || path.len > POLICY_FILE_PATH_MAX || path.ptr[0] != '/' || has_encoded_step(path, a) ||
        has_folded_step(path, a))
        return false;
    for (size_t i = 0; i < path.len; i++) {
        unsigned char c = (unsigned char)path.ptr[i];
        if (c < 0x20 || c == 0x7f || c == '\\')
            return false;
    }
    char *out = arena_alloc(a, path.len + 1);
    size_t len = 0;
    struct slice rest = path, part;
    bool more = true;
    while (more) {
        more = slice_cut(&rest, '/', &part);
        if (part.len == 0 || slice_is(part, "."))
            continue;
        if (slice_is(part, "..")) {
            while (len && out[len - 1] != '/')
                len--;
            if (len)
                len--;
            continue;
        }
        if (part.ptr[0] == '~')
            return false;
        out[len++] = '/';
        memcpy(out + len, part.ptr, part.len);
        len += part.len;
    }
    if (len == 0)
        out[len++] = '/';
    *ret_clean = slice_of(out, len);
    return true;
}

bool policy_under_holds(struct slice path, struct slice dir, struct arena *a) {
    struct slice clean, root;
    if (!policy_under_clean(path, a, &clean) || !policy_under_clean(dir, a, &root))
        return false;
    if (root.len == 1)
        return true;
    return slice_starts(clean, root) && (clean.len == root.len || clean.ptr[root.len] == '/');
}
