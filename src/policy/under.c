#include "base/fold.h"
#include "base/glyph.h"
#include "policy/limits.h"
#include "policy/match.h"
#include "wire/tape.h"

#define DECODES_MAX 2 /* rounds of percent decoding */

static size_t count_steps(struct slice path) {
    size_t count = 0;
    struct slice part;
    for (bool more = true; more; count += (size_t)slice_is(part, "..") + more)
        more = slice_cut(&path, '/', &part);
    return count;
}

/* Characters that Windows converts to a slash or a backslash. */
static bool is_like_slash(uint32_t code) {
    return code == 0x2044 || code == 0x2215 || code == 0x2216 || code == 0x29f5 || code == 0x29f8 ||
           code == 0x29f9;
}

/* A component that some server takes for `..` or `.`: one of dots only (Windows; and `....//` where `../` is
 * removed once), with blanks around it (Windows), with a parameter (`..;a`, Java), with characters that
 * nobody sees or next to a character like a slash. One of blanks only, or of a parameter only, is nothing for
 * them, and the `..` behind it goes one directory further up. */
static bool is_disguised_step(struct slice part) {
    size_t dots = 0, others = 0, size = 0;
    bool in_parameter = false, has_more = false;
    if (part.len == 0 || slice_is(part, ".") || slice_is(part, ".."))
        return false;
    for (size_t i = 0; i < part.len; i += size) {
        uint32_t code = glyph_next(part, i, &size);
        if (is_like_slash(code)) {
            if (dots && !others)
                return true;
            dots = others = 0;
            in_parameter = false;
            has_more = true;
            continue;
        }
        in_parameter |= code == ';';
        if (code == '.')
            dots += !in_parameter;
        else if (!in_parameter && code != ' ' && code != 0xa0 && !glyph_is_invisible(code))
            others++;
    }
    return !others && (dots || !has_more);
}

/* A server that takes patterns expands {a,../b} to two paths. */
static bool has_alternatives(struct slice path) {
    ptrdiff_t open = slice_find(path, '{');
    ptrdiff_t comma = open < 0 ? -1 : slice_find(slice_from(path, (size_t)open), ',');
    return comma > 0 && slice_find(slice_from(path, (size_t)(open + comma)), '}') > 0;
}

static bool is_plain(struct slice path) {
    struct slice rest = path, part;
    if (has_alternatives(path))
        return false;
    for (size_t i = 0; i < path.len; i++) {
        unsigned char c = (unsigned char)path.ptr[i];
        if (c < 0x20 || c == 0x7f || c == '\\')
            return false;
    }
    for (bool more = true; more;) {
        more = slice_cut(&rest, '/', &part);
        if ((part.len && part.ptr[0] == '~') || is_disguised_step(part))
            return false;
    }
    return true;
}

/* Does the path lead to the same place for servers that normalise it (NFKC turns full-width dots and slashes
 * into real ones), decode percent signs once or twice, or do both? */
static bool is_same_to_all(struct slice path, struct arena *a) {
    bool has_steps;
    for (int round = 0;; round++) {
        if (!is_plain(path))
            return false;
        if (!fold_is_ascii(path)) {
            struct slice folded = fold_text(path, a);
            if (count_steps(folded) > count_steps(path) || !is_plain(folded))
                return false;
            path = folded;
        }
        if (round == DECODES_MAX || slice_find(path, '%') < 0)
            return true;
        path = policy_percent_decode(path, a, &has_steps);
        if (has_steps || !tape_utf8_valid(path)) /* an overlong dot is not UTF-8 */
            return false;
    }
}

bool policy_under_clean(struct slice path, struct arena *a, struct slice *ret_clean) {
    if (path.len == 0 || path.len > POLICY_FILE_PATH_MAX || path.ptr[0] != '/' || !is_same_to_all(path, a))
        return false;
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
