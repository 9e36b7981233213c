/* The tables of PostgreSQL, by version. Private to the state room. */
#pragma once

#include "state/libpq.h"

#ifdef SALLYPORT_POSTGRES
/* Migrates the database to the version of this program, in one transaction. Refuses a newer one. The
 * connection blocks. */
int migrations_apply(const struct libpq *pq, PGconn *conn, struct err *err);
#endif
