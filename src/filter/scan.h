/* The detector: personal data and secrets in a text, found by hand-written readers with checksums and by
 * the words around them. Pure: a const engine, a text, a list of spans. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "filter/kind.h"

struct pii_engine; /* tables, CPU dispatch and custom rules; immutable, one per process or configuration */

struct pii_span {
    uint32_t start; /* bytes */
    uint32_t end;
    uint16_t kind;   /* enum pii_kind, or PII_BUILTIN + index of a custom rule */
    uint8_t score;   /* 0..100 */
    bool encoded;    /* the value stands behind base64 or percent signs */
    const char *sub; /* what exactly: "github-pat", "ipv6"; never NULL */
};

struct pii_spans {
    struct pii_span *at;
    uint32_t count;
    uint32_t cap;
    bool full; /* PII_SPANS_MAX was reached: the rest of the text is not scanned */
};

struct pii_options {
    uint64_t kinds;    /* PII_BIT of each; 0 means PII_DEFAULT */
    uint8_t score_min; /* 0 means 50 */
    uint8_t depth;     /* encoded layers to open, at most PII_DEPTH_MAX */
    bool literals;     /* also find text that looks like a token */
};

/* A custom rule: a PCRE2 pattern that is only tried around a literal, or a plain word list. */
struct pii_rule {
    const char *name;         /* A-Z0-9_, becomes the kind in tokens */
    const char *literal;      /* must occur (case-insensitive); required with a pattern */
    const char *pattern;      /* PCRE2; NULL: the literal itself is the match */
    const char *const *match; /* inline tests, NULL-terminated, may be NULL */
    const char *const *nomatch;
    uint8_t score; /* 0 means 80 */
};

/* Compiles the tables. `rules` may be NULL. Errors name the rule and the test that failed. */
int pii_engine_new(const struct pii_rule *rules, size_t count, struct pii_engine **ret_engine,
                   struct err *err);
void pii_engine_free(struct pii_engine *e);
/* Name of a span's kind: a built-in name or a custom rule's. */
const char *pii_engine_kind_name(const struct pii_engine *e, unsigned kind);
/* As pii_kind_from, custom rules included. */
int pii_engine_kind_from(const struct pii_engine *e, struct slice name);
/* For tests: forces the portable class pass. */
void pii_engine_scalar(struct pii_engine *e);

/* What is known of keys: records repeat theirs, and documents their frames. All zero is empty. */
struct pii_keys {
    uint8_t len[PII_KEY_MEMO]; /* 0: nothing below is set */
    struct pii_key {
        char text[PII_KEY_MEMO_TEXT];
        uint32_t hints;
        bool hinted; /* `hints` are known */
        bool clean;  /* it was looked through as a text of its own and held nothing */
    } at[PII_KEY_MEMO];
};
/* The place of a key, in which another one may have stood before; NULL when it is too long to be remembered.
 * Good until the next call. */
struct pii_key *pii_keys_at(struct pii_keys *k, struct slice key);

/* Where the text stands: the key it is the value of, and how much of its front is only context. */
struct pii_context {
    struct slice key;
    struct pii_keys *keys; /* or NULL */
};

/* Appends the spans of `text`, sorted and disjoint. Spans of earlier calls in `out` are left alone. */
void pii_scan(const struct pii_engine *e, const struct pii_options *opt, struct slice text,
              const struct pii_context *ctx, struct pii_spans *out);

void pii_spans_init(struct pii_spans *s);
void pii_spans_free(struct pii_spans *s);
static inline void pii_spans_cleanup(struct pii_spans *s) { pii_spans_free(s); }
#define cleanup_pii_spans __attribute__((cleanup(pii_spans_cleanup)))
