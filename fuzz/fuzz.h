/* What the targets share: input taken apart, and copies that end where their bytes end, so that the address
 * sanitizer sees every look beyond them. A property that does not hold is a CHECK that fails. */
#pragma once

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Takes one byte off the front; 0 when there is none. */
static inline uint8_t fuzz_byte(struct slice *in) {
    if (!in->len)
        return 0;
    uint8_t byte = (uint8_t)in->ptr[0];
    *in = slice_from(*in, 1);
    return byte;
}

/* A length of at most `max`, chosen by two bytes of the input. */
static inline size_t fuzz_length(struct slice *in, size_t max) {
    size_t high = fuzz_byte(in), low = fuzz_byte(in);
    return (high << 8 | low) % (max + 1);
}

static inline char *fuzz_copy(struct slice s) {
    char *copy = mem_alloc(s.len);
    if (s.len)
        memcpy(copy, s.ptr, s.len);
    return copy;
}
