/* Loaded into the interpreters and the programs that bash starts (LD_PRELOAD). They expect things that the
 * sandbox does not have: /dev/fd (which is a link into /proc), scripts that can be executed in the workspace
 * (which is mounted noexec), locks on files, an account database. The functions here replace those of the C
 * library and do with other means what a program is allowed to do anyway. Nothing here protects anything, and
 * a program that does not load it only misses these things. */
/* Each function has two names and a checked form; with these set, the headers would merge them. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REPLACES __attribute__((visibility("default")))
/* The C library's own function of that name. */
#define NEXT(name)                                                                                           \
    static __typeof__(&name) next;                                                                           \
    if (!next)                                                                                               \
    *(void **)&next = dlsym(RTLD_NEXT, #name)

#define LINE_MAX_BYTES 256 /* of a first line `#!...`, as in the kernel */
#define ARGUMENTS_MAX 65536
#define OWN_ID 1000 /* the uid and gid that a sandbox sees */

/* ---- /dev/fd/N, /dev/stdin and the like ---- */

static int descriptor_of(const char *path) {
    static const char *const names[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
    static const char *const places[] = {"/dev/fd/", "/proc/self/fd/"};
    if (!path || path[0] != '/')
        return -1;
    for (int i = 0; i < 3; i++)
        if (strcmp(path, names[i]) == 0)
            return i;
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        const size_t len = strlen(places[i]);
        char *end;
        if (strncmp(path, places[i], len) != 0 || path[len] < '0' || path[len] > '9')
            continue;
        const long fd = strtol(path + len, &end, 10);
        return *end || fd > INT_MAX ? -1 : (int)fd;
    }
    return -1;
}

/* The sandbox has no /dev/zero: a shared mapping of it would be memory that no limit counts. A file with
 * nothing in it reads the same, up to the size that a file may have. */
static int open_zeros(int flags) {
    struct rlimit most;
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, "/tmp", O_TMPFILE | O_RDWR | (flags & O_CLOEXEC), 0600);
    if (fd < 0 || getrlimit(RLIMIT_FSIZE, &most) != 0 || ftruncate(fd, (off_t)most.rlim_cur) == 0)
        return fd;
    const int code = errno;
    close(fd);
    errno = code;
    return -1;
}

static int open_any(int dir, const char *path, int flags, mode_t mode) {
    const int fd = descriptor_of(path);
    struct stat st;
    if (fd < 0 && path && strcmp(path, "/dev/zero") == 0 && (flags & O_ACCMODE) == O_RDONLY)
        return open_zeros(flags);
    if (fd < 0)
        return (int)syscall(SYS_openat, dir, path, flags, mode);
    if (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode)) { /* as the kernel: a socket cannot be opened */
        errno = ENXIO;
        return -1;
    }
    return fcntl(fd, flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, 0);
}

static mode_t mode_in(int flags, va_list more) {
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, mode_t) : 0;
}

#define REPLACE_OPEN(name)                                                                                   \
    REPLACES int name(const char *path, int flags, ...) {                                                    \
        va_list more;                                                                                        \
        va_start(more, flags);                                                                               \
        const mode_t mode = mode_in(flags, more);                                                            \
        va_end(more);                                                                                        \
        return open_any(AT_FDCWD, path, flags, mode);                                                        \
    }
#define REPLACE_OPENAT(name)                                                                                 \
    REPLACES int name(int dir, const char *path, int flags, ...) {                                           \
        va_list more;                                                                                        \
        va_start(more, flags);                                                                               \
        const mode_t mode = mode_in(flags, more);                                                            \
        va_end(more);                                                                                        \
        return open_any(dir, path, flags, mode);                                                             \
    }
REPLACE_OPEN(open)
REPLACE_OPEN(open64)
REPLACE_OPENAT(openat)
REPLACE_OPENAT(openat64)

/* What programs call that were compiled with checks of the C library. */
REPLACES int __open_2(const char *path, int flags);
REPLACES int __open64_2(const char *path, int flags);
REPLACES int __openat_2(int dir, const char *path, int flags);
REPLACES int __openat64_2(int dir, const char *path, int flags);
REPLACES int __open_2(const char *path, int flags) { return open_any(AT_FDCWD, path, flags, 0); }
REPLACES int __open64_2(const char *path, int flags) { return open_any(AT_FDCWD, path, flags, 0); }
REPLACES int __openat_2(int dir, const char *path, int flags) { return open_any(dir, path, flags, 0); }
REPLACES int __openat64_2(int dir, const char *path, int flags) { return open_any(dir, path, flags, 0); }

#define REPLACE_FOPEN(name)                                                                                  \
    REPLACES FILE *name(const char *path, const char *mode) {                                                \
        NEXT(name);                                                                                          \
        const bool zeros = path && strcmp(path, "/dev/zero") == 0 && mode[0] == 'r';                         \
        const int fd = descriptor_of(path) < 0 && !zeros ? -1 : open_any(AT_FDCWD, path, O_CLOEXEC, 0);      \
        return fd < 0 ? next(path, mode) : fdopen(fd, mode);                                                 \
    }
REPLACE_FOPEN(fopen)
REPLACE_FOPEN(fopen64)

#define REPLACE_STAT(name, of_fd, type)                                                                      \
    REPLACES int name(const char *path, struct type *ret_st) {                                               \
        NEXT(name);                                                                                          \
        const int fd = descriptor_of(path);                                                                  \
        return fd < 0 ? next(path, ret_st) : of_fd(fd, ret_st);                                              \
    }
#define REPLACE_STATAT(name, of_fd, type)                                                                    \
    REPLACES int name(int dir, const char *path, struct type *ret_st, int flags) {                           \
        NEXT(name);                                                                                          \
        const int fd = descriptor_of(path);                                                                  \
        return fd < 0 ? next(dir, path, ret_st, flags) : of_fd(fd, ret_st);                                  \
    }
REPLACE_STAT(stat, fstat, stat)
REPLACE_STAT(lstat, fstat, stat)
REPLACE_STAT(stat64, fstat64, stat64)
REPLACE_STAT(lstat64, fstat64, stat64)
REPLACE_STATAT(fstatat, fstat, stat)
REPLACE_STATAT(fstatat64, fstat64, stat64)

/* ---- scripts of the workspace ---- */

/* Its first bytes, if it is a file with the permission to execute it. -1: it is not. */
static ssize_t first_line(int dir, const char *path, char ret_line[LINE_MAX_BYTES]) {
    struct stat st;
    const int fd = (int)syscall(SYS_openat, dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -1;
    const bool executable = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_mode & 0111;
    const ssize_t got = executable ? read(fd, ret_line, LINE_MAX_BYTES - 1) : -1;
    close(fd);
    if (got >= 0)
        ret_line[got] = '\0';
    return got;
}

static bool is_program(const char *line, ssize_t len) { return len >= 4 && memcmp(line, "\177ELF", 4) == 0; }

/* As the kernel does it: the interpreter, at most one argument for it, the script and its arguments. */
static int run_script(char *line, const char *path, char *const argv[], char *const envp[]) {
    static const char blanks[] = " \t";
    line += 2;
    line[strcspn(line, "\r\n")] = '\0';
    line += strspn(line, blanks);
    char *option = line + strcspn(line, blanks);
    if (*option) {
        *option++ = '\0';
        option += strspn(option, blanks);
        for (char *end = option + strlen(option); end > option && strchr(blanks, end[-1]);)
            *--end = '\0';
    }
    size_t count = 0, n = 0;
    while (argv[count])
        if (++count > ARGUMENTS_MAX)
            return errno = E2BIG, -1;
    const char **given = calloc(count + 4, sizeof(*given));
    if (!given)
        return errno = ENOMEM, -1;
    given[n++] = line;
    if (*option)
        given[n++] = option;
    given[n++] = path;
    for (size_t i = 1; i < count; i++)
        given[n++] = argv[i];
    syscall(SYS_execve, line, given, envp);
    const int code = errno;
    free(given);
    errno = code;
    return -1;
}

REPLACES int execve(const char *path, char *const argv[], char *const envp[]) {
    char line[LINE_MAX_BYTES];
    syscall(SYS_execve, path, argv, envp);
    if (errno != EACCES)
        return -1;
    const ssize_t len = first_line(AT_FDCWD, path, line);
    if (len < 0 || is_program(line, len))
        return errno = EACCES, -1;
    if (strncmp(line, "#!", 2) != 0)
        return errno = ENOEXEC, -1; /* a shell then reads it itself */
    return run_script(line, path, argv, envp);
}

REPLACES int execvp(const char *file, char *const argv[]) {
    NEXT(execvp);
    if (strchr(file, '/'))
        execve(file, argv, environ);
    return next(file, argv);
}

/* access() with X_OK fails on a noexec mount. For a script that execve() above runs, it succeeds. */
static int access_any(int dir, const char *path, int mode, int flags) {
    char line[LINE_MAX_BYTES];
    const int fd = descriptor_of(path);
    if (fd >= 0)
        return fcntl(fd, F_GETFD) < 0 ? -1 : 0;
    if (syscall(SYS_faccessat2, dir, path, mode, flags) == 0)
        return 0;
    if (errno != EACCES || !(mode & X_OK))
        return -1;
    const ssize_t len = first_line(dir, path, line);
    if (len < 0 || is_program(line, len))
        return errno = EACCES, -1;
    return (int)syscall(SYS_faccessat2, dir, path, mode & ~X_OK, flags);
}

REPLACES int access(const char *path, int mode) { return access_any(AT_FDCWD, path, mode, 0); }
REPLACES int eaccess(const char *path, int mode) { return access_any(AT_FDCWD, path, mode, AT_EACCESS); }
REPLACES int euidaccess(const char *path, int mode) { return access_any(AT_FDCWD, path, mode, AT_EACCESS); }
REPLACES int faccessat(int dir, const char *path, int mode, int flags) {
    return access_any(dir, path, mode, flags);
}

/* ---- locks ---- The kernel denies them. Locks on ranges of the run's own files succeed without one, for
 * SQLite, DuckDB and their like. They settle conflicts inside of one process by themselves; programs of a run
 * that write one database at the same time are not kept apart. flock() stays denied, because scripts use it
 * for nothing but that. */

static bool is_on(const struct stat *file, const char *path) {
    struct stat place;
    return stat(path, &place) == 0 && place.st_dev == file->st_dev;
}

/* Below tier 1 the system's files may be on the same device. */
static bool is_own_file(int fd) {
    struct stat file;
    return fstat(fd, &file) == 0 && file.st_uid == geteuid() &&
           (is_on(&file, "/workspace") || is_on(&file, "/tmp") || is_on(&file, "."));
}

static int fcntl_unlocked(int fd, int command, void *argument) {
    const bool asks = command == F_GETLK || command == F_OFD_GETLK;
    const bool locks = asks || command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
                       command == F_OFD_SETLKW;
    if (!locks || !is_own_file(fd))
        return (int)syscall(SYS_fcntl, fd, command, argument);
    if (asks)
        ((struct flock *)argument)->l_type = F_UNLCK;
    return 0;
}

#define REPLACE_FCNTL(name)                                                                                  \
    REPLACES int name(int fd, int command, ...) {                                                            \
        va_list more;                                                                                        \
        va_start(more, command);                                                                             \
        void *argument = va_arg(more, void *);                                                               \
        va_end(more);                                                                                        \
        return fcntl_unlocked(fd, command, argument);                                                        \
    }
REPLACE_FCNTL(fcntl)
REPLACE_FCNTL(fcntl64)

/* ---- shared anonymous memory ---- The kernel denies it, because no limit counts it. A file without a name
 * has the same meaning and is within the quota of /tmp. Without room there, or without files, it is private:
 * the same for all but processes that a program forks. */

static int open_shared(size_t size) {
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 || syscall(SYS_fallocate, fd, 0, (off_t)0, (off_t)size) == 0)
        return fd;
    close(fd);
    return -1;
}

static void *map_any(void *at, size_t size, int rights, int flags, int fd, off_t offset) {
    if ((flags & MAP_ANONYMOUS) && (flags & MAP_TYPE) == MAP_SHARED) {
        const int file = open_shared(size);
        const int others = flags & ~(MAP_TYPE | (file < 0 ? 0 : MAP_ANONYMOUS));
        void *made = map_any(at, size, rights, others | (file < 0 ? MAP_PRIVATE : MAP_SHARED), file, 0);
        if (file >= 0)
            close(file);
        return made;
    }
    const long made = syscall(SYS_mmap, at, size, rights, flags, fd, offset);
    return (void *)made; /* NOLINT(performance-no-int-to-ptr) */
}

REPLACES void *mmap(void *at, size_t size, int rights, int flags, int fd, off_t offset) {
    return map_any(at, size, rights, flags, fd, offset);
}
REPLACES void *mmap64(void *at, size_t size, int rights, int flags, int fd, off64_t offset) {
    return map_any(at, size, rights, flags, fd, offset);
}

/* ---- the account ---- */

static char own_name[] = "sandbox", no_password[] = "x", own_home[] = "/workspace", own_shell[] = "/bin/bash",
            nothing[] = "";
static struct passwd own_user = {.pw_name = own_name,
                                 .pw_passwd = no_password,
                                 .pw_uid = OWN_ID,
                                 .pw_gid = OWN_ID,
                                 .pw_gecos = nothing,
                                 .pw_dir = own_home,
                                 .pw_shell = own_shell};
static char *no_members[] = {NULL};
static struct group own_group = {
    .gr_name = own_name, .gr_passwd = no_password, .gr_gid = OWN_ID, .gr_mem = no_members};

REPLACES struct passwd *getpwuid(uid_t uid) { return uid == OWN_ID ? &own_user : NULL; }
REPLACES struct passwd *getpwnam(const char *name) { return strcmp(name, own_name) == 0 ? &own_user : NULL; }
REPLACES struct group *getgrgid(gid_t gid) { return gid == OWN_ID ? &own_group : NULL; }
REPLACES struct group *getgrnam(const char *name) { return strcmp(name, own_name) == 0 ? &own_group : NULL; }
