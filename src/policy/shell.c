/* Texts that end up in a command line. Windows converts what its code page lacks to a similar ASCII character
 * (a soft hyphen to `-`, full-width quotes to quotes), others normalise to the same effect. */
#include "policy/match.h"

#include "base/fold.h"
#include "base/glyph.h"

static const char meta[] = ";&|`$<>(){}[]*?!#~\\'\"^%";

static bool is_meta(uint32_t code) {
    return code < 0x20 || code == 0x7f || (code < 0x80 && memchr(meta, (int)code, sizeof(meta) - 1));
}

/* Quotes, brackets, bars and line ends that become ASCII ones without a normalisation form that says so. */
static bool is_like_meta(uint32_t code) {
    return code == 0x85 || (code >= 0x2018 && code <= 0x201f) || code == 0x2028 || code == 0x2029 ||
           (code >= 0x2032 && code <= 0x2037) || code == 0x2039 || code == 0x203a || code == 0x2223 ||
           code == 0x2329 || code == 0x232a || (code >= 0x3008 && code <= 0x300b) || code == 0x301d ||
           code == 0x301e || code == 0x01c0 || code == 0x02b9 || code == 0x02ba || code == 0x02bb ||
           code == 0x02bc || code == 0x02c6 || code == 0x02c8 || code == 0x02cb || code == 0x02dc;
}

bool policy_shell_clean(struct slice text, struct arena *a) {
    size_t size;
    if (!fold_is_ascii(text)) {
        for (size_t i = 0; i < text.len; i += size)
            if (is_like_meta(glyph_next(text, i, &size)))
                return false;
        text = fold_text(text, a);
    }
    for (size_t i = 0; i < text.len; i++)
        if (is_meta((unsigned char)text.ptr[i]))
            return false;
    return true;
}

/* Hyphens, dashes and the minus sign. */
static bool is_dash(uint32_t code) {
    return code == '-' || code == 0xad || (code >= 0x2010 && code <= 0x2015) || code == 0x2043 ||
           code == 0x2212 || code == 0xfe58 || code == 0xfe63 || code == 0xff0d;
}

/* Characters that a server may remove: blanks, control characters and invisible ones. */
static bool is_removed(uint32_t code) {
    return code <= ' ' || code == 0x7f || code == 0xa0 || code == 0x3000 ||
           (code >= 0x2000 && code <= 0x200a) || glyph_is_control(code) || glyph_is_invisible(code);
}

bool policy_shell_is_option(struct slice text) {
    size_t size;
    for (size_t i = 0; i < text.len; i += size) {
        uint32_t code = glyph_next(text, i, &size);
        if (is_dash(code))
            return true;
        if (!is_removed(code))
            return false;
    }
    return false;
}
