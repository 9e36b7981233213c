#include "state/fleet_logins.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/sha.h"
#include "io/file.h"
#include "io/work.h"
#include "state/db.h"
#include "state/limits.h"
#include "state/sealed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOGINS_STORE "server_logins"
#define NAME_LEN 32 /* hex digits */
#define MARK_MAX 256

struct login_row {
    struct slice name;
    int64_t number;
    struct slice sealed; /* empty: forgotten */
};

/* Both sides of one login. */
struct login_pair {
    const char *home, *name;
    struct db *db;
    struct slice file;            /* empty: there is none */
    int64_t known;                /* number when file and row were the same; 0: never */
    char known_hash[SHA_HEX + 1]; /* of the file then; empty: there was none */
    char hash[SHA_HEX + 1];
};

bool state_fleet_logins_shared(const char *home) {
    cleanup_free char *dsn = NULL;
    return db_home_dsn(home, &dsn, NULL) == 0 && dsn;
}

/* ---- one login ---- */

static void hash_of(struct slice sealed, char ret_hash[SHA_HEX + 1]) {
    ret_hash[0] = '\0';
    if (!sealed.len)
        return;
    sha_256_hex(sealed, ret_hash);
    ret_hash[SHA_HEX] = '\0';
}

static int mark_path(const struct login_pair *p, char path[STATE_SEALED_PATH_MAX], struct err *err) {
    char name[NAME_LEN + sizeof(".shared")];
    snprintf(name, sizeof(name), "%s.shared", p->name);
    return state_sealed_path(p->home, STATE_LOGINS_DIR, name, path) ? 0
                                                                    : err_set(err, "the path is too long");
}

/* NUMBER HASH. Without it, or with a damaged one, nothing is known. */
static int mark_read(struct login_pair *p, struct err *err) {
    char path[STATE_SEALED_PATH_MAX];
    cleanup_buf struct buf text;
    struct slice number;
    uint64_t known;
    buf_init(&text, MARK_MAX);
    if (mark_path(p, path, err) < 0)
        return -1;
    if (io_file_read(path, &text, NULL, NULL) < 0)
        return 0;
    struct slice rest = slice_trim(buf_slice(&text));
    if (!slice_cut(&rest, ' ', &number) || !slice_to_u64(number, &known) || known > INT64_MAX ||
        (rest.len && rest.len != SHA_HEX))
        return 0;
    p->known = (int64_t)known;
    memcpy(p->known_hash, rest.ptr, rest.len);
    return 0;
}

static int mark_write(struct login_pair *p, int64_t number, const char *hash, struct err *err) {
    char path[STATE_SEALED_PATH_MAX], text[MARK_MAX];
    snprintf(text, sizeof(text), "%" PRId64 " %s\n", number, hash);
    return mark_path(p, path, err) < 0 ? -1 : io_file_post(path, slice_str(text), 0600, err);
}

/* The row replaces the file. */
static int pull(struct login_pair *p, const struct login_row *row, struct err *err) {
    char path[STATE_SEALED_PATH_MAX], hash[SHA_HEX + 1];
    if (!state_sealed_path(p->home, STATE_LOGINS_DIR, p->name, path))
        return err_set(err, "the path is too long");
    /* What another key encrypted is of no use to any gate: the login here stays. */
    if (row->sealed.len && state_sealed_check(p->home, p->name, row->sealed, err) < 0)
        return -1;
    int rc = row->sealed.len                        ? io_file_replace(path, row->sealed, 0600, err)
             : unlink(path) == 0 || errno == ENOENT ? 0
                                                    : err_set(err, "remove `%s`: %s", path, strerror(errno));
    hash_of(row->sealed, hash);
    return rc < 0 ? -1 : mark_write(p, row->number, hash, err);
}

/* The file becomes the row, unless another gate was faster: then its row comes here. */
static int push(struct login_pair *p, const struct login_row *row, struct err *err) {
    const int64_t before = row ? row->number : 0, after = (before > p->known ? before : p->known) + 1;
    struct db_stmt *st = db_prepare(
        p->db, row ? "UPDATE server_logins SET number=?2,sealed=?3,lease_ms=0 WHERE name=?1 AND number=?4"
                   : "INSERT INTO server_logins(name,number,sealed) VALUES(?1,?2,?3)"
                     " ON CONFLICT(name) DO NOTHING");
    db_bind_text(st, 1, slice_str(p->name));
    db_bind_int(st, 2, after);
    db_bind_blob(st, 3, p->file);
    if (row)
        db_bind_int(st, 4, before);
    int64_t changed = db_run(st, err);
    if (changed < 0)
        return -1;
    return changed ? mark_write(p, after, p->hash, err) : 0;
}

static int file_read(struct login_pair *p, struct buf *ret_file, struct err *err) {
    char path[STATE_SEALED_PATH_MAX];
    bool missing = false;
    if (!state_sealed_path(p->home, STATE_LOGINS_DIR, p->name, path))
        return err_set(err, "the path is too long");
    if (io_file_read(path, ret_file, &missing, err) < 0 && !missing)
        return -1;
    p->file = missing ? (struct slice){0} : buf_slice(ret_file);
    hash_of(p->file, p->hash);
    return 0;
}

static int make_same(struct login_pair *p, const struct login_row *row, struct err *err) {
    cleanup_buf struct buf file;
    char hash[SHA_HEX + 1] = "";
    buf_init(&file, STATE_SEALED_FILE_MAX);
    if (file_read(p, &file, err) < 0 || mark_read(p, err) < 0)
        return -1;
    if (row)
        hash_of(row->sealed, hash);
    if (row ? strcmp(hash, p->hash) == 0 : !p->file.len)
        return row && (row->number != p->known || strcmp(p->hash, p->known_hash) != 0)
                   ? mark_write(p, row->number, p->hash, err)
                   : 0;
    const bool is_new =
        p->file.len && !p->known; /* a login of this home, from before it joined or just now */
    const bool is_same = strcmp(p->hash, p->known_hash) == 0;
    if (row && (row->number > p->known ? row->sealed.len || !is_new : row->number == p->known && is_same))
        return pull(p, row, err);
    return push(p, row, err);
}

/* ---- all of them ---- */

static bool is_login(const char *name) {
    return strlen(name) == NAME_LEN && strspn(name, "0123456789abcdef") == NAME_LEN;
}

static int rows_load(struct db *db, struct arena *a, struct login_row **ret_rows, size_t *ret_count,
                     struct err *err) {
    struct login_row *rows = arena_array(a, struct login_row, STATE_FLEET_LOGINS_MAX);
    size_t count = 0;
    struct db_stmt *st =
        db_prepare(db, "SELECT name,number,sealed FROM server_logins ORDER BY name LIMIT ?1");
    db_bind_int(st, 1, STATE_FLEET_LOGINS_MAX);
    while (count < STATE_FLEET_LOGINS_MAX && db_step(st))
        rows[count++] =
            (struct login_row){arena_dup(a, db_text(st, 0)), db_int(st, 1), arena_dup(a, db_text(st, 2))};
    *ret_rows = rows;
    *ret_count = count;
    return db_finish(st, err) < 0 ? -1 : 0;
}

static bool has_row(const struct login_row *rows, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (slice_is(rows[i].name, name))
            return true;
    return false;
}

/* Every pair is tried; the first error is returned. */
static int same_all(const char *home, const char *dir, struct db *db, struct arena *a, struct err *err) {
    struct login_row *rows;
    size_t count;
    int rc = 0;
    if (rows_load(db, a, &rows, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        struct login_pair p = {.home = home, .name = rows[i].name.ptr, .db = db};
        if (is_login(p.name) && make_same(&p, &rows[i], rc == 0 ? err : NULL) < 0)
            rc = -1;
    }
    DIR *files = opendir(dir);
    if (!files)
        return err_set(err, "read `%s`: %s", dir, strerror(errno));
    for (const struct dirent *file; (file = readdir(files));) {
        struct login_pair p = {.home = home, .name = file->d_name, .db = db};
        if (is_login(p.name) && !has_row(rows, count, p.name) &&
            make_same(&p, NULL, rc == 0 ? err : NULL) < 0)
            rc = -1;
    }
    closedir(files);
    return rc;
}

/* Under the lock of the directory, with rows that are read under it: processes of one home never store what
 * another one has already replaced. */
static int make_all_same(const char *home, struct db *db, struct err *err) {
    cleanup_free char *dir = NULL, *inside = NULL;
    cleanup_arena struct arena a;
    arena_init(&a);
    if (asprintf(&dir, "%s/" STATE_LOGINS_DIR, home) < 0 || asprintf(&inside, "%s/x", dir) < 0)
        return err_set(err, "out of memory");
    if (io_make_dir(dir, err) < 0)
        return -1;
    cleanup_fd int guard = io_file_guard(inside);
    if (guard < 0)
        return err_set(err, "lock `%s`: %s", dir, strerror(errno));
    return same_all(home, dir, db, &a, err);
}

/* ---- refreshing ---- */

#define NOW_MS "(extract(epoch FROM clock_timestamp())*1000)::bigint"

int state_fleet_logins_claim(const char *home, const char *name, bool *ret_claimed, struct err *err) {
    struct db *db = NULL;
    char host[256] = "", holder[STATE_SEALED_PATH_MAX];
    gethostname(host, sizeof(host) - 1);
    snprintf(holder, sizeof(holder), "%s:%s", host, home);
    *ret_claimed = false;
    if (db_open(home, LOGINS_STORE, false, "", &db, err) < 0)
        return -1;
    int rc = make_all_same(home, db, err);
    struct db_stmt *st = db_prepare(db, "UPDATE server_logins SET holder=?2,lease_ms=" NOW_MS "+?3"
                                        " WHERE name=?1 AND (holder=?2 OR lease_ms<" NOW_MS ")");
    db_bind_text(st, 1, slice_str(name));
    db_bind_text(st, 2, slice_str(holder));
    db_bind_int(st, 3, STATE_FLEET_LOGIN_LEASE_MS);
    int64_t changed = rc == 0 ? db_run(st, err) : db_finish(st, NULL);
    db_close(db);
    *ret_claimed = rc == 0 && changed > 0;
    return rc < 0 || changed < 0 ? -1 : 0;
}

/* ---- the thread ---- */

struct state_fleet_logins {
    char *home, *dir, *lead_path;
    pthread_t thread;
    bool started;
    int wake[2];
    atomic_bool stop;
    int lead; /* lock of the process that does it for this home; -1: another one */
    struct db *db;
    int64_t version;         /* of the store when both sides were the same; -1: never */
    struct timespec changed; /* of the directory then */
};

/* One process of a home is enough; when it ends another one takes over. */
static bool leads(struct state_fleet_logins *l) {
    if (l->lead >= 0)
        return true;
    l->lead = open(l->lead_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (l->lead >= 0 && flock(l->lead, LOCK_EX | LOCK_NB) == 0)
        return true;
    if (l->lead >= 0)
        close(l->lead);
    l->lead = -1;
    return false;
}

static void look(struct state_fleet_logins *l) {
    struct stat st = {0};
    int64_t version = db_version(l->db, NULL);
    if (version < 0 || stat(l->dir, &st) < 0)
        return;
    bool moved = st.st_mtim.tv_sec != l->changed.tv_sec || st.st_mtim.tv_nsec != l->changed.tv_nsec;
    if (version == l->version && !moved)
        return;
    bool same = make_all_same(l->home, l->db, NULL) == 0;
    l->version = same ? version : -1;
    l->changed = st.st_mtim; /* from before: a file that was written meanwhile is found at the next look */
}

static void *logins_thread(void *arg) {
    struct state_fleet_logins *l = arg;
    pthread_setname_np(pthread_self(), "logins");
    while (!atomic_load(&l->stop)) {
        if (!leads(l)) {
            struct pollfd p = {.fd = l->wake[0], .events = POLLIN};
            poll(&p, 1, STATE_FLEET_LOGINS_LEAD_MS);
            continue;
        }
        if (!l->db && (db_open(l->home, LOGINS_STORE, false, "", &l->db, NULL) < 0))
            break; /* without libpq: other stores have reported that */
        if (l->version < 0)
            db_listen(l->db, NULL);
        look(l);
        db_wait(l->db, l->wake[0], STATE_FOLLOW_POLL_MS);
    }
    if (l->db)
        look(l);
    return NULL;
}

int state_fleet_logins_start(const char *home, struct state_fleet_logins **ret_logins, struct err *err) {
    *ret_logins = NULL;
    if (!state_fleet_logins_shared(home))
        return 0;
    struct state_fleet_logins *l = mem_zalloc(sizeof(*l));
    l->wake[0] = l->wake[1] = l->lead = -1;
    l->version = -1;
    l->home = mem_dup(home, strlen(home));
    int rc = 0;
    if (asprintf(&l->dir, "%s/" STATE_LOGINS_DIR, home) < 0 ||
        asprintf(&l->lead_path, "%s/.shared", l->dir) < 0)
        rc = err_set(err, "out of memory");
    if (rc == 0)
        rc = io_make_dir(l->dir, err);
    if (rc == 0 && pipe2(l->wake, O_CLOEXEC | O_NONBLOCK) < 0)
        rc = err_set(err, "pipe: %s", strerror(errno));
    if (rc == 0)
        rc = io_thread_start(&l->thread, logins_thread, l, err);
    l->started = rc == 0;
    if (rc < 0) {
        state_fleet_logins_end(l);
        return -1;
    }
    *ret_logins = l;
    return 0;
}

void state_fleet_logins_end(struct state_fleet_logins *l) {
    if (!l)
        return;
    if (l->started) {
        atomic_store(&l->stop, true);
        (void)!write(l->wake[1], "", 1);
        pthread_join(l->thread, NULL);
    }
    for (size_t i = 0; i < 2; i++)
        if (l->wake[i] >= 0)
            close(l->wake[i]);
    if (l->lead >= 0)
        close(l->lead);
    db_close(l->db);
    free(l->lead_path);
    free(l->dir);
    free(l->home);
    free(l);
}
