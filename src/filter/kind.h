/* The kinds of things that are found, and the sets of them. */
#pragma once

#include "base/slice.h"
#include "filter/limits.h"

enum pii_kind {
    PII_EMAIL,
    PII_PHONE,
    PII_SSN,
    PII_CREDIT_CARD,
    PII_IBAN,
    PII_IP,
    PII_MAC,
    PII_URL,
    PII_DATE_OF_BIRTH,
    PII_SECRET,
    PII_NATIONAL_ID,
    PII_CRYPTO,
    PII_LITERAL, /* text from outside that looks like one of our tokens; only ever tokenized */
    PII_BUILTIN, /* the number of built-in kinds; custom rule i has kind PII_BUILTIN + i */
};

#define PII_KINDS_MAX (PII_BUILTIN + PII_RULES_MAX)
#define PII_BIT(kind) (UINT64_C(1) << (kind))
/* URL is off unless asked for; custom rules have one common bit. */
#define PII_BIT_CUSTOM PII_BIT(PII_BUILTIN)
#define PII_ALL ((PII_BIT(PII_BUILTIN) - 1) & ~PII_BIT(PII_LITERAL)) | PII_BIT_CUSTOM
#define PII_DEFAULT ((PII_ALL) & ~PII_BIT(PII_URL))

/* Name of a built-in kind. */
const char *pii_kind_name(enum pii_kind kind);
/* What Code Execution MCP calls it in tokens, where that is another name; or NULL. Such tokens are read
 * everywhere. */
const char *pii_kind_alias(unsigned kind);
/* -1 for a name that is none (case-insensitive). */
int pii_kind_from(struct slice name);
