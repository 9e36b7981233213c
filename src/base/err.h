/* Errors of the cold paths. A fallible function takes `struct err *err` last, returns 0 or -1, and leaves
 * `err` alone on success. Each failure is one line: `return err_set(err, "...")`. */
#pragma once

#define ERR_TEXT_MAX 1024

struct err {
    char text[ERR_TEXT_MAX];
};

/* Both return -1. err may be NULL. */
int err_set(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Puts "context: " in front of the current text. */
int err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
