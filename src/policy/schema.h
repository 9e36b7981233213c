/* JSON Schema 2020-12 with what servers still use of earlier drafts (`definitions`, `dependencies`, `items`
 * as a list), compiled once. No network: $ref reaches only into the same document. Formats are annotations,
 * as the standard has them by default. A keyword that would change the answer and is not implemented makes
 * the schema one that cannot be read; other keywords that are not known are annotations. Work and nesting
 * have ceilings, because the schema comes from a server and the instance from an agent: over them the answer
 * is FAULT, which callers treat as a refusal. */
#pragma once

#include "base/err.h"
#include "wire/tape.h"

struct policy_schema;

enum policy_schema_answer {
    POLICY_SCHEMA_VALID,
    POLICY_SCHEMA_INVALID,
    POLICY_SCHEMA_CLASH, /* only where asked for: a key differs from a property in case or Unicode form only
                          */
    POLICY_SCHEMA_FAULT,
};

struct policy_schema_failure {
    struct slice pointer; /* into the instance */
    const char *keyword;
    uint32_t node; /* of the instance */
};

/* The source text is copied. -1: not a schema we can hold (too large, broken pattern, dangling $ref). */
int policy_schema_compile(struct slice json, struct policy_schema **ret_schema, struct err *err);
void policy_schema_free(struct policy_schema *s); /* NULL is fine */

/* ret_failure may be NULL; its slices live in the arena. */
enum policy_schema_answer policy_schema_check(const struct policy_schema *s, const struct tape *t,
                                              uint32_t node, struct arena *a,
                                              struct policy_schema_failure *ret_failure);
/* The i-th name of the top-level `required`, or an empty slice behind the last. */
struct slice policy_schema_required(const struct policy_schema *s, size_t i);

/* ---- for the policy room ---- */

struct path;
struct policy_budget;

/* As policy_schema_check, on the account of one call. With `strict`, keys that are alike a property are a
 * CLASH. */
enum policy_schema_answer policy_schema_judge(const struct policy_schema *s, const struct tape *t,
                                              uint32_t node, bool strict, struct policy_budget *budget,
                                              struct policy_schema_failure *ret_failure);
/* Where the path leads to nothing: the value of the next key, behind `after` (0: the first), in the object in
 * which it ends, that the schema does not speak of; or 0. A server may know what is missing under a name that
 * its schema does not list (pydantic's AliasChoices). Paths are followed up to their first step into an
 * array. *ret_last: the missing key is the last of the path. */
uint32_t policy_schema_unnamed(const struct policy_schema *s, const struct path *path, const struct tape *t,
                               uint32_t node, uint32_t after, bool *ret_last);
/* Does the schema require a string, or null, at the path? */
bool policy_schema_says_text(const struct policy_schema *s, const struct path *path);
