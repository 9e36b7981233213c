/* Starts child processes through a spawner. The spawner is forked before anything else and is the only
 * process that executes programs; afterwards the gate gives up that right. It passes the pipes back and
 * reports exits. When the gate ends or is killed, the spawner ends every child and the processes that they
 * started.
 *
 *   gate ──seqpacket──▶ spawner ──fork──▶ child (own session and process group, death signal)
 *    ▲   pid, pipes, exits  │
 *    └──────────────────────┘
 */
#pragma once

#include "base/err.h"
#include "io/loop.h"

#include <errno.h>

struct spawn;

struct spawn_request {
    const char *const *argv; /* NULL-terminated */
    const char *const *envp; /* NULL-terminated; the complete environment of the child */
    const char *cwd;         /* NULL: the gate's directory */
    bool no_network;         /* runs in an empty network namespace; not started when that fails */
    const int *fd; /* NULL, or a descriptor that becomes number 3 in the child; the caller keeps it */
};

#define SPAWN_LOST EOWNERDEAD
#define SPAWN_LOST_STATUS (-1) /* status of a child that ended because the spawner died */

struct spawn_child {
    int pid;   /* 0 when it could not be started */
    int error; /* errno in that case; SPAWN_LOST: the spawner died */
    int in;    /* write end of its stdin; the receiver owns all three descriptors */
    int out;
    int errors;
};

/* Why a child could not be started. */
const char *spawn_error_text(int error);

/* Forks the spawner. Call before threads, loops and secrets exist. When the spawner is killed, its children
 * end with it and another one takes its place. One that does not answer is killed. */
struct spawn *spawn_start(struct err *err);
/* For a gate that starts no children: there is no spawner, and requests fail. */
struct spawn *spawn_none(void);
/* Attaches the spawner to the loop and gives up exec for this process. */
int spawn_attach(struct spawn *s, struct io_loop *loop, struct err *err);
enum spawn_loss {
    SPAWN_DIED,
    SPAWN_HUNG, /* it did not answer, and was killed */
};
/* `lost` is called after a spawner has died, with its wait status and whether a successor took over. */
typedef void spawn_lost_fn(void *owner, enum spawn_loss how, int status, bool replaced);
void spawn_on_lost(struct spawn *s, spawn_lost_fn *lost, void *owner);
/* Requests a child; `started` comes later, then `exited` once (status as from wait). The token identifies the
 * request until exited was called; after spawn_forget() neither is called. */
uint64_t spawn_child(struct spawn *s, const struct spawn_request *request,
                     void (*started)(void *owner, struct spawn_child child),
                     void (*exited)(void *owner, int status), void *owner,
                     struct err *err); /* 0 on failure */
void spawn_forget(struct spawn *s, uint64_t token);
/* To the child's whole process group. */
void spawn_signal(struct spawn *s, uint64_t token, int signal);
/* Runs the loop until every child has exited, at most for that time. */
void spawn_await(struct spawn *s, uint64_t ms);
/* Ends the spawner and every child; `exited` is called for open requests, as when the spawner was killed. */
void spawn_stop(struct spawn *s);
