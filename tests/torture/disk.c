/* A disk that can fail, for tests: preloaded into a gate (LD_PRELOAD), it sees what the gate does to files
 * below TORTURE_HOME.
 *
 *   power loss  TORTURE_SHADOW is a second directory that gets only what a disk must keep: the bytes of a
 * file when it is synced (fsync, fdatasync, a write with RWF_DSYNC), names when anything is synced. Whenever
 * the gate is killed, that directory is what a machine without power would find. With `loose` some writes get
 * there without a sync, as they may on a real disk. faults      writes, syncs, opens and mappings fail, or
 * write less than they should, by chance slowness    each write and sync takes `delay_ms` longer; with
 * `stall` those of databases wait until it is 0 again, and `stalled` is how many wait clock the calendar is
 * off by `clock_s` seconds
 *
 * TORTURE_CONTROL is a file that is mapped; a test changes it while the gate runs. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { OP_WRITE = 1, OP_SYNC = 2, OP_OPEN = 4, OP_MAP = 8 };

struct control { /* 32-bit numbers, as tests/torture/disk.mjs writes them */
    _Atomic int32_t fault_ppm, fault_errno, fault_ops, delay_ms, clock_s, loose_ppm;
    _Atomic int32_t hold;                          /* nothing reaches the shadow: it can be copied */
    _Atomic int32_t active;                        /* something is on its way there */
    _Atomic int32_t writes, syncs, faults, delays; /* what was done */
    _Atomic int32_t stall, stalled;
};

#define FDS_MAX 65536
#define RANGES_MAX 4096
#define PENDING_MAX 1024

struct file {       /* one open file below the home */
    char path[256]; /* relative */
    bool mapped;    /* written to without our seeing it: a sync takes all of it */
};
struct range {
    char path[256];
    off_t at;
    size_t len;
};
enum pending_kind { NAME_MADE, NAME_MOVED, NAME_GONE, NAME_DIR };
struct pending {
    enum pending_kind kind;
    char path[256], to[256];
};

static struct {
    pthread_mutex_t mutex;
    const char *home, *shadow;
    size_t home_len;
    struct control *control;
    struct file *files[FDS_MAX];
    struct range ranges[RANGES_MAX];
    size_t range_count;
    struct pending pending[PENDING_MAX];
    size_t pending_count;
    uint64_t seed;
} disk = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int (*real_open)(const char *, int, ...);
static int (*real_openat)(int, const char *, int, ...);
static int (*real_close)(int);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_writev)(int, const struct iovec *, int);
static int (*real_ftruncate)(int, off_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_rename)(const char *, const char *);
static int (*real_link)(const char *, const char *);
static int (*real_linkat)(int, const char *, int, const char *, int);
static int (*real_renameat)(int, const char *, int, const char *);
static int (*real_unlinkat)(int, const char *, int);
static int (*real_unlink)(const char *);
static int (*real_mkdir)(const char *, mode_t);
static void *(*real_mmap)(void *, size_t, int, int, int, off_t);
static long (*real_syscall)(long, ...);
static int (*real_clock_gettime)(clockid_t, struct timespec *);

#define REAL(name) (*(void **)&real_##name = dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void start(void) {
    if (real_open)
        return;
    REAL(open), REAL(openat), REAL(close), REAL(write), REAL(pwrite), REAL(writev), REAL(ftruncate);
    REAL(fsync), REAL(fdatasync), REAL(rename), REAL(link), REAL(linkat), REAL(renameat), REAL(unlink),
        REAL(unlinkat), REAL(mkdir), REAL(mmap);
    REAL(syscall), REAL(clock_gettime);
    const char *control = getenv("TORTURE_CONTROL");
    disk.home = getenv("TORTURE_HOME");
    disk.shadow = getenv("TORTURE_SHADOW");
    disk.home_len = disk.home ? strlen(disk.home) : 0;
    disk.seed = (uint64_t)getpid() * 0x9e3779b97f4a7c15u + (uint64_t)time(NULL);
    int fd = control ? real_open(control, O_RDWR | O_CLOEXEC) : -1;
    if (fd >= 0) {
        void *at = real_mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        disk.control = at == MAP_FAILED ? NULL : at;
        real_close(fd);
    }
}

static int chance(void) { /* parts per million, under the lock or nearly so */
    disk.seed = disk.seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((disk.seed >> 33) % 1000000);
}

/* The path below the home, or NULL. */
static const char *inside(const char *path) {
    start();
    if (!disk.home || !path || strncmp(path, disk.home, disk.home_len) != 0 || path[disk.home_len] != '/')
        return NULL;
    const char *below = path + disk.home_len + 1;
    return strlen(below) < 250 ? below : NULL;
}

static struct file *file_of(int fd) { return fd >= 0 && fd < FDS_MAX ? disk.files[fd] : NULL; }

/* True and errno when this operation is to fail; sleeps when the disk is slow. */
static bool trouble(int op) {
    struct control *c = disk.control;
    if (!c)
        return false;
    if (op & (OP_WRITE | OP_SYNC) && c->delay_ms > 0) {
        struct timespec pause = {c->delay_ms / 1000, c->delay_ms % 1000 * 1000000L};
        c->delays++;
        nanosleep(&pause, NULL);
    }
    if (op == OP_WRITE)
        c->writes++;
    if (op == OP_SYNC)
        c->syncs++;
    if (!(c->fault_ops & op) || chance() >= c->fault_ppm)
        return false;
    c->faults++;
    errno = c->fault_errno;
    return true;
}

static void wait_stalled(const struct file *f) {
    struct control *c = disk.control;
    bool stored = strstr(f->path, ".sqlite") || strstr(f->path, "sallyport.lock");
    if (!c || !c->stall || !stored || strstr(f->path, "-shm"))
        return;
    struct timespec pause = {0, 1000000};
    for (c->stalled++; c->stall;)
        nanosleep(&pause, NULL);
    c->stalled--;
}

/* ---- the shadow ---- */

static void shadow_enter(void) {
    pthread_mutex_lock(&disk.mutex);
    struct control *c = disk.control;
    for (; c; c->active = 0) {
        struct timespec pause = {0, 500000};
        c->active = 1;
        if (!c->hold)
            break;
        c->active = 0;
        nanosleep(&pause, NULL);
    }
}

static void shadow_leave(void) {
    if (disk.control)
        disk.control->active = 0;
    pthread_mutex_unlock(&disk.mutex);
}

static void shadow_path(const char *below, char out[PATH_MAX]) {
    snprintf(out, PATH_MAX, "%s/%s", disk.shadow, below);
}

static void make_parents(char *path) {
    for (char *at = path + strlen(disk.shadow) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        real_mkdir(path, 0700);
        *at = '/';
    }
}

static void apply_pending(void) {
    char path[PATH_MAX], to[PATH_MAX];
    for (size_t i = 0; i < disk.pending_count; i++) {
        const struct pending *p = &disk.pending[i];
        shadow_path(p->path, path);
        make_parents(path);
        if (p->kind == NAME_MADE) {
            int fd = real_open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
            if (fd >= 0)
                real_close(fd);
        } else if (p->kind == NAME_DIR) {
            real_mkdir(path, 0700);
        } else if (p->kind == NAME_GONE) {
            real_unlink(path);
        } else {
            shadow_path(p->to, to);
            make_parents(to);
            real_rename(path, to);
        }
    }
    disk.pending_count = 0;
}

static void note_name(enum pending_kind kind, const char *path, const char *to) {
    if (!disk.shadow)
        return;
    shadow_enter();
    if (disk.pending_count == PENDING_MAX)
        apply_pending();
    struct pending *p = &disk.pending[disk.pending_count++];
    p->kind = kind;
    snprintf(p->path, sizeof(p->path), "%s", path);
    snprintf(p->to, sizeof(p->to), "%s", to ? to : "");
    for (size_t i = 0; kind == NAME_MOVED && i < disk.range_count; i++)
        if (strcmp(disk.ranges[i].path, path) == 0)
            snprintf(disk.ranges[i].path, sizeof(disk.ranges[i].path), "%s", to);
    shadow_leave();
}

/* Bytes of the real file into the one that outlasts the power. */
static void persist(const char *below, off_t at, size_t len) {
    char from[PATH_MAX], to[PATH_MAX];
    static char room[65536];
    snprintf(from, sizeof(from), "%s/%s", disk.home, below);
    shadow_path(below, to);
    make_parents(to);
    int in = real_open(from, O_RDONLY | O_CLOEXEC), out = real_open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (in >= 0 && out >= 0 && len > 0) {
        ssize_t got = pread(in, room, len < sizeof(room) ? len : sizeof(room), at);
        if (got <= 0 || real_pwrite(out, room, (size_t)got, at) != got)
            break;
        at += got;
        len -= (size_t)got;
    }
    if (in >= 0)
        real_close(in);
    if (out >= 0)
        real_close(out);
}

static void dirty(const char *below, off_t at, size_t len) {
    if (!disk.shadow)
        return;
    shadow_enter();
    if (disk.control && chance() < disk.control->loose_ppm) {
        apply_pending();
        persist(below, at, len);
    }
    if (disk.range_count == RANGES_MAX) { /* the kernel writes back what is old, too */
        persist(disk.ranges[0].path, disk.ranges[0].at, disk.ranges[0].len);
        memmove(disk.ranges, disk.ranges + 1, (RANGES_MAX - 1) * sizeof(disk.ranges[0]));
        disk.range_count--;
    }
    struct range *r = &disk.ranges[disk.range_count++];
    snprintf(r->path, sizeof(r->path), "%s", below);
    r->at = at;
    r->len = len;
    shadow_leave();
}

/* The file as it is now has to last. */
static void synced(const char *below, bool whole) {
    char from[PATH_MAX], to[PATH_MAX];
    struct stat st;
    if (!disk.shadow)
        return;
    shadow_enter();
    apply_pending();
    size_t kept = 0;
    for (size_t i = 0; i < disk.range_count; i++)
        if (strcmp(disk.ranges[i].path, below) == 0)
            persist(below, disk.ranges[i].at, disk.ranges[i].len);
        else
            disk.ranges[kept++] = disk.ranges[i];
    disk.range_count = kept;
    snprintf(from, sizeof(from), "%s/%s", disk.home, below);
    shadow_path(below, to);
    if (stat(from, &st) == 0 && S_ISREG(st.st_mode)) {
        if (whole)
            persist(below, 0, (size_t)st.st_size);
        if (truncate(to, st.st_size) < 0)
            perror("torture: shadow");
    }
    shadow_leave();
}

/* ---- what the gate calls ---- */

static int opened(int fd, const char *below, bool made) {
    if (fd < 0 || fd >= FDS_MAX || !below)
        return fd;
    struct file *f = calloc(1, sizeof(*f));
    snprintf(f->path, sizeof(f->path), "%s", below);
    free(disk.files[fd]);
    disk.files[fd] = f;
    if (made)
        note_name(NAME_MADE, below, NULL);
    return fd;
}

static int do_open(int dir, const char *path, int flags, mode_t mode) {
    const char *below = inside(path);
    bool made = false;
    if (below) {
        if (flags & (O_CREAT | O_WRONLY | O_RDWR) && trouble(OP_OPEN))
            return -1;
        made = flags & O_CREAT && access(path, F_OK) < 0;
    }
    int fd = dir == AT_FDCWD ? real_open(path, flags, mode) : real_openat(dir, path, flags, mode);
    return opened(fd, below, made);
}

#define MODE_OF(flags)                                                                                       \
    va_list list;                                                                                            \
    va_start(list, flags);                                                                                   \
    mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, mode_t) : 0;                                \
    va_end(list)

int open(const char *path, int flags, ...) {
    MODE_OF(flags);
    start();
    return do_open(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    MODE_OF(flags);
    start();
    return do_open(AT_FDCWD, path, flags, mode);
}
int openat(int dir, const char *path, int flags, ...) {
    MODE_OF(flags);
    start();
    return do_open(dir, path, flags, mode);
}
int openat64(int dir, const char *path, int flags, ...) {
    MODE_OF(flags);
    start();
    return do_open(dir, path, flags, mode);
}

int close(int fd) {
    start();
    if (fd >= 0 && fd < FDS_MAX && disk.files[fd]) {
        free(disk.files[fd]);
        disk.files[fd] = NULL;
    }
    return real_close(fd);
}

/* How much of `len` is written: all, a part, or -1. */
static ssize_t may_write(size_t len) {
    if (!trouble(OP_WRITE))
        return (ssize_t)len;
    if (errno)
        return -1;
    return len > 1 ? (ssize_t)(len / 2) : (ssize_t)len; /* no error: a short write */
}

ssize_t write(int fd, const void *from, size_t len) {
    start();
    const struct file *f = file_of(fd);
    if (!f)
        return real_write(fd, from, len);
    wait_stalled(f);
    ssize_t may = may_write(len);
    off_t at = fcntl(fd, F_GETFL) & O_APPEND ? lseek(fd, 0, SEEK_END) : lseek(fd, 0, SEEK_CUR);
    ssize_t done = may < 0 ? -1 : real_write(fd, from, (size_t)may);
    if (done > 0)
        dirty(f->path, at, (size_t)done);
    return done;
}

ssize_t pwrite(int fd, const void *from, size_t len, off_t at) {
    start();
    const struct file *f = file_of(fd);
    if (!f)
        return real_pwrite(fd, from, len, at);
    wait_stalled(f);
    ssize_t may = may_write(len);
    ssize_t done = may < 0 ? -1 : real_pwrite(fd, from, (size_t)may, at);
    if (done > 0)
        dirty(f->path, at, (size_t)done);
    return done;
}
ssize_t pwrite64(int fd, const void *from, size_t len, off_t at) { return pwrite(fd, from, len, at); }

ssize_t writev(int fd, const struct iovec *parts, int count) {
    start();
    const struct file *f = file_of(fd);
    off_t at = f ? lseek(fd, 0, SEEK_CUR) : 0;
    if (f && trouble(OP_WRITE) && errno)
        return -1;
    ssize_t done = real_writev(fd, parts, count);
    if (f && done > 0)
        dirty(f->path, at, (size_t)done);
    return done;
}

int ftruncate(int fd, off_t size) {
    start();
    return file_of(fd) && trouble(OP_WRITE) && errno ? -1 : real_ftruncate(fd, size);
}
int ftruncate64(int fd, off_t size) { return ftruncate(fd, size); }

static int do_sync(int fd, int (*real)(int)) {
    const struct file *f = file_of(fd);
    if (!f)
        return real(fd);
    if (trouble(OP_SYNC)) {
        if (!errno)
            errno = EIO;
        return -1;
    }
    synced(f->path, f->mapped);
    return 0; /* the disk of this test is the shadow */
}
int fsync(int fd) {
    start();
    return do_sync(fd, real_fsync);
}
int fdatasync(int fd) {
    start();
    return do_sync(fd, real_fdatasync);
}

int rename(const char *from, const char *to) {
    int rc = (start(), real_rename(from, to));
    const char *a = inside(from), *b = inside(to);
    if (rc == 0 && a && b)
        note_name(NAME_MOVED, a, b);
    return rc;
}

/* Only files of workspaces are opened relative to a directory, and those are not on this disk. */
int renameat(int from_dir, const char *from, int to_dir, const char *to) {
    if (from_dir == AT_FDCWD && to_dir == AT_FDCWD)
        return rename(from, to);
    return (start(), real_renameat(from_dir, from, to_dir, to));
}

int link(const char *from, const char *to) {
    int rc = (start(), real_link(from, to));
    const char *b = inside(to);
    struct stat st;
    if (rc == 0 && b && stat(to, &st) == 0) {
        note_name(NAME_MADE, b, NULL);
        dirty(b, 0, (size_t)st.st_size);
        if (inside(from)) /* what was synced under the other name is there under this one */
            synced(b, false);
    }
    return rc;
}

/* A file that had no name yet (O_TMPFILE) gets one. */
int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags) {
    if (from_dir == AT_FDCWD && to_dir == AT_FDCWD && !flags)
        return link(from, to);
    int rc = (start(), real_linkat(from_dir, from, to_dir, to, flags));
    const char *below = inside(to);
    static const char own[] = "/proc/self/fd/";
    struct file *f = strncmp(from, own, sizeof(own) - 1) == 0
                         ? file_of((int)strtol(from + sizeof(own) - 1, NULL, 10))
                         : NULL;
    if (rc == 0 && below && f) {
        snprintf(f->path, sizeof(f->path), "%s", below);
        note_name(NAME_MADE, below, NULL);
    }
    return rc;
}

int unlink(const char *path) {
    int rc = (start(), real_unlink(path));
    const char *below = inside(path);
    if (rc == 0 && below)
        note_name(NAME_GONE, below, NULL);
    return rc;
}

int unlinkat(int dir, const char *path, int flags) {
    if (dir == AT_FDCWD && !flags)
        return unlink(path);
    return (start(), real_unlinkat(dir, path, flags));
}

int mkdir(const char *path, mode_t mode) {
    int rc = (start(), real_mkdir(path, mode));
    const char *below = inside(path);
    if (rc == 0 && below)
        note_name(NAME_DIR, below, NULL);
    return rc;
}

void *mmap(void *at, size_t len, int protection, int flags, int fd, off_t offset) {
    start();
    if (file_of(fd) && trouble(OP_MAP)) {
        if (!errno)
            errno = ENOMEM;
        return MAP_FAILED;
    }
    if (file_of(fd) && flags & MAP_SHARED && protection & PROT_WRITE)
        file_of(fd)->mapped = true;
    return real_mmap(at, len, protection, flags, fd, offset);
}
void *mmap64(void *at, size_t len, int protection, int flags, int fd, off_t offset) {
    return mmap(at, len, protection, flags, fd, offset);
}

/* Asynchronous writes that end on disk (RWF_DSYNC). They are in the shadow when they were handed over, which
 * is before any process can rely on them. */
static void submitted(const struct iocb *one) {
    const struct file *f = file_of((int)one->aio_fildes);
    char to[PATH_MAX];
    struct stat st;
    if (!f || !disk.shadow || one->aio_lio_opcode != IOCB_CMD_PWRITE ||
        !(one->aio_rw_flags & 2 /* RWF_DSYNC */))
        return;
    shadow_enter();
    apply_pending();
    shadow_path(f->path, to);
    make_parents(to);
    int out = real_open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (out >= 0 && fstat((int)one->aio_fildes, &st) == 0 && real_ftruncate(out, st.st_size) == 0 &&
        real_pwrite(out, (const void *)(uintptr_t)one->aio_buf, one->aio_nbytes, (off_t)one->aio_offset) < 0)
        perror("torture: shadow");
    if (out >= 0)
        real_close(out);
    shadow_leave();
}

long syscall(long number, ...) {
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    start();
    if (number == SYS_io_submit && a[1] > 0) {
        struct iocb *const *all = (struct iocb *const *)a[2];
        if (file_of((int)all[0]->aio_fildes)) {
            if (trouble(OP_WRITE)) {
                if (!errno)
                    errno = EIO;
                return -1;
            }
            for (long i = 0; i < a[1]; i++)
                submitted(all[i]);
        }
    }
    return real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int clock_gettime(clockid_t clock, struct timespec *ret) {
    start();
    int rc = real_clock_gettime(clock, ret);
    if (rc == 0 && clock == CLOCK_REALTIME && disk.control)
        ret->tv_sec += disk.control->clock_s;
    return rc;
}
