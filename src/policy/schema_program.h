/* A compiled schema. Private to the policy room. */
#pragma once

#include "policy/budget.h"
#include "policy/limits.h"
#include "policy/program.h"
#include "policy/regex.h"

/* One row per keyword that holds a value we look up by name; the order is that of struct sub.at. */
enum word {
    W_TYPE,
    W_ENUM,
    W_CONST,
    W_MULTIPLE_OF,
    W_MAXIMUM,
    W_EXCLUSIVE_MAXIMUM,
    W_MINIMUM,
    W_EXCLUSIVE_MINIMUM,
    W_MAX_LENGTH,
    W_MIN_LENGTH,
    W_PATTERN,
    W_MAX_ITEMS,
    W_MIN_ITEMS,
    W_UNIQUE_ITEMS,
    W_MAX_CONTAINS,
    W_MIN_CONTAINS,
    W_MAX_PROPERTIES,
    W_MIN_PROPERTIES,
    W_REQUIRED,
    W_DEPENDENT_REQUIRED,
    W_DEPENDENCIES, /* of earlier drafts: names or a schema for each key */
    W_DEFAULT,      /* what a server uses for a missing member */
    W_FORMAT,       /* an annotation, that conditions on texts heed */
    /* one schema */
    W_CONTAINS,
    W_ITEMS,
    W_ADDITIONAL_ITEMS,
    W_ADDITIONAL_PROPERTIES,
    W_PROPERTY_NAMES,
    W_NOT,
    W_IF,
    W_THEN,
    W_ELSE,
    W_UNEVALUATED_ITEMS,
    W_UNEVALUATED_PROPERTIES,
    /* a list of schemas */
    W_PREFIX_ITEMS,
    W_ALL_OF,
    W_ANY_OF,
    W_ONE_OF,
    /* a map of schemas */
    W_PROPERTIES,
    W_PATTERN_PROPERTIES,
    W_DEPENDENT_SCHEMAS,
    W_DEFS,
    W_DEFINITIONS,
    W_REF,
    W_DYNAMIC_REF,
    W_ANCHOR,
    W_DYNAMIC_ANCHOR,
    W_ID,
    W_SCHEMA,
    /* not implemented: refused */
    W_RECURSIVE_REF,
    W_RECURSIVE_ANCHOR,
    W_VOCABULARY,
    W_COUNT,
};

extern const char *const policy_schema_words[W_COUNT];

struct sub {              /* one schema object; booleans have none */
    uint32_t at[W_COUNT]; /* tape nodes of the keywords, 0 when absent */
    const struct sub *ref;
    bool ref_is_true, ref_is_false;
};

struct policy_schema {
    char *text;
    struct tape tape;
    struct sub **subs;             /* by tape node */
    struct policy_regex **regexes; /* by tape node: values of `pattern`, keys of patternProperties */
    bool has_formats;
    bool tracks; /* some unevaluated… keyword: evaluated members have to be remembered */
    size_t sub_count;
};

/* The schema with a keyword (`properties` of an object, `items` of a list): itself, what it refers to, or the
 * one alternative that has it (pydantic writes an optional model as anyOf of a reference and null). NULL:
 * none has it, or several. */
const struct sub *policy_schema_with(const struct policy_schema *s, const struct sub *sub, enum word word);
