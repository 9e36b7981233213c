/* `audit verify --fleet`. */
#pragma once

#include <stdbool.h>

/* Verifies the logs of all gates and prints the result; returns the exit status. */
int cli_audit_verify_fleet(const char *home, const char *key, bool json);
