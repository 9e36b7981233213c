/* TOML 1.0, as far as an editor needs it that changes some values and leaves every other byte as it was:
 * where tables and values stand, under which keys, and what they say. Everything is checked, what no caller
 * asks for too: a file that another reader of TOML refuses must not look right here.
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
/* Does its path begin with these? */
bool toml_below(const struct toml_item *item, const struct slice *path, size_t depth);
/* The pair at exactly this path, or NULL. Those inside arrays of tables are not looked at. */
const struct toml_item *toml_find(const struct toml *t, const struct slice *path, size_t depth);
/* A string's text, decoded, in the arena. False for other types, and when it holds U+0000. */
bool toml_text(const struct toml *t, const struct toml_item *item, struct arena *a, struct slice *ret_text);
/* As JSON. False for what JSON cannot say (times, infinities) and for an inline table with dotted keys. */
bool toml_json(const struct toml *t, const struct toml_item *item, struct arena *a, struct buf *out);
/* Where the line begins that holds this byte, and where the next one does. */
uint32_t toml_line_start(const struct toml *t, uint32_t at);
uint32_t toml_line_end(const struct toml *t, uint32_t at);
/* Where the first element of a list stands, or its closing bracket; false when it is no list. */
bool toml_array_first(const struct toml *t, const struct toml_item *item, uint32_t *ret_at, bool *ret_empty);
/* A string as TOML writes it. */
void toml_quote(struct buf *out, struct slice text);
