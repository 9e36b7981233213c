/* A home whose stores are those of a fleet: grants, approvals, the kill switch, pins, the PII vault,
 * versions and sign-ins at the console lie in PostgreSQL, named by the file HOME/database; everything else,
 * logins at servers too, stays in the home. */
#pragma once

#include "base/err.h"

/* For the start of a gate. A DSN (may be NULL: what the home has holds) is written to the home, so that the
 * command line finds it. Where there is one, the database is brought to this program's version, and the
 * home's keys are compared with those of the fleet: what gates encrypt and sign for each other needs the
 * same.
 */
int state_database_join(const char *home, const char *dsn, struct err *err);
/* For a program that may take over: is it reached, with the same DSN? Writes nothing to the home. */
int state_database_try(const char *home, const char *dsn, struct err *err);
