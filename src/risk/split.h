/* Names and prose cut into lower-case words. */
#pragma once

#include "base/arena.h"
#include "risk/limits.h"

/* The separator before a word. */
enum risk_break {
    RISK_BREAK_SPACE,
    RISK_BREAK_HYPHEN,   /* inside a compound: read-only */
    RISK_BREAK_LIST,     /* , / & | */
    RISK_BREAK_CLAUSE,   /* : ; ( dashes, a single line end */
    RISK_BREAK_SENTENCE, /* . ! ? an empty line, the beginning */
};

struct risk_token {
    struct slice text; /* lower case, ASCII letters, digits and ' only */
    uint8_t brk;       /* enum risk_break */
    bool joined;       /* part of an identifier: create_time */
};

/* snake_case, kebab-case, camelCase, dots, digits: create_HTTPRule2 is create http rule 2. */
size_t risk_split_name(struct slice name, struct slice *ret_tokens, size_t max, struct arena *a);
/* Words of prose; bytes beyond ASCII end a word. Stops at `max` words. */
size_t risk_split_prose(struct slice text, struct risk_token *ret_tokens, size_t max, struct arena *a);
/* A lower-case copy (ASCII letters) of at most `max` bytes. */
struct slice risk_lower(struct slice text, size_t max, struct arena *a);
/* Is `part` somewhere in `text`? */
bool risk_contains(struct slice text, const char *part);
