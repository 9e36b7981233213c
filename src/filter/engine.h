/* The detector: finds personal data and secrets in a text, with hand-written readers, checksums and nearby
 * words. Pure: a const engine, a text, a list of spans. */
#pragma once

#include "filter/keys.h"
#include "filter/rules.h"
#include "filter/spans.h"

struct pii_engine; /* tables, CPU dispatch and custom rules; immutable, one per process or configuration */

struct pii_options {
    uint64_t kinds;    /* PII_BIT of each; 0 means PII_DEFAULT */
    uint8_t score_min; /* 0 means 50 */
    uint8_t depth;     /* encoded layers to decode, at most PII_DEPTH_MAX */
    bool literals;     /* also find text that looks like a token */
    bool tokens;       /* only report whether there is such text: out->has_token */
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

/* The context of the text: its key, and how many of its first bytes are only context. */
struct pii_context {
    struct slice key;
    struct pii_keys *keys; /* or NULL */
};

/* Appends the spans of `text`, sorted and disjoint. Spans of earlier calls in `out` are not changed. */
void pii_engine_scan(const struct pii_engine *e, const struct pii_options *opt, struct slice text,
                     const struct pii_context *ctx, struct pii_spans *out);
