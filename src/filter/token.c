#include "filter/token.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/sha.h"
#include "filter/chars.h"
#include "filter/detect.h"
#include "filter/engine.h"
#include "filter/preserve.h"

struct filter_scope {
    const struct pii_engine *engine;
    struct filter_vault vault;
    struct sha_hmac *mac;
    uint64_t now_ms;
    size_t chars;            /* of a token without collision */
    struct pii_options scan; /* the options that `keys` were scanned with */
    struct pii_keys keys;
};

struct filter_scope *filter_scope_new(const struct pii_engine *e, const uint8_t key[32],
                                      struct filter_vault vault) {
    struct filter_scope *s = mem_zalloc(sizeof(*s));
    s->engine = e;
    s->vault = vault;
    s->mac = sha_hmac_new(slice_of((const char *)key, 32));
    s->chars = FILTER_TOKEN_CHARS;
    return s;
}

void filter_scope_free(struct filter_scope *s) {
    if (!s)
        return;
    sha_hmac_free(s->mac);
    free(s);
}

void filter_scope_set_wide(struct filter_scope *s) { s->chars = FILTER_TOKEN_CHARS_WIDE; }
void filter_scope_set_now(struct filter_scope *s, uint64_t now_ms) { s->now_ms = now_ms; }
void filter_scope_set_engine(struct filter_scope *s, const struct pii_engine *e) {
    s->engine = e;
    memset(s->keys.len, 0, sizeof(s->keys.len));
}
const struct pii_engine *filter_scope_engine(const struct filter_scope *s) { return s->engine; }
const struct filter_vault *filter_scope_vault(const struct filter_scope *s) { return &s->vault; }

struct pii_keys *filter_scope_keys(struct filter_scope *s, const struct pii_options *scan) {
    if (s->scan.kinds != scan->kinds || s->scan.score_min != scan->score_min ||
        s->scan.depth != scan->depth || s->scan.literals != scan->literals)
        memset(s->keys.len, 0, sizeof(s->keys.len));
    s->scan = *scan;
    return &s->keys;
}

/* `form`: a shorter token of the same value has other characters, so that neither looks like a part of the
 * other. */
static void digest(struct filter_scope *s, const struct filter_entry *e, uint8_t form, uint8_t out[32]) {
    const char marks[3] = {(char)form, (char)e->number, e->raw.len ? (char)(e->level + 1) : 0};
    const struct slice parts[] = {e->kind, slice_of(marks, 3), e->value, slice_of(marks, e->raw.len ? 1 : 0),
                                  e->raw};
    sha_hmac_sum(s->mac, parts, ARRAY_LEN(parts), out);
}

static void base32(const uint8_t hash[32], char *chars, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const size_t bit = i * 5;
        const unsigned pair = (unsigned)hash[bit / 8] << 8 | hash[bit / 8 + 1];
        chars[i] = filter_token_letter(pair >> (11 - bit % 8));
    }
}

static void write_plain(struct token_text *t, struct slice id) {
    t->text[0] = '[';
    memcpy(t->text + 1, id.ptr, id.len);
    t->text[id.len + 1] = ']';
    t->len = id.len + 2;
}

bool filter_token_known(struct filter_scope *s, struct slice kind, struct slice value, struct arena *a,
                        struct filter_entry *ret_entry) {
    uint8_t hash[32];
    char id[FILTER_TOKEN_TEXT_MAX];
    const struct filter_entry e = {.kind = kind, .value = value};
    digest(s, &e, 0, hash);
    memcpy(id, kind.ptr, kind.len);
    id[kind.len] = '_';
    char *chars = id + kind.len + 1;
    for (size_t count = s->chars; count <= FILTER_TOKEN_CHARS_MAX; count++) {
        base32(hash, chars, count - 1);
        chars[count - 1] = filter_token_check(kind, chars, count - 1);
        if (!s->vault.ops->get(s->vault.ctx, slice_of(id, kind.len + 1 + count), a, ret_entry))
            return false;
        if (slice_eq(ret_entry->value, value))
            return true;
    }
    return false;
}

bool filter_token_mint(struct filter_scope *s, const struct filter_entry *e, bool preserve,
                       struct token_text *ret_token) {
    uint8_t hash[32];
    char id[FILTER_TOKEN_TEXT_MAX];
    struct filter_entry entry = *e;
    const enum preserve_form form = preserve ? preserve_form_of(e->kind, e->value) : PRESERVE_NONE;
    const size_t room = preserve_room(form);
    entry.created_ms = s->now_ms;
    CHECK(e->kind.len <= PII_RULE_NAME_MAX);
    digest(s, e, room ? (uint8_t)form : 0, hash);
    memcpy(id, e->kind.ptr, e->kind.len);
    id[e->kind.len] = '_';
    char *chars = id + e->kind.len + 1;
    for (size_t count = room ? room : s->chars; count <= (room ? room : FILTER_TOKEN_CHARS_MAX); count++) {
        base32(hash, chars, count - 1);
        chars[count - 1] = filter_token_check(e->kind, chars, count - 1);
        const struct slice full = slice_of(id, e->kind.len + 1 + count);
        const enum filter_put put = s->vault.ops->put(s->vault.ctx, full, &entry);
        if (put == FILTER_PUT_FULL)
            return false;
        if (put == FILTER_PUT_TAKEN)
            continue;
        if (form == PRESERVE_NONE)
            write_plain(ret_token, full);
        else
            preserve_write(form, chars, count, ret_token);
        return true;
    }
    return room && filter_token_mint(s, e, false, ret_token);
}

/* --- reading --- */

/* One character of a token as a model may have written it; *ret_len its bytes. '\1': ignored (an invisible
 * character), '\0': not part of a token. */
static char unit(struct slice t, uint32_t at, uint32_t *ret_len) {
    static const struct {
        const char *text;
        char is;
    } spelled[] = {
        {"\\_", '_'},          {"\\[", '['},          {"\\]", ']'},          {"\\-", '-'},
        {"&#91;", '['},        {"&#93;", ']'},        {"&#95;", '_'},        {"&#x5b;", '['},
        {"&#x5d;", ']'},       {"&#x5f;", '_'},       {"&lsqb;", '['},       {"&rsqb;", ']'},
        {"&lbrack;", '['},     {"&rbrack;", ']'},     {"&lowbar;", '_'},     {"&nbsp;", ' '},
        {"&lt;", '<'},         {"&gt;", '>'},         {"%5b", '['},          {"%5d", ']'},
        {"%5f", '_'},          {"%20", ' '},          {"%2d", '-'},          {"\\u005b", '['},
        {"\\u005d", ']'},      {"\\u005f", '_'},      {"\xef\xbc\xbb", '['}, {"\xef\xbc\xbd", ']'},
        {"\xef\xbc\xbf", '_'}, {"\xe3\x80\x90", '['}, {"\xe3\x80\x91", ']'}, {"\xe2\x80\x8b", 1},
        {"\xe2\x80\x8c", 1},   {"\xe2\x80\x8d", 1},   {"\xe2\x81\xa0", 1},   {"\xef\xbb\xbf", 1},
        {"\xc2\xad", 1},       {"\xe2\x80\x91", '-'}, {"\xe2\x80\x93", '-'}, {"\xc2\xa0", ' '},
    };
    if (at >= t.len)
        return 0;
    const char c = t.ptr[at];
    *ret_len = 1;
    if (ch_alnum(c))
        return c;
    if (c == '\\' || c == '&' || c == '%' || (uint8_t)c >= 0x80)
        for (size_t i = 0; i < ARRAY_LEN(spelled); i++) {
            const size_t len = strlen(spelled[i].text);
            if (t.len - at >= len &&
                slice_eq_nocase(slice_of(t.ptr + at, len), slice_of(spelled[i].text, len))) {
                *ret_len = (uint32_t)len;
                return spelled[i].is;
            }
        }
    return memchr("_- []{}<>()\n\r\t", c, 14) ? c : 0;
}

static bool gap_char(char c) {
    return c == '_' || c == '-' || c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == 1;
}

/* The kind's name, its underscores written in any of their ways; then the gap to the characters. */
static uint32_t read_kind(struct slice t, uint32_t at, const char *name, bool *ret_strict) {
    uint32_t len;
    for (; *name; name++) {
        char c = unit(t, at, &len);
        while (c == 1) {
            at += len;
            c = unit(t, at, &len);
        }
        if (*name == '_' ? !gap_char(c) : ch_upper(c) != *name)
            return 0;
        at += len;
    }
    uint32_t gaps = 0;
    *ret_strict = true;
    for (char c; gaps < 4 && gap_char(c = unit(t, at, &len)); at += len) {
        gaps++;
        *ret_strict &= c == '_' || c == 1;
    }
    return gaps ? at : 0;
}

/* Up to 13 characters; a line break or an invisible character may stand between two of them. */
static uint32_t read_chars(struct slice t, uint32_t at, struct slice kind, char *chars, size_t *ret_count) {
    size_t n = 0;
    uint32_t end = at, i = at, len = 1, breaks = 0;
    while (n <= FILTER_TOKEN_CHARS_MAX) {
        const char c = unit(t, i, &len);
        if (ch_alnum(c)) {
            if (filter_token_value(c) < 0 || n == FILTER_TOKEN_CHARS_MAX)
                return 0;
            chars[n++] = filter_token_letter((unsigned)filter_token_value(c));
            i += len;
            end = i;
            continue;
        }
        const bool soft = c == '\n' || c == '\r' || c == 1 || (c == ' ' && breaks);
        const bool whole = n >= FILTER_TOKEN_CHARS && filter_token_check(kind, chars, n - 1) == chars[n - 1];
        if (!soft || n == 0 || whole || ++breaks > 4)
            break;
        i += len;
    }
    *ret_count = n;
    return end;
}

static const char *const openers = "[{<(", *const closers = "]}>)";

/* Brackets around start..end, when both are there and of one sort and one spelling. */
static void read_brackets(struct slice t, struct token_match *m) {
    uint32_t len;
    const char close = unit(t, m->end, &len);
    const char *which = close ? strchr(closers, close) : NULL;
    if (!which || close == '\0')
        return;
    const char open = openers[which - closers];
    for (uint32_t back = 1; back <= 8 && back <= m->start; back++) {
        uint32_t open_len;
        if (unit(t, m->start - back, &open_len) != open || open_len != back)
            continue;
        if (open_len != len && !(open_len > 2 && len > 2)) {
            if (back == 1)
                continue;
            return;
        }
        if (back == 1 && m->start > 1 && t.ptr[m->start - 2] == '\\' && len > 1)
            continue;
        m->start -= back;
        m->end += len;
        return;
    }
}

/* `spelled`: the kind's name as it stands in the text. */
static bool match_kind(struct slice t, uint32_t at, const char *spelled, const char *name,
                       struct token_match *m) {
    char chars[FILTER_TOKEN_CHARS_MAX + 1];
    size_t count = 0;
    bool strict;
    const struct slice kind = slice_str(name);
    const uint32_t body = read_kind(t, at, spelled, &strict);
    if (!body)
        return false;
    const uint32_t end = read_chars(t, body, kind, chars, &count);
    if (!end || count < FILTER_TOKEN_PREFIX_MIN)
        return false;
    *m = (struct token_match){.start = at, .end = end, .kind_len = kind.len, .id_len = kind.len + 1 + count};
    memcpy(m->id, kind.ptr, kind.len);
    m->id[kind.len] = '_';
    memcpy(m->id + kind.len + 1, chars, count);
    m->truncated =
        count < FILTER_TOKEN_CHARS || filter_token_check(kind, chars, count - 1) != chars[count - 1];
    /* a run of full length with a wrong check character is not a truncated token but other text, and so is
     * "phone 12345" */
    if (m->truncated && !strict)
        return false;
    read_brackets(t, m);
    if (m->truncated && count >= FILTER_TOKEN_CHARS) {
        m->invalid = t.ptr[m->start] == '[' && m->start < at;
        return m->invalid;
    }
    return true;
}

/* Reads a token whose kind name starts at `at`. */
static bool token_read(const struct pii_engine *e, struct slice text, uint32_t at,
                       struct token_match *ret_match) {
    const unsigned kinds = PII_BUILTIN + (unsigned)pii_rules_count(e->rules);
    const char first = ch_upper(text.ptr[at]);
    for (unsigned k = 0; k < kinds; k++) {
        const char *name = pii_engine_kind_name(e, k), *alias = pii_kind_alias(k);
        if (alias && alias[0] == first && match_kind(text, at, alias, name, ret_match))
            return true;
        if (name[0] == first && match_kind(text, at, name, name, ret_match))
            return true;
    }
    return first == 'T' && preserve_read(text, at, ret_match);
}

/* Can a kind's name start here? After a letter or digit only if that ends an escaped bracket. */
static bool name_starts(struct slice t, uint32_t at) {
    if (at == 0 || !ch_alnum(t.ptr[at - 1]))
        return true;
    const struct slice head = slice_upto(t, at);
    static const char *const escapes[] = {"%5b", "%3c", "\\u005b", "\\u003c", "\\n",    "\\t",
                                          "\\r", "%20", "%3a",     "%22",     "\\u0022"};
    for (size_t i = 0; i < ARRAY_LEN(escapes); i++) {
        const size_t len = strlen(escapes[i]);
        if (head.len >= len && slice_eq_nocase(slice_from(head, head.len - len), slice_of(escapes[i], len)))
            return true;
    }
    return false;
}

static inline bool token_at(const struct pii_engine *e, struct slice text, uint32_t at, uint32_t from,
                            struct token_match *ret_match) {
    if (ch_digit(text.ptr[at]))
        return text.len - at >= PRESERVE_DIGITS_MIN && preserve_may_start(text.ptr + at) &&
               preserve_read(text, at, ret_match);
    return ch_alpha(text.ptr[at]) && token_may_start(e, text.ptr + at) && name_starts(text, at) &&
           token_read(e, text, at, ret_match) && ret_match->start >= from;
}

#define FIND_BLOCKS 8 /* blocks that are classified at a time */

/* Where a token may start in a block: at a word, or two, three or six bytes behind the backslash or percent
 * sign of an escape. *escapes holds those of the block before, *word whether that ended in a letter or digit.
 */
static uint32_t may_start(const struct class_masks *m, uint32_t *word, uint64_t *escapes) {
    const uint32_t starts = m->alnum & ~(m->alnum << 1 | *word);
    *escapes = *escapes >> CLASS_BYTES | (uint64_t)((m->odd & ~m->far) | m->percent) << CLASS_BYTES;
    *word = m->alnum >> (CLASS_BYTES - 1);
    const uint32_t behind = (uint32_t)((*escapes << 2 | *escapes << 3 | *escapes << 6) >> CLASS_BYTES);
    return (starts | (behind & ~m->digit)) & m->alnum & m->head;
}

bool filter_token_find(const struct pii_engine *e, struct slice text, uint32_t from,
                       struct token_match *ret_match) {
    struct class_masks m[FIND_BLOCKS];
    uint32_t at = from, word = 0;
    uint64_t escapes = UINT64_MAX; /* the text before `from` was not read */
    for (; at + FIND_BLOCKS * CLASS_BYTES + 2 <= text.len; at += FIND_BLOCKS * CLASS_BYTES) {
        e->class_of(text.ptr + at, FIND_BLOCKS, m);
        pii_byteclass_heads(&e->heads, text.ptr + at, text.ptr + text.len, FIND_BLOCKS, m);
        for (uint32_t k = 0; k < FIND_BLOCKS; k++)
            for (uint32_t todo = may_start(m + k, &word, &escapes); todo; todo &= todo - 1)
                if (token_at(e, text, at + k * CLASS_BYTES + (uint32_t)__builtin_ctz(todo), from, ret_match))
                    return true;
    }
    for (; at + 3 <= text.len; at++)
        if (token_at(e, text, at, from, ret_match))
            return true;
    return false;
}

/* Adds the beginning of a kind's name: its first two letters, with every third one. */
static void add_head(struct pii_engine *e, unsigned group, const char *name) {
    const unsigned head = (unsigned)(name[0] & 31) << 10 | (unsigned)(name[1] & 31) << 5;
    pii_byteclass_head_add(&e->heads, group, name);
    for (unsigned third = 0; third < 32; third++)
        if (!ch_alpha(name[2]) || third == (unsigned)(name[2] & 31))
            e->kind_bits[(head | third) / 64] |= UINT64_C(1) << ((head | third) % 64);
}

void filter_token_build(struct pii_engine *e) {
    const unsigned kinds = PII_BUILTIN + (unsigned)pii_rules_count(e->rules);
    for (unsigned k = 0; k < kinds; k++)
        add_head(e, k, pii_engine_kind_name(e, k));
    /* In one group with IP, whose second letter it shares: the group then lets nothing else through. Among
     * the others, TOK lets the fewest words through beside URL. */
    add_head(e, PII_IP, pii_kind_alias(PII_SECRET));
    add_head(e, PII_URL, "TOK");
}

static void literal_add(struct detect *d, const struct token_match *m) {
    d->out->has_token = true;
    if (d->literals)
        pii_detect_add(d, m->start, m->end, PII_LITERAL, 100, "token");
}

void pii_literal_digits(struct detect *d, uint32_t at) {
    struct token_match m;
    if (preserve_read(slice_of(d->p, d->n), at, &m))
        literal_add(d, &m);
}

void pii_literal_read(struct detect *d, uint32_t at) {
    const struct slice text = slice_of(d->p, d->n);
    struct token_match m;
    if (at + 3 > d->n || !ch_alpha(d->p[at]) || !token_may_start(d->eng, d->p + at) || !name_starts(text, at))
        return;
    if (token_read(d->eng, text, at, &m))
        literal_add(d, &m);
}
