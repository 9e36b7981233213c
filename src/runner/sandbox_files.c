/* Every name is opened relative to the directory it was read from, with openat2 refusing links, mount points
 * and ways up, without blocking on what is no file, and only then looked at through the descriptor. So there
 * is no moment between check and use, whatever the guest renames meanwhile. */
#include "runner/sandbox_files.h"

#include "base/mem.h"
#include "runner/limits.h"
#include "wire/tape.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define NAME_BYTES_MAX 255

struct level {
    DIR *from;
    int to;
    char name[NAME_BYTES_MAX + 1];
};

/* A host's file, or directory, at one moment. */
struct seen {
    ino_t inode;
    struct timespec changed;
};

struct copy {
    struct sandbox_files *job;
    struct level stack[SANDBOX_DEPTH_MAX];
    uint32_t depth;
};

/* Acts as the guest's uid on its side: root could neither create files in its file system nor should it. Per
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

/* Names that mean something else to some tool are not carried over: control characters, and what is not
 * UTF-8. */
static bool name_fits(const char *name) {
    const size_t len = strlen(name);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f || name[i] == '\\')
            return false;
    return len > 0 && len <= NAME_BYTES_MAX && tape_utf8_valid(slice_of(name, len));
}

static bool same_file(const struct stat *a, const struct stat *b) {
    return S_ISREG(b->st_mode) && a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* At most the bytes it had when it was opened, and never more than are left of the quota. */
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

static void copy_file(struct copy *c, int in, const struct stat *st, int to, const char *name) {
    struct sandbox_files *job = c->job;
    struct stat there;
    if (job->bytes + (uint64_t)st->st_size > job->bytes_max)
        return skip(c, name, "the workspace is full");
    if (job->files >= job->files_max)
        return skip(c, name, "too many files");
    job->files++;
    if (fstatat(to, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && same_file(st, &there)) {
        job->bytes += (uint64_t)st->st_size;
        return;
    }
    as_guest(job, !job->from_guest);
    if (unlinkat(to, name, 0) != 0 && errno == EISDIR)
        unlinkat(to, name, AT_REMOVEDIR);
    as_guest(job, false);
    cleanup_fd int out = open_beneath(job, !job->from_guest, to, name, O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (out < 0 || copy_bytes(c, in, out, (uint64_t)st->st_size) != 0)
        return skip(c, name, strerror(errno));
    const struct timespec times[2] = {st->st_mtim, st->st_mtim};
    futimens(out, times);
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

static void take_entry(struct copy *c, const struct level *l, const char *name) {
    struct stat st;
    if (!name_fits(name))
        return skip(c, "a file", "its name cannot be carried over");
    const int in = open_beneath(c->job, c->job->from_guest, dirfd(l->from), name, O_RDONLY, 0);
    if (in < 0)
        return skip(c, name, errno == ELOOP ? "a symbolic link" : strerror(errno));
    if (fstat(in, &st) != 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))) {
        close(in);
        return skip(c, name, "neither a file nor a directory");
    }
    if (!c->job->from_guest)
        buf_put(&c->job->seen, &(struct seen){st.st_ino, st.st_ctim}, sizeof(struct seen));
    if (S_ISREG(st.st_mode)) {
        copy_file(c, in, &st, l->to, name);
        close(in);
        return;
    }
    const int to = c->depth < SANDBOX_DEPTH_MAX ? open_directory(c, l->to, name) : -1;
    if (to < 0) {
        close(in);
        return skip(c, name, c->depth < SANDBOX_DEPTH_MAX ? strerror(errno) : "too many directories deep");
    }
    push(c, in, to, name);
}

static bool is_dots(const char *name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

static int unlink_as(const struct sandbox_files *job, int dir, const char *name, int flags) {
    as_guest(job, !job->from_guest);
    const int done = unlinkat(dir, name, flags);
    const int code = errno;
    as_guest(job, false);
    errno = code;
    return done;
}

/* A file or a whole directory of `to`. */
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
        while (depth) { /* the next entry, leaving the directories that are empty now */
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

/* Another run, or the client itself, may have put it there meanwhile, or changed it: then it is not this
 * run's to remove. Clocks would not tell: those of file systems tick every few milliseconds. */
static bool came_since(const struct sandbox_files *job, int to, const char *name) {
    const struct seen *all = (const struct seen *)job->seen.ptr;
    struct stat st;
    if (fstatat(to, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return true;
    for (size_t i = 0; i < job->seen.len / sizeof(struct seen); i++)
        if (all[i].inode == st.st_ino && all[i].changed.tv_sec == st.st_ctim.tv_sec &&
            all[i].changed.tv_nsec == st.st_ctim.tv_nsec)
            return false;
    return true;
}

/* What is gone on this side goes on the other. */
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
