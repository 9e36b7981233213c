/* The tables of PostgreSQL, by version. Private to the state room. */
#pragma once

#include "state/libpq.h"

#ifdef SALLYPORT_POSTGRES
/* Brings the database to the version that this program knows, in one transaction; refuses a newer one. The
 * connection blocks. */
int migrations_apply(const struct libpq *pq, PGconn *conn, struct err *err);
#endif
