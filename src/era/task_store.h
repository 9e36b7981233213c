/* Tasks of servers of the other era, as the gate keeps them for a session. */
#pragma once

#include "call/call.h"
#include "channel/channel.h"
#include "era/question.h"

/* How a call about a task goes on; in struct call. */
enum task_turn {
    TASK_PLAIN,
    TASK_CREATE, /* a tool call that may become a task */
    TASK_GET,    /* the server is asked tasks/get */
    TASK_UPDATE, /* … tasks/update */
    TASK_CANCEL, /* … tasks/cancel */
};

struct era_task {
    struct list node;
    struct own_request own; /* tasks/result */
    struct link_req req;
    struct session *session;
    struct server *server;
    struct channel *ch; /* a user of it; NULL for one that the gate keeps */
    char *id;
    uint32_t client_bits;
    struct io_timer timer;
    uint32_t last;
    struct list questions;
    struct list waiting;  /* calls, for the answer to tasks/result */
    struct msg *response; /* while they are served; of a kept one, as long as it lives */
    bool kept;
};

struct era_task *task_find(const struct session *s, const struct server *server, struct slice id);
/* NULL when there are too many. */
struct era_task *task_new(struct call *c, struct slice id);
/* The same for one that lives on the call's channel, which stays. */
struct era_task *task_begin(struct call *c, struct slice id);
/* A client asked about it: its time starts again. */
void task_touch(struct era_task *task);
struct msg *task_kept(const struct era_task *task); /* the response of one that the gate keeps, or NULL */
bool task_keep(struct era_task *task, struct msg *m);
void task_drop_question(struct server_question *q);
/* The channel that the call's task lives on, or NULL. */
struct channel *task_channel(const struct channel *first, const struct call *c);
void task_drop(const struct channel *ch); /* the channel's link is over */
void task_close_all(struct session *s);

/* Another response instead of the server's: `kind` is "result" or "error". */
enum call_next task_replace(struct call *c, const char *kind, struct slice json);
/* The method that the server is sent, and members of its params beside the client's. */
struct slice task_method(const struct call *c);
struct slice task_members(const struct call *c);
/* "completed" for a status node of that text. */
bool task_is(const struct msg *m, uint32_t task, const char *status);
