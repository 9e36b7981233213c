/* Jobs as MCP tasks: the experimental ones of 2025-11-25 and the extension of the modern era. */
#pragma once

#include "code/code_job.h"

/* Answers this call with a task. */
void code_task_reply(struct code_req *r, struct code_job *j);
void code_task_get(struct code_req *r);
void code_task_cancel(struct code_req *r);
void code_task_update(struct code_req *r);
void code_task_result(struct code_req *r);
void code_task_list(struct code_req *r);
