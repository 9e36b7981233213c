/* Starts a run for a call and answers that call: with the result, with the id of a job that continues in the
 * background, or with a task. */
#pragma once

#include "code/code_job.h"

void code_start_run(struct code_req *r, const struct code_run *run);
