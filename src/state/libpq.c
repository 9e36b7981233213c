#include "state/libpq.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define LIBPQ_SONAME "libpq.so.5"
#define ROW(name)                                                                                            \
    { #name, offsetof(struct libpq, name) }

static const struct {
    const char *name;
    size_t at;
} rows[] = {
    ROW(PQclear),
    ROW(PQconnectdbParams),
    ROW(PQconnectPoll),
    ROW(PQconnectStartParams),
    ROW(PQconsumeInput),
    ROW(PQdb),
    ROW(PQenterPipelineMode),
    ROW(PQerrorMessage),
    ROW(PQexec),
    ROW(PQfinish),
    ROW(PQflush),
    ROW(PQgetResult),
    ROW(PQgetvalue),
    ROW(PQhost),
    ROW(PQisBusy),
    ROW(PQnfields),
    ROW(PQntuples),
    ROW(PQpipelineSync),
    ROW(PQresultErrorMessage),
    ROW(PQresultStatus),
    ROW(PQsendQueryParams),
    ROW(PQsetnonblocking),
    ROW(PQsetNoticeReceiver),
    ROW(PQsocket),
    ROW(PQstatus),
};

/* Stores are opened by one thread, before the others start. */
const struct libpq *state_libpq(struct err *err) {
    static struct libpq loaded;
    static bool is_loaded;
    if (is_loaded)
        return &loaded;
    void *library = dlopen(LIBPQ_SONAME, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library && i < sizeof(rows) / sizeof(rows[0]); i++) {
        void *found = dlsym(library, rows[i].name);
        if (!found)
            library = NULL;
        memcpy((char *)&loaded + rows[i].at, &found, sizeof(found));
    }
    if (!library) {
        err_set(err, "PostgreSQL needs the library %s: %s", LIBPQ_SONAME, dlerror());
        return NULL;
    }
    is_loaded = true;
    return &loaded;
}
