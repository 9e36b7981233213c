/* Edits of a text that leave every other byte unchanged. The edits are sorted; nothing is copied until the
 * result is read as pieces (for a gathered write) or as one buffer. */
#pragma once

#include "base/buf.h"
#include "wire/tape.h"

#define SPLICE_EDITS_MAX 1024

struct splice_edit {
    uint32_t start;
    uint32_t end;
    struct slice text; /* borrowed */
};

struct splice {
    struct slice src;
    struct splice_edit *edits; /* in the arena */
    uint32_t count;
    uint32_t cap;
    struct arena *arena;
};

void splice_init(struct splice *s, struct slice src, struct arena *a);
/* False when the edit overlaps another one or there are too many; the edit is then not applied. */
bool splice_replace(struct splice *s, uint32_t start, uint32_t end, struct slice text);
/* Adds edits that are sorted and disjoint, however many there are. False, and nothing is changed, when one
 * of them overlaps an existing edit. */
bool splice_merge(struct splice *s, const struct splice_edit *edits, size_t count);
/* Replaces a whole JSON value by other JSON text. */
bool splice_value(struct splice *s, const struct tape *t, uint32_t node, struct slice json);
/* Adds a member as the first of an object; `json` is the value. Must not be combined with dropping the last
 * existing member. */
bool splice_add_member(struct splice *s, const struct tape *t, uint32_t obj, struct slice key,
                       struct slice json);
/* Removes elements from an array, with their commas; `drop` says which (by node). */
bool splice_drop_elems(struct splice *s, const struct tape *t, uint32_t arr,
                       bool (*drop)(void *ctx, const struct tape *t, uint32_t elem), void *ctx);
/* Removes every member of that object whose key is one of these (NULL-terminated). */
bool splice_drop_members(struct splice *s, const struct tape *t, uint32_t obj, const char *const *keys);
/* Removes every member whose key is in `drop` (NULL-terminated, or NULL) and inserts `add`, the text of
 * other members without surrounding commas, before the remaining ones. At most one such edit per object. */
bool splice_edit_members(struct splice *s, const struct tape *t, uint32_t obj, const char *const *drop,
                         struct slice add);
size_t splice_len(const struct splice *s);
bool splice_write(const struct splice *s, struct buf *out);
/* Calls `piece` for each run of bytes of the result, in order; stops and returns false when it does. */
bool splice_pieces(const struct splice *s, bool (*piece)(void *ctx, struct slice bytes, bool borrowed_src),
                   void *ctx);
