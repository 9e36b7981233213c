#include "base/hex.h"

/* Arithmetic in place of a table of digits: compilers turn it into vector code. */
static char digit_of(unsigned value) { return (char)(value + (value < 10 ? '0' : 'a' - 10)); }

void hex_put(const unsigned char *bytes, size_t len, char *ret_digits) {
    for (size_t i = 0; i < len; i++) {
        ret_digits[2 * i] = digit_of(bytes[i] >> 4);
        ret_digits[2 * i + 1] = digit_of(bytes[i] & 15);
    }
}

void hex_str(const unsigned char *bytes, size_t len, char *ret_text) {
    hex_put(bytes, len, ret_text);
    ret_text[2 * len] = '\0';
}

bool hex_get(struct slice text, unsigned char *ret_bytes, size_t len) {
    if (text.len != 2 * len)
        return false;
    for (size_t i = 0; i < len; i++) {
        char high = text.ptr[2 * i], low = text.ptr[2 * i + 1];
        if (hex_value(high) < 0 || hex_value(low) < 0 || (high >= 'A' && high <= 'F') ||
            (low >= 'A' && low <= 'F'))
            return false;
        ret_bytes[i] = (unsigned char)(hex_value(high) << 4 | hex_value(low));
    }
    return true;
}
