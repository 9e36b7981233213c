#include "base/hex.h"
#include "policy/match.h"
#include "wire/tape.h"

#define WIDE_LEN 6 /* %u0041 */

/* The length of %41 or %u0041 at `at`, and its value; 0: neither. */
static size_t read_encoded(struct slice text, size_t at, unsigned *ret_code) {
    bool is_wide = at + 1 < text.len && (text.ptr[at + 1] | 0x20) == 'u';
    size_t first = at + (is_wide ? 2 : 1), end = at + (is_wide ? WIDE_LEN : 3);
    unsigned code = 0;
    if (text.ptr[at] != '%' || end > text.len)
        return 0;
    for (size_t i = first; i < end; i++) {
        int digit = hex_value(text.ptr[i]);
        if (digit < 0)
            return 0;
        code = code * 16 + (unsigned)digit;
    }
    *ret_code = code;
    return end - at;
}

/* %u0041 as JSON writes it. One half of a pair is no character: a byte that is not UTF-8 stands for it. */
static size_t put_wide(char *out, struct slice text, size_t at, unsigned code) {
    char escape[WIDE_LEN + 1] = "\\u";
    const char *p = escape;
    if (code >= 0xd800 && code < 0xe000) {
        *out = (char)0xff;
        return 1;
    }
    memcpy(escape + 2, text.ptr + at + 2, WIDE_LEN - 2);
    return tape_unescape(&p, out);
}

struct slice policy_percent_decode(struct slice text, struct arena *a, bool *ret_steps) {
    char *out = arena_alloc(a, text.len + 1);
    size_t len = 0;
    *ret_steps = false;
    for (size_t i = 0; i < text.len;) {
        unsigned code = 0;
        size_t size = read_encoded(text, i, &code);
        if (size && code < 0x80 && (!code || strchr("./\\%", (int)code)))
            *ret_steps = true;
        if (size == WIDE_LEN)
            len += put_wide(out + len, text, i, code);
        else
            out[len++] = (char)(size ? code : (unsigned char)text.ptr[i]);
        i += size ? size : 1;
    }
    return slice_of(out, len);
}
