/* Strict JSON, read in place.
 *
 *   {"a":[1,"x"]}        node 0  OBJECT  start..end of the braces, next = 5, count = 1
 *                        node 1  STRING  a        (a key)
 *                        node 2  ARRAY            next = 5, count = 2
 *                        node 3  NUMBER  1
 *                        node 4  STRING  x
 *
 * The tape points into the source bytes, which must outlive it. Refused: duplicate keys (compared decoded),
 * invalid UTF-8, lone surrogates, raw control characters, depth over TAPE_DEPTH_MAX, anything after the
 * value, a byte-order mark. Numbers keep their text. Node 0 is the root, so index 0 never names a child: it
 * means "absent" in the answers of the look-ups. */
#pragma once

#include "base/arena.h"
#include "base/slice.h"
#include "wire/limits.h"

enum tape_type { TAPE_NULL, TAPE_FALSE, TAPE_TRUE, TAPE_NUMBER, TAPE_STRING, TAPE_ARRAY, TAPE_OBJECT };

enum tape_flag {
    TAPE_ESCAPED = 1, /* a string with a backslash in it */
    TAPE_INTEGER = 2, /* a number without fraction and exponent */
    TAPE_RESPELT = 4, /* a string with an escape that canonical JSON spells in another way */
};

struct tape_node {
    uint32_t start; /* of the value's own bytes: after the quote for strings, at the bracket for containers */
    uint32_t len;   /* between the quotes for strings, with both brackets for containers */
    uint32_t next;  /* index of the first node behind this value */
    uint32_t count : 24; /* elements, or members */
    uint32_t type : 4;
    uint32_t flags : 4;
};

struct tape {
    struct slice src;
    struct tape_node *nodes;
    uint32_t count;
    uint32_t cap;
    bool has_nul;      /* some string holds U+0000: well-formed JSON, but not admitted from clients */
    bool has_breaks;   /* some tokens have the end of a line between them */
    bool is_distinct;  /* clash_admit has checked: no two keys of an object clash */
    uint32_t *scratch; /* hash table for the duplicate check of large objects */
    uint32_t scratch_cap;
};

enum tape_fault {
    TAPE_OK,
    TAPE_SYNTAX,
    TAPE_TRUNCATED, /* the text ended inside a value */
    TAPE_UTF8,
    TAPE_SURROGATE,
    TAPE_DEPTH,
    TAPE_DUPLICATE,
    TAPE_TOO_LARGE,
};

void tape_init(struct tape *t);
void tape_free(struct tape *t);
static inline void tape_cleanup(struct tape *t) { tape_free(t); }
#define cleanup_tape __attribute__((cleanup(tape_cleanup)))

/* Reads one JSON text. The node array is kept and reused from call to call. *ret_at (may be NULL) is the
 * offset of the fault. */
enum tape_fault tape_parse(struct tape *t, struct slice src, size_t *ret_at);
const char *tape_fault_text(enum tape_fault fault);

static inline const struct tape_node *tape_node(const struct tape *t, uint32_t i) { return &t->nodes[i]; }
static inline enum tape_type tape_type(const struct tape *t, uint32_t i) {
    return (enum tape_type)t->nodes[i].type;
}
static inline bool tape_is(const struct tape *t, uint32_t i, enum tape_type type) {
    return t->nodes[i].type == (uint32_t)type;
}
/* The bytes as they stand in the source, quotes and brackets included. */
struct slice tape_raw(const struct tape *t, uint32_t i);
/* Value of a member, or 0. `key` is compared with the decoded key. obj must be an OBJECT (else 0). */
uint32_t tape_get(const struct tape *t, uint32_t obj, struct slice key);
static inline uint32_t tape_get_str(const struct tape *t, uint32_t obj, const char *key) {
    return tape_get(t, obj, slice_str(key));
}
/* Does the object's member `key` hold this text, in an array? */
bool tape_list_has(const struct tape *t, uint32_t obj, const char *key, const char *word);
/* Down a path of keys, ending with NULL: tape_path(t, 0, "params", "_meta", NULL). 0 when any is absent. */
uint32_t tape_path(const struct tape *t, uint32_t obj, ...) __attribute__((sentinel));
bool tape_eq_escaped(const struct tape *t, uint32_t i, struct slice text);
/* Decoded string equals? False for other types. */
static inline bool tape_eq(const struct tape *t, uint32_t i, struct slice text) {
    const struct tape_node *n = &t->nodes[i];
    if (n->type != TAPE_STRING)
        return false;
    if (n->flags & TAPE_ESCAPED)
        return tape_eq_escaped(t, i, text);
    return n->len == text.len && (text.len == 0 || memcmp(t->src.ptr + n->start, text.ptr, text.len) == 0);
}
/* One of the texts? The list ends with NULL, and may be NULL. */
bool tape_eq_any(const struct tape *t, uint32_t i, const char *const *texts);
/* Decoded text of a string: borrowed from the source when it has no escapes, else built in the arena. Empty
 * for other types. */
struct slice tape_text(const struct tape *t, uint32_t i, struct arena *a);
/* The text of a member; empty when it is absent or no string. */
struct slice tape_text_of(const struct tape *t, uint32_t obj, const char *key, struct arena *a);
/* Decodes one escape (at most 4 bytes) or one byte at *p inside a parsed string. Advances *p and returns the
 * number of bytes written to `out`. */
size_t tape_unescape(const char **p, char *out);
/* Exact: false for fractions, exponents, other types and what does not fit. */
bool tape_int(const struct tape *t, uint32_t i, int64_t *ret_value);
bool tape_double(const struct tape *t, uint32_t i, double *ret_value);

/* Walks: for arrays i is each element, for objects `key` each key and key + 1 its value. */
#define TAPE_FOR_ELEM(t, arr, i)                                                                             \
    for (uint32_t i = (arr) + 1; i < (t)->nodes[arr].next; i = (t)->nodes[i].next)
#define TAPE_FOR_MEMBER(t, obj, key)                                                                         \
    for (uint32_t key = (obj) + 1; key < (t)->nodes[obj].next; key = (t)->nodes[key + 1].next)

/* Frees memory that an unusually large text allocated. */
void tape_trim(struct tape *t);

/* Up to the first byte that is not plain inside a string: quote, backslash, control, or not ASCII. */
const unsigned char *tape_skip_plain(const unsigned char *p, const unsigned char *end);
/* Well-formed UTF-8 without surrogates or overlong forms? */
bool tape_utf8_valid(struct slice s);
