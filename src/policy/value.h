/* Values for the operators: an argument on the tape, a fact, a number. Private to the policy room. */
#pragma once

#include "policy/program.h"

enum value_kind { VALUE_ABSENT, VALUE_NODE, VALUE_TEXT, VALUE_NUMBER };

struct value {
    enum value_kind kind;
    const struct tape *tape;
    uint32_t node;
    struct slice text;
    double number;
};

/* UNSURE: servers that coerce or parse loosely may give either result. */
enum truth { TRUTH_NO, TRUTH_YES, TRUTH_UNSURE, TRUTH_FAULT };
static inline enum truth truth_of(bool b) { return b ? TRUTH_YES : TRUTH_NO; }

bool policy_value_is_null(const struct value *v);
bool policy_value_is_text(const struct value *v);
/* Decoded string; only for value_is_text. */
struct slice policy_value_text(const struct value *v, struct arena *a);
/* Compares a number with a constant: below, at or above zero, by its decimal text and by its double. A
 * server may read either. */
struct policy_order {
    int exact, rounded;
};
/* false: not a number. */
bool policy_value_order(const struct value *v, const struct constant *c, struct arena *a,
                        struct policy_order *ret_order);
bool policy_value_is_integer(const struct value *v);
/* Equal, different, or (UNSURE) of types that a server may convert into each other. */
enum truth policy_value_equals(const struct value *v, const struct constant *c, struct arena *a);
/* A text that some servers parse where they expect a list or an object: it begins with a bracket. */
bool policy_value_may_be_json(struct slice text);
/* Length for the len_ operators: characters, elements or members. false for numbers, booleans and null. */
bool policy_value_length(const struct value *v, uint64_t *ret_length, struct arena *a);
const char *policy_value_type_name(const struct value *v);

/* Plain decimal text of a number, without exponent: 1000000, 0.5, -3. */
struct slice policy_value_decimal(double number, struct arena *a);
/* A policy document's scalar or list as a constant. */
void policy_value_constant(const struct tree *t, struct arena *a, struct constant *ret);
