/* Tools called from code: each is an ordinary call under the tool's own name, made over the conn of the call
 * that started the run. */
#pragma once

#include "code/job.h"

void bridge_call(struct code_job *j, uint32_t id, struct slice server, struct slice tool, struct slice args);
/* The run has given it up. */
void bridge_gone(struct code_job *j, uint32_t id);
void bridge_drop_all(struct code_job *j);
/* The conn is about to go: what is under way fails. */
void bridge_detach(struct code_job *j);
