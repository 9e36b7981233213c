/* JSON Schema 2020-12 with what servers still use of earlier drafts (`definitions`, `dependencies`, `items`
 * as a list), compiled once. No network: $ref reaches only into the same document. Formats are annotations,
 * as the standard has them by default. A schema with a keyword that would change the answer and is not
 * implemented is refused; other unknown keywords are annotations. Work and nesting have ceilings, because the
 * schema comes from a server and the instance from an agent: over them the answer is FAULT, which callers
 * treat as a refusal. */
#pragma once

#include "base/err.h"
#include "policy/limits.h"
#include "policy/spelling.h"
#include "wire/tape.h"

struct policy_schema;

enum policy_schema_answer {
    POLICY_SCHEMA_VALID,
    POLICY_SCHEMA_INVALID,
    POLICY_SCHEMA_CLASH, /* only on request: a key differs from a property only in case or Unicode form */
    POLICY_SCHEMA_FAULT,
};

struct policy_schema_failure {
    struct slice pointer; /* into the instance */
    const char *keyword;
    uint32_t node; /* of the instance */
};

/* The source text is copied. -1: not a valid schema, or too large (broken pattern, dangling $ref). */
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
struct sub;
struct policy_budget;

/* The values under keys that the schema does not list, at any depth, where it lists keys at all and does not
 * allow others. */
struct policy_unlisted {
    uint32_t nodes[POLICY_UNLISTED_MAX];
    uint32_t count;
    bool has_more;
};

/* As policy_schema_check, with the budget of one call. With ret_unlisted, keys that differ from a property
 * only in case or Unicode form are a CLASH. */
enum policy_schema_answer policy_schema_judge(const struct policy_schema *s, const struct tape *t,
                                              uint32_t node, struct policy_budget *budget,
                                              struct policy_unlisted *ret_unlisted,
                                              struct policy_schema_failure *ret_failure);
/* Does the schema restrict the keys of the object: has it a list of properties, and allows no others? */
bool policy_schema_is_closed(const struct policy_schema *s, const struct sub *sub);
/* For a path that leads to nothing: the keys, in the object in which the path ends, that the schema does not
 * list. A server may read the missing argument from a name that its schema does not list (pydantic's
 * AliasChoices). Paths are followed up to their first array step. */
struct policy_unnamed {
    uint32_t properties; /* of the schema */
    uint32_t key, end;   /* what is still to be looked at */
    bool is_last;        /* the missing key is the last of the path */
};
void policy_schema_unnamed(const struct policy_schema *s, const struct path *path, const struct tape *t,
                           uint32_t node, struct policy_unnamed *ret_unnamed);
/* The value of the next of these keys, or 0. If the budget is spent, that of any key. */
uint32_t policy_schema_unnamed_next(const struct policy_schema *s, const struct tape *t,
                                    struct policy_unnamed *u, struct policy_budget *budget);
/* Does the schema require a string at the path? or_null: or null. */
bool policy_schema_is_text(const struct policy_schema *s, const struct path *path, bool or_null);
/* The format that the schema names for texts there. */
enum policy_format policy_schema_format(const struct policy_schema *s, const struct path *path);
/* Does it allow neither a list nor an object there? */
bool policy_schema_is_scalar(const struct policy_schema *s, const struct path *path);
/* For a path that leads to nothing in the arguments (node 0: there are none): the value that the server uses
 * instead, a node of the schema's own tape, or 0 if the schema names none or null. *ret_step: the step of
 * the path that follows it, because a default may be an object. Followed up to the first array step. */
uint32_t policy_schema_default(const struct policy_schema *s, const struct path *path, const struct tape *t,
                               uint32_t node, uint32_t *ret_step);
/* The same for a path that leads through an array, in whose element the last member is missing. */
uint32_t policy_schema_default_of_element(const struct policy_schema *s, const struct path *path);
const struct tape *policy_schema_tape(const struct policy_schema *s);
