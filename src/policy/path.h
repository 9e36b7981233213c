/* Paths into the arguments: `args.a.b`, `args.list[0]`, `args.items[*].price`, `args["a.b"]`. Private to the
 * policy room. */
#pragma once

#include "policy/program.h"

enum policy_path_fault { POLICY_PATH_OK, POLICY_PATH_ROOT, POLICY_PATH_SYNTAX };

enum policy_path_fault policy_path_compile(struct slice text, struct arena *a, struct path *ret_path);
/* In place of a node: there is something that a server may read as the value, but the policy cannot. A
 * step meets a value of another type (a string instead of an object: some servers parse it), or the key
 * differs only in case or Unicode form. */
#define POLICY_PATH_UNSURE UINT32_MAX
/* For paths without array steps: the node, 0 when absent, or POLICY_PATH_UNSURE. */
uint32_t policy_path_find(const struct path *path, const struct tape *t, uint32_t node);

/* The path of the node: args.items[0].price. */
struct slice policy_path_name(const struct tape *t, uint32_t root, uint32_t node, struct arena *a);

/* For paths with array steps: all their values, in order. ABSENT: an element without the rest of the path.
 * UNSURE: see above. */
enum policy_walk_state { POLICY_WALK_VALUE, POLICY_WALK_ABSENT, POLICY_WALK_UNSURE, POLICY_WALK_END };

struct policy_walk_frame {
    uint32_t at;
    uint32_t end;
    uint32_t step;
};

struct policy_walk {
    const struct path *path;
    const struct tape *tape;
    uint32_t node;
    uint32_t depth;
    bool started;
    struct policy_walk_frame frames[POLICY_PATH_EACH_MAX];
};

void policy_walk_start(struct policy_walk *w, const struct path *path, const struct tape *t, uint32_t node);
enum policy_walk_state policy_walk_next(struct policy_walk *w, uint32_t *ret_node);
