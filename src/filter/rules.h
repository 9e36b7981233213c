/* Custom rules of a configuration. */
#pragma once

#include "base/err.h"
#include "filter/kind.h"

struct detect;
struct rules; /* compiled */

/* A custom rule: a PCRE2 pattern that is only tried around a literal, or a plain word list. */
struct pii_rule {
    const char *name;         /* A-Z0-9_, becomes the kind in tokens */
    const char *literal;      /* must occur (case-insensitive); required with a pattern */
    const char *pattern;      /* PCRE2; NULL: the literal itself is the match */
    const char *const *match; /* inline tests, NULL-terminated, may be NULL */
    const char *const *nomatch;
    uint8_t score; /* 0 means 80 */
};

struct rules *pii_rules_new(const struct pii_rule *rules, size_t count, struct err *err);
void pii_rules_free(struct rules *r);
void pii_rules_scan(struct detect *d);
const char *pii_rules_name(const struct rules *r, size_t i);
size_t pii_rules_count(const struct rules *r);
