/* `audit verify --fleet`. */
#pragma once

#include <stdbool.h>

/* Verifies the logs of all gates and prints what it found; the exit status. */
int cli_audit_verify_fleet(const char *home, const char *key, bool json);
