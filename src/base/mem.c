#include "base/mem.h"

#include "base/check.h"

#include <string.h>

void *mem_alloc(size_t size) {
    void *ptr = malloc(size ? size : 1);
    CHECK(ptr);
    return ptr;
}

void *mem_zalloc(size_t size) {
    void *ptr = calloc(1, size ? size : 1);
    CHECK(ptr);
    return ptr;
}

void *mem_realloc(void *ptr, size_t size) {
    void *fresh = realloc(ptr, size ? size : 1);
    CHECK(fresh);
    return fresh;
}

char *mem_dup(const char *ptr, size_t len) {
    char *copy = mem_alloc(len + 1);
    if (len)
        memcpy(copy, ptr, len);
    copy[len] = '\0';
    return copy;
}
