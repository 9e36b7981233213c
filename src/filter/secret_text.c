/* SECRET: vendor formats by prefix, private keys, JWTs, and values that a key calls secret. */
#include "filter/checks.h"
#include "filter/detect.h"
#include "filter/formats.h"
#include "filter/letters.h"

#include "base/check.h"
#include "base/mem.h"

#define VALUE_MIN 8
#define COOKIE_MIN 16
#define COOKIE_BACK 512 /* bytes between the name of the header and a cookie */
#define AWS_SECRET_LEN 40
#define AWS_PARTNER_FAR 120 /* bytes between id and secret, and the secret */
#define DSN_MAX 128
#define NAME_DIGITS 3 /* in the name of a constant or a type */
#define PASSWORD_MIN 5
#define VALUE_MAX 512
#define NUMBER_MIN 14       /* minimum of digits alone that count as a key */
#define WORDS_MIN 12        /* minimum of letters alone */
#define LETTERS_MIN 10      /* minimum of letters that no word has in such an order */
#define HEX_MIN 12          /* minimum of hexadecimal digits */
#define DIGITS_MIN 16       /* minimum of decimal digits that a name without a vendor calls secret */
#define NKEY_LEN 58         /* of a seed of NATS */
#define SHORT_MAX 16        /* characters in which fewer steps show a sequence */
#define BEARER_MIN 16       /* characters behind "Bearer" */
#define CURL_USER_MAX 128   /* characters of user and option before the colon */
#define DOTTED_MIN 12       /* characters of a part between dots that can be a key's */
#define DUMMY_MAX 256       /* characters looked at for placeholders */
#define PEM_RUN_MIN 12      /* base64 characters in a row that count */
#define PEM_BYTES_MIN 48    /* of them, in all: an Ed25519 key has 64 */
#define PEM_SHARE_MIN 70    /* per cent of what is not white space */
#define PEM_ENTROPY_MIN 270 /* hundredths of a bit: paths and words stay below */

static bool class_has(char class, char c) {
    switch (class) {
    case 'd':
        return ch_digit(c);
    case 'h':
        return ch_is(c, CH_DIGIT) || (c >= 'a' && c <= 'f');
    case 'H':
        return ch_hex(c);
    case 'l':
        return ch_is(c, CH_DIGIT | CH_LOWER);
    case 'u':
        return ch_is(c, CH_DIGIT | CH_UPPER);
    case 'a':
        return ch_alpha(c);
    case 'w':
        return ch_alnum(c);
    case 'j':
        return ch_alnum(c) || c == '_';
    case 'b':
        return ch_is(c, CH_DIGIT | CH_UPPER | CH_LOWER | CH_URL64);
    case 'B':
        return ch_is(c, CH_DIGIT | CH_UPPER | CH_LOWER | CH_URL64) || c == '=';
    case 's':
        return ch_is(c, CH_DIGIT | CH_UPPER | CH_LOWER | CH_B64);
    case 'D':
        return ch_is(c, CH_DIGIT | CH_UPPER | CH_LOWER | CH_URL64) || c == '.';
    case 'S':
        return ch_is(c, CH_DIGIT | CH_UPPER | CH_LOWER | CH_URL64 | CH_B64) || c == '.' || c == '~';
    default:
        return false;
    }
}

static uint32_t read_count(const char **spec) {
    uint32_t v = 0;
    while (ch_digit(**spec))
        v = v * 10 + (uint32_t)(*(*spec)++ - '0');
    return v;
}

/* End of the tail at `at`, or 0. */
static uint32_t match_tail(const struct detect *d, uint32_t at, const char *spec) {
    uint32_t i = at;
    char last = 'w';
    while (*spec) {
        if (*spec == '\'') {
            for (spec++; *spec != '\''; spec++, i++)
                if (detect_at(d, i) != *spec)
                    return 0;
            spec++;
            last = 'w';
            continue;
        }
        last = *spec++;
        const uint32_t min = read_count(&spec);
        uint32_t max = min;
        if (*spec == '-') {
            spec++;
            max = read_count(&spec);
        }
        uint32_t n = 0;
        while (n < max && i < d->n && class_has(last, d->p[i])) {
            i++;
            n++;
        }
        if (n < min)
            return 0;
    }
    if (i < d->n && (class_has(last, d->p[i]) || ch_alnum(d->p[i]) || d->p[i] == '_'))
        return 0;
    return i;
}

/* Longest run of characters that step by one (abcdef, 123456) or repeat. */
static void runs(struct slice v, size_t *ret_step, size_t *ret_same) {
    size_t step = 1, same = 1;
    *ret_step = *ret_same = 1;
    for (size_t i = 1; i < v.len; i++) {
        if ((uint8_t)(v.ptr[i] - v.ptr[i - 1]) > 1) {
            step = same = 1;
            continue;
        }
        step = v.ptr[i] == v.ptr[i - 1] + 1 ? step + 1 : 1;
        same = v.ptr[i] == v.ptr[i - 1] ? same + 1 : 1;
        if (step > *ret_step)
            *ret_step = step;
        if (same > *ret_same)
            *ret_same = same;
    }
}

bool pii_secret_has(struct slice v, const char *word) {
    const size_t len = strlen(word);
    for (size_t i = 0; i + len <= v.len; i++)
        if (ch_lower(v.ptr[i]) == word[0] && slice_eq_nocase(slice_of(v.ptr + i, len), slice_of(word, len)))
            return true;
    return false;
}

/* Does a placeholder word start here? Two characters exclude most. */
static bool dummy_word(const char *p, size_t left) {
    static const struct {
        char first;
        const char *rest;
    } words[] = {{'e', "xample"},  {'x', "xxx"},  {'y', "our"},   {'p', "laceholder"}, {'p', "assword]"},
                 {'c', "hangeme"}, {'d', "ummy"}, {'s', "ample"}, {'s', "ecret_here"}, {'$', "{"},
                 {'$', "("},       {'{', "{"},    {'*', "***"},   {'.', ".."},         {'r', "edact"},
                 {'i', "nsert"},   {'%', "s"},    {'%', "{"},     {'f', "oobar"},      {'t', "oken_here"}};
    static const char second[128][2] = {
        ['e'] = "x",        ['x'] = "x",        ['y'] = "o", ['p'] = {'l', 'a'}, ['c'] = "h", ['d'] = "u",
        ['s'] = {'a', 'e'}, ['$'] = {'{', '('}, ['{'] = "{", ['*'] = "*",        ['.'] = ".", ['r'] = "e",
        ['i'] = "n",        ['%'] = {'s', '{'}, ['f'] = "o", ['t'] = "o"};
    const char first = ch_lower(p[0]);
    const char *const fits = second[first & 127];
    if (!fits[0])
        return first == '<';
    const char next = left < 2 ? '\0' : ch_lower(p[1]);
    if (!next || (next != fits[0] && next != fits[1]))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (words[i].first != first)
            continue;
        const struct slice rest = slice_str(words[i].rest);
        if (left > rest.len && slice_eq_nocase(slice_of(p + 1, rest.len), rest))
            return true;
    }
    return false;
}

bool pii_secret_dummy(struct slice v) {
    if (v.len == 0)
        return true;
    if (v.ptr[0] == '$' || v.ptr[0] == '{' || v.ptr[0] == '%' || v.ptr[0] == '[')
        return true;
    const struct slice head = slice_upto(v, DUMMY_MAX);
    for (size_t i = 0; i < head.len; i++)
        if (dummy_word(head.ptr + i, head.len - i))
            return true;
    const char *first = memmem(head.ptr, head.len, "1234", 4);
    if (first && memmem(first + 4, (size_t)(head.ptr + head.len - first - 4), "1234", 4))
        return true;
    size_t step, same;
    runs(head, &step, &same);
    return step >= (v.len > SHORT_MAX ? 8 : 6) || same >= (v.len < 24 ? 5 : 9) || (same > v.len / 2);
}

/* Keys that their vendors publish, in the samples of Google's Firebase SDK for Android and in Stripe's
 * documentation. They are not secret, and their characters do not distinguish them from real ones. Stored as
 * hashes, so that this file is not a list of keys. */
static bool is_published(struct slice key) {
    static const uint64_t known[] = {
        UINT64_C(0x08b545962adc7d8b), UINT64_C(0x12113c2e6979f447), UINT64_C(0x294c63f8344d5df1),
        UINT64_C(0x29a336c7244f48dd), UINT64_C(0x515cb771a4238032), UINT64_C(0x67e733c2f9035757),
        UINT64_C(0x6835e0f288832a40), UINT64_C(0x6acbd824bd32bbd4), UINT64_C(0x816cd10fdb11ead0),
        UINT64_C(0x828818f833257868), UINT64_C(0x99b2726346a1e92a), UINT64_C(0xadbd04e3fe1b6d49),
        UINT64_C(0xc73f1e61952e6987), UINT64_C(0xdb9422f1dd332dcc), UINT64_C(0xddd19c486d095d84),
        UINT64_C(0xe754678ea2b14ef1), UINT64_C(0xe7666dbb286c6c2e)};
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < key.len; i++)
        h = (h ^ (uint8_t)key.ptr[i]) * UINT64_C(0x100000001b3);
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (known[i] == h)
            return true;
    return false;
}

struct shape {
    uint32_t digits, upper, lower, other, hex;
};

/* The number of characters of each class, indexed by the bits of enum chars_class. */
static struct shape shape_of(struct slice v) {
    uint32_t count[CH_HEX << 1] = {0};
    for (size_t i = 0; i < v.len; i++)
        count[pii_chars_table[(uint8_t)v.ptr[i]] & (CH_DIGIT | CH_UPPER | CH_LOWER | CH_HEX)]++;
    const uint32_t upper_hex = count[CH_UPPER | CH_HEX], lower_hex = count[CH_LOWER | CH_HEX];
    const uint32_t digits = count[CH_DIGIT | CH_HEX];
    return (struct shape){.digits = digits,
                          .upper = count[CH_UPPER] + upper_hex,
                          .lower = count[CH_LOWER] + lower_hex,
                          .hex = digits + upper_hex + lower_hex,
                          .other = count[0]};
}

static bool jwt_read(struct detect *d, uint32_t at, uint32_t *ret_end) {
    uint32_t i = at, dots = 0, part = 0, part_len[3] = {0};
    while (i < d->n && i - at < PII_SECRET_MAX) {
        const char c = d->p[i];
        if (c == '.' && dots < 2 && part >= 10) {
            part_len[dots++] = part;
            part = 0;
        } else if (ch_is(c, CH_DIGIT | CH_UPPER | CH_LOWER | CH_URL64)) {
            part++;
        } else {
            break;
        }
        i++;
    }
    if (dots == 0 || part_len[0] < 14)
        return false;
    const uint32_t payload = at + part_len[0] + 1;
    if (detect_at(d, payload) != 'e' || detect_at(d, payload + 1) != 'y')
        return false;
    if (dots == 1 && part < 14)
        return false;
    pii_detect_add(d, at, i, PII_SECRET, 96, "jwt");
    *ret_end = i;
    return true;
}

/* The secret half of a key of AWS: 40 characters of base64 soon behind its id, in a call or a table. */
static void aws_partner(struct detect *d, uint32_t at) {
    const uint32_t stop = d->n - at < AWS_PARTNER_FAR ? d->n : at + AWS_PARTNER_FAR;
    uint32_t run = 0;
    for (uint32_t i = at; i <= stop && i <= d->n; i++) {
        const char c = detect_at(d, i);
        if (i < d->n && (ch_alnum(c) || c == '+' || c == '/')) {
            run++;
            continue;
        }
        const struct slice v = slice_of(d->p + i - run, run);
        const struct shape s = run == AWS_SECRET_LEN && c != '=' ? shape_of(v) : (struct shape){0};
        if (s.digits && s.upper && s.lower && s.hex < v.len && pii_check_entropy(v.ptr, v.len) >= 400) {
            pii_detect_add(d, i - run, i, PII_SECRET, 80, "aws-secret-key");
            return;
        }
        run = 0;
    }
}

void pii_secret_dsn(struct detect *d, uint32_t at) {
    uint32_t start = at;
    while (start > 0 && at - start < DSN_MAX && !ch_space(d->p[start - 1]) && d->p[start - 1] != ':' &&
           !ch_is(d->p[start - 1], CH_QUOTE))
        start--;
    const struct slice v = slice_of(d->p + start, at - start);
    if (detect_wants(d, PII_SECRET) && slice_starts(slice_of(d->p + at, d->n - at), SLICE("@tcp(")) &&
        start > 1 && d->p[start - 1] == ':' && ch_alnum(d->p[start - 2]) && v.len > 2 && !pii_secret_dummy(v))
        pii_detect_add(d, start, at, PII_SECRET, 85, "url-credentials");
}

static bool try_formats(struct detect *d, uint32_t at, uint32_t *ret_end) {
    const uint32_t h = secret_hash3(d->p + at);
    const struct slice rest = slice_of(d->p + at, d->n - at);
    uint32_t best = 0;
    const struct format *found = NULL;
    for (uint32_t k = d->eng->slots[h % PREFIX_SLOTS]; k; k = d->eng->chain[k - 1]) {
        const struct format *f = &pii_formats[k - 1];
        const struct slice prefix = slice_str(f->prefix);
        if (!slice_starts(rest, prefix))
            continue;
        const uint32_t body = at + (uint32_t)prefix.len;
        uint32_t end = match_tail(d, body, f->tail);
        if (!end || end <= best)
            continue;
        while (end > body && (d->p[end - 1] == '.' || d->p[end - 1] == '-'))
            end--;
        const struct slice tail = slice_of(d->p + body, end - body);
        if (f->entropy != 1 && (pii_check_entropy(tail.ptr, tail.len) < (f->entropy ? f->entropy : 250) ||
                                pii_secret_dummy(tail)))
            continue;
        best = end;
        found = f;
    }
    if (!found || is_published(slice_of(d->p + at, best - at)))
        return false;
    if (detect_before(d, at) == '.' && detect_at(d, best) == '.' && ch_alpha(detect_at(d, best + 1)))
        return false; /* the middle of a file's name: box.ico-7a388b69….png */
    pii_detect_add(d, at, best, PII_SECRET, 95, found->sub);
    if (d->p[at] == 'A' && slice_is(slice_str(found->sub), "aws-access-key"))
        aws_partner(d, best);
    *ret_end = best;
    return true;
}

/* abc8Q~…: client secrets of Azure AD have a mark at the fifth position. */
void pii_secret_tilde(struct detect *d, uint32_t at) {
    if (!detect_wants(d, PII_SECRET) || at < 5 || d->p[at - 1] != 'Q' || !ch_digit(d->p[at - 2]))
        return;
    const uint32_t start = at - 5, end = match_tail(d, at + 1, "S31-34");
    for (uint32_t i = start; i < start + 3; i++)
        if (!class_has('S', d->p[i]))
            return;
    if (!end || (start > 0 && ch_alnum(d->p[start - 1])) ||
        pii_secret_dummy(slice_of(d->p + at + 1, end - at - 1)) ||
        pii_check_entropy(d->p + at + 1, end - at - 1) < 300)
        return;
    pii_detect_add(d, start, end, PII_SECRET, 92, "azure-client-secret");
}

static bool base64_line(char c) {
    return ch_is(c, CH_DIGIT | CH_UPPER | CH_LOWER | CH_B64) || ch_space(c) || c == '\\' || c == ':' ||
           c == ',' || c == '-' || c == '"' || c == '\'' || c == '|' || c == '>';
}

/* Text between the markers is a key only if nearly all of it is in long runs of base64. Otherwise an author
 * could mark arbitrary words as a secret and have them replaced by a token. Header lines such as `Proc-Type:`
 * and surrounding source code are few bytes compared to the lines of a key. */
static bool pem_is_key(struct slice body) {
    size_t in_runs = 0, run = 0, ink = 0;
    for (size_t i = 0; i <= body.len; i++) {
        const char c = i < body.len ? body.ptr[i] : '\0';
        ink += !ch_space(c) && i < body.len;
        if (i < body.len && ch_is(c, CH_DIGIT | CH_UPPER | CH_LOWER | CH_B64)) {
            run++;
            continue;
        }
        if (run >= PEM_RUN_MIN && pii_check_entropy(body.ptr + i - run, run) >= PEM_ENTROPY_MIN)
            in_runs += run;
        run = 0;
    }
    return in_runs >= PEM_BYTES_MIN && in_runs * 100 >= ink * PEM_SHARE_MIN;
}

/* -----BEGIN … PRIVATE KEY-----, to its end or, when that is missing, as far as it looks like one. */
static bool secret_pem(struct detect *d, uint32_t at, uint32_t *ret_end) {
    const uint32_t left = d->n - at;
    const struct slice head = slice_of(d->p + at, left < 96 ? left : 96);
    if (!detect_wants(d, PII_SECRET) || !slice_starts(head, SLICE("-----BEGIN")))
        return false;
    const char *key = memmem(head.ptr, head.len, "PRIVATE KEY", 11);
    if (!key)
        return false;
    const uint32_t body = at + (uint32_t)(key - head.ptr) + 11;
    uint32_t max = left < PII_PEM_MAX ? left : PII_PEM_MAX;
    /* At the next key this one ends: many markers in a row must not each be read to the end. */
    const char *next = memmem(d->p + body, at + max - body, "-----BEGIN", 10);
    if (next)
        max = (uint32_t)(next - d->p) - at;
    const char *end = memmem(d->p + body, at + max - body, "-----END", 8);
    uint32_t stop;
    if (end) {
        stop = (uint32_t)(end - d->p) + 8;
        const char *tail = memmem(d->p + stop, d->n - stop < 64 ? d->n - stop : 64, "-----", 5);
        if (tail)
            stop = (uint32_t)(tail - d->p) + 5;
    } else {
        stop = body;
        while (stop < at + max && base64_line(d->p[stop]))
            stop++;
        while (stop > body && ch_space(d->p[stop - 1]))
            stop--;
    }
    if (!pem_is_key(slice_of(d->p + body, (end ? (size_t)(end - d->p) : stop) - body)))
        return false;
    pii_detect_add(d, at, stop, PII_SECRET, 98, "private-key");
    *ret_end = stop;
    return true;
}

/* Formats whose mark is not in their first three characters. */
static bool odd_format(struct detect *d, uint32_t at, unsigned len, uint32_t *ret_end) {
    const char *p = d->p + at, *sub = NULL;
    if (len >= WORD_SURE && p[0] == 'S' && p[1] == 'K' && match_tail(d, at + 2, "H32"))
        sub = "twilio-key";
    else if (len >= WORD_SURE && p[0] == 'S' && memchr("ACNOPUX", p[1], 7) && match_tail(d, at + 2, "u56"))
        sub = "nats-seed";
    else if (len == 6 && d->n - at >= 40 && p[6] == '_' && memcmp(p + 36, "_mmk", 4) == 0 &&
             match_tail(d, at, "w6'_'w29'_mmk'"))
        sub = "maxmind";
    const uint32_t end = at + (sub && sub[0] == 'n' ? NKEY_LEN : len >= WORD_SURE ? 34 : 40);
    if (!sub || pii_secret_dummy(slice_of(p + 2, end - at - 2)))
        return false;
    pii_detect_add(d, at, end, PII_SECRET, 92, sub);
    *ret_end = end;
    return true;
}

bool pii_secret_odd(struct detect *d, uint32_t at, unsigned len, uint32_t *ret_end) {
    return detect_wants(d, PII_SECRET) && odd_format(d, at, len, ret_end);
}

/* --- values that a key identifies as secret --- */

static bool is_uuid(struct slice v) {
    if (v.len != 36)
        return false;
    for (size_t i = 0; i < 36; i++)
        if (i == 8 || i == 13 || i == 18 || i == 23 ? v.ptr[i] != '-' : !ch_hex(v.ptr[i]))
            return false;
    return true;
}

/* Words with separators (user-profile-name, kSecAttrKey) are names; random text is not. */
static bool looks_random(struct slice v, struct shape s, bool vendor) {
    const unsigned entropy = pii_check_entropy(v.ptr, v.len);
    if (s.digits == 0 && v.len >= LETTERS_MIN && pii_letters_random(v))
        return entropy >= 250;
    if (s.digits == 0 && (s.upper == 0 || s.lower == 0 || v.len < 20))
        return false;
    if (s.digits == v.len)
        return v.len >= DIGITS_MIN && entropy >= 200;
    if (s.hex == v.len)
        return v.len >= HEX_MIN && entropy >= 250;
    size_t alpha_run = 0, longest = 0;
    for (size_t i = 0; i < v.len; i++) {
        alpha_run = ch_is(v.ptr[i], CH_LOWER) || (ch_alpha(v.ptr[i]) && alpha_run == 0) ? alpha_run + 1 : 0;
        if (alpha_run > longest)
            longest = alpha_run;
    }
    if (s.digits == 0)
        return entropy >= 400 && longest < 5;
    if (!vendor && longest * 2 > v.len && longest >= 6)
        return false;
    return entropy >= (v.len < 14 ? 280 : v.len < 24 ? 300 : 330);
}

/* TOKEN=x9Kd02mP4q.Vb7… and no os.environ.TOKEN: a part between dots that no name looks like. */
static bool dotted_random(struct slice v) {
    struct slice part;
    bool more = true;
    while (more) {
        more = slice_cut(&v, '.', &part);
        const struct shape s = shape_of(part);
        if (part.len >= DOTTED_MIN && s.digits > 1 && s.other == 0 && looks_random(part, s, false))
            return true;
    }
    return false;
}

/* credentials2.password, "app.forms.ResetPasswordForm": names with dots. */
static bool is_member(struct slice v, bool quoted, unsigned dots) {
    if (!quoted)
        return pii_secret_has(v, "passw") || pii_secret_has(v, "secret") || pii_secret_has(v, "token");
    for (size_t i = 0; i < v.len; i++)
        if (!ch_alpha(v.ptr[i]) && v.ptr[i] != '.' && v.ptr[i] != '_')
            return false;
    return dots > 1 && !pii_letters_random(v);
}

/* Code, not a value: calls, member chains, paths, format strings. */
static bool is_code(struct slice v, bool quoted) {
    static const bool marks[256] = {
        ['('] = true, ['['] = true, [' '] = true, ['<'] = true, ['{'] = true, ['.'] = true, ['|'] = true};
    unsigned dots = 0;
    for (size_t i = 0; i < v.len; i++) {
        if (!marks[(uint8_t)v.ptr[i]])
            continue;
        if (v.ptr[i] != '.')
            return true;
        dots++;
        if (!quoted && i > 1 && i + 1 < v.len && ch_alpha(v.ptr[i - 1]) && ch_alpha(v.ptr[i + 1]))
            return !dotted_random(v);
    }
    if (dots && is_member(v, quoted, dots))
        return true;
    if (!quoted && v.len && v.ptr[v.len - 1] == '?' && !shape_of(v).digits)
        return true; /* password: String? */
    return v.ptr[0] == '/' || v.ptr[0] == '.' || v.ptr[0] == '@' || v.ptr[0] == '&' || v.ptr[0] == '*';
}

/* Basic dXNlcjpwYXNz, wherever it stands: the text decodes to a user and a password. */
static void basic_read(struct detect *d, uint32_t at) {
    uint32_t end = at;
    while (end < d->n && end - at < VALUE_MAX && ch_is(d->p[end], CH_DIGIT | CH_UPPER | CH_LOWER | CH_B64))
        end++;
    if (end - at >= VALUE_MIN && pii_decode_credentials(slice_of(d->p + at, end - at)))
        pii_detect_add(d, at, end, PII_SECRET, 85, "authorization");
}

static void bearer_read(struct detect *d, uint32_t at) {
    uint32_t end = at;
    while (end < d->n && end - at < VALUE_MAX && class_has('D', d->p[end]))
        end++;
    const struct slice v = slice_of(d->p + at, end - at);
    if (v.len >= BEARER_MIN && !pii_secret_dummy(v) && !is_code(v, false) &&
        looks_random(v, shape_of(v), false))
        pii_detect_add(d, at, end, PII_SECRET, 80, "authorization");
}

bool pii_secret_scheme(struct detect *d, uint32_t at) {
    const struct slice head = slice_of(d->p, at);
    if (slice_ends(head, SLICE("Basic ")) || slice_ends(head, SLICE("basic ")))
        basic_read(d, at);
    else if (slice_ends(head, SLICE("Bearer ")) || slice_ends(head, SLICE("bearer ")))
        bearer_read(d, at);
    else
        return false;
    return true;
}

bool pii_secret_prefix(struct detect *d, uint32_t at, uint32_t *ret_end) {
    if (!detect_wants(d, PII_SECRET) || !pii_detect_starts(d, at))
        return false;
    const char before = detect_before(d, at);
    if (before == '_' && !(d->p[at] == 'g' && (d->p[at + 1] == 'h' || d->p[at + 1] == 'i')))
        return false;
    if (before == '-' && at >= 5 && memcmp(d->p + at, "BEG", 3) == 0)
        return secret_pem(d, at - 5, ret_end);
    if (memcmp(d->p + at, "eyJ", 3) == 0 && jwt_read(d, at, ret_end))
        return true;
    return try_formats(d, at, ret_end);
}

/* secretName, token_name: what the secret is called. */
static bool names_a_name(struct slice key) {
    return key.len > 4 && slice_eq_nocase(slice_from(key, key.len - 4), SLICE("name"));
}

static bool names_password(struct slice key) {
    static const char *const words[] = {"pass",  "pwd",   "kennwort", "contrase",   "senha",   "wachtwoord",
                                        "haslo", "heslo", "losenord", "adgangskod", "salasana"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (pii_secret_has(key, words[i]))
            return true;
    const size_t at = key.len < 2 ? 0 : key.len - 2;
    return key.len >= 2 && slice_eq_nocase(slice_from(key, at), SLICE("pw")) &&
           (at == 0 || !ch_alpha(key.ptr[at - 1]));
}

static bool value_fits(struct slice key, struct slice v, uint32_t hints, bool quoted, const char **ret_sub) {
    const struct shape s = shape_of(v);
    if (v.len < PASSWORD_MIN || v.len > VALUE_MAX || is_code(v, quoted))
        return false;
    *ret_sub = "keyed";
    if (hints & HINT_VENDOR && !(hints & HINT_PUBLIC)) {
        if (is_uuid(v))
            return pii_check_entropy(v.ptr, v.len) > 250;
        if (v.len >= 14 && s.digits == v.len)
            return hints & HINT_SECRET && pii_check_entropy(v.ptr, v.len) > 200;
        if (v.len >= 14 && s.digits == 0 && s.upper && s.lower)
            return hints & HINT_SECRET && pii_letters_random(v) && pii_check_entropy(v.ptr, v.len) >= 300;
        return v.len >= 10 && hints & (HINT_SECRET | HINT_KEY) && looks_random(v, s, s.other == 0);
    }
    if (!(hints & HINT_SECRET) || hints & (HINT_PUBLIC | HINT_ID) || names_a_name(key))
        return false;
    if (names_password(key)) {
        *ret_sub = "password";
        if (pii_letters_random(v))
            return pii_check_entropy(v.ptr, v.len) >= 180;
        if (s.digits + s.other == 0)
            return false;
        if (v.len < 8)
            return quoted && s.digits && (s.upper || s.lower) && s.other;
        return (s.digits && (s.upper + s.lower)) || (s.other && quoted && s.digits) ||
               (s.upper && s.lower && s.other);
    }
    if (is_uuid(v))
        return pii_secret_has(key, "apikey") || pii_secret_has(key, "api_key") ||
               pii_secret_has(key, "api-key") || pii_secret_has(key, "secret") ||
               pii_secret_has(key, "_token") || pii_secret_has(key, "accesstoken") ||
               pii_secret_has(key, "tokenvalue");
    if (v.len < 10 || s.other * 3 > v.len)
        return false;
    if (!quoted && s.digits <= NAME_DIGITS && (pii_secret_has(v, "token") || pii_secret_has(v, "secret")))
        return false; /* progressToken: ProgressTokenSchema$1 */
    return looks_random(v, s, false);
}

/* Characters that end a value outside of quotes, inside of them, and that mark it as code. They share a table
 * with the bits of enum chars_class, because the loop over values needs both. */
enum value_mark { ENDS_BARE = 1 << 8, ENDS_QUOTED = 2 << 8, IS_CODE = 4 << 8 };
static const uint16_t value_marks[256] = {
    [' '] = ENDS_BARE | IS_CODE,
    ['\t'] = ENDS_BARE,
    ['\n'] = ENDS_BARE | ENDS_QUOTED,
    ['\r'] = ENDS_BARE,
    ['"'] = ENDS_BARE,
    ['\''] = ENDS_BARE,
    ['`'] = ENDS_BARE,
    [','] = ENDS_BARE,
    [';'] = ENDS_BARE,
    ['<'] = ENDS_BARE | IS_CODE,
    ['>'] = ENDS_BARE,
    [')'] = ENDS_BARE,
    ['}'] = ENDS_BARE,
    [']'] = ENDS_BARE,
    ['|'] = ENDS_BARE,
    ['&'] = ENDS_BARE,
    ['\\'] = ENDS_BARE | ENDS_QUOTED,
    ['('] = IS_CODE,
    ['['] = IS_CODE,
    ['{'] = IS_CODE,
};

/* P@ssw!rd: no name has such signs. */
static bool has_sign(struct slice v) {
    for (size_t i = 1; i < v.len; i++)
        if (memchr("!@#$%^&*+~", v.ptr[i], 10))
            return true;
    return false;
}

/* The end of the value at `at`, or 0 where code or plain words stand. `slashes` are those before the quote:
 * without them an escape inside the quotes ends the value ("TOKEN=abc\nNEXT=1"). */
static uint32_t value_stop(const struct detect *d, uint32_t at, char quote, uint32_t slashes, bool colon) {
    const uint32_t most = d->n - at < VALUE_MAX ? d->n : at + VALUE_MAX;
    const uint16_t *const marks = d->eng->value_marks;
    const char *p = d->p + at, *const stop = d->p + most;
    unsigned seen = 0;
    for (; p < stop; p++) {
        const unsigned mark = marks[(uint8_t)*p];
        seen |= mark;
        if (mark < ENDS_BARE)
            continue;
        if (quote ? *p == quote || (mark & ENDS_QUOTED && !(*p == '\\' && slashes)) : mark & ENDS_BARE)
            break;
        if (mark & IS_CODE)
            return 0;
    }
    uint32_t i = (uint32_t)(p - d->p);
    while (i > at && (quote ? slashes && d->p[i - 1] == '\\' : d->p[i - 1] == '.' || d->p[i - 1] == ':'))
        i--;
    if (i - at < PASSWORD_MIN)
        return 0;
    seen &= ENDS_BARE - 1;
    if (i < most)
        seen &= ~(unsigned)(CH_QUOTE | CH_SPACE); /* of what ended it */
    if (seen == (CH_DIGIT | CH_HEX) && i - at < NUMBER_MIN)
        return 0;
    const struct slice value = slice_of(d->p + at, i - at);
    if (seen & CH_DIGIT || pii_letters_random(value) || (quote && has_sign(value)))
        return i;
    return (seen & (CH_UPPER | CH_LOWER)) == (CH_UPPER | CH_LOWER) || colon ? (i - at < WORDS_MIN ? 0 : i)
                                                                            : 0;
}

/* Authorization: Bearer x, Basic x, Token x, or the bare value. */
static void header_read(struct detect *d, uint32_t start) {
    static const char *const schemes[] = {"bearer ",  "basic ", "token ", "apikey ",
                                          "api-key ", "key ",   "digest "};
    uint32_t end = start;
    while (end < d->n && end - start < VALUE_MAX * 4 && d->p[end] != '\n' && !ch_is(d->p[end], CH_QUOTE))
        end++;
    const struct slice v = slice_of(d->p + start, end - start);
    const uint32_t bare = start;
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        const size_t len = strlen(schemes[i]);
        if (v.len > len && slice_eq_nocase(slice_upto(v, len), slice_of(schemes[i], len)))
            start += (uint32_t)len;
    }
    uint32_t stop = start;
    while (stop < end && !ch_space(d->p[stop]) && d->p[stop] != ',' && d->p[stop] != '\\')
        stop++;
    const struct slice value = slice_of(d->p + start, stop - start);
    if (value.len < VALUE_MIN || pii_secret_dummy(value) || is_code(value, true) ||
        pii_check_entropy(value.ptr, value.len) < 250)
        return;
    const struct shape s = shape_of(value);
    if (!s.digits && (!s.upper || !s.lower || value.len < 12 || memchr(value.ptr, '.', value.len)))
        return;
    if (!s.digits && start == bare && !pii_letters_random(value))
        return; /* exports.startAuthorization = startAuthorization */
    pii_detect_add(d, start, stop, PII_SECRET, 85, "authorization");
}

static bool key_is_header(struct slice key) {
    return key.len >= 13 && slice_eq_nocase(slice_from(key, key.len - 13), SLICE("authorization"));
}

/* curl -u user:password */
static void curl_user(struct detect *d, uint32_t colon) {
    uint32_t start = colon, end = colon + 1;
    while (start > 0 && colon - start < CURL_USER_MAX && !ch_space(d->p[start - 1]) &&
           !ch_is(d->p[start - 1], CH_QUOTE))
        start--;
    uint32_t i = start;
    char quote = 0;
    if (i > 0 && ch_is(d->p[i - 1], CH_QUOTE))
        quote = d->p[--i];
    while (i > 1 && d->p[i - 1] == ' ' && d->p[i - 2] == ' ')
        i--;
    const struct slice head = slice_of(d->p, i);
    const bool option = slice_ends(head, SLICE("-u ")) || slice_ends(head, SLICE("-u")) ||
                        slice_ends(head, SLICE("--user ")) || slice_ends(head, SLICE("--user=")) ||
                        slice_ends(head, SLICE("-u=")) || slice_ends(head, SLICE("--proxy-user "));
    if (!option)
        return;
    while (end < d->n && end - colon < 256 &&
           (quote ? d->p[end] != quote && d->p[end] != '\n' : !ch_space(d->p[end]) && d->p[end] != '\\'))
        end++;
    const struct slice user = slice_of(d->p + start, colon - start);
    const struct slice password = slice_of(d->p + colon + 1, end - colon - 1);
    static const char *const plain[] = {"password", "pass", "passwd", "test", "token",
                                        "secret",   "pwd",  "admin",  "yyy",  "xxx"};
    if (password.len == 0 || user.len == 0) { /* only a key: `-u KEY:` */
        const struct slice key = user.len ? user : password;
        const struct shape s = shape_of(key);
        if (key.len >= VALUE_MIN && s.digits && s.upper + s.lower && !pii_secret_dummy(key) &&
            pii_check_entropy(key.ptr, key.len) >= 280)
            pii_detect_add(d, start, end, PII_SECRET, 80, "curl-user");
        return;
    }
    if (password.len < 3 || pii_secret_dummy(password) || pii_secret_dummy(user))
        return;
    for (size_t k = 0; k < ARRAY_LEN(plain); k++)
        if (slice_eq_nocase(password, slice_str(plain[k])))
            return;
    if (memchr(password.ptr, '$', password.len) && !shape_of(password).digits)
        return;
    pii_detect_add(d, start, end, PII_SECRET, 80, "curl-user");
}

/* The name in an adjacent line: `- name: TOKEN` above `value: "…"`. */
static uint32_t neighbour_hints(const struct detect *d, uint32_t key_start, struct slice *ret_key) {
    uint32_t i = key_start, stop;
    while (i > 0 && key_start - i < 32 && d->p[i - 1] != '\n')
        i--;
    if (i == 0 || key_start - i >= 32)
        return 0;
    stop = --i;
    while (i > 0 && stop - i < 96 && d->p[i - 1] != '\n')
        i--;
    struct slice line = slice_of(d->p + i, stop - i), name;
    if (!slice_cut(&line, ':', &name))
        return 0;
    *ret_key = slice_trim(line);
    return pii_words_key(d->eng->words, *ret_key);
}

/* The name beside it: <property name="password" value="…"/>. */
static uint32_t attribute_hints(const struct detect *d, uint32_t key_start, struct slice *ret_key) {
    uint32_t end = key_start, start;
    while (end > 0 && d->p[end - 1] == ' ')
        end--;
    if (end < 3 || end == key_start || !ch_is(d->p[end - 1], CH_QUOTE))
        return 0;
    for (start = --end; start > 0 && end - start < PII_KEY_MAX && d->p[start - 1] != d->p[end]; start--)
        ;
    const struct slice head = slice_of(d->p, start ? start - 1 : 0);
    if (!slice_ends(head, SLICE("name=")) && !slice_ends(head, SLICE("key=")))
        return 0;
    *ret_key = slice_of(d->p + start, end - start);
    return pii_words_key(d->eng->words, *ret_key);
}

/* "public static String secretKey": the words of the language say nothing of the value. */
static struct slice past_modifiers(struct slice key) {
    static const char *const words[] = {"public", "private", "protected", "internal", "export", "static",
                                        "const",  "final",   "readonly",  "let",      "var",    "val"};
    struct slice rest = key, first;
    while (slice_cut(&rest, ' ', &first) && memchr(rest.ptr, ' ', rest.len)) {
        bool known = false;
        for (size_t i = 0; i < ARRAY_LEN(words); i++)
            known |= slice_is(first, words[i]);
        if (!known)
            break;
        key = rest;
    }
    return key;
}

/* On a line of the header Cookie or Set-Cookie. */
static bool in_cookie(const struct detect *d, uint32_t at) {
    const uint32_t from = at > COOKIE_BACK ? at - COOKIE_BACK : 0;
    const char *line = memrchr(d->p + from, '\n', at - from);
    const struct slice head =
        line ? slice_of(line, at - (uint32_t)(line - d->p)) : slice_of(d->p + from, at - from);
    return memmem(head.ptr, head.len, "ookie: ", 7) != NULL;
}

static void assign_value(struct detect *d, uint32_t sign, uint32_t start, uint32_t end, char quote) {
    uint32_t key_start = 0;
    struct slice key = pii_context_key(d, sign, &key_start);
    if (key.len < 2 || key.len > PII_KEY_MAX)
        return;
    if (d->p[sign] == ':' && !quote && start == sign + 1 && key_start > 0 && d->p[key_start - 1] == ':')
        return; /* arn:aws:…, urn:… */
    if (d->p[sign] == ':' && !quote && start == sign + 1 && memchr(key.ptr, ' ', key.len))
        return; /* module v1.2.3 h1:… */
    if (d->p[sign] == '=')
        key = past_modifiers(key);
    uint32_t hints = pii_context_hints(d, key);
    if (!hints && key.len >= 5 && slice_eq_nocase(slice_from(key, key.len - 5), SLICE("value"))) {
        const uint32_t word = (uint32_t)(key.ptr - d->p) + (uint32_t)key.len - 5;
        hints = attribute_hints(d, word, &key);
        if (!hints)
            hints = neighbour_hints(d, key_start, &key);
    }
    const struct slice v = slice_of(d->p + start, end - start);
    if (hints & HINT_SESSION && !quote && d->p[sign] == '=' && v.len >= COOKIE_MIN && in_cookie(d, sign) &&
        !pii_secret_dummy(v) && looks_random(v, shape_of(v), false))
        pii_detect_add(d, start, end, PII_SECRET, 75, "cookie");
    if (!(hints & (HINT_SECRET | HINT_VENDOR)))
        return;
    const char *sub;
    if (!pii_secret_fits(key, v, hints, quote != 0, &sub))
        return;
    pii_detect_add(d, start, end, PII_SECRET, hints & HINT_SECRET ? 75 : 65, sub);
    d->assign_done = end;
}

/* Authorization: and "Authorization": */
static bool header_before(const struct detect *d, uint32_t at) {
    uint32_t i = at;
    while (i > 0 && at - i < 6 &&
           (ch_is(d->p[i - 1], CH_QUOTE) || d->p[i - 1] == '\\' || d->p[i - 1] == ' ' || d->p[i - 1] == ']'))
        i--;
    return i >= 13 && (d->p[i - 1] | 32) == 'n' && key_is_header(slice_of(d->p + i - 13, 13));
}

/* Where the value after the sign starts: after blanks, doubled signs and its quote. */
static uint32_t value_start(const struct detect *d, uint32_t at, char *ret_quote, uint32_t *ret_slashes) {
    uint32_t i = at + 1;
    if (d->p[i] == ' ') /* usually one blank, then the value */
        i++;
    if (ch_alnum(d->p[i]))
        return i;
    i = at + 1;
    while (i < d->n && i - at < 4 && (d->p[i] == '=' || d->p[i] == '>' || d->p[i] == ':'))
        i++;
    while (i < d->n && i - at < 24 &&
           (d->p[i] == ' ' || d->p[i] == '\t' || (d->p[at] == '>' && ch_space(d->p[i]))))
        i++;
    while (detect_at(d, i) == '\\' && *ret_slashes < 4) {
        i++;
        ++*ret_slashes;
    }
    if (ch_is(detect_at(d, i), CH_QUOTE))
        *ret_quote = d->p[i++];
    return i;
}

/* The first characters of a value: no blank and no quote among them. */
static inline bool value_begins(const struct detect *d, uint32_t at) {
    const uint8_t *p = (const uint8_t *)d->p + at;
    _Static_assert(PASSWORD_MIN == 5, "as many are looked at here");
    return d->n - at >= PASSWORD_MIN &&
           !((pii_chars_table[p[0]] | pii_chars_table[p[1]] | pii_chars_table[p[2]] | pii_chars_table[p[3]] |
              pii_chars_table[p[4]]) &
             (CH_SPACE | CH_QUOTE));
}

/* Most keys are short, and their letters show that they do not name a secret. */
static inline bool key_is_harmless(const struct detect *d, uint32_t at) {
    uint32_t end = at;
    if (!ch_alnum(d->p[at - 1])) {
        while (end > WORDS_TAIL && at - end < 4 && d->p[end - 1] == ' ')
            end--;
        if (ch_is(d->p[end - 1], CH_QUOTE))
            for (end--; end > WORDS_TAIL && at - end < 8 && d->p[end - 1] == '\\'; end--)
                ;
    }
    return end >= WORDS_TAIL && pii_words_harmless(d->eng->words, d->p + end - WORDS_TAIL);
}

__attribute__((noinline)) static void assign_read(struct detect *d, uint32_t at) {
    char quote = 0;
    uint32_t slashes = 0;
    uint32_t i = value_start(d, at, &quote, &slashes);
    if (!quote && ch_alpha(detect_at(d, i)) && ch_is(detect_at(d, i + 1), CH_QUOTE))
        quote = d->p[++i], i++; /* b"…" and its like */
    /* the last letter of the key stands right before the sign or its quote */
    const char before = ch_alnum(d->p[at - 1]) ? d->p[at - 1] : d->p[at - 2];
    if ((!ch_alnum(before) || (before | 32) == 'n') && header_before(d, at)) {
        header_read(d, i);
        return;
    }
    if (!value_begins(d, i))
        return;
    if (!quote && !ch_is(d->p[i], CH_DIGIT | CH_UPPER | CH_LOWER | CH_URL64 | CH_B64) &&
        memchr("[{(<$&*,;", d->p[i], 9))
        return;
    if (!quote && d->p[at - 1] == '?' && d->p[at] == ':')
        return; /* a type: token?: Base64Url */
    const uint32_t end = value_stop(d, i, quote, slashes, d->p[at] == ':');
    if (end)
        assign_value(d, at, i, end, quote);
}

/* An assignment sign (or the comma and tag end that stand for one) at `at`. */
void pii_secret_assign(struct detect *d, uint32_t at) {
    if (!detect_wants(d, PII_SECRET) || at < 2 || at + PASSWORD_MIN >= d->n)
        return;
    if (d->p[at] == ':' && d->option_u && at - d->option_u < CURL_USER_MAX && d->p[at - 1] != ' ' &&
        !ch_space(d->p[at + 1]))
        curl_user(d, at);
    if (!key_is_harmless(d, at))
        assign_read(d, at);
}

bool pii_secret_fits(struct slice key, struct slice v, uint32_t hints, bool quoted, const char **ret_sub) {
    return value_fits(key, v, hints, quoted, ret_sub) && !pii_secret_dummy(v);
}

/* The whole text is the value of a key outside of it. */
void pii_secret_value(struct detect *d) {
    const struct slice v = slice_of(d->p, d->n);
    const char *sub;
    if (!detect_wants(d, PII_SECRET) || v.len < PASSWORD_MIN || v.len > VALUE_MAX)
        return;
    if (key_is_header(d->key)) {
        header_read(d, 0);
        return;
    }
    const uint32_t hints = pii_context_outer(d);
    if (hints & (HINT_SECRET | HINT_VENDOR) && pii_secret_fits(d->key, v, hints, true, &sub))
        pii_detect_add(d, 0, d->n, PII_SECRET, hints & HINT_SECRET ? 75 : 65, sub);
}

static void bloom_add(struct pii_engine *e, const char *prefix) {
    const uint32_t h = secret_hash3(prefix) % PREFIX_BLOOM_BITS;
    e->bloom[h / 64] |= UINT64_C(1) << (h % 64);
}

void pii_secret_build(struct pii_engine *e) {
    CHECK(pii_formats_count < ARRAY_LEN(e->chain));
    for (size_t i = 0; i < 256; i++)
        e->value_marks[i] = value_marks[i] | pii_chars_table[i];
    for (size_t i = pii_formats_count; i-- > 0;) {
        const struct format *f = &pii_formats[i];
        CHECK(strlen(f->prefix) >= 3);
        const uint32_t h = secret_hash3(f->prefix);
        bloom_add(e, f->prefix);
        e->chain[i] = e->slots[h % PREFIX_SLOTS];
        e->slots[h % PREFIX_SLOTS] = (uint16_t)(i + 1);
    }
    const char *const words[] = {"eyJ", "BEG"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        bloom_add(e, words[i]);
}
