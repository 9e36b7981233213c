/* Byte classes of the detectors. ASCII only: everything else is "other". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum chars_class {
    CH_DIGIT = 1,
    CH_UPPER = 2,
    CH_LOWER = 4,
    CH_HEX = 8,
    CH_SPACE = 16,
    CH_URL64 = 32, /* - and _ */
    CH_B64 = 64,   /* + / = */
    CH_QUOTE = 128 /* " ' ` */
};

extern const uint8_t pii_chars_table[256];

static inline bool ch_is(char c, unsigned mask) { return (pii_chars_table[(uint8_t)c] & mask) != 0; }
static inline bool ch_digit(char c) { return (uint8_t)(c - '0') < 10; }
static inline bool ch_alpha(char c) { return (uint8_t)((c | 32) - 'a') < 26; }
static inline bool ch_alnum(char c) { return ch_is(c, CH_DIGIT | CH_UPPER | CH_LOWER); }
static inline bool ch_hex(char c) { return ch_is(c, CH_HEX); }
static inline bool ch_space(char c) { return ch_is(c, CH_SPACE); }
static inline char ch_lower(char c) { return (uint8_t)(c - 'A') < 26 ? (char)(c | 32) : c; }
static inline char ch_upper(char c) { return (uint8_t)(c - 'a') < 26 ? (char)(c & ~32) : c; }
