/* What the call path uses: results and other texts on their way to the model go through filter_json or
 * filter_text, arguments on their way to a server through filter_restore_json or filter_restore_text.
 *
 *   server ─▶ result ─▶ filter_json(scope, options{origin: server}) ─▶ model
 *   model ─▶ arguments ─▶ filter_restore_json(scope, rules{server}) ─▶ server
 *
 * Everything is pure but for the vault behind the scope. Nothing is logged; the report holds counts only. */
#pragma once

#include "base/buf.h"
#include "filter/edits.h"
#include "filter/engine.h"
#include "filter/token.h"
#include "wire/tape.h"

enum filter_mode {
    FILTER_OFF,
    FILTER_TOKENIZE, /* [EMAIL_7K3QX9M2], restorable by rule */
    FILTER_REDACT,   /* [EMAIL], cannot be restored */
    FILTER_BLOCK,    /* the whole text is refused */
    FILTER_REPORT,   /* counted, not changed */
};

#define FILTER_MODE_CUSTOM PII_BUILTIN /* index of the mode for custom rules */

struct filter_options {
    enum filter_mode modes[PII_BUILTIN + 1]; /* per kind; the caller resolves server, tool and grant */
    uint8_t score_min;                       /* 0: the detector's default */
    uint8_t depth;                           /* encoded layers to scan; usually PII_DEPTH_MAX */
    bool preserve;       /* tokens that keep the format of addresses (for schemas that require one) */
    bool known;          /* the author of the text may have seen tokens: those of the vault stay */
    bool remember;       /* values in mode report go to the vault: they may be restored for their server */
    struct slice origin; /* the server the text comes from */
};

struct filter_place { /* of a value in the source */
    uint32_t start;
    uint32_t end; /* 0: none */
    unsigned kind;
    bool in_key;
};

struct filter_report {
    uint32_t counts[PII_KINDS_MAX]; /* spans per kind, in any mode */
    uint32_t found;                 /* their sum, without literals */
    uint32_t literals;              /* token-shaped text that was neutralised */
    uint32_t restored;
    uint64_t restored_kinds;         /* PII_BIT of each, PII_BIT_CUSTOM for all custom ones */
    uint32_t unknown;                /* unknown tokens; not changed */
    uint32_t refused[PII_KINDS_MAX]; /* tokens that the rules do not restore; not changed */
    uint32_t refused_total;
    uint64_t work;    /* by filter_restore_check: bytes of other readings that were looked at */
    bool may_restore; /* by filter_restore_check: some text looks like a token, of the vault or not */
    struct filter_place noted,
        kept_back; /* the first plain value that was counted, and the first refused one */
};

enum filter_result {
    FILTER_SAME,    /* nothing to change: forward the original bytes; `out` is empty */
    FILTER_CHANGED, /* `out` holds the new text */
    FILTER_BLOCKED, /* contains a kind in mode block */
    FILTER_FAILED,  /* a ceiling or a full vault: do not forward */
};

/* All kinds of PII_DEFAULT in one mode, the others off. */
void filter_options_set(struct filter_options *opt, enum filter_mode mode);
/* "off", "tokenize", "redact", "block", "report"; -1 for others. */
int filter_mode_from(struct slice name);
/* Is any mode on? Otherwise the call path can skip the filter. */
bool filter_wanted(const struct filter_options *opt);

/* Plain text (or JSON text that is treated as such). */
enum filter_result filter_text(struct filter_scope *s, const struct filter_options *opt, struct slice text,
                               struct slice key, struct buf *out, struct filter_report *report);
/* The value `node` of a parsed text: strings, keys and numbers, JSON inside strings, values split over
 * neighbouring content parts. `out` gets the whole of t->src; bytes that hold nothing stay as they are. */
enum filter_result filter_json(struct filter_scope *s, const struct filter_options *opt, const struct tape *t,
                               uint32_t node, struct buf *out, struct filter_report *report);

/* Returns the changes to t->src instead of the changed text. */
enum filter_result filter_json_edits(struct filter_scope *s, const struct filter_options *opt,
                                     const struct tape *t, uint32_t node, struct arena *a,
                                     struct filter_edits *ret_edits, struct filter_report *report);

/* Where tokens may be replaced by values: one struct per call, resolved from policy by the caller. */
struct filter_rules {
    struct slice server; /* the destination */
    uint64_t
        kinds; /* PII_BIT of each kind that this destination may receive (PII_BIT_CUSTOM for all custom) */
    bool keep_literals; /* text that looks like a token stays neutralised: the destination writes for the
                           model */
    bool secrets_from_anywhere;       /* otherwise SECRET is only restored for a server that it came from */
    const struct slice *secrets_from; /* or for one that may receive the secrets of these servers */
    size_t secrets_from_count;
    /* PII_BIT of kinds that are searched in plain text, for filter_restore_check: */
    uint64_t plain_refused; /* refused, unless this destination has returned the value itself */
    uint64_t plain_noted;   /* counted, with the same exception */
    bool looks_for_tokens;  /* report->may_restore is needed */
};

enum filter_result filter_restore_text(struct filter_scope *s, const struct filter_rules *rules,
                                       struct slice text, struct buf *out, struct filter_report *report);
enum filter_result filter_restore_json(struct filter_scope *s, const struct filter_rules *rules,
                                       const struct tape *t, uint32_t node, struct buf *out,
                                       struct filter_report *report);

enum filter_result filter_restore_edits(struct filter_scope *s, const struct filter_rules *rules,
                                        const struct tape *t, uint32_t node, struct arena *a,
                                        struct filter_edits *ret_edits, struct filter_report *report);
/* Values that stand there in plain text: what rules->plain_refused names, and secrets that the vault knows
 * from servers that this destination may have none of, are counted as refused; what rules->plain_noted names
 * is counted as found. FILTER_BLOCKED: something was refused. Where it leaves report->may_restore unset,
 * filter_restore_edits() would find nothing. */
enum filter_result filter_restore_check(struct filter_scope *s, const struct filter_rules *rules,
                                        const struct tape *t, uint32_t node, struct filter_report *report);
