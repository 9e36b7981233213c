/* Tasks of a legacy client at a modern server: tasks/result is a loop of tasks/get, and a call that finished
 * immediately is a task that the gate keeps. */
#pragma once

#include "era/task_store.h"

/* As task_forward() and task_answer(). */
enum call_next task_poll_forward(struct call *c);
enum call_next task_poll_answer(struct call *c);
