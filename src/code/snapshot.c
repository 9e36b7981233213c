#include "code/snapshot.h"

#include "base/clock.h"
#include "base/mem.h"
#include "code/code_session.h"
#include "code/workspace.h"
#include "io/file.h"
#include "runner/sandbox_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define SNAPSHOT_NEW ".new" /* incomplete snapshot; no name starts with a dot */
#define SNAPSHOT_FILES "files"
#define SNAPSHOT_ABOUT "about"
#define ABOUT_BYTES_MAX 96

/* ---- one directory ---- */

static int open_home(const struct code_owner *o, int *ret_fd, struct err *err) {
    cleanup_fd int dir = -1;
    if (o->server->config.dir)
        return err_set(
            err,
            "The workspace is a project of its own here (--dir): its version control keeps states of it");
    if (workspace_open(o->server->root_fd, o->dir, &dir, err) < 0)
        return -1;
    return workspace_open(dir, "snapshots", ret_fd, err);
}

static int check_name(struct slice name, struct err *err) {
    if (code_session_name_ok(name) && name.ptr[0] != '.')
        return 0;
    return err_set(err,
                   "A snapshot's name may have letters, digits and . _ : - at most %d of them; the first "
                   "must not be a dot",
                   CODE_SESSION_NAME_MAX);
}

static int open_at(int dir, const char *name) {
    return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int write_about(int dir, const struct snapshot *s) {
    char text[ABOUT_BYTES_MAX];
    int len = snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", s->files, s->bytes,
                       s->created_ms);
    return io_file_post_at(dir, SNAPSHOT_ABOUT, ".", slice_of(text, (size_t)len), 0600);
}

static bool read_about(int dir, struct snapshot *s) {
    char text[ABOUT_BYTES_MAX] = "", *at = text;
    cleanup_fd int fd = openat(dir, SNAPSHOT_ABOUT, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
        return false;
    s->files = strtoull(at, &at, 10);
    s->bytes = strtoull(at, &at, 10);
    s->created_ms = strtoull(at, &at, 10);
    return *at == '\n';
}

/* Links the files; copies them if the file system has no links. */
static int take_over(int from, int to, bool replace, struct arena *a, struct snapshot *s, struct err *err) {
    struct sandbox_files job = {.from = from,
                                .to = to,
                                .link = true,
                                .bytes_max = CODE_WORKSPACE_BYTES_MAX,
                                .files_max = SANDBOX_FILES_MAX,
                                .remove_missing = replace};
    buf_init(&job.seen, SANDBOX_SEEN_BYTES_MAX);
    int done = sandbox_files_copy(&job, err);
    buf_free(&job.seen);
    s->files = job.files;
    s->bytes = job.bytes;
    s->left_out = job.skipped ? arena_dup(a, slice_str(job.first_skipped.text)) : (struct slice){0};
    return done;
}

/* ---- all snapshots ---- */

static int by_name(const void *a, const void *b) {
    return slice_cmp(((const struct snapshot *)a)->name, ((const struct snapshot *)b)->name);
}

static void read_all(int home, struct arena *a, struct snapshot_list *list) {
    int again = open_at(home, ".");
    DIR *dir = again >= 0 ? fdopendir(again) : NULL;
    for (struct dirent *e; dir && list->count < CODE_SNAPSHOTS_MAX && (e = readdir(dir));) {
        struct snapshot s = {0};
        cleanup_fd int one = e->d_name[0] == '.' ? -1 : open_at(home, e->d_name);
        if (one < 0 || !read_about(one, &s))
            continue;
        s.name = arena_dup(a, slice_str(e->d_name));
        list->bytes += s.bytes;
        list->all[list->count++] = s;
    }
    if (dir)
        closedir(dir);
    if (list->count)
        qsort(list->all, list->count, sizeof(list->all[0]), by_name);
}

int snapshot_all(struct code_owner *o, struct arena *a, struct snapshot_list *ret_list, struct err *err) {
    cleanup_fd int home = -1;
    *ret_list = (struct snapshot_list){0};
    if (open_home(o, &home, err) < 0)
        return -1;
    read_all(home, a, ret_list);
    return 0;
}

/* ---- save ---- */

/* Created under a temporary name until it is complete. */
static int make_new(const struct code_owner *o, int home, struct arena *a, struct snapshot *s,
                    struct err *err) {
    cleanup_fd int dir = -1, files = -1;
    sandbox_files_remove(home, SNAPSHOT_NEW); /* left by a gate that crashed */
    if (workspace_open(home, SNAPSHOT_NEW, &dir, err) < 0 ||
        workspace_open(dir, SNAPSHOT_FILES, &files, err) < 0 ||
        take_over(o->workspace_fd, files, false, a, s, err) < 0)
        return -1;
    s->created_ms = clock_wall_ms();
    return write_about(dir, s) < 0 ? err_set(err, "The snapshot could not be written: %s", strerror(errno))
                                   : 0;
}

int snapshot_save(struct code_owner *o, struct slice name, struct arena *a, struct snapshot *ret_snapshot,
                  struct err *err) {
    cleanup_fd int home = -1;
    struct snapshot_list there = {0};
    struct stat st;
    struct snapshot s = {.name = name};
    const char *text = arena_dup(a, name).ptr;
    if (check_name(name, err) < 0 || open_home(o, &home, err) < 0)
        return -1;
    if (fstatat(home, text, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return err_set(err, "There is a snapshot of that name: delete it first, or choose another name");
    read_all(home, a, &there);
    if (there.count >= CODE_SNAPSHOTS_MAX)
        return err_set(err, "There are %d snapshots already: delete one first", CODE_SNAPSHOTS_MAX);
    int done = make_new(o, home, a, &s, err);
    if (done == 0 && there.bytes + s.bytes > CODE_SNAPSHOT_BYTES_MAX)
        done = err_set(
            err,
            "Snapshots may have %u MB together, and this one needs %llu MB more than that: delete one first",
            CODE_SNAPSHOT_BYTES_MAX >> 20,
            (unsigned long long)((there.bytes + s.bytes - CODE_SNAPSHOT_BYTES_MAX) >> 20) + 1);
    if (done == 0 && renameat(home, SNAPSHOT_NEW, home, text) < 0)
        done = err_set(err, "The snapshot could not be written: %s", strerror(errno));
    if (done < 0)
        sandbox_files_remove(home, SNAPSHOT_NEW);
    else
        *ret_snapshot = s;
    return done;
}

/* ---- restore ---- */

static int open_one(const struct code_owner *o, struct slice name, struct arena *a, int *ret_home,
                    int *ret_dir, struct snapshot *s, struct err *err) {
    if (check_name(name, err) < 0 || open_home(o, ret_home, err) < 0)
        return -1;
    *ret_dir = open_at(*ret_home, arena_dup(a, name).ptr);
    if (*ret_dir < 0 || !read_about(*ret_dir, s))
        return err_set(err, "There is no snapshot `%.*s`: list_snapshots has their names", SLICE_FMT(name));
    s->name = name;
    return 0;
}

int snapshot_restore(struct code_owner *o, struct slice name, struct slice into, struct arena *a,
                     struct snapshot *ret_snapshot, struct err *err) {
    cleanup_fd int home = -1, dir = -1, files = -1, to = -1;
    struct snapshot s = {0};
    if (open_one(o, name, a, &home, &dir, &s, err) < 0)
        return -1;
    files = open_at(dir, SNAPSHOT_FILES);
    if (files < 0)
        return err_set(err, "The snapshot cannot be read: %s", strerror(errno));
    if (into.len) {
        enum workspace_result made = workspace_make(o->workspace_fd, into, s.bytes, s.files, &to);
        if (made != WORKSPACE_OK)
            return err_set(err, "%s",
                           made == WORKSPACE_EXISTS ? "The directory is there already: choose another one"
                                                    : workspace_why(made, into, a).ptr);
    }
    if (take_over(files, into.len ? to : o->workspace_fd, !into.len, a, &s, err) < 0)
        return -1;
    *ret_snapshot = s;
    return 0;
}

int snapshot_delete(struct code_owner *o, struct slice name, struct err *err) {
    cleanup_fd int home = -1, dir = -1;
    struct snapshot s = {0};
    struct arena a;
    arena_init(&a);
    int done = open_one(o, name, &a, &home, &dir, &s, err);
    if (done == 0)
        sandbox_files_remove(home, arena_dup(&a, name).ptr);
    arena_free(&a);
    return done;
}
