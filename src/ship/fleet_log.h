/* The audit logs of a whole fleet, as one log: entries of all gates in the order of their times. */
#pragma once

#include "audit/log_reader.h"

/* By the DSN that the home has (state/chains.h). Close it with audit_log_close. */
int ship_fleet_open(const char *home, struct audit_log **ret_log, struct err *err);
