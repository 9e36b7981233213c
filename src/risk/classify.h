/* Which class a tool belongs to, and why. Deterministic: the same definition gives the same answer in every
 * build. Evidence is taken in this order:
 *
 *   name          the verb of the name, after the words that all of the server's tools share are dropped
 *   description   the verb that opens the description, and the verbs beside it
 *   object        what the verb is done to: money, media, a process, a report
 *   enum          the values of an operation parameter, the worst of them counts
 *   parameter     code, command, sql
 *   context       what the server's other tools do: a browser, a till
 *   hint          the server's own annotations, which may raise a class and never lower it
 *
 * Without evidence the answer is Write with a low confidence. */
#pragma once

#include "risk/class.h"
#include "risk/limits.h"
#include "wire/tape.h"

/* What is known about all tools of one server. */
struct risk_context {
    struct slice prefix[RISK_PREFIX_TOKENS_MAX]; /* words that (nearly) all names begin with */
    size_t prefix_count;
    struct slice server_words[RISK_SERVER_WORDS_MAX]; /* words of the server's own name */
    size_t server_word_count;
    uint32_t tool_count;
    uint32_t description_median; /* bytes */
    bool browser;
    bool till; /* at least two tools name money that moves */
};

struct risk_evidence {
    const char *kind;  /* "name", "description", "enum", ... */
    struct slice text; /* the word that spoke; in the arena or static */
};

struct risk_report {
    enum risk_class cls;
    enum risk_severity severity;
    uint8_t confidence;    /* percent */
    bool review;           /* little or contradicting evidence: a person should look */
    bool hint_mismatch;    /* readOnlyHint on a tool that is no read */
    bool hint_destructive; /* the server's own word; many mean every update by it, so it is no class */
    uint32_t tags;         /* enum risk_tag bits */
    struct risk_evidence evidence[RISK_EVIDENCE_MAX];
    size_t evidence_count;
};

/* `tools` is the array of a tools/list result; `server` the server's or package's name, or empty. */
void risk_context_read(const struct tape *t, uint32_t tools, struct slice server, struct arena *a,
                       struct risk_context *ret_ctx);
/* `tool` is one element of that array; anything that is no object counts as a tool without a name. */
void risk_classify(const struct risk_context *ctx, const struct tape *t, uint32_t tool, struct arena *a,
                   struct risk_report *ret_report);
