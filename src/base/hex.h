/* Hexadecimal digits. Written in lower case. */
#pragma once

#include "base/slice.h"

/* The value of one digit in either case, or -1. */
static inline int hex_value(char c) {
    if ((unsigned char)(c - '0') < 10)
        return c - '0';
    unsigned char letter = (unsigned char)((c | 0x20) - 'a');
    return letter < 6 ? letter + 10 : -1;
}

/* 2 * len digits, without a NUL behind them. */
void hex_put(const unsigned char *bytes, size_t len, char *ret_digits);
/* The same with a NUL: 2 * len + 1 characters. */
void hex_str(const unsigned char *bytes, size_t len, char *ret_text);
/* Exactly 2 * len digits, and in lower case only: a hash has one spelling. */
bool hex_get(struct slice text, unsigned char *ret_bytes, size_t len);
