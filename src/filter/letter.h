/* Letters in UTF-8, as far as names need them. */
#pragma once

#include "filter/detect.h"

/* The length of the letter at `i`, or 0. Beyond ASCII all but general and CJK punctuation are letters. */
static inline uint32_t letter_at(const struct detect *d, uint32_t i) {
    const uint8_t c = (uint8_t)detect_at(d, i);
    if (c < 0x80)
        return ch_alpha((char)c) ? 1 : 0;
    const uint32_t len = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc3 ? 2 : 0;
    const uint8_t next = (uint8_t)detect_at(d, i + 1);
    if (!len || c >= 0xf0 || c == 0xe2 || c == 0xef || (c == 0xe3 && next == 0x80) || d->n - i < len)
        return 0;
    return len;
}

/* A letter of a script without capitals: Chinese, Japanese, Korean. */
static inline bool letter_caseless(const struct detect *d, uint32_t i) {
    const uint8_t c = (uint8_t)detect_at(d, i);
    return c >= 0xe3 && c <= 0xed && letter_at(d, i) == 3;
}

static inline bool letter_capital(const struct detect *d, uint32_t i) {
    const uint8_t c = (uint8_t)detect_at(d, i), next = (uint8_t)detect_at(d, i + 1);
    return ch_is((char)c, CH_UPPER) || (c == 0xc3 && next >= 0x80 && next <= 0x9e) || c == 0xc4 ||
           c == 0xc5 || (c == 0xce && next >= 0x86 && next <= 0xa9) ||
           (c == 0xd0 && next >= 0x81 && next <= 0xaf);
}
