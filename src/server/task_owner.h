/* Tasks belong to the principal that started them. The id is the server's own. */
#pragma once

#include "call/call.h"
#include "server/server.h"

void task_owner_init(struct core *core);
void task_owner_free(struct core *core);
/* The call became that task. False: another principal has a task with that id. */
bool task_owner_add(struct call *c, struct slice id);
bool task_owner_is(const struct session *s, const struct server *server, struct slice id);
/* The tool whose call became the task; empty when unknown. */
struct slice task_owner_tool(const struct session *s, const struct server *server, struct slice id);
/* The caps on results of the original call also apply to requests about the task. */
void task_owner_limit(const struct call *c, struct policy_verdict *v);
