/* Shared by the files that turn a document into a program. Private to the policy room. */
#pragma once

#include "policy/program.h"

struct place { /* a place in the document: as messages write it, and as a JSON Pointer */
    struct slice prefix;
    struct slice pointer;
};

struct reference { /* a state condition that waits for its counter */
    struct cond *cond;
    const struct tree *at;
};

struct loader {
    struct policy *policy;
    struct arena *arena; /* the policy's */
    struct policy_problems *problems;
    struct map counters;    /* "TOOL.COUNTER" → anything: state blocks, collected before rules are read */
    struct map limit_rules; /* the same keys → struct limit_rule */
    struct map shared;      /* dialect B: scope and counter → the first limit_rule of that name */
    struct map paths;       /* text → id + 1 */
    struct reference *references;
    size_t reference_count, reference_cap;
    bool page_form; /* a fragment as published pages print it: version and names may be missing */
    bool names_required_for_rate_limits;
};

/* Appends an error. `at` may be NULL; `hint` may be empty. */
void policy_problem(struct loader *l, const struct tree *at, struct slice pointer, struct slice hint,
                    const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Appends a warning; the policy stays valid. */
void policy_warn(struct policy_problems *problems, const struct tree *at, struct slice pointer,
                 struct slice hint, struct slice text);
/* For policy_kind_at. */
void policy_note_kind(struct loader *l, const struct tree *at, struct slice pointer, struct slice name);
/* Every member must be among `known` (NULL-terminated). */
void policy_check_keys(struct loader *l, const struct tree *map, struct place place,
                       const char *const *known);
struct place policy_place_index(struct loader *l, struct place place, const char *list, size_t index);
struct place policy_place_key(struct loader *l, struct place place, struct slice key);
struct slice policy_hint(struct loader *l, struct slice word, const char *const *words);

/* Text of a scalar member; empty when absent, null or not a scalar (which is an error). */
struct slice policy_member_text(struct loader *l, const struct tree *map, struct place place,
                                const char *key);
bool policy_member_bool(struct loader *l, const struct tree *map, struct place place, const char *key,
                        bool fallback);
/* The list under the key; NULL when absent; an error when it is something else. */
const struct tree *policy_member_list(struct loader *l, const struct tree *map, struct place place,
                                      const char *key);
const struct tree *policy_member_map(struct loader *l, const struct tree *map, struct place place,
                                     const char *key);
bool policy_member_shadow(struct loader *l, const struct tree *map, struct place place);
/* arguments: "strict", "loose" or nothing. */
enum strictness policy_member_strict(struct loader *l, const struct tree *map, struct place place);
/* on_missing: "deny", "pass" or nothing. */
struct slice policy_member_missing(struct loader *l, const struct tree *map, struct place place);
uint64_t policy_member_duration(struct loader *l, const struct tree *map, struct place place,
                                const char *key);

struct cond_context {
    struct place place;   /* of the rule */
    const char *list;     /* "conditions" */
    bool requires;        /* must hold for the call to pass; false: selects calls to deny or to approve */
    struct slice missing; /* on_missing of the block: the default for its conditions */
};
/* The conditions under `list` as one COND_ALL. */
void policy_load_conditions(struct loader *l, const struct tree *list, const struct cond_context *ctx,
                            struct cond *ret_cond);

/* The rules or blocks of one tool or method. */
void policy_load_entry(struct loader *l, const struct tree *t, struct place place, struct entry *entry);
/* Records the counters of the tool's state blocks, so that conditions of other tools can name them. */
void policy_note_counters(struct loader *l, const struct tree *tool, struct slice name);
void policy_load_flows(struct loader *l, const struct tree *root);
/* Checks "N/window". */
bool policy_rate_parse(struct slice text, uint64_t *ret_count, struct slice *ret_window);

/* A condition that compares the text of a path, a URL, SQL or a command. */
void policy_lint_text(const struct entry *entry, const struct check *c, const struct cond *leaf,
                      struct policy_problems *problems);
