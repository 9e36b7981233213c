/* Tools called from code: each is an ordinary call under the tool's own name, made over the conn of the call
 * that started the run, and decided like any other. */
#pragma once

#include "code/model.h"

struct journal;

/* The calls of one run. */
struct toolcalls {
    struct code_conn *conn; /* the conn that they use; NULL if it is closed */
    struct code_owner *owner;
    struct sandbox_run *sandbox;
    struct journal *journal; /* NULL after the run has ended */
    struct arena *arena;     /* of the run */
    uint64_t record;         /* of the call that started the run, in the audit log */
    struct list open;        /* unanswered */
    bool held;               /* one had not been sent when the run ended, because it waited for an approval */
    struct slice approval;   /* the approval that the run needs to continue, as code sees it; or empty */
};

void toolcall_start(struct toolcalls *c, uint32_t id, struct slice server, struct slice tool,
                    struct slice args);
/* The run no longer waits for that one. */
void toolcall_drop(struct toolcalls *c, uint32_t id);
void toolcall_drop_all(struct toolcalls *c);
/* The conn is about to close: open calls fail. */
void toolcall_fail_all(struct toolcalls *c);
