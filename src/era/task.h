/* Tasks across the eras: those of 2025-11-25 and those of the extension of 2026-07-28. What the client gets
 * is of its own era; docs/protocol.md has the table. call.c and adapt.c ask here; nobody else has to know.
 *
 *   task.c       a client of the newer era, a server of the older: tasks stay on the link that they began on,
 *                tasks/result is asked for by the gate, and what the server asks meanwhile is kept
 *   task_poll.c  a client of the older era, a server of the newer: tasks/result is a loop of tasks/get, and
 *                a call that was over at once is a task that the gate keeps */
#pragma once

#include "call/call.h"

/* How a call about a task goes on; in struct call. */
enum task_turn {
    TASK_PLAIN,
    TASK_CREATE, /* a tool call that may become a task */
    TASK_GET,    /* the server is asked tasks/get */
    TASK_UPDATE, /* … tasks/update */
    TASK_CANCEL, /* … tasks/cancel */
};

/* FORWARD, of tasks/… and tools/call: CALL_NEXT when it is to be sent. */
enum call_next task_forward(struct call *c);
/* The method that the server is sent, and members of its params beside the client's. */
struct slice task_method(const struct call *c);
struct slice task_members(const struct call *c);
/* FILTER, before anything else: puts another response in the place of one that speaks of tasks. */
enum call_next task_answer(struct call *c);
/* A request of a server of the older era that belongs to a task: true when it has been taken. */
bool task_ask(struct channel *ch, const struct msg *m, struct slice method);
/* The link that the call's task lives on, or NULL. */
struct channel *task_channel(const struct channel *first, const struct call *c);
void task_drop(const struct channel *ch); /* the link is over */
void task_close_all(struct session *s);

/* ---- between the two files ---- */
struct era_task;
struct era_task *task_find(const struct session *s, const struct server *server, struct slice id);
/* NULL when there are too many. */
struct era_task *task_new(struct call *c, struct slice id);
struct msg *task_kept(const struct era_task *task); /* the response of one that the gate keeps, or NULL */
bool task_keep(struct era_task *task, struct msg *m);
/* Another response instead of the server's: `body` is "result":… or "error":…. */
enum call_next task_replace(struct call *c, const char *kind, struct slice json);
enum call_next task_poll_forward(struct call *c);
enum call_next task_poll_answer(struct call *c);
/* "completed" for a status node of that text. */
bool task_is(const struct msg *m, uint32_t task, const char *status);
