#include "sandbox/zygote.h"

#include "base/clock.h"
#include "base/packet.h"
#include "sandbox/loopback.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define HELD_BYTES 8192
#define MAPS_MAX (4u << 20)
#define PAGE_BYTES 4096u
#define LARGE_BYTES (2ul << 20)
#define LARGE_PAGES (LARGE_BYTES / PAGE_BYTES)
#define SPIN_US 100 /* how long to spin for a response before sleeping */
#define SPIN_SKIP_MAX                                                                                        \
    64 /* maximum number of calls without spinning after spinning failed repeatedly: no processor is free */
#define ADVICE_COLLAPSE 25 /* MADV_COLLAPSE, newer than the headers; older kernels return EINVAL */

/* Adjacent mappings of one kind. */
struct stretch {
    enum { STRETCH_OTHER, STRETCH_HEAP, STRETCH_TEXT } kind;
    unsigned long start, end;
    unsigned long offset; /* in the file */
    const char *file;
    size_t file_len;
    bool code; /* TEXT: of a program or a library, which are complete; other files may have been truncated */
};

static size_t pages_present(int pagemap, unsigned long at) {
    uint64_t pages[LARGE_PAGES];
    size_t present = 0;
    if (pread(pagemap, pages, sizeof(pages), (off_t)(at / PAGE_BYTES * sizeof(*pages))) != sizeof(pages))
        return 0;
    for (size_t i = 0; i < LARGE_PAGES; i++)
        present += pages[i] >> 63;
    return present;
}

/* Each child faults in pages of a file again; it inherits a private copy. The copy is read-only. Constants
 * beside the code become executable, which gives a guest nothing that it could not map itself. */
static void fold_text(unsigned long at) {
    char *room = mmap(NULL, 2 * LARGE_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return;
    char *copy = room + (LARGE_BYTES - (uintptr_t)room % LARGE_BYTES) % LARGE_BYTES;
    memcpy(copy, (const void *)at, LARGE_BYTES);
    if (madvise(copy, LARGE_BYTES, ADVICE_COLLAPSE) == 0 &&
        mprotect(copy, LARGE_BYTES, PROT_READ | PROT_EXEC) == 0)
        mremap(copy, LARGE_BYTES, LARGE_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)at);
    munmap(room, 2 * LARGE_BYTES);
}

/* A library has several mappings, because not all of it is code, and each is copied into every child.
 * Mappings of unchanged file content are joined into one; see fold_text() for what becomes executable. */
static void join(const struct stretch *s) {
    if (s->kind == STRETCH_TEXT && s->code)
        mprotect((void *)s->start, s->end - s->start, PROT_READ | PROT_EXEC);
}

/* Stretches that are less than half in use are left alone. */
static void fold(int pagemap, const struct stretch *s) {
    join(s);
    unsigned long at = (s->start + LARGE_BYTES - 1) & ~(LARGE_BYTES - 1);
    for (; at < s->end && s->end - at >= LARGE_BYTES; at += LARGE_BYTES) {
        if (s->kind == STRETCH_OTHER || (s->kind == STRETCH_TEXT && !s->code) ||
            pages_present(pagemap, at) < LARGE_PAGES / 2)
            continue;
        if (s->kind == STRETCH_TEXT)
            fold_text(at);
        else
            madvise((void *)at, LARGE_BYTES, ADVICE_COLLAPSE);
    }
}

/* `line` of maps: start-end rights offset device inode file */
static struct stretch read_line(char *line) {
    char *rest;
    struct stretch s = {.start = strtoul(line, &rest, 16)};
    s.end = strtoul(rest + 1, &rest, 16);
    const size_t len = strcspn(rest, "\n");
    s.file = memchr(rest, '/', len);
    s.file_len = s.file ? len - (size_t)(s.file - rest) : 0;
    if (strncmp(rest, " rw-p", 5) == 0)
        s.kind = STRETCH_HEAP;
    else if (s.file && (strncmp(rest, " r-xp", 5) == 0 || strncmp(rest, " r--p", 5) == 0))
        s.kind = STRETCH_TEXT;
    s.code = rest[3] == 'x';
    s.offset = strtoul(rest + strlen(" r-xp"), NULL, 16);
    return s;
}

static void fold_all(int pagemap, char *maps) {
    struct stretch all = {STRETCH_OTHER};
    for (char *line = maps; line && *line; line = strchr(line, '\n'), line += line ? 1 : 0) {
        const struct stretch s = read_line(line);
        madvise((void *)s.start, s.end - s.start,
                MADV_DOFORK); /* fails for memory that cannot be copied, which stays as it is */
        if (s.kind == STRETCH_TEXT && all.kind == s.kind && all.end == s.start &&
            s.offset - all.offset == s.start - all.start && all.file_len == s.file_len &&
            memcmp(all.file, s.file, s.file_len) == 0) {
            all.end = s.end;
            all.code |= s.code;
            continue;
        }
        fold(pagemap, &all);
        all = s;
    }
    fold(pagemap, &all);
}

void zygote_fold_memory(void) {
    int fd = openat(CONFINE_FD_PROC, "self/maps", O_RDONLY | O_CLOEXEC);
    int pagemap = openat(CONFINE_FD_PROC, "self/pagemap", O_RDONLY | O_CLOEXEC);
    char *text = malloc(MAPS_MAX + 1);
    size_t len = 0;
    for (ssize_t n; text && fd >= 0 && len < MAPS_MAX && (n = read(fd, text + len, MAPS_MAX - len)) > 0;)
        len += (size_t)n;
    if (text)
        text[len] = '\0';
    fold_all(pagemap, text);
    free(text);
    if (fd >= 0)
        close(fd);
    if (pagemap >= 0)
        close(pagemap);
}

/* Bytes read from the bridge that were not consumed yet. */
static struct {
    char bytes[HELD_BYTES];
    size_t at, end;
    bool spins;        /* another processor is available that can produce the response meanwhile */
    uint32_t sleeps;   /* calls without spinning that remain */
    uint32_t in_vain;  /* length of the previous pause of spinning */
    uint64_t asked_us; /* when a call was sent */
} held;

bool zygote_next(struct frame_order *ret_order, int ret_stdio[3]) {
    for (;;) {
        ssize_t got = packet_receive(CONFINE_FD_REPORT, ret_order, sizeof(*ret_order), ret_stdio);
        if (got <= 0)
            return false;
        if (got == (ssize_t)sizeof(*ret_order) && ret_stdio[2] >= 0 && ret_order->profile < FRAME_PROFILES)
            return true;
        for (int i = 0; i < 3; i++)
            if (ret_stdio[i] >= 0)
                close(ret_stdio[i]);
    }
}

/* The C library caches its thread's id at an address that the kernel knows; a raw clone must refresh it. */
static int *tid_address(void) {
    int *at = NULL;
    return prctl(PR_GET_TID_ADDRESS, &at, 0, 0, 0) == 0 ? at : NULL;
}

/* CLONE_PARENT: the helper becomes the parent and waits for the sandbox; this process never has to. */
static long clone_into(uint64_t flags, int *ret_pidfd) {
    int *tid = tid_address();
    struct clone_args args = {.flags = flags | CLONE_PARENT | CLONE_PIDFD | (tid ? CLONE_CHILD_SETTID : 0),
                              .pidfd = (uint64_t)(uintptr_t)ret_pidfd,
                              .child_tid = (uint64_t)(uintptr_t)tid};
    long pid = syscall(SYS_clone3, &args, sizeof(args));
    if (pid < 0 && errno == ENOSYS) /* some container filters hide clone3 */
        pid = syscall(SYS_clone, (unsigned long)args.flags, NULL, ret_pidfd, tid, NULL);
    return pid;
}

/* With its own uid the child waits until the helper has written its id maps. The helper may have ended. */
static void wait_for_ids(const int go[2]) {
    char byte;
    ssize_t got;
    close(go[1]);
    while ((got = read(go[0], &byte, 1)) < 0 && errno == EINTR)
        ;
    if (got != 1)
        _exit(CONFINE_FAILED);
    close(go[0]);
}

long zygote_clone(const struct confine_setup *setup, const struct frame_order *order, const int stdio[3]) {
    uint64_t flags = 0;
    if (setup->tier == 1)
        flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;
    if (confine_has_loopback(setup, order))
        flags |= CLONE_NEWNET;
    int fds[2] = {-1, -1}, go[2] = {-1, -1};
    cpu_set_t cpus;
    held.spins = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) > 1;
    const bool waits = setup->tier == 1 && order->uid;
    long pid = waits && pipe2(go, O_CLOEXEC) != 0 ? -1 : clone_into(flags, &fds[0]);
    if (pid == 0 && waits)
        wait_for_ids(go);
    if (pid == 0)
        return 0;
    struct confine_note note = {.kind = CONFINE_NOTE_CLONED,
                                .token = order->token,
                                .pid = (int32_t)pid,
                                .error = pid < 0 ? errno : 0};
    fds[1] = go[1];
    packet_send(CONFINE_FD_REPORT, &note, sizeof(note), fds, 2, 0);
    const int mine[] = {fds[0], go[0], go[1]};
    for (size_t i = 0; i < sizeof(mine) / sizeof(mine[0]); i++)
        if (mine[i] >= 0)
            close(mine[i]);
    for (int i = 0; i < 3; i++)
        close(stdio[i]);
    return pid;
}

extern __typeof__(loopback_open) loopback_open __attribute__((weak));

void zygote_open_loopback(const struct confine_setup *setup, const struct frame_order *order) {
    if (loopback_open && order->profile != FRAME_PROC)
        loopback_open(confine_has_network(setup, order));
}

void zygote_notify(enum confine_note_kind kind, const char *text) {
    struct confine_note note = {.kind = kind};
    snprintf(note.text, sizeof(note.text), "%s", text);
    packet_send(CONFINE_FD_REPORT, &note, sizeof(note), NULL, 0, 0);
}

/* ---- the bridge ---- */

void zygote_send(enum frame_kind kind, uint32_t id, const void *body, size_t len) {
    struct frame_head head = {(uint32_t)len, id, kind};
    held.asked_us = kind == FRAME_CALL ? clock_mono_us() : 0;
    struct iovec parts[2] = {{&head, FRAME_HEAD_BYTES}, {(void *)(uintptr_t)body, len}};
    for (size_t i = 0; i < 2;) {
        const ssize_t n = writev(CONFINE_FD_BRIDGE, parts + i, (int)(2 - i));
        if (n < 0 && errno != EINTR)
            _exit(0);
        size_t sent = n > 0 ? (size_t)n : 0;
        for (; i < 2 && sent >= parts[i].iov_len; i++)
            sent -= parts[i].iov_len;
        if (i < 2)
            parts[i] = (struct iovec){(char *)parts[i].iov_base + sent, parts[i].iov_len - sent};
    }
}

/* Most responses arrive before a processor could sleep and wake up, which can take longer than the call
 * itself. */
static bool spin_for_response(uint64_t asked_us) {
    struct pollfd bridge = {.fd = CONFINE_FD_BRIDGE, .events = POLLIN};
    while (poll(&bridge, 1, 0) == 0)
        if (clock_mono_us() - asked_us >= SPIN_US)
            return false;
    return true;
}

/* After spinning failed, it is skipped for one call, then for three, and so on. */
static ssize_t read_bridge(void *ret_bytes, size_t len) {
    const uint64_t asked_us = held.spins ? held.asked_us : 0;
    held.asked_us = 0;
    if (asked_us && held.sleeps) {
        held.sleeps--;
    } else if (asked_us) {
        if (spin_for_response(asked_us))
            held.in_vain = 0;
        else if (held.in_vain < SPIN_SKIP_MAX)
            held.in_vain = 2 * held.in_vain + 1;
        held.sleeps = held.in_vain;
    }
    return read(CONFINE_FD_BRIDGE, ret_bytes, len);
}

void zygote_receive(void *ret_bytes, size_t len) {
    for (char *to = ret_bytes; len;) {
        const size_t there = held.end - held.at, take = there < len ? there : len;
        memcpy(to, held.bytes + held.at, take);
        held.at += take;
        to += take;
        len -= take;
        if (!len)
            return;
        const bool direct = len >= sizeof(held.bytes);
        const ssize_t n = read_bridge(direct ? to : held.bytes, direct ? len : sizeof(held.bytes));
        if (n == 0 || (n < 0 && errno != EINTR))
            _exit(0);
        const size_t got = n > 0 ? (size_t)n : 0;
        held.at = 0;
        held.end = direct ? 0 : got;
        to += direct ? got : 0;
        len -= direct ? got : 0;
    }
}

void zygote_receive_head(struct frame_head *ret_head) {
    zygote_receive(ret_head, FRAME_HEAD_BYTES);
    if (ret_head->length > FRAME_BYTES_MAX)
        _exit(0);
}

bool zygote_has_bytes(void) { return held.at < held.end; }

bool zygote_wait_for_code(int ms) {
    struct pollfd bridge = {.fd = CONFINE_FD_BRIDGE, .events = POLLIN};
    return zygote_has_bytes() || poll(&bridge, 1, ms) > 0;
}
