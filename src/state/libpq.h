/* libpq, loaded when PostgreSQL is used: to be linked with it, and the twenty libraries behind it, would cost
 * every start of the gate, and most gates never use it. A static program has it inside. Private to the state
 * room. */
#pragma once

#include "base/err.h"

#include <stdbool.h>

#ifdef SALLYPORT_POSTGRES

#include <libpq-fe.h>

struct libpq {
#define LIBPQ(name) __typeof__(&name) name
    LIBPQ(PQclear);
    LIBPQ(PQcmdTuples);
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
    LIBPQ(PQfreemem);
    LIBPQ(PQftype);
    LIBPQ(PQgetlength);
    LIBPQ(PQgetResult);
    LIBPQ(PQgetvalue);
    LIBPQ(PQhost);
    LIBPQ(PQisBusy);
    LIBPQ(PQnfields);
    LIBPQ(PQnotifies);
    LIBPQ(PQntuples);
    LIBPQ(PQparameterStatus);
    LIBPQ(PQpipelineSync);
    LIBPQ(PQputCopyData);
    LIBPQ(PQputCopyEnd);
    LIBPQ(PQresultErrorField);
    LIBPQ(PQresultErrorMessage);
    LIBPQ(PQresultStatus);
    LIBPQ(PQsendQueryParams);
    LIBPQ(PQserverVersion);
    LIBPQ(PQsetnonblocking);
    LIBPQ(PQsetNoticeReceiver);
    LIBPQ(PQsocket);
    LIBPQ(PQstatus);
#undef LIBPQ
};

/* NULL with err when the library is not installed. */
const struct libpq *state_libpq(struct err *err);

/* Connection parameters: the DSN, and defaults for what it leaves out. Who writes connects to no standby: of
 * several hosts in the DSN the one that takes writes is used. */
#define LIBPQ_WORDS 5
void state_libpq_words(const char *dsn, bool writes, const char *keys[LIBPQ_WORDS],
                       const char *values[LIBPQ_WORDS]);
/* The server takes no writes (any more): after a failover another one does. */
bool state_libpq_is_read_only(const struct libpq *pq, const PGresult *result);
/* A notice receiver: the library would print them. */
void state_libpq_quiet(void *ctx, const PGresult *result);

#endif
