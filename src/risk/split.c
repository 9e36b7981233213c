#include "risk/split.h"

static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_word(char c) { return is_upper(c) || is_lower(c) || is_digit(c); }

struct slice risk_lower(struct slice text, size_t max, struct arena *a) {
    text = slice_upto(text, max);
    char *to = arena_alloc(a, text.len + 1);
    for (size_t i = 0; i < text.len; i++)
        to[i] = is_upper(text.ptr[i]) ? (char)(text.ptr[i] | 0x20) : text.ptr[i];
    to[text.len] = 0;
    return slice_of(to, text.len);
}

bool risk_contains(struct slice text, const char *part) {
    return text.len && memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

/* Does a new word begin at i, given that i - 1 belongs to a word? */
static bool turns(struct slice name, size_t i) {
    char prev = name.ptr[i - 1], c = name.ptr[i];
    if (is_digit(prev) != is_digit(c))
        return !(is_digit(c) && is_lower(prev)); /* v1, d1, r2 stay whole */
    if (!is_upper(c))
        return false;
    if (!is_upper(prev))
        return true;
    return i + 1 < name.len && is_lower(name.ptr[i + 1]) &&
           !(name.ptr[i + 1] == 's' && (i + 2 == name.len || !is_lower(name.ptr[i + 2]))); /* URLs */
}

size_t risk_split_name(struct slice name, struct slice *ret_tokens, size_t max, struct arena *a) {
    name = slice_upto(name, RISK_NAME_BYTES_MAX);
    struct slice lower = risk_lower(name, name.len, a);
    size_t count = 0, start = 0;
    bool inside = false;
    for (size_t i = 0; i <= name.len; i++) {
        bool word = i < name.len && is_word(name.ptr[i]);
        if (inside && (!word || turns(name, i))) {
            if (count == max)
                return count;
            ret_tokens[count++] = slice_of(lower.ptr + start, i - start);
            inside = false;
        }
        if (word && !inside) {
            inside = true;
            start = i;
        }
    }
    return count;
}

/* "e.g. `state`" and "i.e. the last" go on. */
static bool abbreviates(struct slice text, size_t dot) {
    struct slice head = slice_of(text.ptr, dot);
    return slice_ends(head, SLICE("e.g")) || slice_ends(head, SLICE("i.e"));
}

static enum risk_break break_of(struct slice text, size_t i) {
    char c = text.ptr[i];
    switch (c) {
    case ',':
    case '/':
    case '&':
    case '|':
        return RISK_BREAK_LIST;
    case '.':
    case '!':
    case '?': /* a point inside a word or number is no end; "resources.This" is one */
        if (abbreviates(text, i))
            return RISK_BREAK_SPACE;
        return i + 1 < text.len && is_word(text.ptr[i + 1]) && !is_upper(text.ptr[i + 1])
                   ? RISK_BREAK_SPACE
                   : RISK_BREAK_SENTENCE;
    case '\n':
        return i + 1 < text.len && (text.ptr[i + 1] == '\n' || text.ptr[i + 1] == '\r') ? RISK_BREAK_SENTENCE
                                                                                        : RISK_BREAK_CLAUSE;
    case ':':
    case ';':
    case '(':
    case ')':
    case '[':
    case ']':
    case '>':
    case '*':
        return RISK_BREAK_CLAUSE;
    case '-':
        return i > 0 && i + 1 < text.len && is_word(text.ptr[i - 1]) && is_word(text.ptr[i + 1])
                   ? RISK_BREAK_HYPHEN
                   : RISK_BREAK_CLAUSE;
    default:
        return (unsigned char)c == 0xe2 || (unsigned char)c == 0xe3 ? RISK_BREAK_CLAUSE : RISK_BREAK_SPACE;
    }
}

/* `GET /items`: the method of an address, in capitals. */
static bool is_method(struct slice text, size_t start, size_t end) {
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE", NULL};
    if (!slice_is_any(slice_of(text.ptr + start, end - start), methods))
        return false;
    struct slice rest = slice_trim(slice_from(text, end));
    return (start && text.ptr[start - 1] == '`') || slice_starts(rest, SLICE("/")) ||
           slice_starts(rest, SLICE("http")) || slice_starts(rest, SLICE("\xe2\x80\xa6"));
}

/* `order` and *order* are names of parameters, **Deletes** is a word. */
static bool is_marked(struct slice text, size_t start, size_t end) {
    if (!start || end >= text.len || text.ptr[start - 1] != text.ptr[end])
        return false;
    return text.ptr[end] == '`' || (text.ptr[end] == '*' && start > 1 && text.ptr[start - 2] != '*' &&
                                    !(end + 1 < text.len && text.ptr[end + 1] == '*'));
}

size_t risk_split_prose(struct slice text, struct risk_token *ret_tokens, size_t max, struct arena *a) {
    struct slice lower = risk_lower(text, RISK_PROSE_BYTES_MAX, a);
    size_t count = 0, i = 0;
    enum risk_break brk = RISK_BREAK_SENTENCE;
    while (i < lower.len && count < max) {
        if (!is_word(lower.ptr[i])) {
            enum risk_break here = break_of(text, i);
            brk = here > brk ? here : brk;
            i++;
            continue;
        }
        size_t start = i;
        while (i < lower.len && (is_word(lower.ptr[i]) || (lower.ptr[i] == '\'' && i > start)))
            i++;
        bool joined = (start && lower.ptr[start - 1] == '_') || (i < lower.len && lower.ptr[i] == '_');
        joined |= is_marked(lower, start, i) || is_method(text, start, i);
        ret_tokens[count++] =
            (struct risk_token){slice_of(lower.ptr + start, i - start), (uint8_t)brk, joined};
        brk = RISK_BREAK_SPACE;
    }
    return count;
}
