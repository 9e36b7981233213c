/* Encoded values: base64 and percent runs are decoded to a fixed depth. Invisible characters, look-alikes and
 * character escapes are folded before a second scan. */
#include "base/hex.h"
#include "filter/detect.h"

#include "base/mem.h"

#define CREDENTIALS_MAX 512 /* bytes of base64 */
#define TAG_LEN 4           /* bytes of a tag character in UTF-8 */
#define TAG_RUN 10          /* of them in a row are a text */

static int base64_val(char c) {
    static const int8_t table[256] = {
        ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,  ['H'] = 8,
        ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
        ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
        ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
        ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
        ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
        ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
        ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['-'] = 63,
        ['/'] = 64, ['_'] = 64};
    return table[(uint8_t)c] - 1;
}

/* Line ends between the characters are skipped. */
static size_t base64_decode(struct slice in, char *out) {
    uint32_t acc = 0, bits = 0;
    size_t n = 0;
    for (size_t i = 0; i < in.len; i++) {
        if (in.ptr[i] == '\n' || in.ptr[i] == '\r')
            continue;
        acc = acc << 6 | (uint32_t)base64_val(in.ptr[i]);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            out[n++] = (char)(uint8_t)(acc >> bits);
        }
    }
    return n;
}

/* Text and not a digest: no control characters, and non-ASCII bytes are UTF-8. */
static bool printable(struct slice s) {
    unsigned more = 0; /* remaining bytes of the character */
    for (size_t i = 0; i < s.len; i++) {
        const uint8_t c = (uint8_t)s.ptr[i];
        if (more) {
            if ((c & 0xC0) != 0x80)
                return false;
            more--;
        } else if (c >= 0x80) {
            if (c < 0xC2 || c > 0xF4)
                return false;
            more = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : 1;
        } else if ((c < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7f) {
            return false;
        }
    }
    return true;
}

/* Base64 of `user:password`, both without blanks. */
bool pii_decode_credentials(struct slice text) {
    char plain[CREDENTIALS_MAX];
    while (text.len && text.ptr[text.len - 1] == '=')
        text.len--;
    if (text.len > sizeof(plain) || text.len % 4 == 1)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (base64_val(text.ptr[i]) < 0)
            return false;
    struct slice rest = slice_of(plain, base64_decode(text, plain)), user;
    if (!printable(rest) || memchr(rest.ptr, ' ', rest.len) || memchr(rest.ptr, '\n', rest.len))
        return false;
    return slice_cut(&rest, ':', &user) && user.len && rest.len;
}

/* Scans decoded text one level deeper; the strongest span, or NULL. */
static const struct pii_span *detect_inside(struct detect *d, struct slice text, struct pii_spans *found) {
    struct detect_memory memory;
    struct detect inner = {.eng = d->eng,
                           .memory = &memory,
                           .kinds = d->kinds & ~PII_BIT(PII_URL),
                           .score_min = d->score_min,
                           .depth = d->depth - 1,
                           .p = text.ptr,
                           .n = (uint32_t)text.len,
                           .out = found};
    pii_engine_plain(&inner);
    pii_spans_settle(found, 0);
    const struct pii_span *best = NULL;
    for (uint32_t i = 0; i < found->count; i++)
        if (!best || found->at[i].score > best->score)
            best = &found->at[i];
    return best;
}

/* The first characters of most runs show that they contain no text. */
static bool control_first(const char *p) {
    const int a = base64_val(p[0]), b = base64_val(p[1]), c = base64_val(p[2]), e = base64_val(p[3]);
    if ((a | b | c | e) < 0)
        return true;
    const unsigned v = (unsigned)a << 18 | (unsigned)b << 12 | (unsigned)c << 6 | (unsigned)e;
    static const unsigned blanks = 1u << '\n' | 1u << '\t' | 1u << '\r';
    for (unsigned shift = 0; shift < 24; shift += 8) {
        const unsigned byte = v >> shift & 255;
        if ((byte < 0x20 && !(blanks >> byte & 1)) || byte == 0x7f)
            return true;
    }
    return false;
}

static bool line_is_text(const char *p, uint32_t len) {
    for (uint32_t k = 0; k + 4 <= len; k += 4)
        if (control_first(p + k))
            return false;
    return true;
}

/* base64 in lines, as mail and the program `base64` write it: lines of one length, of whole groups of four.
 */
static uint32_t wrapped_end(const struct detect *d, uint32_t at, uint32_t end) {
    const uint32_t width = end - at;
    if (width % 4 || width < PII_WRAPPED_MIN)
        return end;
    for (uint32_t line = width; line == width;) {
        uint32_t i = end;
        i += detect_at(d, i) == '\r';
        if (detect_at(d, i) != '\n')
            break;
        const uint32_t start = ++i;
        while (i < d->n && i - at < PII_ENCODED_MAX && base64_val(d->p[i]) >= 0)
            i++;
        line = i - start;
        if (line == 0 || line > width || !line_is_text(d->p + start, line))
            break;
        end = i;
    }
    return end;
}

/* The run from `at` to `end` is this text: is something in it that is looked for? */
static bool add_inside(struct detect *d, uint32_t at, uint32_t end, struct slice text) {
    if (!printable(text))
        return false;
    cleanup_pii_spans struct pii_spans found;
    pii_spans_init(&found);
    const struct pii_span *best = detect_inside(d, text, &found);
    const uint32_t before = d->out->count;
    if (best)
        pii_detect_add(d, at, end, best->kind, best->score, best->sub);
    if (d->out->count == before)
        return false;
    d->out->at[before].encoded = true;
    return true;
}

static bool add_base64(struct detect *d, uint32_t at, uint32_t end, uint32_t *ret_end) {
    cleanup_free char *text = mem_alloc((end - at) / 4 * 3 + 4);
    const size_t len = base64_decode(slice_of(d->p + at, end - at), text);
    while (end < d->n && d->p[end] == '=')
        end++;
    if (!add_inside(d, at, end, slice_of(text, len)))
        return false;
    *ret_end = end;
    return true;
}

static bool decode_run(struct detect *d, uint32_t at, uint32_t *ret_end) {
    uint32_t i = at;
    char head[13];
    if (d->depth == 0)
        return false;
    if (d->n - at < PII_ENCODED_MIN)
        return false;
    if (control_first(d->p + at))
        return false;
    for (uint32_t k = 0; k < 16;
         k += 4) { /* the first characters of most runs show that they contain no text */
        if (base64_val(d->p[at + k]) < 0 || base64_val(d->p[at + k + 1]) < 0 ||
            base64_val(d->p[at + k + 2]) < 0 || base64_val(d->p[at + k + 3]) < 0)
            return false;
        base64_decode(slice_of(d->p + at + k, 4), head + k / 4 * 3);
        if (!printable(slice_of(head, k / 4 * 3 + 3)))
            return false;
    }
    while (i < d->n && i - at < PII_ENCODED_MAX && base64_val(d->p[i]) >= 0)
        i++;
    *ret_end = i;
    if (i - at < PII_ENCODED_MIN)
        return false;
    /* Lines of a text that was decoded as a whole are not decoded with all that follow once more. */
    const uint32_t wrapped = at < d->wrapped_done ? i : wrapped_end(d, at, i);
    if (wrapped > i)
        d->wrapped_done =
            wrapped - at < PII_ENCODED_MAX - PII_WRAPPED_AGAIN ? wrapped : wrapped - PII_WRAPPED_AGAIN;
    return (wrapped > i && add_base64(d, at, wrapped, ret_end)) || add_base64(d, at, i, ret_end);
}

/* Groups of four start at one of four places. From there it goes back as long as groups are text. */
bool pii_decode_base64(struct detect *d, uint32_t at, uint32_t *ret_end) {
    for (uint32_t back = 0; back < 4 && back <= at && d->n - at >= 4; back++) {
        uint32_t start = at - back;
        if (back && base64_val(d->p[start]) < 0)
            break;
        if (control_first(d->p + start))
            continue;
        while (start >= 4 && at - start < PII_BASE64_BACK && !control_first(d->p + start - 4))
            start -= 4;
        if (decode_run(d, start, ret_end) || (start < at - back && decode_run(d, at - back, ret_end)))
            return true;
    }
    return false;
}

/* The first digit of a byte of text. */
static bool starts_text(char digit) { return (digit >= '2' && digit <= '7') || (digit | 0x20) >= 'c'; }

bool pii_decode_hex_run(struct detect *d, uint32_t at, uint32_t *ret_end) {
    char head[PII_HEX_HEAD];
    const uint32_t start = at;
    if (d->n - at >= PII_HEX_MIN && d->p[at] == '0' && (d->p[at + 1] | 0x20) == 'x')
        at += 2;
    if (d->depth == 0 || d->n - at < PII_HEX_MIN || !starts_text(d->p[at]) || !starts_text(d->p[at + 4]))
        return false;
    for (uint32_t k = 0; k < PII_HEX_HEAD; k++) { /* a digest shows in its first bytes that it is none */
        const int high = hex_value(d->p[at + 2 * k]), low = hex_value(d->p[at + 2 * k + 1]);
        if ((high | low) < 0)
            return false;
        head[k] = (char)(high << 4 | low);
        if (!printable(slice_of(head, k + 1)))
            return false;
    }
    uint32_t i = at;
    while (i + 1 < d->n && i - at < PII_ENCODED_MAX && hex_value(d->p[i]) >= 0 && hex_value(d->p[i + 1]) >= 0)
        i += 2;
    if (i - at < PII_HEX_MIN)
        return false;
    cleanup_free char *text = mem_alloc((i - at) / 2);
    for (uint32_t k = 0; k < (i - at) / 2; k++)
        text[k] = (char)(hex_value(d->p[at + 2 * k]) << 4 | hex_value(d->p[at + 2 * k + 1]));
    if (!add_inside(d, start, i, slice_of(text, (i - at) / 2)))
        return false;
    *ret_end = i;
    return true;
}

static bool percent_run_char(char c) {
    return (uint8_t)c > ' ' && !ch_is(c, CH_QUOTE) && c != '<' && c != '>';
}

/* Decodes one layer of %XX; map[k] is the source offset of byte k. */
static size_t percent_decode(const char *in, const uint32_t *in_map, size_t len, char *out, uint32_t *map) {
    size_t n = 0;
    for (size_t i = 0; i < len; n++) {
        map[n] = in_map[i];
        if (in[i] == '%' && i + 2 < len && hex_value(in[i + 1]) >= 0 && hex_value(in[i + 2]) >= 0) {
            out[n] = (char)(hex_value(in[i + 1]) * 16 + hex_value(in[i + 2]));
            i += 3;
        } else {
            out[n] = in[i++];
        }
    }
    map[n] = in_map[len];
    return n;
}

void pii_decode_percent(struct detect *d, uint32_t at) {
    if (d->depth == 0 || at < d->percent_done || hex_value(detect_at(d, at + 1)) < 0 ||
        hex_value(detect_at(d, at + 2)) < 0)
        return;
    uint32_t start = at, end = at;
    while (start > d->percent_done && at - start < 512 && percent_run_char(d->p[start - 1]))
        start--;
    while (end < d->n && end - at < PII_ENCODED_MAX && percent_run_char(d->p[end]))
        end++;
    d->percent_done = end;
    const size_t len = end - start;
    cleanup_free char *text = mem_alloc(len + 1);
    cleanup_free uint32_t *map = mem_alloc((len + 1) * sizeof(uint32_t));
    for (size_t i = 0; i <= len; i++)
        map[i] = start + (uint32_t)i;
    memcpy(text, d->p + start, len);
    size_t n = len;
    for (unsigned layer = 0; layer < d->depth; layer++)
        n = percent_decode(text, map, n, text, map);
    cleanup_pii_spans struct pii_spans found;
    pii_spans_init(&found);
    detect_inside(d, slice_of(text, n), &found);
    for (uint32_t i = 0; i < found.count; i++) {
        const struct pii_span *s = &found.at[i];
        const uint32_t before = d->out->count;
        if (memchr(d->p + map[s->start], '%', map[s->end] - map[s->start]) == NULL)
            continue; /* the plain pass finds it as well */
        pii_detect_add(d, map[s->start], map[s->end], s->kind, s->score, s->sub);
        if (d->out->count > before)
            d->out->at[before].encoded = true;
    }
}

/* --- folding --- */

enum fold_sort { FOLD_ALWAYS, FOLD_AT_DIGIT, FOLD_LETTER };

/* The ASCII character that a code point resembles: 0 keeps it, 1 drops it. Letters of other alphabets only
 * count next to ASCII ones, blanks and dashes only next to digits: text in its own script is not an evasion.
 */
static char fold_point(uint32_t c, enum fold_sort *ret_sort) {
    static const struct {
        uint16_t from;
        char to;
    } alike[] = {
        {0x0391, 'A'}, {0x0392, 'B'}, {0x0395, 'E'}, {0x0396, 'Z'}, {0x0397, 'H'}, {0x0399, 'I'},
        {0x039A, 'K'}, {0x039C, 'M'}, {0x039D, 'N'}, {0x039F, 'O'}, {0x03A1, 'P'}, {0x03A4, 'T'},
        {0x03A5, 'Y'}, {0x03A7, 'X'}, {0x03BF, 'o'}, {0x03B1, 'a'}, {0x03BD, 'v'}, {0x03C1, 'p'},
        {0x0405, 'S'}, {0x0406, 'I'}, {0x0408, 'J'}, {0x0410, 'A'}, {0x0412, 'B'}, {0x0415, 'E'},
        {0x041A, 'K'}, {0x041C, 'M'}, {0x041D, 'H'}, {0x041E, 'O'}, {0x0420, 'P'}, {0x0421, 'C'},
        {0x0422, 'T'}, {0x0425, 'X'}, {0x0430, 'a'}, {0x0435, 'e'}, {0x043A, 'k'}, {0x043E, 'o'},
        {0x0440, 'p'}, {0x0441, 'c'}, {0x0443, 'y'}, {0x0445, 'x'}, {0x0455, 's'}, {0x0456, 'i'},
        {0x0458, 'j'}, {0x04BB, 'h'}, {0x0501, 'd'}, {0x051B, 'q'}, {0x051D, 'w'}, {0x0261, 'g'},
    };
    *ret_sort = FOLD_ALWAYS;
    if (c == 0xAD || c == 0x034F || c == 0x061C || c == 0x180E || (c >= 0x200B && c <= 0x200F) ||
        (c >= 0x202A && c <= 0x202E) || (c >= 0x2060 && c <= 0x2064) || c == 0xFEFF ||
        (c >= 0xFE00 && c <= 0xFE0F) || (c >= 0xE0000 && c <= 0xE007F))
        return 1;
    *ret_sort = FOLD_AT_DIGIT;
    if (c == 0xA0 || (c >= 0x2000 && c <= 0x200A) || c == 0x202F || c == 0x205F || c == 0x3000)
        return ' ';
    if ((c >= 0x2010 && c <= 0x2015) || c == 0x2212 || c == 0xFE63)
        return '-';
    if (c == 0x2024 || c == 0x3002 || c == 0xFE52)
        return '.';
    *ret_sort = FOLD_ALWAYS;
    if (c == 0xFE6B)
        return '@';
    if (c >= 0xFF01 && c <= 0xFF5E)
        return (char)(c - 0xFF01 + '!');
    if (c >= 0x0660 && c <= 0x0669)
        return (char)('0' + c - 0x0660);
    if (c >= 0x06F0 && c <= 0x06F9)
        return (char)('0' + c - 0x06F0);
    if (c >= 0x0966 && c <= 0x096F)
        return (char)('0' + c - 0x0966);
    if (c >= 0x1D7CE && c <= 0x1D7FF)
        return (char)('0' + (c - 0x1D7CE) % 10);
    if (c >= 0x1D400 && c <= 0x1D6A3)
        return (c - 0x1D400) % 52 < 26 ? (char)('A' + (c - 0x1D400) % 52)
                                       : (char)('a' + (c - 0x1D400) % 52 - 26);
    *ret_sort = FOLD_LETTER;
    for (size_t i = 0; i < ARRAY_LEN(alike) && c < 0x600; i++)
        if (alike[i].from == c)
            return alike[i].to;
    return 0;
}

static uint32_t utf8_point(const char *p, size_t left, uint32_t *ret_len) {
    const uint8_t c = (uint8_t)p[0];
    const uint32_t len = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC2 ? 2 : 1;
    *ret_len = 1;
    if (len == 1 || left < len)
        return 0xFFFD;
    uint32_t v = c & (0x7Fu >> len);
    for (uint32_t i = 1; i < len; i++) {
        if (((uint8_t)p[i] & 0xC0) != 0x80)
            return 0xFFFD;
        v = v << 6 | ((uint8_t)p[i] & 0x3F);
    }
    *ret_len = len;
    return v;
}

/* \u0040, &#64; and &#x40; of printable ASCII: the character, and its length in *ret_len. */
static char fold_escape(const char *p, size_t left, uint32_t *ret_len) {
    uint32_t v = 0, i;
    if (left >= 6 && p[0] == '\\' && p[1] == 'u' && p[2] == '0' && p[3] == '0' && ch_hex(p[4]) &&
        ch_hex(p[5])) {
        *ret_len = 6;
        v = (uint32_t)(hex_value(p[4]) * 16 + hex_value(p[5]));
    } else if (left >= 4 && p[0] == '&' && p[1] == '#') {
        const bool hex = (p[2] | 32) == 'x';
        for (i = hex ? 3 : 2; i < left && i < 9 && (hex ? ch_hex(p[i]) : ch_digit(p[i])); i++)
            v = v * (hex ? 16 : 10) + (uint32_t)hex_value(p[i]);
        if (i >= left || p[i] != ';' || i < 4)
            return 0;
        *ret_len = i + 1;
    }
    return v > ' ' && v < 0x7f && v != '"' && v != '\\' ? (char)v : 0;
}

/* Tag characters (U+E0020 to U+E007E) spell invisible ASCII. A long run of them is text of its own; few of
 * them between visible letters are dropped. */
static bool is_tag(struct slice t, size_t i) {
    return i + TAG_LEN <= t.len && (uint8_t)t.ptr[i] == 0xF3 && (uint8_t)t.ptr[i + 1] == 0xA0 &&
           ((uint8_t)t.ptr[i + 2] & 0xFE) == 0x80;
}

static char fold_tag(struct slice t, size_t i) {
    size_t first = i, end = i;
    while (first >= TAG_LEN && i - first < TAG_RUN * TAG_LEN && is_tag(t, first - TAG_LEN))
        first -= TAG_LEN;
    while (end - i < TAG_RUN * TAG_LEN && is_tag(t, end))
        end += TAG_LEN;
    uint32_t len;
    const uint32_t code = utf8_point(t.ptr + i, t.len - i, &len) - 0xE0000;
    return end - first >= TAG_RUN * TAG_LEN && code > ' ' && code < 0x7f ? (char)code : 1;
}

static bool company(char c) { return ch_alnum(c) || c == '@'; }

/* The result for byte i of the text; it covers *ret_len bytes. */
static char fold_at(struct slice t, size_t i, uint32_t *ret_len) {
    enum fold_sort sort = FOLD_ALWAYS;
    const uint8_t c = (uint8_t)t.ptr[i];
    *ret_len = 1;
    if (c == '\\' || c == '&')
        return fold_escape(t.ptr + i, t.len - i, ret_len);
    if (c < 0xC2)
        return 0;
    if (is_tag(t, i)) {
        *ret_len = TAG_LEN;
        return fold_tag(t, i);
    }
    const char to = fold_point(utf8_point(t.ptr + i, t.len - i, ret_len), &sort);
    if (to == 0 || sort == FOLD_ALWAYS)
        return to;
    if (sort == FOLD_AT_DIGIT)
        return (i > 0 && ch_digit(t.ptr[i - 1])) || (i + *ret_len < t.len && ch_digit(t.ptr[i + *ret_len]))
                   ? to
                   : 0;
    size_t k = i;
    while (k > 0 && i - k < 32 && (uint8_t)t.ptr[k - 1] >= 0x80)
        k--;
    if (k > 0 && company(t.ptr[k - 1]))
        return to;
    for (k = i; k < t.len && k - i < 32 && (uint8_t)t.ptr[k] >= 0x80; k++)
        ;
    return k < t.len && company(t.ptr[k]) ? to : 0;
}

bool pii_decode_folds(struct slice t, uint32_t at) {
    uint32_t len;
    return fold_at(t, at, &len) != 0;
}

char *pii_decode_fold(struct slice t, uint32_t *ret_len, uint32_t **ret_map) {
    char *out = mem_alloc(t.len + 1);
    uint32_t *map = mem_alloc((t.len + 1) * sizeof(uint32_t));
    uint32_t n = 0;
    for (size_t i = 0; i < t.len;) {
        uint32_t len = 1;
        const uint8_t c = (uint8_t)t.ptr[i];
        const char to = c < 0x80 && c != '\\' && c != '&' ? 0 : fold_at(t, i, &len);
        if (to == 0) {
            len = c == '\\' || c == '&' ? 1 : len;
            for (uint32_t k = 0; k < len; k++) {
                map[n] = (uint32_t)i + k;
                out[n++] = t.ptr[i + k];
            }
        } else if (to != 1) {
            if (is_tag(t, i) && !(i >= TAG_LEN && is_tag(t, i - TAG_LEN))) {
                map[n] = (uint32_t)i; /* the visible text before it is another word */
                out[n++] = ' ';
            }
            map[n] = (uint32_t)i;
            out[n++] = to;
        }
        i += len;
    }
    map[n] = (uint32_t)t.len;
    *ret_len = n;
    *ret_map = map;
    return out;
}
