/* libpq, loaded when a policy's counters are in PostgreSQL: to be linked with it, and the twenty libraries
 * behind it, would cost every start of the gate, and most gates never use it. Private to the state room. */
#pragma once

#include "base/err.h"

#ifdef SALLYPORT_POSTGRES

#include <libpq-fe.h>

struct libpq {
#define LIBPQ(name) __typeof__(&name) name
    LIBPQ(PQclear);
    LIBPQ(PQconnectdbParams);
    LIBPQ(PQconnectPoll);
    LIBPQ(PQconnectStartParams);
    LIBPQ(PQconsumeInput);
    LIBPQ(PQdb);
    LIBPQ(PQenterPipelineMode);
    LIBPQ(PQerrorMessage);
    LIBPQ(PQexec);
    LIBPQ(PQfinish);
    LIBPQ(PQflush);
    LIBPQ(PQgetResult);
    LIBPQ(PQgetvalue);
    LIBPQ(PQhost);
    LIBPQ(PQisBusy);
    LIBPQ(PQnfields);
    LIBPQ(PQntuples);
    LIBPQ(PQpipelineSync);
    LIBPQ(PQresultErrorMessage);
    LIBPQ(PQresultStatus);
    LIBPQ(PQsendQueryParams);
    LIBPQ(PQsetnonblocking);
    LIBPQ(PQsetNoticeReceiver);
    LIBPQ(PQsocket);
    LIBPQ(PQstatus);
#undef LIBPQ
};

/* NULL with err when the library is not installed. */
const struct libpq *state_libpq(struct err *err);

#endif
