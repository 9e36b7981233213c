#include "state/home_copy.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/mem.h"
#include "base/sha.h"
#include "io/file.h"
#include "state/home_format.h"
#include "state/limits.h"
#include "state/sqlite.h"
#include "wire/emit.h"
#include "wire/tape.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MANIFEST "manifest.json"
#define HEAD_WAIT_MS 3000
#define HEAD_LOOK_MS 10
#define COPY_BYTES (256u << 10)
#define PATH_ROOM 4096

/* Target and content of a copy. */
struct copying {
    const char *from, *to;
    struct emit *list; /* of the manifest; NULL: restoring */
    struct state_home_copy *b;
    char *room; /* COPY_BYTES */
};

/* ---- one file ---- */

static int fail_on(struct err *err, const char *what, const char *path) {
    return err_set(err, "%s `%s`: %s", what, path, strerror(errno));
}

static int read_some(int fd, char *room, ssize_t *ret_got) {
    while ((*ret_got = read(fd, room, COPY_BYTES)) < 0 && errno == EINTR)
        ;
    return *ret_got < 0 ? -1 : 0;
}

static int write_all(int fd, const char *from, size_t len) {
    while (len > 0) {
        ssize_t done = write(fd, from, len);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        from += done;
        len -= (size_t)done;
    }
    return 0;
}

/* Rings are mostly empty: holes are kept. */
static int copy_bytes(struct copying *c, int in, int out) {
    off_t size = 0;
    for (ssize_t got;; size += got) {
        if (read_some(in, c->room, &got) < 0)
            return -1;
        if (got == 0)
            break;
        bool blank = true;
        for (ssize_t i = 0; blank && i < got; i++)
            blank = c->room[i] == '\0';
        if (blank ? lseek(out, got, SEEK_CUR) < 0 : write_all(out, c->room, (size_t)got) < 0)
            return -1;
    }
    return ftruncate(out, size) < 0 || fsync(out) < 0 ? -1 : 0;
}

/* Returns 1 if it no longer exists. */
static int copy_plain(struct copying *c, const char *from, const char *to, struct err *err) {
    cleanup_fd int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;
    if (in < 0)
        return errno == ENOENT ? 1 : fail_on(err, "read", from);
    if (fstat(in, &st) < 0)
        return fail_on(err, "read", from);
    cleanup_fd int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, st.st_mode & 0700);
    if (out < 0)
        return fail_on(err, "write", to);
    return copy_bytes(c, in, out) < 0 ? fail_on(err, "copy to", to) : 0;
}

static int check_database(sqlite3 *db, const char *path, struct err *err) {
    sqlite3_stmt *row = NULL;
    bool sound = sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &row, NULL) == SQLITE_OK &&
                 sqlite3_step(row) == SQLITE_ROW && sqlite3_column_text(row, 0) &&
                 strcmp((const char *)sqlite3_column_text(row, 0), "ok") == 0;
    sqlite3_finalize(row);
    return sound ? 0 : err_set(err, "`%s` is damaged: %s", path, sqlite3_errmsg(db));
}

/* One consistent state, even while others write: all pages in one step, under one read transaction. */
static int copy_pages(sqlite3 *in, sqlite3 *out, const char *from, struct err *err) {
    sqlite3_backup *copy = sqlite3_backup_init(out, "main", in, "main");
    if (!copy)
        return err_set(err, "copy `%s`: %s", from, sqlite3_errmsg(out));
    int rc = sqlite3_backup_step(copy, -1);
    for (int waited = 0; (rc == SQLITE_BUSY || rc == SQLITE_LOCKED) && waited < STATE_BUSY_MS;
         waited += STATE_BUSY_STEP_MS) {
        sqlite3_sleep(STATE_BUSY_STEP_MS);
        rc = sqlite3_backup_step(copy, -1);
    }
    sqlite3_backup_finish(copy);
    return rc == SQLITE_DONE ? 0 : err_set(err, "copy `%s`: %s", from, sqlite3_errstr(rc));
}

static int copy_database(const char *from, const char *to, struct err *err) {
    sqlite3 *in = NULL, *out = NULL;
    cleanup_fd int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return fail_on(err, "write", to);
    int rc = sqlite3_open_v2(from, &in, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, NULL) == SQLITE_OK
                 ? 0
                 : err_set(err, "open `%s`: %s", from, sqlite3_errmsg(in));
    if (rc == 0 && sqlite3_open_v2(to, &out, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, NULL) != SQLITE_OK)
        rc = err_set(err, "open `%s`: %s", to, sqlite3_errmsg(out));
    if (rc == 0) {
        sqlite3_busy_timeout(in, STATE_BUSY_MS);
        rc = copy_pages(in, out, from, err);
    }
    if (rc == 0)
        rc = check_database(out, to, err);
    sqlite3_close(out);
    sqlite3_close(in);
    if (rc == 0 && fsync(fd) < 0)
        rc = fail_on(err, "write", to);
    return rc;
}

static int hash_file(struct copying *c, const char *path, char ret_hex[SHA_HEX + 1], uint64_t *ret_bytes,
                     struct err *err) {
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct sha_state sha;
    unsigned char sum[SHA_BYTES];
    if (fd < 0)
        return fail_on(err, "read", path);
    sha_begin(&sha);
    *ret_bytes = 0;
    for (ssize_t got;; *ret_bytes += (uint64_t)got) {
        if (read_some(fd, c->room, &got) < 0)
            return fail_on(err, "read", path);
        if (got == 0)
            break;
        sha_add(&sha, slice_of(c->room, (size_t)got));
    }
    sha_end(&sha, sum);
    hex_str(sum, SHA_BYTES, ret_hex);
    return 0;
}

static int note_file(struct copying *c, const char *name, const char *path, struct err *err) {
    char hex[SHA_HEX + 1];
    uint64_t bytes;
    if (hash_file(c, path, hex, &bytes, err) < 0)
        return -1;
    emit_object(c->list);
    emit_key(c->list, "path");
    emit_str(c->list, slice_str(name));
    emit_key(c->list, "bytes");
    emit_int(c->list, (int64_t)bytes);
    emit_key(c->list, "sha256");
    emit_cstr(c->list, hex);
    emit_object_end(c->list);
    c->b->files++;
    c->b->bytes += bytes;
    return 0;
}

/* Files of agents and their code: copied as they are, whatever their names. */
static bool is_of_agents(const char *name) { return slice_starts(slice_str(name), SLICE("code/")); }

static bool is_database(const char *name) {
    return slice_ends(slice_str(name), SLICE(".sqlite")) && !is_of_agents(name);
}

static int copy_one(struct copying *c, const char *name, struct err *err) {
    char from[PATH_ROOM], to[PATH_ROOM];
    if (snprintf(from, sizeof(from), "%s/%s", c->from, name) >= PATH_ROOM ||
        snprintf(to, sizeof(to), "%s/%s", c->to, name) >= PATH_ROOM)
        return err_set(err, "`%s`: the path is too long", name);
    if (c->b->progress)
        c->b->progress(c->b->ctx, c->b, name);
    int rc = is_database(name) ? copy_database(from, to, err) : copy_plain(c, from, to, err);
    return rc > 0 ? 0 : rc < 0 ? -1 : note_file(c, name, to, err);
}

/* ---- contents of a home ---- */

enum turn { TURN_HEAD, TURN_RINGS, TURN_REST, TURNS };

static bool stays_behind(const char *name) {
    static const char *const ends[] = {"-wal", "-shm", "-journal", ".live", ".lock", ".tmp"};
    if (is_of_agents(name))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        if (slice_ends(slice_str(name), slice_str(ends[i])))
            return true;
    return slice_starts(slice_str(name), SLICE("gates/"));
}

static enum turn turn_of(const char *name) {
    return strcmp(name, "audit/head") == 0                       ? TURN_HEAD
           : slice_starts(slice_str(name), SLICE("audit/ring-")) ? TURN_RINGS
                                                                 : TURN_REST;
}

struct names {
    struct arena arena;
    char **items;
    size_t count, cap;
};

static int names_add(struct names *n, const char *name, struct err *err) {
    if (n->count >= STATE_BACKUP_FILES_MAX)
        return err_set(err, "more than %u files", STATE_BACKUP_FILES_MAX);
    if (n->count == n->cap) {
        n->cap = n->cap ? 2 * n->cap : 64;
        n->items = mem_realloc(n->items, n->cap * sizeof(*n->items));
    }
    n->items[n->count++] = (char *)(uintptr_t)arena_dup(&n->arena, slice_str(name)).ptr;
    return 0;
}

static void names_free(struct names *n) {
    arena_free(&n->arena);
    free(n->items);
}

static int list_dir(const char *top, const char *below, struct names *files, struct names *dirs,
                    struct err *err) {
    char path[PATH_ROOM], name[PATH_ROOM];
    if (snprintf(path, sizeof(path), "%s/%s", top, below) >= PATH_ROOM)
        return err_set(err, "`%s`: the path is too long", below);
    DIR *d = opendir(path);
    if (!d)
        return errno == ENOENT ? 0 : fail_on(err, "read", path);
    int rc = 0;
    for (const struct dirent *entry; rc == 0 && (entry = readdir(d));) {
        struct stat st;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (strcmp(below, "code") == 0 && strcmp(entry->d_name, "packages") == 0)
            continue; /* large, and can be downloaded again */
        if (snprintf(name, sizeof(name), "%s%s%s", below, *below ? "/" : "", entry->d_name) >= PATH_ROOM)
            rc = err_set(err, "`%s`: the path is too long", entry->d_name);
        else if (!tape_utf8_valid(slice_str(name)))
            rc = err_set(err, "the name of a file below `%s` is not UTF-8", path);
        else if (fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            rc = S_ISDIR(st.st_mode)                          ? names_add(dirs, name, err)
                 : S_ISREG(st.st_mode) && !stays_behind(name) ? names_add(files, name, err)
                                                              : 0;
    }
    closedir(d);
    return rc;
}

/* All files and directories below `top`, without links and what belongs to processes. */
static int list_all(const char *top, struct names *files, struct names *dirs, struct err *err) {
    int rc = list_dir(top, "", files, dirs, err);
    for (size_t i = 0; rc == 0 && i < dirs->count; i++)
        rc = list_dir(top, dirs->items[i], files, dirs, err);
    return rc;
}

static int make_dirs(const char *to, const struct names *dirs, struct err *err) {
    char path[PATH_ROOM];
    for (size_t i = 0; i < dirs->count; i++)
        if (snprintf(path, sizeof(path), "%s/%s", to, dirs->items[i]) >= PATH_ROOM ||
            (mkdir(path, 0700) < 0 && errno != EEXIST))
            return fail_on(err, "make", path);
    return 0;
}

/* ---- backup ---- */

static int make_empty(const char *to, struct err *err) {
    if (io_make_dir(to, err) < 0)
        return -1;
    DIR *d = opendir(to);
    size_t entries = 0;
    if (!d)
        return fail_on(err, "read", to);
    while (readdir(d))
        entries++;
    closedir(d);
    return entries <= 2 ? 0 : err_set(err, "`%s` is not empty: name a directory that does not exist", to);
}

/* Rings come before the segments that they are written to. Files created during the copy (a segment, a
 * workspace) are listed again until there are no new ones. */
static int copy_all(struct copying *c, struct names *files, struct names *dirs, struct err *err) {
    int rc = list_all(c->from, files, dirs, err);
    if (rc == 0)
        rc = make_dirs(c->to, dirs, err);
    for (enum turn turn = TURN_HEAD; rc == 0 && turn < TURNS; turn++)
        for (size_t i = 0; rc == 0 && i < files->count; i++)
            if (turn_of(files->items[i]) == turn)
                rc = copy_one(c, files->items[i], err);
    return rc;
}

static bool listed(const struct names *n, const char *name) {
    for (size_t i = 0; i < n->count; i++)
        if (strcmp(n->items[i], name) == 0)
            return true;
    return false;
}

/* Segments started during the copy: the chain may continue there. */
static int copy_new_segments(struct copying *c, struct names *files, struct err *err) {
    struct names now = {0}, dirs = {0};
    arena_init(&now.arena);
    arena_init(&dirs.arena);
    int rc = list_dir(c->from, "audit", &now, &dirs, err);
    for (size_t i = 0; rc == 0 && i < now.count; i++)
        if (is_database(now.items[i]) && !listed(files, now.items[i]) &&
            (rc = copy_one(c, now.items[i], err)) == 0)
            rc = names_add(files, now.items[i], err);
    names_free(&now);
    names_free(&dirs);
    return rc;
}

static int write_manifest(const char *to, struct buf *text, struct err *err) {
    cleanup_free char *path = NULL;
    if (asprintf(&path, "%s/" MANIFEST, to) < 0)
        return err_set(err, "out of memory");
    return text->full ? err_set(err, "too many files") : io_file_replace(path, buf_slice(text), 0600, err);
}

/* A gate signs its log for the first time a moment after it began. A copy from before that would have
 * segments that are signed and no head, as if it had been deleted. */
static void await_head(const char *home) {
    const struct timespec pause = {.tv_nsec = HEAD_LOOK_MS * 1000000L};
    char log[PATH_ROOM], head[PATH_ROOM];
    if (snprintf(log, sizeof(log), "%s/audit", home) >= PATH_ROOM ||
        snprintf(head, sizeof(head), "%s/audit/head", home) >= PATH_ROOM)
        return;
    for (int left = HEAD_WAIT_MS; left > 0 && access(log, F_OK) == 0 && access(head, F_OK) < 0;
         left -= HEAD_LOOK_MS)
        nanosleep(&pause, NULL);
}

int state_home_copy_make(const char *home, const char *to, struct state_home_copy *b, struct err *err) {
    struct stat st;
    if (stat(home, &st) < 0)
        return fail_on(err, "no home to back up:", home);
    struct slice inside = slice_str(to);
    if (slice_starts(inside, slice_str(home)) && (to[strlen(home)] == '/' || !to[strlen(home)]))
        return err_set(err, "`%s` is inside the home: name a directory outside it", to);
    if (state_home_format_check(home, err) < 0 || make_empty(to, err) < 0)
        return -1;
    cleanup_buf struct buf text;
    buf_init(&text, STATE_BACKUP_MANIFEST_MAX);
    struct emit e;
    emit_init(&e, &text);
    emit_object(&e);
    emit_key(&e, "format");
    emit_int(&e, STATE_BACKUP_FORMAT);
    emit_key(&e, "version");
    emit_cstr(&e, SALLYPORT_VERSION);
    emit_key(&e, "taken_ms");
    await_head(home);
    b->taken_ms = clock_wall_ms();
    emit_int(&e, (int64_t)b->taken_ms);
    emit_key(&e, "files");
    emit_array(&e);
    cleanup_free char *room = mem_alloc(COPY_BYTES);
    struct copying c = {.from = home, .to = to, .list = &e, .b = b, .room = room};
    struct names files = {0}, dirs = {0};
    arena_init(&files.arena);
    arena_init(&dirs.arena);
    int rc = copy_all(&c, &files, &dirs, err);
    if (rc == 0)
        rc = copy_new_segments(&c, &files, err);
    names_free(&files);
    names_free(&dirs);
    emit_array_end(&e);
    emit_object_end(&e);
    buf_put_char(&text, '\n');
    return rc < 0 ? -1 : write_manifest(to, &text, err);
}

/* ---- restore ---- */

/* A name in the manifest must stay below the directory. */
static bool is_inside(struct slice name) {
    return name.len > 0 && name.ptr[0] != '/' && !memchr(name.ptr, '\0', name.len) &&
           !slice_starts(name, SLICE("../")) && !slice_ends(name, SLICE("/..")) &&
           !memmem(name.ptr, name.len, "/../", 4) && name.len < PATH_ROOM / 2;
}

struct manifest {
    struct buf text;
    struct tape tape;
    struct arena arena;
    uint32_t files; /* the array */
};

static void manifest_free(struct manifest *m) {
    buf_free(&m->text);
    tape_free(&m->tape);
    arena_free(&m->arena);
}
#define cleanup_manifest __attribute__((cleanup(manifest_free)))

static int manifest_read(const char *from, struct manifest *m, struct state_home_copy *b, struct err *err) {
    char path[PATH_ROOM];
    bool missing = false;
    int64_t format = 0, taken = 0;
    buf_init(&m->text, STATE_BACKUP_MANIFEST_MAX);
    tape_init(&m->tape);
    arena_init(&m->arena);
    snprintf(path, sizeof(path), "%s/" MANIFEST, from);
    if (io_file_read(path, &m->text, &missing, err) < 0)
        return missing ? err_set(err, "`%s` is not a complete backup: it has no " MANIFEST, from) : -1;
    const struct tape *t = &m->tape;
    if (tape_parse(&m->tape, buf_slice(&m->text), NULL) != TAPE_OK || !tape_is(t, 0, TAPE_OBJECT) ||
        !tape_int(t, tape_get_str(t, 0, "format"), &format) ||
        !tape_int(t, tape_get_str(t, 0, "taken_ms"), &taken) || taken < 0)
        return err_set(err, "`%s` is damaged", path);
    if (format != STATE_BACKUP_FORMAT)
        return err_set(err,
                       "`%s` was made by a newer version of sallyport (format %lld; this one knows %d): use "
                       "that version",
                       from, (long long)format, STATE_BACKUP_FORMAT);
    m->files = tape_get_str(t, 0, "files");
    if (!m->files || !tape_is(t, m->files, TAPE_ARRAY))
        return err_set(err, "`%s` is damaged: it names no files", path);
    b->taken_ms = (uint64_t)taken;
    struct slice version = tape_text(t, tape_get_str(t, 0, "version"), &m->arena);
    snprintf(b->version, sizeof(b->version), "%.*s", SLICE_FMT(version));
    return 0;
}

/* Is the file `name` below `dir` the one of entry `i`? */
static int check_file(struct copying *c, const struct manifest *m, uint32_t i, const char *dir,
                      const char *name, struct err *err) {
    char path[PATH_ROOM], hex[SHA_HEX + 1];
    uint64_t bytes;
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    if (hash_file(c, path, hex, &bytes, err) < 0)
        return -1;
    if (!tape_eq(&m->tape, tape_get_str(&m->tape, i, "sha256"), slice_str(hex)))
        return err_set(err, "`%s` is not the file that was backed up: its SHA-256 differs", path);
    c->b->files++;
    c->b->bytes += bytes;
    return 0;
}

static int manifest_name(struct manifest *m, uint32_t i, const char **ret_name, struct err *err) {
    struct slice name = tape_text_of(&m->tape, i, "path", &m->arena);
    if (!is_inside(name))
        return err_set(err, "the manifest is damaged: it names a file outside of the backup");
    *ret_name = arena_dup(&m->arena, name).ptr;
    return 0;
}

static int check_all(struct manifest *m, const char *dir, struct state_home_copy *b, struct err *err) {
    cleanup_free char *room = mem_alloc(COPY_BYTES);
    struct copying c = {.b = b, .room = room};
    b->files = b->bytes = 0;
    TAPE_FOR_ELEM(&m->tape, m->files, i) {
        const char *name;
        if (manifest_name(m, i, &name, err) < 0)
            return -1;
        if (b->progress)
            b->progress(b->ctx, b, name);
        if (check_file(&c, m, i, dir, name, err) < 0)
            return -1;
    }
    return 0;
}

int state_home_copy_check(const char *from, struct state_home_copy *b, struct err *err) {
    cleanup_manifest struct manifest m;
    return manifest_read(from, &m, b, err) < 0 ? -1 : check_all(&m, from, b, err);
}

static int copy_back(struct manifest *m, const char *from, const char *to, struct err *err) {
    cleanup_free char *room = mem_alloc(COPY_BYTES);
    struct copying c = {.room = room};
    char source[PATH_ROOM], target[PATH_ROOM];
    TAPE_FOR_ELEM(&m->tape, m->files, i) {
        const char *name;
        if (manifest_name(m, i, &name, err) < 0)
            return -1;
        snprintf(source, sizeof(source), "%s/%s", from, name);
        int len = snprintf(target, sizeof(target), "%s/%s", to, name);
        if (len < 0 || len >= PATH_ROOM)
            return err_set(err, "`%s`: the path is too long", name);
        char *slash = strrchr(target, '/');
        *slash = '\0';
        if (io_make_dir(target, err) < 0)
            return -1;
        *slash = '/';
        int rc = copy_plain(&c, source, target, err);
        if (rc != 0)
            return rc > 0 ? err_set(err, "`%s` is missing", source) : -1;
    }
    return 0;
}

/* A system call: musl, which the static program is built with, has no function for it. */
static int exchange(const char *a, const char *b) {
    return (int)syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
}

static int put_in_place(const char *fresh, const char *home, const char *aside, struct err *err) {
    struct stat st;
    if (stat(home, &st) == 0 && rmdir(home) < 0) {
        if (!aside)
            return err_set(err, "`%s` exists already: --replace sets it aside", home);
        /* In one step: a gate that starts in between must not find a place for a new home. */
        if (exchange(fresh, home) == 0) {
            if (rename(fresh, aside) == 0)
                return 0;
            fail_on(err, "set aside", home);
            exchange(fresh, home); /* as it was */
            return -1;
        }
        if (rename(home, aside) < 0)
            return fail_on(err, "set aside", home);
    }
    return rename(fresh, home) < 0 ? fail_on(err, "put in place", home) : 0;
}

int state_home_copy_restore(const char *from, const char *home, const char *aside, struct state_home_copy *b,
                            struct err *err) {
    cleanup_manifest struct manifest m;
    char fresh[PATH_ROOM];
    struct stat st;
    if (manifest_read(from, &m, b, err) < 0 || check_all(&m, from, b, err) < 0 ||
        state_home_format_check(from, err) < 0)
        return -1;
    if (!aside && stat(home, &st) == 0 && rmdir(home) < 0)
        return err_set(err, "`%s` exists already: --replace sets it aside", home);
    if (snprintf(fresh, sizeof(fresh), "%s.restoring-%d", home, (int)getpid()) >= (int)sizeof(fresh))
        return err_set(err, "`%s`: the path is too long", home);
    if (make_empty(fresh, err) < 0 || copy_back(&m, from, fresh, err) < 0 || check_all(&m, fresh, b, err) < 0)
        return -1;
    return put_in_place(fresh, home, aside, err);
}
