/* The file system as rules about paths see it. */
#pragma once

#include "policy/policy.h"

extern const struct policy_files files_system;
