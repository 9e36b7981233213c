/* Tasks across the eras: those of 2025-11-25 and those of the extension of 2026-07-28. The client gets
 * messages of its own era; docs/protocol.md has the table. Used by adapt.c, steps.c and messages.c only.
 *
 *   task.c       a modern client, a legacy server: tasks stay on the link that they began on,
 *                tasks/result is asked for by the gate, and what the server asks meanwhile is kept
 *   task_poll.c  a legacy client, a modern server: tasks/result is a loop of tasks/get, and
 *                a call that finished immediately is a task that the gate keeps */
#pragma once

#include "era/task_store.h"

/* FORWARD, for tasks/… and tools/call: CALL_NEXT when it is to be sent. */
enum call_next task_forward(struct call *c);
/* A pass of FILTER, before all others: replaces a response about tasks. */
enum call_next task_answer(struct call *c);
/* A request of a legacy server that belongs to a task: true when it was handled. */
bool task_ask(struct channel *ch, const struct msg *m, struct slice method);
