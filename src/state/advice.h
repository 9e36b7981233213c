/* What to do about a store that cannot be opened: people meet these errors at the first start of a fleet, in
 * the words of Redis, OpenSSL and PostgreSQL. */
#pragma once

#include "base/err.h"

#include <stdbool.h>

#define STATE_ENCODE_ADVICE "write a password with @ / ? or # percent-encoded: %40 %2F %3F %23"

/* NULL when the error says it itself, or is not one of these. */
const char *state_advice(const char *fault);

/* `dsn` is one for PostgreSQL that libpq reads as it was meant. libpq takes what was not percent-encoded in a
 * password for a host or a port, and its messages show that. */
bool state_advice_is_postgres(const char *dsn);
int state_advice_check(const char *dsn, struct err *err);
