/* Starts a run for a call and answers that call: with the outcome, with the id of a job that goes on in the
 * background, or with a task. */
#pragma once

#include "code/code_job.h"

void code_start_run(struct code_req *r, const struct code_run *run);
