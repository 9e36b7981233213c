#include "risk/confusable.h"

#include "base/mem.h"

static uint32_t before(struct slice text, size_t at) {
    if (at == 0)
        return 0;
    size_t i = at - 1, len;
    while (i > 0 && ((unsigned char)text.ptr[i] & 0xc0) == 0x80)
        i--;
    return glyph_next(text, i, &len);
}

static uint32_t behind(struct slice text, size_t at) {
    size_t len;
    return at < text.len ? glyph_next(text, at, &len) : 0;
}

static bool is_symbol(uint32_t cp) {
    return (cp >= 0x2000 && cp < 0x3300 && !glyph_is_invisible(cp)) || (cp >= 0x1f000 && cp < 0x20000) ||
           cp == 0xa9 || cp == 0xae;
}

/* Scripts that are written from right to left or join letters; joiners and marks are normal in them. */
static bool is_joining_script(uint32_t cp) {
    return (cp >= 0x0590 && cp < 0x0e80) || (cp >= 0xfb1d && cp < 0xfe00);
}

static bool is_word_part(uint32_t cp) {
    return (cp >= 'a' && cp <= 'z') || (cp >= 'A' && cp <= 'Z') || (cp >= '0' && cp <= '9') || cp == '_' ||
           cp >= 0xaa;
}

/* One or two zero-width spaces next to a space or a mark come from word processors: they split no word and
 * are too few to encode a message. */
static bool is_debris(struct slice text, size_t at) {
    static const char space[] = "\xe2\x80\x8b";
    size_t from = at, to = at + 3;
    while (from >= 3 && memcmp(text.ptr + from - 3, space, 3) == 0)
        from -= 3;
    while (to + 3 <= text.len && memcmp(text.ptr + to, space, 3) == 0)
        to += 3;
    return to - from <= 6 && !(is_word_part(before(text, from)) && is_word_part(behind(text, to)));
}

static bool in_place(uint32_t cp, uint32_t left, uint32_t right) {
    if (cp == 0xfe0f || cp == 0xfe0e) /* emoji or text style; also keycaps */
        return is_symbol(left) ||
               (right == 0x20e3 && (left == '#' || left == '*' || (left >= '0' && left <= '9')));
    if (cp == 0x200d) /* joins emoji, or letters of joining scripts */
        return ((is_symbol(left) || left == 0xfe0f) && is_symbol(right)) || is_joining_script(left);
    if (cp == 0x200c || cp == 0x200e || cp == 0x200f || cp == 0x061c)
        return is_joining_script(left) || is_joining_script(right);
    return false;
}

enum risk_glyph risk_glyph_at(struct slice text, size_t at, size_t *ret_len) {
    uint32_t cp = glyph_next(text, at, ret_len);
    if (glyph_is_control(cp))
        return RISK_GLYPH_CONTROL;
    if (!glyph_is_invisible(cp) || in_place(cp, before(text, at), behind(text, at + *ret_len)))
        return RISK_GLYPH_PLAIN;
    if (cp == 0x200b && is_debris(text, at))
        return RISK_GLYPH_PLAIN;
    return RISK_GLYPH_INVISIBLE;
}

/* Letters of other scripts, and the ASCII letter that they look like. Sorted. */
static const struct {
    uint16_t cp;
    char as;
} lookalikes[] = {
    {0x00d7, 'x'}, {0x00df, 'b'}, {0x0131, 'i'}, {0x017f, 's'}, {0x0185, 'b'}, {0x01c0, 'l'},  {0x01c3, '!'},
    {0x0251, 'a'}, {0x0261, 'g'}, {0x0269, 'i'}, {0x026a, 'i'}, {0x0274, 'n'}, {0x0280, 'r'},  {0x028f, 'y'},
    {0x0299, 'b'}, {0x029c, 'h'}, {0x029f, 'l'}, {0x0391, 'a'}, {0x0392, 'b'}, {0x0395, 'e'},  {0x0396, 'z'},
    {0x0397, 'h'}, {0x0399, 'i'}, {0x039a, 'k'}, {0x039c, 'm'}, {0x039d, 'n'}, {0x039f, 'o'},  {0x03a1, 'p'},
    {0x03a4, 't'}, {0x03a5, 'y'}, {0x03a7, 'x'}, {0x03b1, 'a'}, {0x03b3, 'y'}, {0x03b5, 'e'},  {0x03b7, 'n'},
    {0x03b9, 'i'}, {0x03ba, 'k'}, {0x03bd, 'v'}, {0x03bf, 'o'}, {0x03c1, 'p'}, {0x03c3, 'o'},  {0x03c4, 't'},
    {0x03c5, 'u'}, {0x03c7, 'x'}, {0x03c9, 'w'}, {0x03f2, 'c'}, {0x03f3, 'j'}, {0x0405, 's'},  {0x0406, 'i'},
    {0x0408, 'j'}, {0x0410, 'a'}, {0x0412, 'b'}, {0x0415, 'e'}, {0x041a, 'k'}, {0x041c, 'm'},  {0x041d, 'h'},
    {0x041e, 'o'}, {0x0420, 'p'}, {0x0421, 'c'}, {0x0422, 't'}, {0x0423, 'y'}, {0x0425, 'x'},  {0x0430, 'a'},
    {0x0432, 'b'}, {0x0433, 'r'}, {0x0435, 'e'}, {0x0437, '3'}, {0x043a, 'k'}, {0x043c, 'm'},  {0x043d, 'h'},
    {0x043e, 'o'}, {0x043f, 'n'}, {0x0440, 'p'}, {0x0441, 'c'}, {0x0442, 't'}, {0x0443, 'y'},  {0x0445, 'x'},
    {0x044c, 'b'}, {0x0455, 's'}, {0x0456, 'i'}, {0x0457, 'i'}, {0x0458, 'j'}, {0x0461, 'w'},  {0x0475, 'v'},
    {0x04ae, 'y'}, {0x04af, 'y'}, {0x04bb, 'h'}, {0x04c0, 'l'}, {0x04cf, 'l'}, {0x0501, 'd'},  {0x051b, 'q'},
    {0x051d, 'w'}, {0x0570, 'h'}, {0x0578, 'n'}, {0x057d, 'u'}, {0x0581, 'g'}, {0x0585, 'o'},  {0x13a0, 'd'},
    {0x13a1, 'r'}, {0x13a2, 't'}, {0x13aa, 'a'}, {0x13ab, 'j'}, {0x13ac, 'e'}, {0x13b3, 'w'},  {0x13bb, 'h'},
    {0x13c0, 'g'}, {0x13c3, 'z'}, {0x13d2, 'r'}, {0x13da, 's'}, {0x13de, 'l'}, {0x13df, 'c'},  {0x13e2, 'p'},
    {0x2010, '-'}, {0x2011, '-'}, {0x2012, '-'}, {0x2013, '-'}, {0x2014, '-'}, {0x2018, '\''}, {0x2019, '\''},
    {0x2024, '.'}, {0x2044, '/'}, {0x2212, '-'}, {0x2215, '/'}, {0x2223, 'l'}, {0xa4d0, 'b'},  {0xa4d1, 'p'},
    {0xa4d2, 'd'}, {0xa4d3, 'd'}, {0xa4e1, 's'}, {0xa4ea, 'w'}, {0xa731, 's'}, {0xff3f, '_'},
};

/* Letters with accents fold to their letter in prose and names alike: Latin-1 and Latin Extended-A. */
static const char latin[] =
    "aaaaaaaceeeeiiiidnooooo.ouuuuy..aaaaaaaceeeeiiiidnooooo.ouuuuy.y"  /* 00c0..00ff */
    "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii..jjkkklllllll"  /* 0100..013f */
    "lllnnnnnn...oooooo..rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs"; /* 0140..017f */

_Static_assert(sizeof latin == 0x180 - 0xc0 + 1, "one letter for each code point");

static char lookalike(uint32_t cp) {
    size_t low = 0, high = ARRAY_LEN(lookalikes);
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (lookalikes[mid].cp == cp)
            return lookalikes[mid].as;
        if (lookalikes[mid].cp < cp)
            low = mid + 1;
        else
            high = mid;
    }
    return 0;
}

/* The ASCII character that a code point looks like, lower case; 0 when there is none. */
static char ascii_of(uint32_t cp) {
    if (cp >= 0xff01 && cp <= 0xff5e) /* full width */
        cp = cp - 0xff01 + '!';
    if (cp >= 0x1d400 && cp < 0x1d6a4) /* mathematical alphabets: 52 letters each */
        cp = (cp - 0x1d400) % 52 < 26 ? 'a' + (cp - 0x1d400) % 26 : 'a' + (cp - 0x1d400) % 52 - 26;
    if (cp >= 0x1d7ce && cp <= 0x1d7ff)
        cp = '0' + (cp - 0x1d7ce) % 10;
    if (cp >= 0x24b6 && cp <= 0x24e9) /* circled */
        cp = 'a' + (cp - 0x24b6) % 26;
    if (cp < 0x80)
        return (char)(cp >= 'A' && cp <= 'Z' ? cp | 0x20 : cp);
    char as = cp < 0x10000 ? lookalike(cp) : 0;
    if (!as && cp >= 0xc0 && cp < 0x180 && latin[cp - 0xc0] != '.')
        as = latin[cp - 0xc0];
    return as;
}

struct slice risk_skeleton(struct slice name, struct arena *a) {
    char *out = arena_alloc(a, name.len + 1);
    size_t n = 0, len;
    for (size_t i = 0; i < name.len; i += len) {
        uint32_t cp = glyph_next(name, i, &len);
        if (glyph_is_invisible(cp) || glyph_is_control(cp))
            continue;
        char as = ascii_of(cp);
        if (!as) {
            memcpy(out + n, name.ptr + i, len);
            n += len;
            continue;
        }
        as = as == 'i' || as == '1' || as == '|' || as == '!' ? 'l' : as == '0' ? 'o' : as == '5' ? 's' : as;
        if (as == 'n' && n && out[n - 1] == 'r')
            out[n - 1] = 'm';
        else if (as == 'v' && n && out[n - 1] == 'v')
            out[n - 1] = 'w';
        else
            out[n++] = as;
    }
    return slice_of(out, n);
}

struct slice risk_fold_prose(struct slice text, struct arena *a) {
    char *out = arena_alloc(a, text.len + 1);
    size_t n = 0, len;
    for (size_t i = 0; i < text.len; i += len) {
        uint32_t cp = glyph_next(text, i, &len);
        bool space = cp == ' ' || cp == '\t' || cp == '\n' || cp == '\r' || cp == 0xa0 || cp == 0x3000;
        if (space) {
            if (n && out[n - 1] != ' ')
                out[n++] = ' ';
            continue;
        }
        if (glyph_is_invisible(cp) || glyph_is_control(cp))
            continue;
        char as = ascii_of(cp);
        if (as) {
            out[n++] = as;
        } else {
            memcpy(out + n, text.ptr + i, len);
            n += len;
        }
    }
    return slice_of(out, n);
}

bool risk_strip(struct slice text, struct buf *out) {
    size_t start = 0, len;
    for (size_t i = 0; i < text.len; i += len) {
        if (risk_glyph_at(text, i, &len) == RISK_GLYPH_PLAIN)
            continue;
        buf_put(out, text.ptr + start, i - start);
        start = i + len;
    }
    buf_put(out, text.ptr + start, text.len - start);
    return !out->full;
}
