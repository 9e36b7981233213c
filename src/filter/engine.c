/* The scan: a class pass gives the places worth a look, the readers look.
 *
 *   bytes ─▶ 32 at a time ─▶ masks ─▶ word starts and @ : = % ─▶ readers ─▶ spans ─▶ settle
 */
#include "filter/engine.h"

#include <stdlib.h>

#include "base/mem.h"
#include "filter/detect.h"
#include "filter/people.h"
#include "filter/preserve.h"

#define LITERAL_MIN 8 /* characters of the shortest text that can be a token */
#define LONG_WORD 16
#define SHORTEST 5        /* characters of the shortest text that anything is found in */
#define SCAN_BLOCKS 32    /* whose masks are made at a time */
#define BASE64_BACK 64    /* characters before a long word that may belong to its base64 */
#define WALLET_MIN 25     /* characters of the shortest address of a crypto currency */
#define SECRET_RUN_MIN 14 /* characters of the shortest secret or address that is one run */

int pii_engine_new(const struct pii_rule *rules, size_t count, struct pii_engine **ret_engine,
                   struct err *err) {
    struct rules *compiled = NULL;
    if (count > 0 && !(compiled = pii_rules_new(rules, count, err)))
        return -1;
    struct pii_engine *e = mem_zalloc(sizeof(*e));
    e->words = pii_words_new();
    e->class_of = pii_byteclass_best();
    e->rules = compiled;
    pii_secret_build(e);
    filter_token_build(e);
    *ret_engine = e;
    return 0;
}

void pii_engine_free(struct pii_engine *e) {
    if (!e)
        return;
    pii_words_free(e->words);
    pii_rules_free(e->rules);
    free(e);
}

void pii_engine_scalar(struct pii_engine *e) { e->class_of = pii_byteclass_scalar; }

const char *pii_engine_kind_name(const struct pii_engine *e, unsigned kind) {
    if (kind >= PII_BUILTIN && kind - PII_BUILTIN < pii_rules_count(e->rules))
        return pii_rules_name(e->rules, kind - PII_BUILTIN);
    return pii_kind_name((enum pii_kind)kind);
}

int pii_engine_kind_from(const struct pii_engine *e, struct slice name) {
    const int kind = pii_kind_from(name);
    if (kind >= 0)
        return kind;
    for (size_t i = 0; i < pii_rules_count(e->rules); i++)
        if (slice_eq_nocase(name, slice_str(pii_rules_name(e->rules, i))))
            return PII_BUILTIN + (int)i;
    return -1;
}

bool pii_detect_starts(const struct detect *d, uint32_t i) {
    if (i == 0 || !ch_alnum(d->p[i - 1]))
        return true;
    const char c = d->p[i - 1];
    return i > 1 && d->p[i - 2] == '\\' && (c == 'n' || c == 't' || c == 'r' || c == 'f' || c == 'b');
}

void pii_detect_add(struct detect *d, uint32_t start, uint32_t end, unsigned kind, unsigned score,
                    const char *sub) {
    struct pii_spans *s = d->out;
    if (score < d->score_min || start >= end)
        return;
    if (s->count == s->cap) {
        if (s->count >= PII_SPANS_MAX) {
            s->full = true;
            return;
        }
        s->cap = s->cap ? s->cap * 2 : 32;
        s->at = mem_realloc(s->at, s->cap * sizeof(*s->at));
    }
    s->at[s->count++] = (struct pii_span){.start = start,
                                          .end = end,
                                          .kind = (uint16_t)kind,
                                          .score = (uint8_t)(score > 100 ? 100 : score),
                                          .sub = sub};
}

/* A word of `len` characters that starts with a letter; `digit_near`: one of its first seven is a digit. */
static uint32_t read_word(struct detect *d, uint32_t at, bool digit_near, unsigned len) {
    const char *p = d->p + at;
    uint32_t end;
    if (d->n - at < 6)
        return at;
    if (secret_may_start(d->eng, p) && pii_secret_prefix(d, at, &end))
        return end;
    if (detect_before(d, at) == '-') {
        if (p[0] == 'u')
            d->option_u = at;
        if (at > 2 && (d->p[at - 2] == '-' || d->p[at - 2] == ' '))
            pii_secret_option(d, at);
    }
    if ((len >= WORD_SURE || len == 6) && pii_secret_odd(d, at, len, &end))
        return end;
    if (digit_near) {
        if (ch_digit(p[3]) && slice_eq_nocase(slice_of(p, 3), SLICE("ssn"))) /* SSN123-45-6789 */
            pii_digits_glued(d, at + 3);
        if (ch_alpha(p[1]) && ch_digit(p[2]) && ch_digit(p[3]) && pii_network_iban(d, at, &end))
            return end;
        if ((len == 9 || len == 10 || len == 16 || len == 18) && pii_national_word(d, at, &end))
            return end;
    }
    if (p[2] == ' ' && ch_digit(p[3]) && ch_digit(p[4]) && p[5] == ' ' && len == 2 &&
        pii_national_word(d, at, &end)) /* QQ 12 34 56 C */
        return end;
    if (ch_hex(p[0])) {
        if ((p[2] == ':' || p[2] == '-' || p[4] == '.') && pii_network_mac(d, at, &end))
            return end;
        if ((p[1] == ':' || p[2] == ':' || p[3] == ':' || p[4] == ':') && pii_network_ipv6(d, at, &end))
            return end;
    }
    return at;
}

/* telegram 110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw, facebook 130874276261258|rhoK… */
static bool number_secret(struct detect *d, uint32_t at, uint32_t *ret_end) {
    uint32_t i = at;
    while (i < d->n && i - at < 17 && ch_digit(d->p[i]))
        i++;
    const uint32_t len = i - at;
    const char sign = detect_at(d, i);
    if (!detect_wants(d, PII_SECRET) || len < 8 || (sign != ':' && sign != '|'))
        return false;
    uint32_t end = i + 1;
    while (end < d->n && end - i < 48 && ch_is(d->p[end], CH_DIGIT | CH_UPPER | CH_LOWER | CH_URL64))
        end++;
    const uint32_t body = end - i - 1;
    const bool telegram = sign == ':' && len <= 10 && detect_at(d, i + 1) == 'A' && body == 35;
    const bool facebook = sign == '|' && len >= 15 && body >= 27 && body <= 40;
    if ((!telegram && !facebook) || pii_secret_dummy(slice_of(d->p + i + 1, body)))
        return false;
    pii_detect_add(d, at, end, PII_SECRET, 93, telegram ? "telegram-bot" : "facebook-app");
    *ret_end = end;
    return true;
}

static void read_punct(struct detect *d, uint32_t at) {
    const char c = d->p[at], next = detect_at(d, at + 1);
    switch (c) {
    case '@':
        if (next == 't' && detect_at(d, at + 4) == '(')
            pii_secret_dsn(d, at);
        pii_network_email(d, at);
        break;
    case '%':
        pii_decode_percent(d, at);
        break;
    case '~':
        pii_secret_tilde(d, at);
        break;
    case '>':
        if (at > 2 && ch_alnum(d->p[at - 1]))
            pii_secret_assign(d, at);
        break;
    case ':':
        if (next == '/' && detect_at(d, at + 2) == '/') {
            pii_network_url(d, at);
            break;
        }
        if (next == ':' && !ch_alnum(detect_before(d, at)) && ch_hex(detect_at(d, at + 2))) {
            uint32_t end;
            pii_network_ipv6(d, at, &end);
        }
        if (ch_digit(next) && ch_digit(detect_before(d, at)))
            break;
        pii_secret_assign(d, at);
        break;
    default:
        if (next != '=' || detect_before(d, at) != '=')
            pii_secret_assign(d, at);
    }
}

/* Runs of sixteen letters and digits or more: wallets, base64, discord tokens, keys behind a comma or tag. */
static uint32_t read_long(struct detect *d, uint32_t at, unsigned len) {
    uint32_t end = at, stop;
    static const bool wallet[256] = {['0'] = 1, ['1'] = 1, ['3'] = 1, ['B'] = 1, ['D'] = 1, ['L'] = 1,
                                     ['M'] = 1, ['T'] = 1, ['b'] = 1, ['l'] = 1, ['r'] = 1};
    if (len >= WALLET_MIN && wallet[(uint8_t)d->p[at]] && pii_crypto_read(d, at, &end))
        return end;
    if (d->depth &&
        ((len >= PII_HEX_MIN && pii_decode_hex_run(d, at, &end)) || pii_decode_base64(d, at, &end)))
        return end;
    uint32_t i = at;
    while (i > 0 && at - i < 16 && (ch_space(d->p[i - 1]) || ch_is(d->p[i - 1], CH_QUOTE)))
        i--;
    if (i > 0 && d->p[i - 1] == ',' && i < at && at >= d->assign_done) {
        const uint32_t before = d->out->count;
        pii_secret_assign(d, i - 1);
        if (d->out->count > before)
            return d->out->at[before].end;
    }
    if (d->p[at] < 'M' || d->p[at] > 'O')
        return at;
    stop = at;
    while (stop < d->n && stop - at < 32 && ch_is(d->p[stop], CH_DIGIT | CH_UPPER | CH_LOWER | CH_URL64))
        stop++;
    if (stop - at >= 23 && stop - at <= 28 && detect_at(d, stop) == '.' && detect_at(d, stop + 7) == '.' &&
        detect_wants(d, PII_SECRET)) {
        end = stop + 8;
        while (end < d->n && end - stop < 50 && ch_is(d->p[end], CH_DIGIT | CH_UPPER | CH_LOWER | CH_URL64))
            end++;
        if (end - stop >= 35) {
            pii_detect_add(d, at, end, PII_SECRET, 92, "discord-bot");
            return end;
        }
    }
    return at;
}

/* Names of kinds start at words, or after an escaped bracket: %5BEMAIL, \\u005bEMAIL, \\nEMAIL. */
static void find_escaped(struct detect *d, uint32_t at) {
    if (d->n - at < LITERAL_MIN)
        return;
    if (d->p[at] == '%')
        pii_literal_read(d, at + 3);
    else if (at > 0 && d->p[at - 1] == '\\')
        pii_literal_read(d, d->p[at] == 'u' ? at + 5 : at + 1);
}

/* Text that looks like a token, in one block. */
static void read_literals(struct detect *d, uint32_t base, const struct class_masks *m, uint32_t starts,
                          uint32_t escaped) {
    if (d->n - base < CLASS_BYTES + LITERAL_MIN) /* the last bytes are too few for one */
        starts &=
            d->n - base < LITERAL_MIN ? 0 : (uint32_t)((UINT64_C(1) << (d->n - base - LITERAL_MIN + 1)) - 1);
    for (uint32_t todo = starts & m->head; todo; todo &= todo - 1) {
        const uint32_t at = base + (uint32_t)__builtin_ctz(todo);
        if (!ch_digit(d->p[at]))
            pii_literal_read(d, at);
        else if (d->n - at >= PRESERVE_DIGITS_MIN && preserve_may_start(d->p + at))
            pii_literal_digits(d, at);
    }
    for (uint32_t todo = escaped; todo; todo &= todo - 1)
        find_escaped(d, base + (uint32_t)__builtin_ctz(todo));
}

/* Most blocks have no position where one can start. */
static inline void find_literals(struct detect *d, uint32_t base, const struct class_masks *m,
                                 uint32_t starts) {
    const uint32_t odd = m->odd << 1 | (base > 0 && d->p[base - 1] == '\\');
    const uint32_t escaped = m->percent | ((m->punct | starts) & odd);
    if ((starts & m->head) | escaped)
        read_literals(d, base, m, starts, escaped);
}

static inline bool is_letter(char c) { return ch_alpha(c) || (uint8_t)c >= 0x80; }

/* A short number that is not part of a longer one: a count, a year, a line. */
static inline bool number_alone(const struct detect *d, const struct word *w) {
    const uint32_t end = w->at + w->len;
    if (w->len > 6 || ~w->digits & ((UINT64_C(1) << w->len) - 1) || end + 1 >= d->n)
        return false;
    const char c = d->p[end], next = d->p[end + 1];
    switch (c) {
    case ':':
        return w->len > 4;
    case '.':
        return !ch_digit(next);
    case ' ':
    case '/':
        return (!ch_digit(next) && next != '(') || word_digits_near(w) < 7;
    case '_': /* a card in fours */
        return w->len != 4 || !ch_digit(next);
    case '\xe5': /* a year in Chinese, Japanese or Korean */
    case '\xeb':
        return w->len != 4;
    case '-':
    case '(':
    case ')':
    case '+':
        return false;
    default:
        return true;
    }
}

/* 12 March, 3rd, 4. Mai: a day before or behind the name of a month. */
static inline bool may_be_day(const struct detect *d, const struct word *w) {
    if (w->len > 4 || (w->len > 2 && w->digits & 4) || d->n - w->at < w->len + 5)
        return false;
    const char *p = d->p + w->at + w->len;
    const bool gap = *p == ' ' || *p == ',' || *p == '.' || *p == '-';
    return gap && (is_letter(p[1]) || (p[1] == ' ' && (ch_digit(p[2]) || is_letter(p[2]))) ||
                   (ch_digit(p[1]) && ch_digit(p[4]) && w->at > 3 && d->p[w->at - 1] == ' ' &&
                    is_letter(d->p[w->at - 2])));
}

static uint32_t read_digits(struct detect *d, const struct word *w) {
    uint32_t end = w->at;
    if (may_be_day(d, w) && pii_dates_words(d, w->at, &end))
        return end;
    if (number_alone(d, w))
        return w->at + w->len;
    if (w->len < 8 || (detect_at(d, w->at + w->len) != ':' && detect_at(d, w->at + w->len) != '|') ||
        !number_secret(d, w->at, &end))
        end = pii_digits_read(d, w);
    if (end == w->at && d->n - w->at > 4 && secret_may_start(d->eng, d->p + w->at))
        pii_secret_prefix(d, w->at, &end);
    return end;
}

/* Letters and digits after a blank and a word with the ending of a secret's name: password, token, key, auth,
 * or of a scheme: Basic, Bearer. */
static inline bool follows_key(const struct detect *d, const struct word *w) {
    static const bool last[32] = {['d' & 31] = true, ['s' & 31] = true, ['t' & 31] = true,
                                  ['n' & 31] = true, ['y' & 31] = true, ['h' & 31] = true,
                                  ['w' & 31] = true, ['c' & 31] = true, ['r' & 31] = true};
    const uint64_t all = (UINT64_C(1) << w->len) - 1, digits = w->digits & all;
    return w->len > 3 && digits && digits != all && w->at > 3 && d->p[w->at - 1] == ' ' &&
           ch_alpha(d->p[w->at - 2]) && last[d->p[w->at - 2] & 31];
}

/* Can the quote open an argument, or follow a word? After `: ` and `= ` it is read as an assignment. */
static inline bool opens_argument(const struct detect *d, uint32_t at) {
    return at > 3 && ch_is(d->p[at], CH_QUOTE) &&
           (d->p[at - 1] == '(' || d->p[at - 2] == ',' || d->p[at - 2] == '(' || ch_alnum(d->p[at - 2]));
}

/* A word that starts with a digit or a letter; returns the offset after what the readers have handled. */
static uint32_t read_start(struct detect *d, const struct word *w) {
    uint32_t end;
    if (w->len >= PII_HEX_MIN && w->digits & 1 && d->depth && pii_decode_hex_run(d, w->at, &end))
        return end;
    end = w->digits & 1 ? read_digits(d, w) : read_word(d, w->at, (w->digits & 0x7f) != 0, w->len);
    if (end == w->at && follows_key(d, w))
        pii_secret_directive(d, w->at);
    return end == w->at && w->len >= LONG_WORD ? read_long(d, w->at, w->len) : end;
}

/* A mask of one block combined with the next: the bits ahead of each byte of the first. */
static inline uint64_t window(uint32_t now, uint32_t next) { return (uint64_t)next << 32 | now; }

/* Which word starts deserve a look: digits; words with a digit among their first, or two letters with a
 * number behind a blank; short ones with a colon and more right behind; those with a dash right before; and
 * those that a run long enough for a secret begins with. Prose has hardly any. `odd_before`: the first letter
 * may be an escape's, and the word start behind it. */
static inline uint32_t worth_reading(const struct class_masks *m, uint64_t alnum, uint64_t digit,
                                     bool dash_before, uint32_t odd_before) {
    const uint64_t pair = alnum & alnum >> 1;
    uint64_t joint = window(m[0].joint, m[1].joint);
    uint64_t punct = window(m[0].punct, m[1].punct);
    uint64_t inside = digit | (digit >> 1 & alnum);
    inside |= inside >> 2 & pair;
    inside |= inside >> 3 & pair & alnum >> 2;
    inside |= pair & ~alnum >> 2 & digit >> 3;
    punct &= (alnum | punct) >> 1;
    punct |= punct >> 1;
    punct |= punct >> 2;
    punct = punct >> 1;
    joint &= joint >> 1;
    joint &= joint >> 2;
    joint &= joint >> 4;
    joint &= joint >> (SECRET_RUN_MIN - 8);
    const uint64_t any = inside | joint | punct;
    return (uint32_t)(any | (any >> 1 & odd_before)) | m->dash << 1 | dash_before;
}

/* The bits of a block at `base` from `from` on. */
static inline uint32_t bits_from(uint32_t base, uint32_t from) {
    return from <= base ? ~UINT32_C(0) : from - base >= CLASS_BYTES ? 0 : ~UINT32_C(0) << (from - base);
}

/* Is the letter at `at`, after a backslash, the escape of a blank that a word follows directly? */
static bool escapes_blank(const struct detect *d, uint32_t at) {
    const char c = d->p[at];
    return d->p[at - 1] == '\\' && d->n - at > 1 &&
           (c == 'n' || c == 't' || c == 'r' || c == 'f' || c == 'b') && ch_alnum(d->p[at + 1]);
}

/* One block at `base`; the masks of the next one follow its own. `skip` is the offset after what the readers
 * have handled. */
static uint32_t read_block(struct detect *d, uint32_t base, const struct class_masks *m, uint32_t starts,
                           uint32_t skip) {
    const uint64_t alnum = window(m[0].alnum, m[1].alnum), digit = window(m[0].digit, m[1].digit);
    const char before = detect_before(d, base);
    const uint32_t odd_before = m->odd << 1 | (before == '\\');
    const uint32_t opens = m->quote & (m->lead << 1 | (before == ' ' || before == '('));
    uint32_t todo =
        ((starts & worth_reading(m, alnum, digit, before == '-', odd_before)) | m->punct | opens) &
        bits_from(base, skip);
    while (todo) {
        const unsigned bit = (unsigned)__builtin_ctz(todo);
        todo &= todo - 1;
        if ((m->punct | opens) >> bit & 1) {
            if (m->punct >> bit & 1)
                read_punct(d, base + bit);
            else if (opens_argument(d, base + bit))
                pii_secret_quoted(d, base + bit);
            continue;
        }
        const unsigned first = bit + (odd_before >> bit & 1 && escapes_blank(d, base + bit));
        const struct word w = {.at = base + first, .len = word_run(alnum >> first), .digits = digit >> first};
        const uint32_t end = read_start(d, &w);
        if (end > skip) {
            skip = end;
            todo &= bits_from(base, skip);
        }
    }
    return skip;
}

/* Does folding change the character at this byte? Most lead bytes exclude it: accented Latin letters, Chinese
 * and most symbols. */
static bool folds_at(const struct detect *d, uint32_t at) {
    const uint8_t c = (uint8_t)d->p[at];
    const bool may =
        c < 0x80 || c == 0xC2 || (c >= 0xC9 && c <= 0xDB) || (c >= 0xE0 && c <= 0xE3) || c >= 0xEF;
    return may && pii_decode_folds(slice_of(d->p, d->n), at);
}

/* The masks of the last `len` bytes, less than a block. */
static void class_rest(const struct detect *d, uint32_t len, struct class_masks *m) {
    if (d->n < CLASS_BYTES) {
        char copy[CLASS_BYTES] = {0};
        memcpy(copy, d->p, len);
        d->eng->class_of(copy, 1, m);
        return;
    }
    const unsigned before = CLASS_BYTES - len; /* bytes of the last block that were seen before */
    d->eng->class_of(d->p + d->n - CLASS_BYTES, 1, m);
    m->alnum >>= before;
    m->digit >>= before;
    m->punct >>= before;
    m->joint >>= before;
    m->dash >>= before;
    m->odd >>= before;
    m->far >>= before;
    m->u >>= before;
    m->percent >>= before;
    m->quote >>= before;
    m->lead >>= before;
}

/* The masks of up to `most` blocks from `base` on, then empty ones; returns their number. */
static uint32_t class_blocks(const struct detect *d, uint32_t base, uint32_t most, struct class_masks *m) {
    const uint32_t left = base < d->n ? d->n - base : 0, whole = left / CLASS_BYTES;
    uint32_t blocks = whole < most ? whole : most;
    if (blocks)
        d->eng->class_of(d->p + base, blocks, m);
    if (blocks < most && left % CLASS_BYTES)
        class_rest(d, left % CLASS_BYTES, m + blocks++);
    if (d->tokens)
        pii_byteclass_heads(&d->eng->heads, d->p + base, d->p + d->n, blocks, m);
    m[blocks] = (struct class_masks){0};
    return blocks;
}

/* A short text of only letters, without a digit, a sign, a quote or a run that could be a key: names and
 * labels. It can only contain a token. */
static bool nothing_there(struct detect *d, const struct class_masks *m) {
    if (d->n > 2 * CLASS_BYTES)
        return false;
    const bool two = d->n > CLASS_BYTES;
    uint64_t run = window(m[0].joint, m[1].joint);
    run &= run >> 1;
    run &= run >> 2;
    run &= run >> 4;
    if (m[0].digit | m[0].punct | m[0].odd | m[0].quote |
            (two ? m[1].digit | m[1].punct | m[1].odd | m[1].quote : 0) ||
        run & run >> (SECRET_RUN_MIN - 8))
        return false;
    if (d->tokens && d->n >= LITERAL_MIN) {
        find_literals(d, 0, m, m[0].alnum & ~(m[0].alnum << 1));
        if (two)
            find_literals(d, CLASS_BYTES, m + 1, m[1].alnum & ~(m[1].alnum << 1 | m[0].alnum >> 31));
    }
    return true;
}

static bool folds(const struct detect *d, uint32_t base, const struct class_masks *m) {
    const uint32_t unicode = (m->odd & ~m->far) & (uint32_t)(window(m[0].u, m[1].u) >> 1);
    for (uint32_t todo = m->far | unicode; todo; todo &= todo - 1)
        if (folds_at(d, base + (uint32_t)__builtin_ctz(todo)))
            return true;
    return false;
}

/* True: folding changes the text. */
static bool plain_pass(struct detect *d) {
    struct class_masks m[SCAN_BLOCKS + 2]; /* of a stretch, the next block, and an empty one after the last */
    uint32_t carry = 0, skip = 0, base = 0;
    bool odd = false;
    if (base >= d->n)
        return false;
    uint32_t have = class_blocks(d, base, SCAN_BLOCKS + 1, m);
    if (nothing_there(d, m))
        return false;
    const char *line = memchr(d->p, '\n', d->n);
    d->columns.fresh = true;
    d->columns.line_end = line ? (uint32_t)(line - d->p) : d->n;
    for (;;) {
        const uint32_t count = have < SCAN_BLOCKS ? have : SCAN_BLOCKS;
        for (uint32_t k = 0; k < count; k++, base += CLASS_BYTES) {
            const uint32_t starts = m[k].alnum & ~(m[k].alnum << 1 | carry);
            carry = m[k].alnum >> 31;
            odd = odd || folds(d, base, m + k);
            if (d->tokens)
                find_literals(d, base, m + k, starts);
            skip = read_block(d, base, m + k, starts, skip);
        }
        if (have <= SCAN_BLOCKS)
            return odd;
        m[0] = m[SCAN_BLOCKS];
        have = 1 + class_blocks(d, base + CLASS_BYTES, SCAN_BLOCKS, m + 1);
    }
}

void pii_engine_plain(struct detect *d) {
    plain_pass(d);
    pii_rules_scan(d);
}

static void scan_folded(struct detect *d, uint32_t first) {
    uint32_t len, *map;
    char *text = pii_decode_fold(slice_of(d->p, d->n), &len, &map);
    const char *p = d->p;
    const uint32_t n = d->n;
    uint32_t kept = first; /* tokens are read in the unfolded text */
    for (uint32_t i = first; i < d->out->count; i++)
        if (d->out->at[i].kind == PII_LITERAL)
            d->out->at[kept++] = d->out->at[i];
    d->out->count = first = kept;
    d->literals = d->tokens = false;
    d->p = text;
    d->n = len;
    d->percent_done = d->wrapped_done = d->assign_done = d->option_u = 0;
    d->columns = (struct columns){0};
    pii_engine_plain(d);
    for (uint32_t i = first; i < d->out->count; i++) {
        struct pii_span s = d->out->at[i];
        s.start = map[s.start];
        s.end = map[s.end];
        /* invisible characters after the last one are not included */
        if (s.end > s.start)
            d->out->at[kept++] = s;
    }
    d->out->count = kept;
    d->p = p;
    d->n = n;
    free(map);
    free(text);
}

void pii_engine_scan(const struct pii_engine *e, const struct pii_options *opt, struct slice text,
                     const struct pii_context *ctx, struct pii_spans *out) {
    if (text.len > PII_TEXT_MAX) {
        out->full = true;
        return;
    }
    const bool words = (opt->kinds & PII_WORDS) != 0;
    if (text.len < SHORTEST && !e->rules && !words)
        return;
    struct detect_memory memory;
    struct detect d = {
        .eng = e,
        .memory = &memory,
        .kinds = opt->kinds ? opt->kinds : PII_DEFAULT,
        .score_min = opt->score_min ? opt->score_min : 50,
        .depth = opt->depth > PII_DEPTH_MAX ? PII_DEPTH_MAX : opt->depth,
        .literals = opt->literals,
        .tokens = opt->literals || opt->tokens,
        .p = text.ptr,
        .n = (uint32_t)text.len,
        .out = out,
    };
    const uint32_t first = out->count;
    if (ctx) {
        d.key = ctx->key;
        d.outer_keys = ctx->keys;
    }
    if (plain_pass(&d))
        scan_folded(&d, first);
    else
        pii_rules_scan(&d);
    if (d.key.len)
        pii_secret_value(&d);
    if (words)
        pii_people_scan(&d);
    if (opt->kinds & PII_BIT(PII_STREET_ADDRESS))
        pii_streets_scan(&d);
    pii_spans_settle(out, first);
}
