/* The evaluation of a decision, for `explain`: a flat list of lines with their depth. */
#pragma once

#include "policy/policy.h"

struct cond;
struct emit;
struct check;
struct value;

enum policy_trace_kind {
    POLICY_TRACE_NOTE,  /* a step of the procedure: hidden? listed? */
    POLICY_TRACE_CHECK, /* a rule or block */
    POLICY_TRACE_GROUP, /* all, any, not */
    POLICY_TRACE_LEAF,  /* one condition */
    POLICY_TRACE_LIMIT, /* a limit to reserve */
};

struct policy_trace_line {
    enum policy_trace_kind kind;
    uint32_t depth;
    struct slice what;    /* note, rule name, operator text */
    struct slice pointer; /* of the rule */
    struct slice path;
    struct slice op;
    struct slice want;
    struct slice got;   /* the value as JSON, shortened; empty: absent */
    const char *answer; /* "yes", "no", "fault", "passes", "denies" … */
};

struct policy_trace {
    struct arena *arena;
    struct policy_trace_line *lines;
    size_t count;
    size_t cap;
    uint32_t depth;
};

void policy_trace_note(struct policy_trace *t, const char *what, const char *answer);
void policy_trace_check(struct policy_trace *t, const struct check *check);
void policy_trace_check_end(struct policy_trace *t, const char *answer);
void policy_trace_open(struct policy_trace *t, const struct cond *group);
void policy_trace_close(struct policy_trace *t, int truth);
void policy_trace_leaf(struct policy_trace *t, const struct cond *leaf, const struct value *value, int truth);
void policy_trace_limit(struct policy_trace *t, const struct policy_limit *limit);
/* The verdict and every line as one JSON object. */
void policy_trace_json(struct emit *e, const struct policy_trace *t, const struct policy_verdict *v,
                       struct slice text);
