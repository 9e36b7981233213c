/* A borrowed run of bytes. Never owns memory; a NUL behind it is not guaranteed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
    const char *ptr;
    size_t len;
};

#define SLICE(lit) ((struct slice){(lit), sizeof(lit) - 1})
#define SLICE_FMT(s) (int)(s).len, (s).ptr

static inline struct slice slice_of(const char *ptr, size_t len) { return (struct slice){ptr, len}; }

static inline struct slice slice_str(const char *str) { return (struct slice){str, str ? strlen(str) : 0}; }

/* Compares by the length of b, which is often a literal, so that no function is called. */
static inline bool slice_eq(struct slice a, struct slice b) {
    return a.len == b.len && (b.len == 0 || memcmp(a.ptr, b.ptr, b.len) == 0);
}

/* Two C strings; either may be NULL. */
static inline bool slice_same_str(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static inline bool slice_is(struct slice a, const char *str) { return slice_eq(a, slice_str(str)); }

static inline bool slice_starts(struct slice a, struct slice prefix) {
    return a.len >= prefix.len && (prefix.len == 0 || memcmp(a.ptr, prefix.ptr, prefix.len) == 0);
}

static inline bool slice_ends(struct slice a, struct slice suffix) {
    return a.len >= suffix.len &&
           (suffix.len == 0 || memcmp(a.ptr + a.len - suffix.len, suffix.ptr, suffix.len) == 0);
}

static inline struct slice slice_from(struct slice a, size_t at) {
    size_t skip = at < a.len ? at : a.len;
    return (struct slice){skip ? a.ptr + skip : a.ptr,
                          a.len - skip}; /* adding to a null pointer is undefined */
}

static inline struct slice slice_upto(struct slice a, size_t len) {
    return (struct slice){a.ptr, len < a.len ? len : a.len};
}

/* One of the words? The list ends with NULL. */
bool slice_is_any(struct slice a, const char *const *words);
bool slice_is_any_nocase(struct slice a, const char *const *words);
/* Does it contain the word, in any case of its letters? */
bool slice_has_nocase(struct slice a, struct slice word);
bool slice_eq_nocase_same_len(const char *a, const char *b, size_t len);
/* ASCII letters only: header names, schemes, host names. */
static inline bool slice_eq_nocase(struct slice a, struct slice b) {
    return a.len == b.len && slice_eq_nocase_same_len(a.ptr, b.ptr, a.len);
}
struct slice slice_trim(struct slice a);
/* Index of the byte, or -1. */
ptrdiff_t slice_find(struct slice a, char c);
/* The first place of a word that is not empty, or NULL. */
const char *slice_search(struct slice a, struct slice word);
/* Splits at the first `sep`: *ret_head before it, *rest after it. False (and all in head) when absent. */
bool slice_cut(struct slice *rest, char sep, struct slice *ret_head);
/* Decimal digits only, no sign, no overflow. */
bool slice_to_u64(struct slice a, uint64_t *ret_value);
int slice_cmp(struct slice a, struct slice b);
