#include "risk/tokens.h"

enum kind { LETTER, DIGIT, SPACE, BREAK, PUNCT, WIDE };

static enum kind kind_of(unsigned char c) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
        return LETTER;
    if (c >= '0' && c <= '9')
        return DIGIT;
    if (c == ' ')
        return SPACE;
    if (c == '\n' || c == '\r' || c == '\t')
        return BREAK;
    return c < 0x80 ? PUNCT : WIDE;
}

static uint32_t cost(enum kind kind, uint32_t run) {
    switch (kind) {
    case LETTER:
        return (run + RISK_TOKEN_LETTERS - 1) / RISK_TOKEN_LETTERS;
    case DIGIT:
        return (run + 2) / 3;
    case PUNCT:
        return (run + 1) / 2;
    case SPACE:
        return run > 1;
    case BREAK:
        return 1;
    case WIDE:
        return run;
    }
    return 0;
}

uint32_t risk_tokens_of(struct slice text) {
    uint32_t total = 0, run = 0;
    enum kind now = SPACE;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        enum kind kind = kind_of(c);
        if (kind != now) {
            total += cost(now, run);
            now = kind;
            run = 0;
        }
        run += kind != WIDE || c >= 0xc0; /* continuation bytes belong to their code point */
    }
    return total + cost(now, run);
}
