/* JSON in the form that editors accept: with comments, trailing commas and a byte-order mark. These are
 * replaced by spaces in a copy that the tape parses, so offsets of the tape are offsets of the original
 * text, and an edit leaves every other byte unchanged. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "wire/splice.h"
#include "wire/tape.h"

struct jsonc {
    struct slice src; /* borrowed */
    struct buf plain; /* the same length; comments and trailing commas are spaces */
    struct tape tape; /* of `plain` */
};

void jsonc_init(struct jsonc *j);
void jsonc_free(struct jsonc *j);
static inline void jsonc_cleanup(struct jsonc *j) { jsonc_free(j); }
#define cleanup_jsonc __attribute__((cleanup(jsonc_cleanup)))

/* Errors read "line L: what". */
int jsonc_parse(struct jsonc *j, struct slice src, struct err *err);
/* Replaces comments, trailing commas and a byte-order mark by spaces, in place; line ends stay. False when a
 * comment is not closed; *ret_at is where it begins. */
bool jsonc_blank(char *text, size_t len, size_t *ret_at);
#define JSONC_OPEN_COMMENT "a comment that begins with `/*` does not end; close it with `*/`"

/* The edits below are made on a splice of j->src. */

/* Offset of a value's first byte, and the offset after its last byte. */
uint32_t jsonc_start(const struct jsonc *j, uint32_t node);
uint32_t jsonc_end(const struct jsonc *j, uint32_t node);
/* The white space before this value or key, when nothing else precedes it on its line. */
bool jsonc_indent(const struct jsonc *j, uint32_t node, struct slice *ret_indent);
/* The indentation of one level in this file; two spaces when the file has no example. */
struct slice jsonc_unit(const struct jsonc *j);
/* Puts elements (complete JSON values) in front of those of the array, laid out as they are. */
bool jsonc_prepend(const struct jsonc *j, struct splice *s, uint32_t arr, const struct slice *values,
                   size_t count);
/* Adds a member after the one with this key. */
bool jsonc_add_behind(const struct jsonc *j, struct splice *s, uint32_t key, struct slice name,
                      struct slice json);
/* Removes members by the nodes of their keys, in order. A line is removed with its member when it holds
 * nothing else. Comments between members stay. */
bool jsonc_drop_members(const struct jsonc *j, struct splice *s, uint32_t obj, const uint32_t *keys,
                        size_t count);
