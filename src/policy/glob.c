#include "policy/limits.h"
#include "policy/match.h"

bool policy_glob_is_pattern(struct slice text) {
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '*' || text.ptr[i] == '?' || text.ptr[i] == '[')
            return true;
    return false;
}

static size_t char_len(struct slice text, size_t at) {
    unsigned char c = (unsigned char)text.ptr[at];
    size_t len = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    return len <= text.len - at ? len : text.len - at;
}

/* A set starts at pattern[*at] == '['. Moves *at behind its ']' and says whether the byte belongs to it. An
 * unclosed set matches nothing. */
static bool set_match(struct slice pattern, size_t *at, unsigned char byte) {
    size_t i = *at + 1;
    bool negated = i < pattern.len && (pattern.ptr[i] == '!' || pattern.ptr[i] == '^');
    bool hit = false;
    if (negated)
        i++;
    for (size_t first = i; i < pattern.len && (pattern.ptr[i] != ']' || i == first);) {
        unsigned char low = (unsigned char)pattern.ptr[i], high = low;
        if (i + 2 < pattern.len && pattern.ptr[i + 1] == '-' && pattern.ptr[i + 2] != ']') {
            high = (unsigned char)pattern.ptr[i + 2];
            i += 3;
        } else {
            i++;
        }
        hit |= byte >= low && byte <= high;
    }
    if (i >= pattern.len) {
        *at = pattern.len;
        return false;
    }
    *at = i + 1;
    return hit != negated;
}

/* One pattern element other than a star against the text at *ti. */
static bool element_match(struct slice pattern, size_t *pi, struct slice text, size_t *ti, char separator) {
    char c = pattern.ptr[*pi], t = text.ptr[*ti];
    if (c == '?') {
        if (separator && t == separator)
            return false;
        *ti += char_len(text, *ti);
        (*pi)++;
        return true;
    }
    if (c == '[') {
        if (separator && t == separator)
            return false;
        if (!set_match(pattern, pi, (unsigned char)t))
            return false;
        (*ti)++;
        return true;
    }
    size_t at = *pi;
    if (c == '\\' && at + 1 < pattern.len)
        c = pattern.ptr[++at];
    if (c != t)
        return false;
    *pi = at + 1;
    (*ti)++;
    return true;
}

struct retry { /* where to go on when what follows a star did not fit */
    size_t pattern;
    size_t text;
    bool set;
};

bool policy_glob_match(struct slice pattern, struct slice text, char separator) {
    struct retry star = {0}, deep = {0};
    size_t pi = 0, ti = 0;
    for (size_t steps = 0; steps < POLICY_GLOB_STEPS_MAX; steps++) {
        if (pi < pattern.len && pattern.ptr[pi] == '*') {
            bool is_deep = !separator;
            while (pi < pattern.len && pattern.ptr[pi] == '*') {
                if (pi + 1 < pattern.len && pattern.ptr[pi + 1] == '*')
                    is_deep = true;
                pi++;
            }
            struct retry here = {pi, ti, true};
            if (is_deep) {
                deep = here;
                star.set = false;
            } else {
                star = here;
            }
            continue;
        }
        if (pi == pattern.len && ti == text.len)
            return true;
        if (pi < pattern.len && ti < text.len && element_match(pattern, &pi, text, &ti, separator))
            continue;
        if (star.set && star.text < text.len && text.ptr[star.text] != separator) {
            star.text++;
            pi = star.pattern;
            ti = star.text;
        } else if (deep.set && deep.text < text.len) {
            deep.text++;
            star.set = false;
            pi = deep.pattern;
            ti = deep.text;
        } else {
            return false;
        }
    }
    return false;
}
