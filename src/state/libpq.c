#include "state/libpq.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define LIBPQ_SONAME "libpq.so.5"
#define CONNECT_SECONDS "5"
#define READ_ONLY_TRANSACTION "25006"
/* A static program loads nothing: it has the functions inside (packaging/static). */
#ifdef SALLYPORT_STATIC
#define ADDRESS(name) (void (*)(void)) name
#else
#define ADDRESS(name) NULL
#endif
#define ROW(name)                                                                                            \
    { #name, offsetof(struct libpq, name), ADDRESS(name) }

static const struct {
    const char *name;
    size_t at;
    void (*linked)(void);
} rows[] = {
    ROW(PQclear),
    ROW(PQcmdTuples),
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
    ROW(PQfreemem),
    ROW(PQftype),
    ROW(PQgetlength),
    ROW(PQgetResult),
    ROW(PQgetvalue),
    ROW(PQhost),
    ROW(PQisBusy),
    ROW(PQnfields),
    ROW(PQnotifies),
    ROW(PQntuples),
    ROW(PQparameterStatus),
    ROW(PQpipelineSync),
    ROW(PQputCopyData),
    ROW(PQputCopyEnd),
    ROW(PQresultErrorField),
    ROW(PQresultErrorMessage),
    ROW(PQresultStatus),
    ROW(PQsendQueryParams),
    ROW(PQserverVersion),
    ROW(PQsetnonblocking),
    ROW(PQsetNoticeReceiver),
    ROW(PQsocket),
    ROW(PQstatus),
};

static struct libpq loaded;
static bool is_loaded;

static void load(void) {
    void *library = rows[0].linked ? NULL : dlopen(LIBPQ_SONAME, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        void (*found)(void) = rows[i].linked;
        if (library)
            *(void **)&found = dlsym(library, rows[i].name);
        if (!found)
            return;
        memcpy((char *)&loaded + rows[i].at, &found, sizeof(found));
    }
    is_loaded = true;
}

const struct libpq *state_libpq(struct err *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (is_loaded)
        return &loaded;
    err_set(err, "PostgreSQL needs the library %s, which is not installed or too old", LIBPQ_SONAME);
    return NULL;
}

/* Later keywords win: a connect time-out in the DSN overrides ours. */
void state_libpq_words(const char *dsn, bool writes, const char *keys[LIBPQ_WORDS],
                       const char *values[LIBPQ_WORDS]) {
    static const char *const names[] = {"connect_timeout", "fallback_application_name",
                                        "target_session_attrs", "dbname", NULL};
    const char *texts[] = {CONNECT_SECONDS, "sallyport", writes ? "read-write" : "any", dsn, NULL};
    memcpy(keys, names, sizeof(names));
    memcpy(values, texts, sizeof(texts));
}

bool state_libpq_is_read_only(const struct libpq *pq, const PGresult *result) {
    const char *code = pq->PQresultErrorField(result, PG_DIAG_SQLSTATE);
    return code && strcmp(code, READ_ONLY_TRANSACTION) == 0;
}

void state_libpq_quiet(void *ctx, const PGresult *result) { (void)ctx, (void)result; }
