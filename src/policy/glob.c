#include "policy/limits.h"
#include "policy/match.h"

#include <ctype.h>

bool policy_glob_is_pattern(struct slice text) {
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '*' || text.ptr[i] == '?' || text.ptr[i] == '[')
            return true;
    return false;
}

/* Reads the character at *at and advances. Invalid UTF-8 bytes stand for themselves. */
static uint32_t next_char(struct slice text, size_t *at) {
    unsigned char lead = (unsigned char)text.ptr[(*at)++];
    unsigned more = lead < 0xc0 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    uint32_t code = more ? lead & (0x3fu >> more) : lead;
    for (; more && *at < text.len && ((unsigned char)text.ptr[*at] & 0xc0) == 0x80; more--)
        code = code << 6 | ((unsigned char)text.ptr[(*at)++] & 0x3f);
    return code;
}

/* ---- sets ---- */

enum set_answer { SET_NO, SET_YES, SET_BROKEN };

static int class_has(struct slice name, uint32_t code) {
    static const struct {
        const char *name;
        int (*has)(int c);
    } rows[] = {{"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank}, {"cntrl", iscntrl},
                {"digit", isdigit}, {"graph", isgraph}, {"lower", islower}, {"print", isprint},
                {"punct", ispunct}, {"space", isspace}, {"upper", isupper}, {"xdigit", isxdigit}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (slice_is(name, rows[i].name))
            return code < 0x80 && rows[i].has((int)code);
    return -1;
}

/* `[:name:]` at *at, which points to its `[`. BROKEN: unknown class. If it is not a class, *at does not
 * move and the bracket is a literal character. */
static enum set_answer read_class(struct slice pattern, size_t *at, uint32_t code) {
    size_t start = *at + 2, end = start;
    while (end < pattern.len && pattern.ptr[end] != ']')
        end++;
    if (end == pattern.len)
        return SET_BROKEN;
    if (end == start || pattern.ptr[end - 1] != ':')
        return SET_NO;
    int has = class_has(slice_of(pattern.ptr + start, end - 1 - start), code);
    *at = end + 1;
    return has < 0 ? SET_BROKEN : has ? SET_YES : SET_NO;
}

/* One character of a set, without its backslash. */
static bool set_char(struct slice pattern, size_t *at, uint32_t *ret_code) {
    if (pattern.ptr[*at] == '\\' && ++*at >= pattern.len)
        return false;
    *ret_code = next_char(pattern, at);
    return true;
}

/* A set starts at pattern[*at] == '['. Moves *at behind its ']' and returns whether the set contains the
 * character. */
static enum set_answer set_match(struct slice pattern, size_t *at, uint32_t code) {
    size_t i = *at + 1;
    bool negated = i < pattern.len && (pattern.ptr[i] == '!' || pattern.ptr[i] == '^');
    bool hit = false;
    i += negated;
    for (size_t first = i; i < pattern.len && (pattern.ptr[i] != ']' || i == first);) {
        uint32_t low, high;
        if (pattern.ptr[i] == '[' && i + 1 < pattern.len && pattern.ptr[i + 1] == ':') {
            size_t before = i;
            enum set_answer class = read_class(pattern, &i, code);
            if (class == SET_BROKEN)
                return SET_BROKEN;
            hit |= class == SET_YES;
            if (i != before)
                continue;
        }
        if (!set_char(pattern, &i, &low))
            return SET_BROKEN;
        high = low;
        if (i + 1 < pattern.len && pattern.ptr[i] == '-' && pattern.ptr[i + 1] != ']') {
            i++;
            if (!set_char(pattern, &i, &high))
                return SET_BROKEN;
        }
        hit |= code == low || (code >= low && code <= high); /* [c-a] contains c, as in git */
    }
    if (i >= pattern.len)
        return SET_BROKEN;
    *at = i + 1;
    return hit != negated ? SET_YES : SET_NO;
}

bool policy_glob_is_sound(struct slice pattern) {
    for (size_t i = 0; i < pattern.len;) {
        if (pattern.ptr[i] == '[') {
            if (set_match(pattern, &i, 0) == SET_BROKEN)
                return false;
            continue;
        }
        if (pattern.ptr[i] == '\\' && ++i == pattern.len)
            return false;
        i++;
    }
    return true;
}

/* ---- matching ---- */

/* One pattern element other than a star against the text at *ti. */
static bool element_match(struct slice pattern, size_t *pi, struct slice text, size_t *ti, char separator) {
    char c = pattern.ptr[*pi];
    size_t next = *ti;
    if (c == '?' || c == '[') {
        if (separator && text.ptr[*ti] == separator)
            return false;
        uint32_t code = next_char(text, &next);
        if (c == '[' && set_match(pattern, pi, code) != SET_YES)
            return false;
        *pi += c == '?';
        *ti = next;
        return true;
    }
    size_t at = *pi;
    if (c == '\\' && at + 1 < pattern.len)
        c = pattern.ptr[++at];
    if (c != text.ptr[*ti])
        return false;
    *pi = at + 1;
    *ti += 1;
    return true;
}

enum star { STAR_ONE, STAR_DIRS, STAR_ALL };

/* The meaning of a run of stars at *pi; *pi moves behind it, and behind the slash of a double star that
 * stands for directories. */
static enum star read_star(struct slice pattern, size_t *pi, char separator) {
    size_t start = *pi, end = start;
    while (end < pattern.len && pattern.ptr[end] == '*')
        end++;
    *pi = end;
    if (!separator)
        return STAR_ALL;
    bool opens = start == 0 || pattern.ptr[start - 1] == separator;
    bool escaped = end + 1 < pattern.len && pattern.ptr[end] == '\\' && pattern.ptr[end + 1] == separator;
    bool closes = end == pattern.len || pattern.ptr[end] == separator || escaped;
    if (end - start < 2 || !opens || !closes)
        return STAR_ONE;
    if (end < pattern.len)
        *pi = end + 1 + escaped;
    return end < pattern.len ? STAR_DIRS : STAR_ALL;
}

struct retry { /* where to continue when the text after a star did not match */
    size_t pattern;
    size_t text;
    enum star kind;
    bool set;
};

/* Extends the star by one character, or by one directory. false: it cannot be extended. */
static bool retry_longer(struct retry *r, struct slice text, char separator) {
    if (!r->set || r->text >= text.len)
        return false;
    if (r->kind == STAR_ONE && text.ptr[r->text] == separator)
        return false;
    if (r->kind != STAR_DIRS) {
        next_char(text, &r->text);
        return true;
    }
    while (r->text < text.len && text.ptr[r->text] != separator)
        r->text++;
    if (r->text == text.len)
        return false;
    r->text++;
    return true;
}

/* Only the last star of each kind is retried: anything more that an earlier star could match, the later
 * one can match too. A star that stops at separators is forgotten when one that does not stop begins. */
enum policy_glob_answer policy_glob_match(struct slice pattern, struct slice text, char separator,
                                          uint64_t *steps) {
    struct retry star = {0}, deep = {0};
    size_t pi = 0, ti = 0;
    if (!policy_glob_is_sound(pattern))
        return POLICY_GLOB_BROKEN;
    for (; *steps; (*steps)--) {
        if (pi < pattern.len && pattern.ptr[pi] == '*') {
            enum star kind = read_star(pattern, &pi, separator);
            struct retry here = {pi, ti, kind, true};
            if (kind == STAR_ONE) {
                star = here;
            } else {
                deep = here;
                star.set = false;
            }
            continue;
        }
        if (pi == pattern.len && ti == text.len)
            return POLICY_GLOB_YES;
        if (pi < pattern.len && ti < text.len && element_match(pattern, &pi, text, &ti, separator))
            continue;
        if (retry_longer(&star, text, separator)) {
            pi = star.pattern;
            ti = star.text;
        } else if (retry_longer(&deep, text, separator)) {
            star.set = false;
            pi = deep.pattern;
            ti = deep.text;
        } else {
            return POLICY_GLOB_NO;
        }
    }
    return POLICY_GLOB_SPENT;
}

bool policy_glob_names(struct slice pattern, struct slice name) {
    uint64_t steps = POLICY_GLOB_NAME_STEPS;
    return policy_glob_match(pattern, name, 0, &steps) == POLICY_GLOB_YES;
}
