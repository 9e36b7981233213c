/* What validate, explain and others share: a policy read from a file. */
#pragma once

#include "cli/command.h"
#include "policy/policy.h"

/* Reads the file ("-" is stdin) and loads it. What is wrong, reading included, ends up in problems. */
int cli_policy_load(const char *path, struct policy **ret_policy, struct policy_problems *problems);
