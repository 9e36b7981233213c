/* TOML 1.0 for an editor that changes some values and leaves every other byte unchanged: where tables and
 * values are, their keys and their values. The entire file is checked, because a file that another TOML
 * parser refuses must not be accepted here.
 *
 *   [mcp_servers.files]          a header   path mcp_servers, files
 *   command = "npx"              a pair     path mcp_servers, files, command
 *   env = { A = "b" }            a pair     path ..., env; behind it an inner pair, path ..., env, A */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "wire/limits.h"

enum toml_kind { TOML_HEADER, TOML_HEADER_ARRAY, TOML_PAIR };
enum toml_type { TOML_NONE, TOML_STRING, TOML_PLAIN, TOML_ARRAY, TOML_TABLE };

struct toml_item {
    enum toml_kind kind;
    enum toml_type type;      /* of a pair's value; plain: a number, a truth value or a date, as written */
    const struct slice *path; /* decoded */
    uint32_t depth;
    uint32_t start;      /* of the bracket or the key */
    uint32_t value, end; /* the value's bytes; of a header `end` alone: behind its bracket */
    bool inner;          /* inside an inline table */
    bool listed;         /* inside an array of tables: others may have the same path */
};

struct toml {
    struct slice src;        /* borrowed */
    struct toml_item *items; /* in the order of the text */
    size_t count;
};

/* Memory comes from the arena. Errors read "line L: what". */
int toml_parse(struct slice src, struct arena *a, struct toml *ret_toml, struct err *err);
/* Does the item's path begin with this path? */
bool toml_below(const struct toml_item *item, const struct slice *path, size_t depth);
/* The pair at exactly this path, or NULL. Pairs inside arrays of tables are ignored. */
const struct toml_item *toml_find(const struct toml *t, const struct slice *path, size_t depth);
/* A string's text, decoded, in the arena. False for other types, and when it holds U+0000. */
bool toml_text(const struct toml *t, const struct toml_item *item, struct arena *a, struct slice *ret_text);
/* As JSON. False for values that JSON does not have (times, infinities) and for an inline table with dotted
 * keys. */
bool toml_json(const struct toml *t, const struct toml_item *item, struct arena *a, struct buf *out);
/* Offset of the start of the line that contains this byte, and of the next line. */
uint32_t toml_line_start(const struct toml *t, uint32_t at);
uint32_t toml_line_end(const struct toml *t, uint32_t at);
/* Offset of the first element of a list, or of its closing bracket; false when it is not a list. */
bool toml_array_first(const struct toml *t, const struct toml_item *item, uint32_t *ret_at, bool *ret_empty);
/* A string as TOML writes it. */
void toml_quote(struct buf *out, struct slice text);
