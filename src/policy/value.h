/* Values as the operators see them: an argument on the tape, a fact, a number. Private to the policy room. */
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

bool policy_value_is_null(const struct value *v);
bool policy_value_is_text(const struct value *v);
/* Decoded string; only for value_is_text. */
struct slice policy_value_text(const struct value *v, struct arena *a);
bool policy_value_number(const struct value *v, double *ret_number);
/* As eq compares things of different types: Go's %v, except that numbers are plain decimals. */
struct slice policy_value_print(const struct value *v, struct arena *a);
bool policy_value_equals(const struct value *v, const struct constant *c, struct arena *a);
/* Length for the len_ operators: characters, elements or members. false for numbers, booleans and null. */
bool policy_value_length(const struct value *v, uint64_t *ret_length, struct arena *a);
const char *policy_value_type_name(const struct value *v);

/* Plain decimal text of a number, without exponent: 1000000, 0.5, -3. */
struct slice policy_value_decimal(double number, struct arena *a);
/* A policy document's scalar or list as a constant. */
void policy_value_constant(const struct tree *t, struct arena *a, struct constant *ret);
