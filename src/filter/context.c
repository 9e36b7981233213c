/* What stands around a value. Three sources, nearest first:
 *
 *   "card_number": "4111…"     the label right before it
 *   name,dob,mac               the head of its column (CSV, TSV, Markdown, SQL INSERT)
 *   please call me back on …   words close by on the line
 */
#include "filter/detect.h"

#define NUMBER_DIGITS 7   /* of a number that has its own name */
#define LINKING_LETTERS 3 /* between two numbers of one name: and, or, und */
/* Hints that one number uses up. */
#define HINTS_OF_ONE (HINT_NATIONAL | HINT_SSN | HINT_SOCIAL | HINT_DOB)

static bool quoteish(char c) {
    return ch_is(c, CH_QUOTE) || c == '\\' || c == '(' || c == '[' || c == '<' || c == '*';
}

struct slice pii_context_key(const struct detect *d, uint32_t at, uint32_t *ret_start) {
    uint32_t end = at;
    while (end > 0 && !ch_alnum(d->p[end - 1]) &&
           (ch_is(d->p[end - 1], CH_QUOTE) || d->p[end - 1] == '\\' || d->p[end - 1] == ' ' ||
            d->p[end - 1] == ']' || d->p[end - 1] == ')' || d->p[end - 1] == '*' || d->p[end - 1] == '?' ||
            d->p[end - 1] == ':' || d->p[end - 1] == '.' || d->p[end - 1] == '\t') &&
           at - end < 12)
        end--;
    uint32_t start = end;
    bool gap = false;
    while (start > 0 && end - start < PII_KEY_MAX) {
        const char c = d->p[start - 1];
        if (ch_alnum(c) || c == '_' || c == '-' || c == '.')
            gap = false;
        else if (c == ' ' && !gap)
            gap = true;
        else
            break;
        start--;
    }
    *ret_start = start;
    return slice_trim(slice_of(d->p + start, end - start));
}

static uint32_t keys_lookup(struct pii_keys *keys, const struct words *words, struct slice key) {
    struct pii_key *at = pii_keys_at(keys, key);
    if (!at)
        return pii_words_key(words, key);
    if (!at->hinted) {
        at->hints = pii_words_key(words, key);
        at->hinted = true;
    }
    return at->hints;
}

uint32_t pii_context_hints(struct detect *d, struct slice key) {
    return keys_lookup(&detect_memory(d)->keys, d->eng->words, key);
}

uint32_t pii_context_outer(struct detect *d) {
    if (!d->key_known && d->key.len)
        d->key_hints = d->outer_keys ? keys_lookup(d->outer_keys, d->eng->words, d->key)
                                     : pii_words_key(d->eng->words, d->key);
    d->key_known = true;
    return d->key_hints;
}

/* The label of `Phone:\n  "` or `card=`: hints of its key, 0 without an assignment sign. */
static uint32_t label_before(struct detect *d, uint32_t start) {
    uint32_t i = start;
    unsigned lines = 0;
    while (i > 0 && start - i < 16) {
        const char c = d->p[i - 1];
        if (c == '\n' && lines++ < 1) {
            i--;
            continue;
        }
        if (c != ' ' && c != '\t' && c != '\r' && !quoteish(c))
            break;
        i--;
    }
    if (i == 0)
        return 0;
    char c = d->p[i - 1];
    if (c == '>' && i > 1 && d->p[i - 2] == '=')
        c = d->p[--i - 1];
    if (c != ':' && c != '=')
        return 0;
    uint32_t key_start;
    const struct slice key = pii_context_key(d, i - 1, &key_start);
    return key.len ? pii_context_hints(d, key) : 0;
}

static uint32_t split_heads(const struct detect *d, struct slice line, char sep, uint32_t *hints) {
    uint32_t count = 0;
    while (count < PII_COLUMNS_MAX) {
        struct slice cell;
        const bool more = slice_cut(&line, sep, &cell);
        cell = slice_trim(cell);
        while (cell.len && (ch_is(cell.ptr[0], CH_QUOTE) || cell.ptr[0] == '*'))
            cell = slice_from(cell, 1);
        while (cell.len && (ch_is(cell.ptr[cell.len - 1], CH_QUOTE) || cell.ptr[cell.len - 1] == '*'))
            cell.len--;
        hints[count++] = pii_words_key(d->eng->words, slice_upto(cell, PII_KEY_MAX));
        if (!more)
            break;
    }
    return count;
}

static uint32_t count_char(struct slice s, char c) {
    uint32_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        n += s.ptr[i] == c;
    return n;
}

/* A header has names of columns: letters, few digits, no sentence. */
static bool head_like(struct slice line) {
    uint32_t letters = 0, digits = 0;
    if (line.len > 2048)
        return false;
    for (size_t i = 0; i < line.len; i++) {
        letters += ch_alpha(line.ptr[i]);
        digits += ch_digit(line.ptr[i]);
        if (line.ptr[i] == '@' || line.ptr[i] == '{' || line.ptr[i] == '=')
            return false;
    }
    return letters > 4 && digits * 8 <= letters;
}

static bool rule_line(struct slice line) {
    if (line.len < 3)
        return false;
    for (size_t i = 0; i < line.len; i++)
        if (line.ptr[i] != '|' && line.ptr[i] != '-' && line.ptr[i] != ':' && line.ptr[i] != ' ' &&
            line.ptr[i] != '\r' && line.ptr[i] != '+')
            return false;
    return true;
}

static struct slice line_at(const struct detect *d, uint32_t start) {
    const char *nl = memchr(d->p + start, '\n', d->n - start);
    return slice_of(d->p + start, nl ? (size_t)(nl - (d->p + start)) : d->n - start);
}

static void try_head(struct detect *d, struct slice line, uint32_t next) {
    static const char seps[] = {'\t', '|', ';', ','};
    struct columns *c = &d->columns;
    if (next >= d->n || !head_like(line))
        return;
    const struct slice second = line_at(d, next);
    for (size_t k = 0; k < sizeof(seps); k++) {
        const uint32_t have = count_char(line, seps[k]);
        if (have == 0 || (seps[k] == ',' && have < 1))
            continue;
        const uint32_t then = count_char(second, seps[k]);
        if (then < have && !(seps[k] == '|' && rule_line(second)))
            continue;
        uint32_t any = 0;
        c->count = split_heads(d, line, seps[k], d->memory->columns);
        for (uint32_t i = 0; i < c->count; i++)
            any |= d->memory->columns[i];
        if (any == 0)
            continue;
        c->sep = seps[k];
        return;
    }
}

/* Moves the table state forward to the line that holds `at`. */
static void columns_advance(struct detect *d, uint32_t at) {
    struct columns *c = &d->columns;
    while (at > c->line_end && c->line_end < d->n) {
        const struct slice old = slice_of(d->p + c->line, c->line_end - c->line);
        const bool blank = slice_trim(old).len == 0;
        if (c->sep && (blank || memchr(old.ptr, c->sep, old.len) == NULL) && !rule_line(old)) {
            c->sep = 0;
            c->fresh = blank;
        }
        if (!c->sep && (c->fresh || blank || (old.len && old.ptr[0] == '|')))
            try_head(d, old, c->line_end + 1);
        c->fresh = blank;
        c->line = c->line_end + 1;
        c->line_end = c->line + (uint32_t)line_at(d, c->line).len;
        c->at = c->line;
        c->column = 0;
    }
}

char pii_context_separator(struct detect *d, uint32_t at) {
    columns_advance(d, at);
    return d->columns.sep;
}

static uint32_t column_hints(struct detect *d, uint32_t start) {
    struct columns *c = &d->columns;
    columns_advance(d, start);
    if (!c->sep || start < c->at)
        return 0;
    bool quoted = false;
    for (uint32_t i = c->at; i < start; i++) {
        if (d->p[i] == '"')
            quoted = !quoted;
        if (d->p[i] == c->sep && !quoted) {
            c->column++;
            c->at = i + 1;
            quoted = false;
        }
    }
    return c->column < c->count ? d->memory->columns[c->column] : 0;
}

/* INSERT INTO t (a, b) VALUES (1, 'x'): the column list labels the values. */
static uint32_t sql_hints(const struct detect *d, uint32_t start) {
    const uint32_t line = d->columns.line;
    if (start < line || start - line > 8192 || start - line < 16)
        return 0;
    const struct slice head = slice_of(d->p + line, start - line);
    if (!slice_eq_nocase(slice_upto(head, 6), SLICE("insert")))
        return 0;
    const char *values = memmem(head.ptr, head.len, "VALUES", 6);
    if (!values)
        values = memmem(head.ptr, head.len, "values", 6);
    if (!values)
        return 0;
    const char *open = memchr(head.ptr, '(', (size_t)(values - head.ptr));
    if (!open)
        return 0;
    uint32_t column = 0;
    bool quoted = false;
    for (const char *p = values; p < head.ptr + head.len; p++) {
        if (*p == '\'')
            quoted = !quoted;
        else if (*p == '(' && !quoted)
            column = 0;
        else if (*p == ',' && !quoted)
            column++;
    }
    struct slice names = slice_of(open + 1, (size_t)(values - open - 1));
    struct slice name = {0};
    for (uint32_t i = 0; i <= column; i++)
        if (!slice_cut(&names, ',', &name) && i < column)
            return 0;
    return pii_words_key(d->eng->words, slice_trim(name));
}

static bool has_far(const char *p, size_t len) {
    uint64_t all = 0, eight;
    for (; len >= sizeof(eight); p += sizeof(eight), len -= sizeof(eight)) {
        memcpy(&eight, p, sizeof(eight));
        all |= eight;
    }
    for (; len > 0; p++, len--)
        all |= (uint8_t)*p;
    return (all & UINT64_C(0x8080808080808080)) != 0;
}

/* A number with its own word before it: `BSN 123456782, reach me at 020 954 6639`. What is named there is not
 * the value at `start`; `from` moves behind it when other words follow. */
static uint32_t behind_number(const struct detect *d, uint32_t from, uint32_t start) {
    uint32_t i = start, letters = 0;
    while (i > from && !ch_digit(d->p[i - 1])) {
        letters += ch_alpha(d->p[i - 1]) || (uint8_t)d->p[i - 1] >= 0x80;
        i--;
    }
    const uint32_t stop = i;
    uint32_t digits = 0;
    while (i > from && (ch_digit(d->p[i - 1]) || memchr(" -./", d->p[i - 1], 4)))
        digits += ch_digit(d->p[--i]);
    return digits >= NUMBER_DIGITS && letters > LINKING_LETTERS ? stop : from;
}

/* Searches the words before `start` on its line. */
static uint32_t hints_before(const struct detect *d, uint32_t start) {
    if (start == 0)
        return 0;
    _Static_assert(PII_NEAR_MAX == CLASS_NEAR, "one look sees what is near");
    const uint32_t from = start > PII_NEAR_MAX ? start - PII_NEAR_MAX : 0;
    char copy[CLASS_NEAR] = {0};
    const char *p = d->p + from;
    if (d->n - from < CLASS_NEAR)
        p = memcpy(copy, p, start - from);
    uint64_t lines, alnum = pii_byteclass_near(p, &lines);
    const uint64_t ours = (UINT64_C(1) << (start - from)) - 1;
    alnum &= ours;
    lines &= ours;
    if (lines)
        alnum &= ~UINT64_C(0) << (63 - __builtin_clzll(lines));
    else if (from > 0 && ch_alnum(d->p[from - 1]))
        alnum &= alnum + 1; /* the rest of a word */
    uint32_t hints = pii_words_all(d->eng->words, p, alnum);
    const uint32_t line = lines ? from + 64 - (uint32_t)__builtin_clzll(lines) : from;
    if (has_far(d->p + line, start - line))
        hints |= pii_words_foreign(d->eng->words, slice_of(d->p + line, start - line));
    if (hints & HINTS_OF_ONE) {
        const uint32_t own = behind_number(d, line, start);
        if (own > line) {
            uint32_t later = pii_words_all(d->eng->words, p, alnum & ~UINT64_C(0) << (own - from)) |
                             pii_words_foreign(d->eng->words, slice_of(d->p + own, start - own));
            hints &= ~(uint32_t)HINTS_OF_ONE | later;
        }
    }
    return hints & HINT_TALK ? hints | HINT_PHONE : hints;
}

static uint32_t near_hints(const struct detect *d, uint32_t start, uint32_t end) {
    const uint32_t hints = hints_before(d, start);
    uint32_t tail = end;
    while (tail < d->n && tail - end < 3 && (d->p[tail] == ' ' || d->p[tail] == '-' || d->p[tail] == '('))
        tail++;
    uint32_t stop = tail;
    while (stop < d->n && stop - tail < 12 && ch_alpha(d->p[stop]))
        stop++;
    const uint32_t after = pii_words_lookup(d->eng->words, slice_of(d->p + tail, stop - tail));
    return hints | (stop - tail > 2 && after & (HINT_PHONE | HINT_LINE) ? HINT_PHONE : 0);
}

uint32_t pii_context_last(const struct detect *d, uint32_t start) {
    const uint32_t least = start > PII_NEAR_MAX ? start - PII_NEAR_MAX : 0;
    uint32_t end = start;
    for (unsigned words = 0; words < 2; words++) {
        while (end > least && (ch_digit(d->p[end - 1]) || memchr(" #.:(", d->p[end - 1], 5)))
            end--;
        uint32_t from = end;
        while (from > least && (ch_alpha(d->p[from - 1]) || (uint8_t)d->p[from - 1] >= 0x80))
            from--;
        const struct slice word = slice_of(d->p + from, end - from);
        const uint32_t hints = pii_words_lookup(d->eng->words, word);
        if (words > 0) /* "Frobnitz no. 12345678" is the number of a Frobnitz */
            return hints || word.len < 2 ? hints : HINT_ID;
        if (!slice_eq_nocase(word, SLICE("no")) && !slice_eq_nocase(word, SLICE("nr")) &&
            !slice_is(word, "n\xc2\xb0") && !slice_is(word, "\xe2\x84\x96"))
            return hints;
        end = from;
    }
    return 0;
}

struct hints pii_context_of(struct detect *d, uint32_t start, uint32_t end) {
    struct hints h = {0};
    h.label = label_before(d, start);
    if (!h.label)
        h.label = column_hints(d, start);
    if (!h.label)
        h.label = sql_hints(d, start);
    if (h.label & HINT_LINE)
        h.label |= HINT_PHONE;
    /* the key of a text labels a value that is (nearly) all of it */
    if (!h.label && end - start + 16 >= d->n)
        h.label = pii_context_outer(d);
    /* a specific label outweighs nearby words */
    if (!(h.label & ~(uint32_t)(HINT_USER | HINT_NUMBER | HINT_KEY | HINT_PUBLIC | HINT_TALK | HINT_WALLET)))
        h.near = near_hints(d, start, end);
    return h;
}
