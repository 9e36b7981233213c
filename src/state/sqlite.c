#include "state/sqlite.h"

#include "base/clock.h"
#include "base/mem.h"
#include "state/limits.h"
#include "state/stores.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* FULL: writes must survive a crash of the machine. One fsync each, and writes are rare by design. */
static const char sqlite_pragmas[] = "PRAGMA journal_mode=WAL;"
                                     "PRAGMA synchronous=FULL;"
                                     "PRAGMA trusted_schema=OFF;"
                                     "PRAGMA cell_size_check=ON;";

int state_sqlite_fail(sqlite3 *db, struct err *err) {
    return err_set(err, "%s", db ? sqlite3_errmsg(db) : "out of memory");
}

/* While another process switches the journal mode, SQLite returns BUSY without calling its busy handler. By
 * the clock: one attempt may be a wait of the handler's. */
static int exec_patiently(sqlite3 *db, const char *sql, struct err *err) {
    for (const uint64_t until_ms = clock_mono_ms() + STATE_BUSY_MS;;) {
        int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
        if (rc == SQLITE_OK)
            return 0;
        if ((rc & 0xff) != SQLITE_BUSY || clock_mono_ms() >= until_ms)
            return state_sqlite_fail(db, err);
        poll(NULL, 0, STATE_BUSY_STEP_MS);
    }
}

static int check_format(sqlite3 *db, const char *path, bool read_only, struct err *err) {
    sqlite3_stmt *row = NULL;
    if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &row, NULL) != SQLITE_OK)
        return state_sqlite_fail(db, err);
    int format = sqlite3_step(row) == SQLITE_ROW ? sqlite3_column_int(row, 0) : -1;
    if (sqlite3_finalize(row) != SQLITE_OK)
        return state_sqlite_fail(db, err);
    if (format > STATE_SQLITE_FORMAT)
        return err_set(
            err,
            "`%s` was written by a newer version of sallyport (format %d; this one knows %d): use that "
            "version",
            path, format, STATE_SQLITE_FORMAT);
    return read_only || format == STATE_SQLITE_FORMAT ? 0 : exec_patiently(db, "PRAGMA user_version=1", err);
}

/* SQLite would write its pages back and delete the write-ahead log at the path. */
void state_sqlite_close(sqlite3 *db, struct io_anchor *file) {
    int on = 1;
    if (db && io_anchor_check(file, NULL) < 0) {
        sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        sqlite3_file_control(db, "main", SQLITE_FCNTL_PERSIST_WAL, &on);
    }
    sqlite3_close(db);
}

int state_sqlite_open(const char *path, bool read_only, const char *schema, sqlite3 **ret_db,
                      struct err *err) {
    /* For this user only; SQLite gives its side files the same mode. An existing file is not opened here:
     * closing it would release the locks that another connection of this process has on it. */
    if (!read_only && access(path, F_OK) < 0) {
        cleanup_fd int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
            return err_set(err, "%s", strerror(errno));
    }
    sqlite3 *db = NULL;
    int flags = read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    int rc = sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_FULLMUTEX, NULL);
    bool fine = rc == SQLITE_OK;
    if (!fine)
        state_sqlite_fail(db, err);
    if (fine) {
        sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
        sqlite3_busy_timeout(db, STATE_BUSY_MS);
        fine = (read_only || exec_patiently(db, sqlite_pragmas, err) == 0) &&
               check_format(db, path, read_only, err) == 0 &&
               (read_only || exec_patiently(db, schema, err) == 0);
    }
    if (!fine) {
        sqlite3_close(db);
        return -1;
    }
    if (!read_only)
        state_stores_note(path);
    *ret_db = db;
    return 0;
}
