#include "filter/token_text.h"

#include "filter/chars.h"

static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

int filter_token_value(char c) {
    c = ch_upper(c);
    if (c == 'O')
        c = '0';
    if (c == 'I' || c == 'L')
        c = '1';
    const char *at = memchr(alphabet, c, 32);
    return at && c ? (int)(at - alphabet) : -1;
}

char filter_token_letter(unsigned value) { return alphabet[value & 31]; }

/* Position-weighted sum modulo the prime 31: every single wrong character and every swap shows. */
char filter_token_check(struct slice kind, const char *chars, size_t len) {
    unsigned sum = 7;
    for (size_t i = 0; i < kind.len; i++)
        sum = (sum * 3 + (uint8_t)ch_upper(kind.ptr[i])) % 31;
    for (size_t i = 0; i < len; i++)
        sum += (unsigned)(i + 2) * (unsigned)filter_token_value(chars[i]);
    return alphabet[sum % 31];
}
