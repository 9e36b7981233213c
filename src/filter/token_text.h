/* The characters of a token and its check character, whatever the token looks like around them. */
#pragma once

#include "base/slice.h"
#include "filter/limits.h"

struct token_text {
    char text[FILTER_TOKEN_TEXT_MAX];
    size_t len;
};

struct token_match {
    uint32_t start; /* with what brackets belong to it */
    uint32_t end;
    char id[FILTER_TOKEN_TEXT_MAX]; /* KIND_CHARACTERS, upper case */
    size_t id_len;
    size_t kind_len;
    bool truncated; /* no valid check character: only a unique prefix could say what it was */
    bool invalid;   /* [KIND_CHARACTERS] to the eye, but the check character is wrong: no vault's */
};

/* What a character of a token stands for, or -1, and the character of a value below 32. */
int filter_token_value(char c);
char filter_token_letter(unsigned value);
/* The check character over a kind and `len` characters. */
char filter_token_check(struct slice kind, const char *chars, size_t len);
