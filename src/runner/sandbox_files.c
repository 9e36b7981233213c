/* Every name is opened relative to its directory with openat2, which refuses links, mount points and
 * parent directories, and does not block on special files. The type is checked only through the
 * descriptor. So there is no race between check and use, whatever the guest renames meanwhile. */
#include "runner/sandbox_files.h"

#include "base/clock.h"
#include "base/mem.h"
#include "runner/limits.h"
#include "runner/sandbox_types.h"
#include "wire/tape.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <strings.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define NAME_BYTES_MAX 255
#define RECENT_MS                                                                                            \
    50 /* a file written more recently than this could be written again with the same time stamp */
#define CONFLICTS_MAX 99 /* copies of one file under other names */

struct level {
    DIR *from;
    int to;
    char name[NAME_BYTES_MAX + 1];
};

/* State of a file or directory at one moment. Time stamps have a granularity of some milliseconds, so two
 * changes may have the same one. But a change also sets the modification time, which copying has set to an
 * older value. */
struct moment {
    ino_t inode; /* 0: cannot be distinguished from a later one */
    struct timespec changed, written;
};

struct seen {
    struct moment host, guest;
};

struct copy {
    struct sandbox_files *job;
    struct level stack[SANDBOX_DEPTH_MAX];
    uint32_t depth;
};

/* Acts as the guest's uid on its side: root cannot create files in its file system, and should not. Per
 * thread. */
static void as_guest(const struct sandbox_files *job, bool on) {
    if (geteuid() != 0 || job->guest_uid == 0)
        return;
    if (!on) {
        setfsuid(geteuid());
        setfsgid(getegid());
        return;
    }
    setfsgid(job->guest_gid);
    setfsuid(job->guest_uid);
}

static int open_beneath(const struct sandbox_files *job, bool guest, int dir, const char *name,
                        uint64_t flags, uint64_t mode) {
    struct open_how how = {.flags = flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW,
                           .mode = mode,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
                                      RESOLVE_NO_XDEV};
    as_guest(job, guest);
    const int fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
    const int code = errno;
    as_guest(job, false);
    errno = code;
    return fd;
}

static void skip(struct copy *c, const char *name, const char *why) {
    if (c->job->skipped++ == 0)
        err_set(&c->job->first_skipped, "%s: %s", name, why);
}

/* Names that some tool could misread are not copied: control characters, and invalid UTF-8. */
static bool name_fits(const char *name) {
    const size_t len = strlen(name);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f || name[i] == '\\')
            return false;
    if (strncmp(name, SANDBOX_OWN_PREFIX, sizeof(SANDBOX_OWN_PREFIX) - 1) == 0)
        return false;
    return len > 0 && len <= NAME_BYTES_MAX && tape_utf8_valid(slice_of(name, len));
}

static struct moment moment_of(const struct stat *st) {
    return (struct moment){st->st_ino, st->st_ctim, st->st_mtim};
}

static bool same_time(struct timespec a, struct timespec b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool same_moment(const struct moment *m, const struct stat *st) {
    return m->inode == st->st_ino && same_time(m->changed, st->st_ctim) && same_time(m->written, st->st_mtim);
}

/* The entry that was copied in and has not changed since, neither on the guest's side nor on the host's;
 * NULL if there is none. */
static const struct seen *unchanged(const struct sandbox_files *job, const struct stat *st, bool guest) {
    const struct seen *all = (const struct seen *)job->seen.ptr;
    for (size_t i = 0; i < job->seen.len / sizeof(*all); i++)
        if (same_moment(guest ? &all[i].guest : &all[i].host, st))
            return &all[i];
    return NULL;
}

static bool same_file(const struct stat *a, const struct stat *b) {
    return S_ISREG(b->st_mode) && a->st_size == b->st_size && same_time(a->st_mtim, b->st_mtim);
}

/* Copies at most the bytes it had when it was opened, and never more than the remaining quota. */
static int copy_bytes(struct copy *c, int in, int out, uint64_t size) {
    char block[65536];
    uint64_t done = 0;
    while (done < size) {
        const size_t want = size - done < sizeof(block) ? (size_t)(size - done) : sizeof(block);
        const ssize_t got = read(in, block, want);
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        for (ssize_t at = 0, n; at < got; at += n)
            if ((n = write(out, block + at, (size_t)(got - at))) < 0)
                return -1;
        done += (uint64_t)got;
    }
    c->job->bytes += done;
    return 0;
}

static int unlink_as(const struct sandbox_files *job, int dir, const char *name, int flags) {
    as_guest(job, !job->from_guest);
    const int done = unlinkat(dir, name, flags);
    const int code = errno;
    as_guest(job, false);
    errno = code;
    return done;
}

static bool same_bytes(int in, int dir, const char *name) {
    cleanup_fd int other = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char a[16384], b[16384];
    ssize_t got = 1;
    off_t at = 0;
    bool same = other >= 0;
    for (; same && got > 0; at += got) {
        got = pread(in, a, sizeof(a), at);
        same = got >= 0 && pread(other, b, sizeof(b), at) == got && memcmp(a, b, (size_t)got) == 0;
    }
    return same;
}

/* The host's file was changed or created since the copy in, by another run or a tool. It stays, and the
 * guest's version is stored beside it. False if no name is free. */
static bool name_beside(struct copy *c, int to, const char *name, char ret_name[NAME_BYTES_MAX + 1]) {
    struct stat st;
    for (int i = 1; i <= CONFLICTS_MAX; i++) {
        const int len = i == 1 ? snprintf(ret_name, NAME_BYTES_MAX + 1, "%s.conflict", name)
                               : snprintf(ret_name, NAME_BYTES_MAX + 1, "%s.conflict-%d", name, i);
        if (len > NAME_BYTES_MAX)
            break;
        if (fstatat(to, ret_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            continue;
        char why[NAME_BYTES_MAX + 100];
        snprintf(why, sizeof(why), "was changed elsewhere during the run; the run's own is in %s", ret_name);
        skip(c, name, why);
        return true;
    }
    skip(c, name, "was changed elsewhere during the run, and there is no name left for the run's own");
    return false;
}

/* By its descriptor, because its name may refer to another file by now. False if hard links are not
 * available. */
static bool link_file(int in, int to, const char *name) {
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", in);
    return linkat(AT_FDCWD, path, to, name, AT_SYMLINK_FOLLOW) == 0;
}

/* An executable stays executable; files created by code are not. */
static void write_file(struct copy *c, int in, const struct stat *st, int to, const char *name, mode_t mode) {
    struct sandbox_files *job = c->job;
    unlink_as(job, to, name, 0);
    unlink_as(job, to, name, AT_REMOVEDIR);
    if (job->link && link_file(in, to, name)) {
        job->bytes += (uint64_t)st->st_size;
        return;
    }
    cleanup_fd int out =
        open_beneath(job, !job->from_guest, to, name, O_WRONLY | O_CREAT | O_EXCL, 0644 | (mode & 0111));
    if (out < 0 || copy_bytes(c, in, out, (uint64_t)st->st_size) != 0)
        return skip(c, name, strerror(errno));
    const struct timespec times[2] = {st->st_mtim, st->st_mtim};
    futimens(out, times);
}

static void copy_file(struct copy *c, int in, const struct stat *st, int to, const char *name) {
    struct sandbox_files *job = c->job;
    struct stat there;
    char beside[NAME_BYTES_MAX + 1];
    if (job->bytes + (uint64_t)st->st_size > job->bytes_max)
        return skip(c, name, "the workspace is full");
    if (job->files >= job->files_max)
        return skip(c, name, "too many files");
    job->files++;
    const bool exists = fstatat(to, name, &there, AT_SYMLINK_NOFOLLOW) == 0;
    if ((exists && same_file(st, &there)) || (job->from_guest && unchanged(job, st, true))) {
        job->bytes += (uint64_t)st->st_size;
        return;
    }
    if (job->from_guest && exists && S_ISREG(there.st_mode) && !unchanged(job, &there, false)) {
        if (same_bytes(in, to, name) || !name_beside(c, to, name, beside))
            return;
        name = beside;
    }
    write_file(c, in, st, to, name, !job->from_guest ? st->st_mode : exists ? there.st_mode : 0);
}

static int open_directory(struct copy *c, int to, const char *name) {
    const bool guest = !c->job->from_guest;
    as_guest(c->job, guest);
    const int made = mkdirat(to, name, 0755);
    as_guest(c->job, false);
    if (made != 0 && errno != EEXIST)
        return -1;
    return open_beneath(c->job, guest, to, name, O_RDONLY | O_DIRECTORY, 0);
}

static void push(struct copy *c, int take_from, int take_to, const char *name) {
    DIR *dir = fdopendir(take_from);
    if (!dir) {
        close(take_from);
        close(take_to);
        return skip(c, name, strerror(errno));
    }
    struct level *l = &c->stack[c->depth++];
    l->from = dir;
    l->to = take_to;
    snprintf(l->name, sizeof(l->name), "%s", name);
}

/* On the way in: records both sides. Of a directory only its existence matters. */
static void remember(struct sandbox_files *job, const struct stat *host, int to, const char *name) {
    struct seen s = {.host = moment_of(host)};
    struct stat st;
    if (job->from_guest)
        return;
    const uint64_t written_ms =
        (uint64_t)host->st_mtim.tv_sec * 1000 + (uint64_t)host->st_mtim.tv_nsec / 1000000;
    const bool old = clock_wall_ms() > written_ms + RECENT_MS;
    if (to >= 0 && old && fstatat(to, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        s.guest = moment_of(&st);
    buf_put(&job->seen, &s, sizeof(s));
}

bool sandbox_is_left_out(const char *name) {
    static const char *const names[] = {".git", ".hg", ".svn", "node_modules", ".venv", "__pycache__", NULL};
    for (size_t i = 0; names[i]; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

static void take_entry(struct copy *c, const struct level *l, const char *name) {
    struct stat st;
    if (c->job->project && sandbox_is_left_out(name))
        return;
    if (!name_fits(name))
        return skip(c, "a file", "its name is not supported");
    const int in = open_beneath(c->job, c->job->from_guest, dirfd(l->from), name, O_RDONLY, 0);
    if (in < 0)
        return skip(c, name, errno == ELOOP ? "a symbolic link" : strerror(errno));
    if (fstat(in, &st) != 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))) {
        close(in);
        return skip(c, name, "neither a file nor a directory");
    }
    if (S_ISREG(st.st_mode)) {
        copy_file(c, in, &st, l->to, name);
        remember(c->job, &st, l->to, name);
        close(in);
        return;
    }
    remember(c->job, &st, -1, name);
    const int to = c->depth < SANDBOX_DEPTH_MAX ? open_directory(c, l->to, name) : -1;
    if (to < 0) {
        close(in);
        return skip(c, name, c->depth < SANDBOX_DEPTH_MAX ? strerror(errno) : "too many directories deep");
    }
    push(c, in, to, name);
}

static bool is_dots(const char *name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

/* Removes a file or a whole directory of `to`. */
static void remove_one(const struct sandbox_files *job, int to, const char *top) {
    struct {
        DIR *dir;
        char name[NAME_BYTES_MAX + 1];
    } stack[SANDBOX_DEPTH_MAX];
    uint32_t depth = 0;
    char name[NAME_BYTES_MAX + 1];
    snprintf(name, sizeof(name), "%s", top);
    for (;;) {
        const int parent = depth ? dirfd(stack[depth - 1].dir) : to;
        const bool is_dir = unlink_as(job, parent, name, 0) != 0 && errno == EISDIR;
        const int fd = is_dir && depth < SANDBOX_DEPTH_MAX
                           ? open_beneath(job, !job->from_guest, parent, name, O_RDONLY | O_DIRECTORY, 0)
                           : -1;
        DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
        if (dir) {
            stack[depth].dir = dir;
            memcpy(stack[depth++].name, name, sizeof(name));
        }
        struct dirent *e = NULL;
        while (depth) { /* the next entry, leaving directories that are empty now */
            while ((e = readdir(stack[depth - 1].dir)) && is_dots(e->d_name))
                ;
            if (e)
                break;
            closedir(stack[--depth].dir);
            unlink_as(job, depth ? dirfd(stack[depth - 1].dir) : to, stack[depth].name, AT_REMOVEDIR);
        }
        if (!e)
            return;
        snprintf(name, sizeof(name), "%s", e->d_name);
    }
}

void sandbox_files_remove(int dir, const char *name) {
    const struct sandbox_files ours = {0};
    remove_one(&ours, dir, name);
}

/* Another run, or the client itself, may have created or changed it in the meantime; then this run must
 * not remove it. Time stamps cannot decide this: their granularity is a few milliseconds. */
static bool came_since(const struct sandbox_files *job, int to, const char *name) {
    struct stat st;
    return fstatat(to, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !unchanged(job, &st, false);
}

/* Removes on the other side what was removed on this side. */
static void remove_missing(const struct sandbox_files *job, const struct level *l) {
    const int again = openat(l->to, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again >= 0 ? fdopendir(again) : NULL;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        struct stat st;
        if (!is_dots(e->d_name) && fstatat(dirfd(l->from), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 &&
            errno == ENOENT && !(job->from_guest && came_since(job, l->to, e->d_name)))
            remove_one(job, l->to, e->d_name);
    }
    if (dir)
        closedir(dir);
}

int sandbox_files_copy(struct sandbox_files *job, struct err *err) {
    cleanup_free struct copy *c = mem_zalloc(sizeof(*c));
    c->job = job;
    const int from = openat(job->from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int to = openat(job->to, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (from < 0 || to < 0) {
        if (from >= 0)
            close(from);
        if (to >= 0)
            close(to);
        return err_set(err, "open the workspace: %s", strerror(errno));
    }
    push(c, from, to, ".");
    while (c->depth) {
        struct level *l = &c->stack[c->depth - 1];
        struct dirent *e = readdir(l->from);
        if (e && !is_dots(e->d_name))
            take_entry(c, l, e->d_name);
        if (e)
            continue;
        if (job->remove_missing)
            remove_missing(job, l);
        closedir(l->from);
        close(l->to);
        c->depth--;
    }
    return 0;
}
