/* Tokens in a format that a schema requires. Private to the filter room. */
#pragma once

#include "filter/token_text.h"

enum preserve_form {
    PRESERVE_NONE, /* [KIND_CHARACTERS] */
    PRESERVE_EMAIL,
    PRESERVE_URL,
    PRESERVE_IPV6,
    PRESERVE_IPV4,
    PRESERVE_DATE,
};

enum preserve_form preserve_form_of(struct slice kind, struct slice value);
/* How many characters, including the check character, the form can hold; 0: no limit. */
size_t preserve_room(enum preserve_form form);
void preserve_write(enum preserve_form form, const char *chars, size_t count, struct token_text *ret_token);
/* The token whose characters start at `at`: after `tok-`, or an address or a date. */
bool preserve_read(struct slice text, uint32_t at, struct token_match *ret_match);

#define PRESERVE_DIGITS_MIN 9 /* bytes of an address or a date that is a token */
/* Can one start with this digit? At least PRESERVE_DIGITS_MIN bytes are available. */
static inline bool preserve_may_start(const char *p) {
    /* without branches: the digits are unpredictable */
    const bool address =
        (p[1] == '4') | (p[1] == '5') | ((p[1] == '0') & (p[2] == '0') & (p[3] == '1') & (p[4] == ':'));
    const bool day = ((unsigned)(p[0] - '5') < 3) & (p[4] == '-') & (p[7] == '-');
    return ((p[0] == '2') & address) | day;
}
