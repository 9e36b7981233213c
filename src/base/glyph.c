#include "base/glyph.h"

#include "base/mem.h"

#include <stdio.h>

uint32_t glyph_next(struct slice text, size_t at, size_t *ret_len) {
    const unsigned char *p = (const unsigned char *)text.ptr + at;
    size_t left = text.len - at;
    *ret_len = 1;
    if (p[0] < 0xc0 || left < 2)
        return p[0];
    size_t len = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (left < len)
        return p[0];
    uint32_t cp = p[0] & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++)
        cp = cp << 6 | (p[i] & 0x3f);
    *ret_len = len;
    return cp;
}

bool glyph_is_control(uint32_t cp) {
    return (cp < 0x20 && cp != '\t' && cp != '\n' && cp != '\r') || (cp >= 0x7f && cp < 0xa0);
}

/* Sorted. */
static const struct {
    uint32_t first, last;
} invisible[] = {
    {0x00ad, 0x00ad},   {0x034f, 0x034f},   {0x061c, 0x061c},   {0x115f, 0x1160}, {0x17b4, 0x17b5},
    {0x180b, 0x180f},   {0x200b, 0x200f},   {0x202a, 0x202e},   {0x2060, 0x206f}, {0x3164, 0x3164},
    {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff0, 0xfffb}, {0xfffe, 0xffff},
    {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

bool glyph_is_invisible(uint32_t cp) {
    for (size_t i = 0; i < ARRAY_LEN(invisible) && cp >= invisible[i].first; i++)
        if (cp <= invisible[i].last)
            return true;
    return false;
}

struct slice glyph_printable(struct slice text, size_t max, struct arena *a) {
    char *out = arena_alloc(a, max + 16);
    size_t n = 0, len;
    for (size_t i = 0; i < text.len; i += len) {
        uint32_t cp = glyph_next(text, i, &len);
        if (n + len > max) {
            memcpy(out + n, "...", 3);
            return slice_of(out, n + 3);
        }
        if (cp == '\n' || cp == '\r' || cp == '\t' || cp == 0x2028 ||
            cp == 0x2029) { /* YAML treats these as line ends too */
            if (n && out[n - 1] != ' ')
                out[n++] = ' ';
        } else if (glyph_is_invisible(cp) || glyph_is_control(cp)) {
            n += (size_t)snprintf(out + n, 12, "<U+%04X>", cp);
        } else {
            memcpy(out + n, text.ptr + i, len);
            n += len;
        }
    }
    return slice_of(out, n);
}
