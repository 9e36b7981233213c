/* Regular expressions with bounded cost. Private to the policy room. */
#pragma once

#include "policy/budget.h"

struct policy_regex;

enum policy_regex_flavour {
    POLICY_REGEX_RULE,   /* as close to RE2 as PCRE2 gets */
    POLICY_REGEX_SCHEMA, /* as close to ECMA-262 as PCRE2 gets */
};

/* NULL when the pattern is invalid; *ret_why (static, or in the arena) is the reason. */
struct policy_regex *policy_regex_compile(struct slice pattern, enum policy_regex_flavour flavour,
                                          struct arena *a, const char **ret_why);
void policy_regex_free(struct policy_regex *r); /* NULL is fine */

enum policy_regex_answer { POLICY_REGEX_NO, POLICY_REGEX_YES, POLICY_REGEX_SPENT };
/* Searches the text, which must be valid UTF-8. SPENT: the call's budget is exhausted. */
enum policy_regex_answer policy_regex_search(const struct policy_regex *r, struct slice text,
                                             struct policy_budget *budget);
