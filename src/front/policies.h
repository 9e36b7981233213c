/* The policy files in use. Each is read once and watched. A caller that binds a pointer gets a reference
 * stored there, and a new one whenever the file's content changes. A file that does not load is logged and
 * changes nothing. */
#pragma once

#include "base/err.h"
#include "base/list.h"
#include "policy/policy.h"

struct audit;
struct front_policies;
struct io_loop;

struct front_policies *front_policies_new(struct io_loop *loop);
/* Where reloads are recorded; NULL: nowhere. */
void front_policies_set_audit(struct front_policies *ps, struct audit *audit);
/* Called for each policy that has been replaced. */
void front_policies_on_replaced(struct front_policies *ps, void (*replaced)(void *ctx, struct slice hash),
                                void *ctx);
/* Stops watching the files; bound pointers keep their policies. NULL is fine. */
void front_policies_free(struct front_policies *ps);

/* Reloads every file now, without waiting until changes have settled. */
void front_policies_reload(struct front_policies *ps);

struct front_policy_place {
    struct list node;
    struct policy **at;
    void *file;
};

/* Stores a reference in *at, which the caller must release. Returns -1 if the file does not load. */
int front_policies_bind(struct front_policies *ps, const char *path, struct policy **at,
                        struct front_policy_place *place, struct err *err);
void front_policies_unbind(struct front_policy_place *place); /* does nothing if it is not bound */

struct core_policy;
void front_policies_each(struct front_policies *ps, void (*each)(void *ctx, const struct core_policy *one),
                         void *ctx);
/* The gate itself wrote this file: loads it now. */
void front_policies_check(struct front_policies *ps, const char *path);
/* Reads one file; logs every problem. */
int front_policy_load(const char *path, struct policy **ret_policy, struct err *err);
