/* The compiled form of both dialects. Private to the policy room.
 *
 *   policy ── tools: name → entry           entry ── checks[]: require | deny | approve | schema
 *          ── patterns[]: glob, @class            └─ limits[]: reserved by each call that passes
 *          ── everything: "*" / all_tools
 *          ── methods: name → entry, flows[]
 *
 * Everything lives in policy->arena and never changes after policy_load. */
#pragma once

#include "base/map.h"
#include "policy/limits.h"
#include "policy/match.h"
#include "policy/policy.h"
#include "policy/tick.h"
#include "wire/tree.h"

enum root { ROOT_ARGS, ROOT_STATE, ROOT_FACT, ROOT_TIME };
enum step_kind { STEP_KEY, STEP_INDEX, STEP_EACH };

struct step {
    enum step_kind kind;
    struct slice key; /* STEP_KEY */
    bool on_array;    /* STEP_KEY written `0` or `*`: on an array an index, or every element */
    uint32_t index;   /* STEP_INDEX, and `0` of the above */
};

struct path {
    struct slice text; /* as written */
    enum root root;
    struct step *steps;
    uint32_t step_count;
    bool has_each; /* may stand for many values */
    uint32_t id;   /* equal for equal texts; a decision caches the results of the first few */
};

enum op {
    OP_EQ,
    OP_NEQ,
    OP_IN,
    OP_NOT_IN,
    OP_LT,
    OP_LTE,
    OP_GT,
    OP_GTE,
    OP_EXISTS,
    OP_REGEX,
    OP_CONTAINS,
    OP_STARTS_WITH,
    OP_ENDS_WITH,
    OP_GLOB,
    OP_LEN_EQ,
    OP_LEN_LT,
    OP_LEN_LTE,
    OP_LEN_GT,
    OP_LEN_GTE,
    OP_TYPE,
    OP_UNDER,
    OP_HOST,
    OP_SQL,
    OP_NO_SHELL_META,
    OP_NO_LEADING_DASH,
    OP_SCHEMA,
    OP_WITHIN,
    OP_CONTAINS_SECRET,
    OP_PII,
    OP_COUNT,
};

struct op_row {
    const char *name;
    const char *requires; /* the required type, for the message; NULL: any */
    bool intercept;       /* one of the eleven operators of both dialects */
};
extern const struct op_row policy_ops[OP_COUNT];

/* A constant, prepared for comparison: its type, its number, its text for eq. */
struct constant {
    enum tree_type type;
    bool is_short; /* every reader reads the same number */
    double number;
    struct slice digits; /* exact decimal text of a number */
    struct slice text;   /* Go's %v with plain decimals; for strings the string */
    const struct tree *tree;
};

struct within {   /* minutes of the day and days of the week, at a fixed offset from UTC */
    uint8_t days; /* bit 0 Monday */
    int16_t from_min, to_min;
    int16_t offset_min;
};

enum cond_kind { COND_LEAF, COND_ALL, COND_ANY, COND_NOT };

struct cond {
    enum cond_kind kind;
    uint32_t count; /* children */
    struct cond *children;
    /* leaf */
    enum op op;
    struct path path;
    bool lenient;      /* the result that allows a call: true in require, false in deny */
    bool match_all;    /* array steps: every element, or some element */
    bool absent;       /* result for a missing path (not for exists) */
    bool has_missing;  /* set by on_missing */
    bool before_count; /* the limit's own condition: compares the current count; the reservation does the
                          exact check */
    struct constant value;
    struct constant *list; /* in, not_in, type, under, host */
    size_t list_count;
    const struct policy_regex *regex;
    const struct policy_schema *schema; /* an inline schema; NULL: the tool's own */
    struct within within;
    const struct limit_rule *counter; /* ROOT_STATE */
    enum policy_sql_dialect dialect;
    const struct slice *kinds; /* contains_secret, pii; NULL: the default kinds */
    size_t kind_count;
    uint32_t over;   /* true when more than this number are found */
    bool wants_none; /* true when none are found */
};

enum check_mode { CHECK_REQUIRE, CHECK_DENY, CHECK_APPROVE, CHECK_REQUIRED_ARGS, CHECK_SCHEMA };

struct check {
    enum check_mode mode;
    struct slice name;
    struct slice pointer;
    struct slice text; /* of the denial, or of the pending approval; always set, with a default text if the
                          document has none */
    bool reads_args;   /* some condition looks at an argument */
    bool whole_method; /* `METHOD: deny`: the text names the method that was called */
    bool shadow;
    struct cond conds; /* COND_ALL */
    uint64_t timeout_ms;
    const struct slice *approvers;
    size_t approver_count;
    const struct tree *at;
};

/* Must arguments match the tool's schema? */
enum strictness {
    STRICT_UNSAID, /* only if a rule, limit or approval reads them */
    STRICT_YES,
    STRICT_NO,
};

enum scope { SCOPE_POLICY, SCOPE_GRANT, SCOPE_IDENTITY, SCOPE_SESSION, SCOPE_SERVER, SCOPE_GLOBAL };

struct limit_rule {
    enum policy_limit_kind kind;
    enum policy_refund refund;
    enum policy_fail fail;
    enum scope scope;
    struct slice counter;
    struct slice label; /* SCOPE.COUNTER */
    struct slice
        key; /* the complete key for SCOPE_POLICY and SCOPE_GLOBAL, else the part after the identity */
    uint64_t window_ms;
    int64_t max;
    int64_t refill;
    int64_t amount;          /* constant amount; used when no path is given */
    const struct path *from; /* NULL: constant. Otherwise the first path of from_count that is present */
    uint32_t from_count;
    int64_t unit; /* the argument counts in 1/unit */
    bool numeric_strings;
    bool identical;  /* the key carries the hash of the arguments */
    bool check_only; /* a cap that another rule puts on a counter of this call */
    bool shadow;
    struct slice name;
    struct slice pointer;
    struct slice text;
    const struct entry *entry;
    const struct tree *at;
};

struct entry {
    struct slice name;       /* tool or method, pattern, "*" */
    struct slice folded;     /* of a pattern for tools: in lower case, normalised */
    enum policy_class class; /* @class selectors */
    uint32_t tag;            /* @sink and the like */
    struct check *checks;
    uint32_t check_count;
    struct limit_rule *limits;
    uint32_t limit_count;
    uint32_t cap_count;           /* the number of limits that only check */
    uint64_t result_bytes_max;    /* 0: no cap */
    uint64_t result_bytes_shadow; /* the same in shadow mode */
    bool wants_schema;
    bool reads_args; /* some check or limit does */
    enum strictness strict;
    const struct tree *at;
};

/* A label that results add: one of them contained more than `over` of a kind; an empty kind is any. */
struct flow_pii {
    struct slice kind;
    uint32_t over;
};

struct flow_rule {
    struct slice name;
    struct slice pointer;
    struct slice text;
    uint32_t after;
    struct flow_pii *pii; /* all of them, too */
    size_t pii_count;
    uint32_t tags;
    bool approve;
    bool shadow;
    uint64_t timeout_ms;
};

/* A kind of personal data that the policy names, and where. */
struct named_kind {
    struct slice name;
    struct slice pointer;
    uint32_t line, column;
};

struct policy {
    uint32_t refs;
    struct named_kind *kinds;
    size_t kind_count, kind_cap;
    struct arena arena;
    struct slice name;
    char hash[65];
    struct slice version;
    enum policy_dialect dialect;
    bool default_deny;
    bool allows_by_default; /* `default: allow` is explicit: everything that no entry names is allowed,
                        sampling included */
    bool shadow;
    bool prune;
    bool wants_traits; /* class or tags of a tool can change a verdict */
    bool wants_schema; /* and so can the inputSchema of some */
    bool wants_detector;
    enum strictness strict;
    bool protect_agent_config;
    bool hide_all;
    struct slice deny_prefix;
    struct slice approve_prefix;
    struct map hidden;           /* name → anything */
    struct entry *hide_patterns; /* names only */
    size_t hide_pattern_count;
    struct map tools;  /* exact name → entry */
    struct map folded; /* name of a tool in lower case, normalised → struct slice: as it is written */
    struct entry **patterns;
    size_t pattern_count;
    struct entry *everything;
    struct map methods;
    struct entry **method_patterns;
    size_t method_pattern_count;
    struct flow_rule *flows;
    size_t flow_count;
    struct entry **entries; /* all of them, in the order of the document */
    size_t entry_count;
    struct policy_regex **regexes; /* to free */
    size_t regex_count;
    size_t regex_cap;
    struct policy_schema **schemas;
    size_t schema_count;
    size_t schema_cap;
    size_t shadow_max; /* the maximum number of shadow verdicts of one decision */
};
