#include "filter/chars.h"

const uint8_t pii_chars_table[256] = {
    ['0' ... '9'] = CH_DIGIT | CH_HEX,
    ['A' ... 'F'] = CH_UPPER | CH_HEX,
    ['G' ... 'Z'] = CH_UPPER,
    ['a' ... 'f'] = CH_LOWER | CH_HEX,
    ['g' ... 'z'] = CH_LOWER,
    [' '] = CH_SPACE,
    ['\t'] = CH_SPACE,
    ['\n'] = CH_SPACE,
    ['\r'] = CH_SPACE,
    ['-'] = CH_URL64,
    ['_'] = CH_URL64,
    ['+'] = CH_B64,
    ['/'] = CH_B64,
    ['='] = CH_B64,
    ['"'] = CH_QUOTE,
    ['\''] = CH_QUOTE,
    ['`'] = CH_QUOTE,
};
