#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define U64_DIGITS_MAX 20

uint64_t now_ns(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

void sleep_ns(uint64_t ns) {
    struct timespec ts = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
    while (nanosleep(&ts, &ts) < 0 && errno == EINTR) {
    }
}

void die(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(2);
}

void *must_alloc(size_t size) {
    void *memory = calloc(1, size);
    if (!memory)
        die("out of memory: %zu bytes", size);
    return memory;
}

uint64_t parse_number(const char *name, const char *text, uint64_t min, uint64_t max) {
    char *end = NULL;
    errno = 0;
    unsigned long long value = text ? strtoull(text, &end, 10) : 0;
    if (!text || end == text || *end || errno || *text == '-' || value < min || value > max)
        die("%s: want a number from %llu to %llu, got `%s`", name, (unsigned long long)min,
            (unsigned long long)max, text ? text : "");
    return value;
}

size_t put_text(char *buf, size_t cap, size_t at, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(buf + at, cap - at, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= cap - at)
        die("text does not fit in %zu bytes", cap);
    return at + (size_t)n;
}

size_t put_bytes(char *buf, size_t cap, size_t at, const char *base, size_t len) {
    if (len > cap - at)
        die("%zu bytes do not fit in %zu", len, cap);
    if (len)
        memcpy(buf + at, base, len);
    return at + len;
}

size_t put_u64(char *buf, size_t cap, size_t at, uint64_t value) {
    char digits[U64_DIGITS_MAX];
    size_t from = sizeof digits;
    do {
        digits[--from] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    return put_bytes(buf, cap, at, digits + from, sizeof digits - from);
}

bool slice_is(struct slice s, const char *text) {
    size_t len = strlen(text);
    return s.base && s.len == len && memcmp(s.base, text, len) == 0;
}

const char *find_bytes(const char *hay, size_t hay_len, const char *needle) {
    return memmem(hay, hay_len, needle, strlen(needle));
}

void set_nonblocking(int fd) {
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        die("fcntl: %s", strerror(errno));
}

void raise_fd_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

void pin_cpu(int cpu) {
    if (cpu < 0)
        return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) < 0)
        die("cannot pin to CPU %d: %s", cpu, strerror(errno));
}
