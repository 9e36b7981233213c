/* JSON writer: appends values to a buf and inserts commas. */
#pragma once

#include "base/buf.h"
#include "wire/limits.h"

struct emit {
    struct buf *out;
    uint32_t depth;
    uint64_t comma; /* one bit per level: set after the first value */
    bool after_key;
};

void emit_init(struct emit *e, struct buf *out);
void emit_object(struct emit *e);
void emit_object_end(struct emit *e);
void emit_array(struct emit *e);
void emit_array_end(struct emit *e);
void emit_key(struct emit *e, const char *key);
void emit_key_slice(struct emit *e, struct slice key);
void emit_key_raw(struct emit *e, struct slice json); /* a key as written in a text, with its quotes */
void emit_str(struct emit *e, struct slice text);     /* bytes that are not UTF-8 become U+FFFD */
void emit_cstr(struct emit *e, const char *text);
void emit_int(struct emit *e, int64_t value);
void emit_double(struct emit *e, double value); /* shortest text that reads back; not finite becomes null */
void emit_bool(struct emit *e, bool value);
void emit_null(struct emit *e);
void emit_raw(struct emit *e, struct slice json); /* a complete JSON value, as it is */

/* A member with a text; nothing for an empty one. */
void emit_text(struct emit *e, const char *key, struct slice text);
/* A member with a time as RFC 3339 writes it; nothing for 0. */
void emit_time(struct emit *e, const char *key, uint64_t wall_ms);
/* A member with a list of strings. */
void emit_strings(struct emit *e, const char *key, const char *const *items, size_t count);

/* Indents a complete JSON value without white space by two spaces per level. Empty lists and objects stay on
 * one line. */
bool emit_indented(struct buf *out, struct slice json);
/* Escapes text without adding quotes. */
bool emit_escape(struct buf *out, struct slice text);
/* The string with its quotes, without comma handling. */
bool emit_quote(struct buf *out, struct slice text);
