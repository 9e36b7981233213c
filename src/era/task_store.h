/* Tasks of servers of the other era, as the gate keeps them for a session. */
#pragma once

#include "call/call.h"
#include "channel/channel.h"
#include "era/question.h"

/* The state of a call about a task; in struct call. */
enum task_turn {
    TASK_PLAIN,
    TASK_CREATE, /* a tool call that may become a task */
    TASK_GET,    /* sends tasks/get */
    TASK_UPDATE, /* sends tasks/update */
    TASK_CANCEL, /* sends tasks/cancel */
};

struct era_task {
    struct list node;
    struct own_request own; /* tasks/result */
    struct link_req req;
    struct session *session;
    struct server *server;
    struct channel *ch; /* counts as a user of it; NULL for a task that the gate keeps */
    char *id;
    uint32_t client_bits;
    struct io_timer timer;
    uint32_t last;
    struct list questions;
    struct list waiting;  /* calls that wait for the answer to tasks/result */
    struct msg *response; /* of tasks/result, while waiting calls read it; of a kept task, always */
    bool kept;
};

struct era_task *task_find(const struct session *s, const struct server *server, struct slice id);
/* NULL when there are too many. */
struct era_task *task_new(struct call *c, struct slice id);
/* The same for a task on the call's channel, which is kept open. */
struct era_task *task_begin(struct call *c, struct slice id);
/* A client asked about it: restarts its expiry. */
void task_touch(struct era_task *task);
struct msg *task_kept(const struct era_task *task); /* the response of one that the gate keeps, or NULL */
bool task_keep(struct era_task *task, struct msg *m);
void task_drop_question(struct server_question *q);
/* The channel of the call's task, or NULL. */
struct channel *task_channel(const struct channel *first, const struct call *c);
void task_drop(const struct channel *ch); /* the channel's link is down */
void task_close_all(struct session *s);

/* Replaces the server's response: `kind` is "result" or "error". */
enum call_next task_replace(struct call *c, const char *kind, struct slice json);
/* The method for the server, and additional members of its params. */
struct slice task_method(const struct call *c);
struct slice task_members(const struct call *c);
/* "completed" for a status node of that text. */
bool task_is(const struct msg *m, uint32_t task, const char *status);
