#include "code/workspace.h"

#include "base/clock.h"
#include "base/mem.h"
#include "code/limits.h"
#include "io/file.h"
#include "runner/sandbox_types.h"
#include "wire/tape.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WORKSPACE_TEMP SANDBOX_OWN_PREFIX /* prefix of a file that is being written */

int workspace_open(int dir_fd, const char *name, int *ret_fd, struct err *err) {
    if (mkdirat(dir_fd, name, 0700) < 0 && errno != EEXIST)
        return err_set(err, "make directory `%s`: %s", name, strerror(errno));
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, "open directory `%s`: %s", name, strerror(errno));
    *ret_fd = fd;
    return 0;
}

/* ---- paths ---- */

static bool name_ok(struct slice name) {
    if (!name.len || name.len > NAME_MAX || slice_is(name, "..") || slice_eq_nocase(name, SLICE(".git")))
        return false;
    for (size_t i = 0; i < name.len; i++)
        if ((unsigned char)name.ptr[i] < 0x20 || name.ptr[i] == 0x7f)
            return false;
    return true;
}

bool workspace_path_ok(struct slice path) {
    if (!path.len || path.len > CODE_PATH_MAX || path.ptr[0] == '/' || !tape_utf8_valid(path))
        return false;
    struct slice rest = path, name;
    size_t names = 0;
    for (bool more = true; more;) {
        more = slice_cut(&rest, '/', &name);
        if (!name_ok(name) || slice_starts(name, SLICE(WORKSPACE_TEMP)) || ++names > CODE_PATH_DEPTH_MAX)
            return false;
    }
    return true;
}

static int open_beneath(int fd, const char *path, int flags, unsigned mode) {
    struct open_how how = {.flags = (unsigned)flags | O_CLOEXEC | O_NONBLOCK,
                           .mode = mode,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
                                      RESOLVE_NO_XDEV};
    return (int)syscall(SYS_openat2, fd, path, &how, sizeof(how));
}

static enum workspace_result result_of(int error) {
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ENXIO:
        return WORKSPACE_NOT_FOUND;
    case EXDEV:
    case ELOOP:
    case EACCES:
    case EPERM:
        return WORKSPACE_OUTSIDE;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return WORKSPACE_FULL;
    default:
        return WORKSPACE_FAILED;
    }
}

/* ---- one file ---- */

enum workspace_result workspace_read(int fd, struct slice path, size_t max, struct buf *out) {
    if (!workspace_path_ok(path))
        return WORKSPACE_OUTSIDE;
    struct arena a;
    arena_init(&a);
    cleanup_fd int file = open_beneath(fd, arena_dup(&a, path).ptr, O_RDONLY, 0);
    arena_free(&a);
    struct stat st;
    if (file < 0 || fstat(file, &st) < 0)
        return result_of(errno);
    if (!S_ISREG(st.st_mode))
        return WORKSPACE_NOT_FOUND;
    if ((uint64_t)st.st_size > max)
        return WORKSPACE_TOO_LARGE;
    for (size_t total = 0;;) {
        char *room = buf_reserve(out, BUFSIZ);
        if (!room)
            return WORKSPACE_TOO_LARGE;
        ssize_t got = read(file, room, BUFSIZ);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return result_of(errno);
        if (got == 0)
            return WORKSPACE_OK;
        total += (size_t)got;
        if (total > max) /* it grew while it was read */
            return WORKSPACE_TOO_LARGE;
        out->len += (size_t)got;
    }
}

/* Opens the directory of the last name of the path; creates missing directories. */
static int open_parent(int fd, struct slice path, struct slice *ret_name) {
    cleanup_fd int at = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    struct slice rest = path, name;
    while (at >= 0 && slice_cut(&rest, '/', &name)) {
        char text[NAME_MAX + 1];
        memcpy(text, name.ptr, name.len);
        text[name.len] = 0;
        if (mkdirat(at, text, 0700) < 0 && errno != EEXIST)
            return -1;
        int next = open_beneath(at, text, O_RDONLY | O_DIRECTORY, 0);
        close(at);
        at = next;
    }
    *ret_name = name;
    return steal_fd(at);
}

static enum workspace_result write_in(int dir, struct slice name, struct slice bytes) {
    char text[NAME_MAX + 1];
    memcpy(text, name.ptr, name.len);
    text[name.len] = 0;
    return io_file_post_at(dir, text, WORKSPACE_TEMP, bytes, 0600) < 0 ? result_of(errno) : WORKSPACE_OK;
}

static enum workspace_result quota_holds(int fd, struct slice path, uint64_t more, uint64_t files) {
    struct arena a;
    arena_init(&a);
    struct workspace_list all;
    enum workspace_result result = workspace_list(fd, (struct slice){0}, &a, &all);
    uint64_t bytes = more, count = files;
    for (size_t i = 0; result == WORKSPACE_OK && i < all.count; i++) {
        if (slice_eq(all.files[i].path, path))
            continue; /* it is replaced */
        bytes += all.files[i].size;
        count++;
    }
    if (result == WORKSPACE_OK && (all.cut || count > CODE_FILES_MAX || bytes > CODE_WORKSPACE_BYTES_MAX))
        result = WORKSPACE_FULL;
    arena_free(&a);
    return result;
}

enum workspace_result workspace_write(int fd, struct slice path, struct slice bytes) {
    if (!workspace_path_ok(path))
        return WORKSPACE_OUTSIDE;
    if (bytes.len > CODE_FILE_BYTES_MAX)
        return WORKSPACE_TOO_LARGE;
    enum workspace_result room = quota_holds(fd, path, bytes.len, 1);
    if (room != WORKSPACE_OK)
        return room;
    struct slice name;
    cleanup_fd int dir = open_parent(fd, path, &name);
    if (dir < 0)
        return errno == EEXIST || errno == ENOTDIR ? WORKSPACE_OUTSIDE : result_of(errno);
    return write_in(dir, name, bytes);
}

enum workspace_result workspace_make(int fd, struct slice path, uint64_t bytes, uint64_t files, int *ret_fd) {
    char text[NAME_MAX + 1];
    struct slice name;
    if (!workspace_path_ok(path))
        return WORKSPACE_OUTSIDE;
    enum workspace_result room = quota_holds(fd, (struct slice){0}, bytes, files);
    if (room != WORKSPACE_OK)
        return room;
    cleanup_fd int dir = open_parent(fd, path, &name);
    if (dir < 0)
        return errno == EEXIST || errno == ENOTDIR ? WORKSPACE_OUTSIDE : result_of(errno);
    memcpy(text, name.ptr, name.len);
    text[name.len] = 0;
    if (mkdirat(dir, text, 0700) < 0)
        return errno == EEXIST ? WORKSPACE_EXISTS : result_of(errno);
    *ret_fd = open_beneath(dir, text, O_RDONLY | O_DIRECTORY, 0);
    return *ret_fd < 0 ? result_of(errno) : WORKSPACE_OK;
}

enum workspace_result workspace_delete(int fd, struct slice path) {
    if (!workspace_path_ok(path))
        return WORKSPACE_OUTSIDE;
    struct arena a;
    arena_init(&a);
    const char *text = arena_dup(&a, path).ptr;
    const char *slash = strrchr(text, '/');
    struct slice above = slash ? slice_of(text, (size_t)(slash - text)) : SLICE(".");
    cleanup_fd int dir = open_beneath(fd, arena_dup(&a, above).ptr, O_RDONLY | O_DIRECTORY, 0);
    const char *name = slash ? slash + 1 : text;
    struct stat st;
    enum workspace_result result = WORKSPACE_OK;
    if (dir < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        result = result_of(errno);
    else if (!S_ISREG(st.st_mode))
        result = WORKSPACE_NOT_FOUND;
    else if (unlinkat(dir, name, 0) < 0)
        result = result_of(errno);
    arena_free(&a);
    return result;
}

/* ---- all files ---- */

struct walk_level {
    DIR *dir;
    struct slice path; /* with a slash at its end, or empty */
};

struct walk {
    struct arena *arena;
    struct workspace_list *list;
    size_t cap;
    struct walk_level stack[CODE_PATH_DEPTH_MAX + 1];
    size_t depth;
};

static bool walk_push(struct walk *w, int take_fd, struct slice path) {
    DIR *dir = w->depth < ARRAY_LEN(w->stack) ? fdopendir(take_fd) : NULL;
    if (!dir) {
        close(take_fd);
        return false;
    }
    w->stack[w->depth++] = (struct walk_level){dir, path};
    return true;
}

static void walk_add(struct walk *w, struct slice path, const struct stat *st) {
    struct workspace_list *list = w->list;
    if (list->count >= CODE_FILES_MAX) {
        list->cut = true;
        return;
    }
    if (list->count == w->cap) {
        size_t cap = w->cap ? w->cap * 2 : 64;
        struct workspace_file *more = arena_array(w->arena, struct workspace_file, cap);
        if (list->count)
            memcpy(more, list->files, list->count * sizeof(*more));
        list->files = more;
        w->cap = cap;
    }
    uint64_t changed = (uint64_t)st->st_mtim.tv_sec * 1000 + (uint64_t)st->st_mtim.tv_nsec / 1000000;
    list->files[list->count++] =
        (struct workspace_file){.path = path, .size = (uint64_t)st->st_size, .changed_ms = changed};
}

static void walk_entry(struct walk *w, const struct walk_level *level, const char *name) {
    struct slice text = slice_str(name);
    if (slice_is(text, ".") || slice_is(text, "..") || slice_starts(text, SLICE(WORKSPACE_TEMP)) ||
        !name_ok(text) || !tape_utf8_valid(text))
        return;
    struct stat st;
    if (sandbox_is_left_out(name))
        return;
    int at = dirfd(level->dir);
    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    struct slice path = arena_printf(w->arena, "%.*s%s", SLICE_FMT(level->path), name);
    if (S_ISREG(st.st_mode)) {
        walk_add(w, path, &st);
    } else if (S_ISDIR(st.st_mode)) {
        int fd = open_beneath(at, name, O_RDONLY | O_DIRECTORY, 0);
        if (fd >= 0)
            walk_push(w, fd, arena_printf(w->arena, "%.*s/", SLICE_FMT(path)));
    }
}

static int by_path(const void *a, const void *b) {
    return slice_cmp(((const struct workspace_file *)a)->path, ((const struct workspace_file *)b)->path);
}

enum workspace_result workspace_list(int fd, struct slice below, struct arena *a,
                                     struct workspace_list *ret_list) {
    *ret_list = (struct workspace_list){0};
    while (slice_ends(below, SLICE("/")) && below.len > 1)
        below.len--;
    bool all = !below.len || slice_is(below, ".");
    if (!all && !workspace_path_ok(below))
        return WORKSPACE_OUTSIDE;
    int at = open_beneath(fd, all ? "." : arena_dup(a, below).ptr, O_RDONLY | O_DIRECTORY, 0);
    if (at < 0)
        return result_of(errno);
    struct walk w = {.arena = a, .list = ret_list};
    if (!walk_push(&w, at, all ? (struct slice){0} : arena_printf(a, "%.*s/", SLICE_FMT(below))))
        return WORKSPACE_FAILED;
    while (w.depth) {
        struct walk_level level = w.stack[w.depth - 1];
        const struct dirent *entry = ret_list->cut ? NULL : readdir(level.dir);
        if (entry) {
            walk_entry(&w, &level, entry->d_name);
            continue;
        }
        w.depth--;
        closedir(level.dir);
    }
    if (ret_list->count)
        qsort(ret_list->files, ret_list->count, sizeof(*ret_list->files), by_path);
    return WORKSPACE_OK;
}

/* ---- messages ---- */

struct slice workspace_why(enum workspace_result result, struct slice path, struct arena *a) {
    struct slice shown = slice_upto(path, CODE_PATH_MAX);
    switch (result) {
    case WORKSPACE_OUTSIDE:
        return arena_printf(a, "Access denied: path outside workspace: %.*s", SLICE_FMT(shown));
    case WORKSPACE_NOT_FOUND:
        return arena_printf(a, "File not found: %.*s", SLICE_FMT(shown));
    case WORKSPACE_TOO_LARGE:
        return arena_printf(a, "File too large: %.*s (at most %u bytes)", SLICE_FMT(shown),
                            CODE_FILE_BYTES_MAX);
    case WORKSPACE_FULL:
        return arena_printf(a, "The workspace is full: at most %u files and %u MB", CODE_FILES_MAX,
                            CODE_WORKSPACE_BYTES_MAX >> 20);
    default:
        return SLICE("The workspace cannot be used");
    }
}

const char *workspace_mime(struct slice path) {
    static const struct {
        struct slice end;
        const char *mime;
    } kinds[] = {
        {SLICE(".png"), "image/png"},         {SLICE(".jpg"), "image/jpeg"},
        {SLICE(".jpeg"), "image/jpeg"},       {SLICE(".gif"), "image/gif"},
        {SLICE(".webp"), "image/webp"},       {SLICE(".svg"), "image/svg+xml"},
        {SLICE(".json"), "application/json"}, {SLICE(".csv"), "text/csv"},
        {SLICE(".md"), "text/markdown"},      {SLICE(".html"), "text/html"},
        {SLICE(".xml"), "application/xml"},   {SLICE(".py"), "text/x-python"},
        {SLICE(".ts"), "text/x-typescript"},  {SLICE(".js"), "text/javascript"},
        {SLICE(".pdf"), "application/pdf"},   {SLICE(".txt"), "text/plain"},
        {SLICE(".log"), "text/plain"},
    };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (path.len > kinds[i].end.len &&
            slice_eq_nocase(slice_from(path, path.len - kinds[i].end.len), kinds[i].end))
            return kinds[i].mime;
    return "application/octet-stream";
}
