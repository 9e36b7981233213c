/* Certificate files that are reloaded when they change. */
#pragma once

#include "base/err.h"

struct io_loop;
struct front_files;

struct front_files_of {
    const char *cert, *key, *ca; /* paths, which must outlive this; the last may be NULL */
    int (*load)(void *owner, const struct front_files_of *of, struct err *err);
    void *owner;
};

/* Loads them once; NULL if that failed. */
struct front_files *front_files_new(struct io_loop *loop, const struct front_files_of *of, struct err *err);
void front_files_free(struct front_files *s); /* NULL is fine */
