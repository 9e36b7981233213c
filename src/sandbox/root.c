/* Runs in a future zygote, before its interpreter is executed, with the right to mount in a mount
 * namespace of its own. The new tree is built on /tmp; the old root is mounted below it until the tree is
 * complete.
 *
 *   /            tmpfs, read-only at the end
 *   /usr /lib…   the host's, read-only
 *   /opt/…       an interpreter outside of /usr, and our own files
 *   /dev         null, zero, urandom
 *   /tmp /workspace   empty; every sandbox mounts its own tmpfs there */
#include "sandbox/root.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define OLD "/.old"
#define ROOT_OPTIONS "size=8m,nr_inodes=512,mode=755"
#define SCRATCH_OPTIONS "size=16m,nr_inodes=512,mode=1777"
#define COPY_MAX (2u << 20)

/* Newer than the installed headers. */
struct attributes {
    uint64_t set;
    uint64_t clear;
    uint64_t propagation;
    uint64_t userns_fd;
};
#define ATTR_RDONLY 0x1
#define ATTR_NOSUID 0x2
#define ATTR_NODEV 0x4
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

static const struct root_item system_items[] = {
    {"/usr", "/usr"},
    {"/bin", "/bin"},
    {"/lib", "/lib"},
    {"/lib64", "/lib64"},
    {"/etc/ld.so.cache", "/etc/ld.so.cache"},
    {"/etc/alternatives", "/etc/alternatives"},
    {"/etc/localtime", "/etc/localtime"},
    {"/etc/fonts", "/etc/fonts"},
    {"/etc/mime.types", "/etc/mime.types"},
    {"/etc/os-release", "/etc/os-release"},
    {"/etc/matplotlibrc", "/etc/matplotlibrc"},
    {0},
};
static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/urandom", NULL};

/* Creates the directories above `path`. */
static int make_parents(const char *path, struct err *err) {
    char at[PATH_MAX];
    snprintf(at, sizeof(at), "%s", path);
    for (char *p = at + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = '\0';
        if (mkdir(at, 0755) != 0 && errno != EEXIST)
            return err_set(err, "make %s: %s", at, strerror(errno));
    }
    return 0;
}

static int make_file(const char *path, struct err *err) {
    cleanup_fd int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    return fd < 0 ? err_set(err, "make %s: %s", path, strerror(errno)) : 0;
}

static int seal(const char *path, uint64_t attributes, struct err *err) {
    struct attributes a = {.set = attributes};
    if (syscall(SYS_mount_setattr, AT_FDCWD, path, AT_RECURSIVE, &a, sizeof(a)) == 0)
        return 0;
    if (errno != ENOSYS)
        return err_set(err, "make %s read-only: %s", path, strerror(errno));
    if (mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) != 0)
        return err_set(err, "make %s read-only: %s", path, strerror(errno));
    return 0;
}

/* Bind-mounts the host's `from`, which is OLD/from at this point. A symbolic link is copied. */
static int show(const char *from, const char *to, uint64_t attributes, struct err *err) {
    char source[PATH_MAX], target[PATH_MAX];
    struct stat st;
    snprintf(source, sizeof(source), "%s%s", OLD, from);
    if (lstat(source, &st) != 0)
        return 0;
    if (make_parents(to, err) != 0)
        return -1;
    if (S_ISLNK(st.st_mode)) {
        ssize_t n = readlink(source, target, sizeof(target) - 1);
        target[n < 0 ? 0 : n] = '\0';
        if (n < 0 || (symlink(target, to) != 0 && errno != EEXIST))
            return err_set(err, "make %s: %s", to, strerror(errno));
        return 0;
    }
    if (S_ISDIR(st.st_mode) ? mkdir(to, 0755) != 0 && errno != EEXIST : make_file(to, err) != 0)
        return err_set(err, "make %s: %s", to, strerror(errno));
    if (mount(source, to, NULL, MS_BIND | MS_REC, NULL) != 0)
        return err_set(err, "show %s: %s", from, strerror(errno));
    return seal(to, attributes, err);
}

static int copy(const struct root_item *item, struct err *err) {
    char source[PATH_MAX];
    snprintf(source, sizeof(source), "%s%s", OLD, item->from);
    if (make_parents(item->to, err) != 0)
        return -1;
    cleanup_fd int in = open(source, O_RDONLY | O_CLOEXEC);
    cleanup_fd int out = open(item->to, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0755);
    if (in < 0 || out < 0)
        return err_set(err, "copy %s: %s", item->from, strerror(errno));
    char block[16384];
    size_t total = 0;
    for (ssize_t n; (n = read(in, block, sizeof(block))) != 0; total += (size_t)n)
        if (n < 0 || total > COPY_MAX || write(out, block, (size_t)n) != n)
            return err_set(err, "copy %s: %s", item->from, n < 0 ? strerror(errno) : "too large");
    return 0;
}

static int fill(const struct root_item *shown, const struct root_item *copied, struct err *err) {
    for (const struct root_item *i = system_items; i->from; i++)
        if (show(i->from, i->to, ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV, err) != 0)
            return -1;
    for (const struct root_item *i = shown; i->from; i++)
        if (show(i->from, i->to, ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV, err) != 0)
            return -1;
    for (const char *const *d = devices; *d; d++)
        if (show(*d, *d, ATTR_RDONLY | ATTR_NOSUID, err) != 0)
            return -1;
    for (const struct root_item *i = copied; i->from; i++)
        if (copy(i, err) != 0)
            return -1;
    if (mkdir("/tmp", 0755) != 0 || mkdir("/workspace", 0755) != 0)
        return err_set(err, "make /tmp and /workspace: %s", strerror(errno));
    return 0;
}

int root_enter(const struct root_item *shown, const struct root_item *copied, bool scratch, struct err *err) {
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return err_set(err, "make mounts private: %s", strerror(errno));
    if (mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, ROOT_OPTIONS) != 0)
        return err_set(err, "mount a tmpfs: %s", strerror(errno));
    if (mkdir("/tmp" OLD, 0700) != 0 || chdir("/tmp") != 0 ||
        syscall(SYS_pivot_root, "/tmp", "/tmp" OLD) != 0 || chdir("/") != 0)
        return err_set(err, "enter the new root: %s", strerror(errno));
    if (fill(shown, copied, err) != 0)
        return -1;
    if (scratch && mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, SCRATCH_OPTIONS) != 0)
        return err_set(err, "mount a tmpfs: %s", strerror(errno));
    if (umount2(OLD, MNT_DETACH) != 0 || rmdir(OLD) != 0)
        return err_set(err, "unmount the old root: %s", strerror(errno));
    if (mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) != 0)
        return err_set(err, "make the root read-only: %s", strerror(errno));
    return 0;
}
