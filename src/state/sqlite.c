#include "state/sqlite.h"

#include "base/mem.h"
#include "state/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

/* FULL: what is written here is a promise that must outlast the machine. One fsync each, and writes are rare
 * by design. */
static const char sqlite_pragmas[] = "PRAGMA journal_mode=WAL;"
                                     "PRAGMA synchronous=FULL;"
                                     "PRAGMA trusted_schema=OFF;"
                                     "PRAGMA cell_size_check=ON;";

int state_sqlite_fail(sqlite3 *db, struct err *err) {
    return err_set(err, "%s", db ? sqlite3_errmsg(db) : "out of memory");
}

/* While another process turns the journal around, SQLite answers BUSY without asking its busy handler. */
static int exec_patiently(sqlite3 *db, const char *sql, struct err *err) {
    for (int waited = 0;; waited += STATE_BUSY_STEP_MS) {
        int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
        if (rc == SQLITE_OK)
            return 0;
        if ((rc & 0xff) != SQLITE_BUSY || waited >= STATE_BUSY_MS)
            return state_sqlite_fail(db, err);
        poll(NULL, 0, STATE_BUSY_STEP_MS);
    }
}

int state_sqlite_open(const char *path, bool look_only, const char *schema, sqlite3 **ret_db,
                      struct err *err) {
    if (!look_only) { /* for this user only; SQLite gives its side files the same mode */
        cleanup_fd int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
            return err_set(err, "%s", strerror(errno));
    }
    sqlite3 *db = NULL;
    int flags = look_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    int rc = sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_FULLMUTEX, NULL);
    bool fine = rc == SQLITE_OK;
    if (!fine)
        state_sqlite_fail(db, err);
    if (fine) {
        sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
        sqlite3_busy_timeout(db, STATE_BUSY_MS);
        fine = look_only ||
               (exec_patiently(db, sqlite_pragmas, err) == 0 && exec_patiently(db, schema, err) == 0);
    }
    if (!fine) {
        sqlite3_close(db);
        return -1;
    }
    *ret_db = db;
    return 0;
}
