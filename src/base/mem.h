/* Allocation that cannot fail, cleanup attributes and moves. Every size that a user controls is checked
 * against a ceiling first, so running out of memory is a fault of the machine and aborts. */
#pragma once

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *mem_alloc(size_t size);
void *mem_zalloc(size_t size);
void *mem_realloc(void *ptr, size_t size);
char *mem_dup(const char *ptr, size_t len);

static inline void mem_cleanup_free(void *ptr) { free(*(void **)ptr); }
static inline void mem_cleanup_fd(const int *fd) {
    if (*fd >= 0)
        close(*fd);
}
static inline void mem_cleanup_file(FILE **file) {
    if (*file)
        fclose(*file);
}

#define cleanup_free __attribute__((cleanup(mem_cleanup_free)))
#define cleanup_fd __attribute__((cleanup(mem_cleanup_fd)))
#define cleanup_file __attribute__((cleanup(mem_cleanup_file)))

/* Moves a pointer out of a variable whose cleanup would free it. */
#define steal(var)                                                                                           \
    __extension__({                                                                                          \
        __typeof__(var) stolen_ = (var);                                                                     \
        (var) = NULL;                                                                                        \
        stolen_;                                                                                             \
    })
#define steal_fd(var)                                                                                        \
    __extension__({                                                                                          \
        int stolen_ = (var);                                                                                 \
        (var) = -1;                                                                                          \
        stolen_;                                                                                             \
    })

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))
