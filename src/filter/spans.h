/* Findings in a text: ranges, kinds and scores. */
#pragma once

#include "filter/kind.h"

struct pii_span {
    uint32_t start; /* bytes */
    uint32_t end;
    uint16_t kind;   /* enum pii_kind, or PII_BUILTIN + index of a custom rule */
    uint8_t score;   /* 0..100 */
    bool encoded;    /* the value is encoded in base64 or percent signs */
    const char *sub; /* subtype: "github-pat", "ipv6"; never NULL */
};

struct pii_spans {
    struct pii_span *at;
    uint32_t count;
    uint32_t cap;
    bool full;      /* PII_SPANS_MAX was reached: the rest of the text is not scanned */
    bool has_token; /* text that looks like a token was found, if requested */
};

void pii_spans_init(struct pii_spans *s);
void pii_spans_free(struct pii_spans *s);
static inline void pii_spans_cleanup(struct pii_spans *s) { pii_spans_free(s); }
#define cleanup_pii_spans __attribute__((cleanup(pii_spans_cleanup)))
/* Sorts the spans from `first` on and drops the weaker of two overlapping ones. */
void pii_spans_settle(struct pii_spans *s, uint32_t first);
