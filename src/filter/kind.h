/* The kinds of personal data and secrets, and sets of them. */
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
    PII_PERSON,
    PII_STREET_ADDRESS,
    PII_LITERAL, /* input text that looks like one of our tokens; always tokenized */
    PII_BUILTIN, /* the number of built-in kinds; custom rule i has kind PII_BUILTIN + i */
};

#define PII_KINDS_MAX (PII_BUILTIN + PII_RULES_MAX)
#define PII_BIT(kind) (UINT64_C(1) << (kind))
/* Found only where they are named; custom rules share one bit. */
#define PII_BIT_CUSTOM PII_BIT(PII_BUILTIN)
#define PII_ALL (((PII_BIT(PII_BUILTIN) - 1) & ~PII_BIT(PII_LITERAL)) | PII_BIT_CUSTOM)
#define PII_WORDS (PII_BIT(PII_PERSON) | PII_BIT(PII_STREET_ADDRESS)) /* readers that look at every word */
#define PII_OPTIONAL (PII_BIT(PII_URL) | PII_WORDS)
#define PII_DEFAULT (PII_ALL & ~PII_OPTIONAL)

/* Name of a built-in kind. */
const char *pii_kind_name(enum pii_kind kind);
/* The name in tokens of Code Execution MCP, if it differs; or NULL. Such tokens are accepted everywhere. */
const char *pii_kind_alias(unsigned kind);
/* -1 for an unknown name (case-insensitive). */
int pii_kind_from(struct slice name);
