/* Resolves paths for rules. */
#pragma once

#include "policy/policy.h"

extern const struct policy_files files_system;
