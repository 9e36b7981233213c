/* Policy files in use: each is read once and watched. A caller that binds a pointer gets a reference stored
 * there, and a new one whenever the file's content changes. A file that does not load is logged and changes
 * nothing. */
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
/* Stops watching the files; bound pointers keep what they have. NULL is fine. */
void front_policies_free(struct front_policies *ps);

/* Reloads every file now, without waiting until it stops changing. */
void front_policies_reload(struct front_policies *ps);

struct front_policy_place {
    struct list node;
    struct policy **at;
    void *file;
};

/* Puts a reference to *at, which is the caller's to give back. -1 when the file does not load. */
int front_policies_bind(struct front_policies *ps, const char *path, struct policy **at,
                        struct front_policy_place *place, struct err *err);
void front_policies_unbind(struct front_policy_place *place); /* fine when it is not bound */

struct core_policy;
void front_policies_each(struct front_policies *ps, void (*each)(void *ctx, const struct core_policy *one),
                         void *ctx);
/* This file has been written by ourselves: what it holds is taken over now. */
void front_policies_look(struct front_policies *ps, const char *path);
/* Reads one file; every problem is worth a line in the log. */
int front_policy_load(const char *path, struct policy **ret_policy, struct err *err);
