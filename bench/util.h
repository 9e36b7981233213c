/* Small helpers that the bench programs share: time, numbers, slices, CPU pinning. They exit on
 * failure (`die`), because a bench program has nothing to save. */
#ifndef BENCH_UTIL_H
#define BENCH_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NS_PER_US 1000ULL
#define NS_PER_MS 1000000ULL
#define NS_PER_S 1000000000ULL

/* Borrowed bytes. base == NULL means absent. */
struct slice {
    const char *base;
    size_t len;
};

uint64_t now_ns(void);
void sleep_ns(uint64_t ns);

_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
void *must_alloc(size_t size);

/* Decimal text in [min, max] or exit with a message that names the option. */
uint64_t parse_number(const char *name, const char *text, uint64_t min, uint64_t max);

/* Bounded printf at `at`; exits when it does not fit. Returns the new end. */
size_t put_text(char *buf, size_t cap, size_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same for bytes and for a decimal number, cheap enough for every call. */
size_t put_bytes(char *buf, size_t cap, size_t at, const char *base, size_t len);
size_t put_u64(char *buf, size_t cap, size_t at, uint64_t value);

bool slice_is(struct slice s, const char *text);
const char *find_bytes(const char *hay, size_t hay_len, const char *needle);

void set_nonblocking(int fd);
void raise_fd_limit(void);
void pin_cpu(int cpu); /* negative: leave as is */

#endif
