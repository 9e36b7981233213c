/* Shared by validate, explain and others: a policy read from a file. */
#pragma once

#include "cli/command.h"
#include "policy/policy.h"

/* Reads the file ("-" is stdin) and loads it. All errors, including those of reading, are in problems. */
int cli_policy_load(const char *path, struct policy **ret_policy, struct policy_problems *problems);
/* The first problem with file, line and column, as one error. */
void cli_policy_fault(const char *path, const struct policy_problems *problems, struct err *err);
