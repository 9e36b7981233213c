/* Each table has a number. A name is identified by the number of its table and its own bytes, and its kind
 * decides whether TOML allows it to be defined again.
 *
 *   [a.b]       a: IMPLIED by the header   a.b: TABLE
 *   c.d = 1     a.b.c: DOTTED              a.b.c.d: VALUE
 *   [[e]]       e: LIST, and its number is that of the element that is open */
#include "wire/toml.h"

#include "base/map.h"
#include "wire/emit.h"
#include "wire/tape.h"
#include "wire/toml_scalar.h"

enum name_kind { NAME_VALUE, NAME_IMPLIED, NAME_TABLE, NAME_DOTTED, NAME_LIST };

struct name {
    enum name_kind kind;
    uint32_t table;
};

/* A list or an inline table that is open. */
struct frame {
    bool list;
    bool any, comma; /* a value was read; a comma follows it */
    uint32_t table;  /* the table and path depth to return to when this one closes */
    uint32_t table_depth;
    size_t item; /* the item of the value; NO_ITEM inside a list */
};

#define NO_ITEM SIZE_MAX

struct reader {
    struct slice src;
    size_t at;
    struct arena *arena;
    struct toml *to;
    size_t cap;
    struct map names;
    uint32_t tables; /* numbers assigned so far; the file itself is table 0 */
    uint32_t table;  /* the open table, and the length of its path */
    uint32_t table_depth;
    bool listed;                      /* the open table is, or is inside, an element of an array of tables */
    struct slice path[TOML_PATH_MAX]; /* of the open table, then of the pair */
    struct frame open[TOML_NEST_MAX];
    uint32_t open_count;
    uint32_t lists; /* lists among them */
    struct err *err;
};

/* ---- characters ---- */

static int fault(struct reader *r, const char *what) {
    size_t line = 1;
    for (size_t i = 0; i < r->at && i < r->src.len; i++)
        line += r->src.ptr[i] == '\n';
    return err_set(r->err, "line %zu: %s", line, what);
}

static char peek(const struct reader *r) { return r->at < r->src.len ? r->src.ptr[r->at] : '\0'; }
static bool at_end(const struct reader *r) { return r->at >= r->src.len; }

static void skip_spaces(struct reader *r) {
    while (peek(r) == ' ' || peek(r) == '\t')
        r->at++;
}

static bool at_line_end(const struct reader *r) {
    return peek(r) == '\n' || (peek(r) == '\r' && r->at + 1 < r->src.len && r->src.ptr[r->at + 1] == '\n');
}

static int skip_comment(struct reader *r) {
    if (peek(r) != '#')
        return 0;
    for (; !at_end(r) && !at_line_end(r); r->at++)
        if (((unsigned char)peek(r) < 0x20 && peek(r) != '\t') || peek(r) == 0x7f)
            return fault(r, "a comment has a control character; remove it");
    return 0;
}

/* White space, line ends and comments, as they may stand inside a list and between lines. */
static int skip_lines(struct reader *r) {
    for (;;) {
        skip_spaces(r);
        if (skip_comment(r) < 0)
            return -1;
        if (!at_line_end(r))
            return 0;
        r->at += peek(r) == '\r' ? 2 : 1;
    }
}

/* Only a comment may follow on a line. */
static int end_line(struct reader *r) {
    skip_spaces(r);
    if (skip_comment(r) < 0)
        return -1;
    return at_end(r) || at_line_end(r) ? 0 : fault(r, "more than one value on a line");
}

/* ---- keys ---- */

static bool bare_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static int skip_string(struct reader *r) {
    const char *wrong = toml_skip_string(r->src, &r->at);
    return wrong ? fault(r, wrong) : 0;
}

static int read_key_part(struct reader *r, struct slice *ret_part) {
    size_t start = r->at;
    const char quote = peek(r);
    if (quote == '"' || quote == '\'') {
        if (slice_starts(slice_from(r->src, start), quote == '"' ? SLICE("\"\"\"") : SLICE("'''")))
            return fault(r, "a key cannot have several lines");
        if (skip_string(r) < 0)
            return -1;
        struct slice raw = slice_of(r->src.ptr + start, r->at - start);
        return toml_decode_string(raw, r->arena, ret_part) ? 0 : fault(r, "a key holds U+0000; rename it");
    }
    while (bare_char(peek(r)))
        r->at++;
    *ret_part = slice_of(r->src.ptr + start, r->at - start);
    return ret_part->len ? 0 : fault(r, "a key was expected");
}

/* a.b."c d" behind the first `depth` parts of the path. */
static int read_key(struct reader *r, uint32_t depth, uint32_t *ret_depth) {
    for (;;) {
        if (depth == TOML_PATH_MAX)
            return fault(r, "keys are nested too deep");
        if (read_key_part(r, &r->path[depth++]) < 0)
            return -1;
        skip_spaces(r);
        if (peek(r) != '.')
            break;
        r->at++;
        skip_spaces(r);
    }
    *ret_depth = depth;
    return 0;
}

/* ---- names ---- */

static uint32_t new_table(struct reader *r) { return ++r->tables; }

/* The name of this key in this table; a new one gets the kind `fresh` and a table number. */
static struct name *name_in(struct reader *r, uint32_t table, struct slice key, enum name_kind fresh,
                            bool *ret_fresh) {
    struct slice full = arena_join(r->arena, slice_of((const char *)&table, sizeof(table)), key);
    struct name *name = map_get(&r->names, full);
    *ret_fresh = !name;
    if (name)
        return name;
    name = arena_new(r->arena, struct name);
    *name = (struct name){fresh, new_table(r)};
    map_put(&r->names, full, name);
    return name;
}

/* The table that all parts but the last of a header name. */
static int walk_header(struct reader *r, uint32_t depth, uint32_t *ret_table) {
    *ret_table = 0;
    r->listed = false;
    for (uint32_t i = 0; i + 1 < depth; i++) {
        bool fresh;
        const struct name *name = name_in(r, *ret_table, r->path[i], NAME_IMPLIED, &fresh);
        if (name->kind == NAME_VALUE)
            return fault(r, "a table's name goes through a key that has a value");
        r->listed |= name->kind == NAME_LIST;
        *ret_table = name->table;
    }
    return 0;
}

static int open_table(struct reader *r, uint32_t depth) {
    uint32_t table;
    bool fresh;
    if (walk_header(r, depth, &table) < 0)
        return -1;
    struct name *name = name_in(r, table, r->path[depth - 1], NAME_TABLE, &fresh);
    if (!fresh && name->kind != NAME_IMPLIED)
        return fault(r, "a table is there twice");
    name->kind = NAME_TABLE;
    r->table = name->table;
    return 0;
}

static int open_element(struct reader *r, uint32_t depth) {
    uint32_t table;
    bool fresh;
    if (walk_header(r, depth, &table) < 0)
        return -1;
    struct name *name = name_in(r, table, r->path[depth - 1], NAME_LIST, &fresh);
    if (name->kind != NAME_LIST)
        return fault(r, "an array of tables has the name of something else");
    name->table = r->table = new_table(r);
    r->listed = true;
    return 0;
}

/* Defines the name of a pair in the open table, through its dotted parts. */
static int name_pair(struct reader *r, uint32_t depth) {
    uint32_t table = r->table;
    bool fresh;
    for (uint32_t i = r->table_depth; i + 1 < depth; i++) {
        const struct name *name = name_in(r, table, r->path[i], NAME_DOTTED, &fresh);
        if (name->kind != NAME_DOTTED)
            return fault(r, "a dotted key adds to something that is defined elsewhere");
        table = name->table;
    }
    name_in(r, table, r->path[depth - 1], NAME_VALUE, &fresh);
    return fresh ? 0 : fault(r, "a key is there twice");
}

/* ---- items ---- */

static struct toml_item *add_item(struct reader *r, enum toml_kind kind, uint32_t depth, size_t start) {
    struct toml *t = r->to;
    if (t->count == r->cap) {
        r->cap = r->cap ? r->cap * 2 : 64;
        struct toml_item *more = arena_array(r->arena, struct toml_item, r->cap);
        if (t->count)
            memcpy(more, t->items, t->count * sizeof(*more));
        t->items = more;
    }
    struct slice *path = arena_array(r->arena, struct slice, depth + 1);
    memcpy(path, r->path, depth * sizeof(*path));
    struct toml_item *item = &t->items[t->count++];
    *item = (struct toml_item){
        .kind = kind, .path = path, .depth = depth, .start = (uint32_t)start, .listed = r->listed};
    return item;
}

static int read_header(struct reader *r) {
    uint32_t depth = 0;
    size_t start = r->at++;
    const bool array = peek(r) == '[';
    r->at += array;
    skip_spaces(r);
    if (read_key(r, 0, &depth) < 0)
        return -1;
    if (!slice_starts(slice_from(r->src, r->at), array ? SLICE("]]") : SLICE("]")))
        return fault(r, "a table's name does not end");
    r->at += array ? 2 : 1;
    if (array ? open_element(r, depth) < 0 : open_table(r, depth) < 0)
        return -1;
    add_item(r, array ? TOML_HEADER_ARRAY : TOML_HEADER, depth, start)->end = (uint32_t)r->at;
    r->table_depth = depth;
    return end_line(r);
}

/* ---- values ---- */

static void end_item(struct reader *r, size_t item) {
    if (item != NO_ITEM)
        r->to->items[item].end = (uint32_t)r->at;
}

static int open_frame(struct reader *r, size_t item, uint32_t depth) {
    if (r->open_count == TOML_NEST_MAX)
        return fault(r, "lists and tables are nested too deep");
    const bool list = peek(r) == '[';
    r->open[r->open_count++] =
        (struct frame){.list = list, .table = r->table, .table_depth = r->table_depth, .item = item};
    r->lists += list;
    r->at++;
    if (list)
        return 0;
    r->table = new_table(r);
    r->table_depth = depth;
    return 0;
}

static void close_frame(struct reader *r) {
    const struct frame *f = &r->open[--r->open_count];
    r->at++;
    r->lists -= f->list;
    r->table = f->table;
    r->table_depth = f->table_depth;
    end_item(r, f->item);
}

/* A value of a pair whose path has this depth, or of a list. The contents of a list or an inline table are
 * read later. */
static int read_value(struct reader *r, size_t item, uint32_t depth) {
    const char c = peek(r);
    const enum toml_type type = c == '"' || c == '\'' ? TOML_STRING
                                : c == '['            ? TOML_ARRAY
                                : c == '{'            ? TOML_TABLE
                                                      : TOML_PLAIN;
    if (item != NO_ITEM) {
        r->to->items[item].type = type;
        r->to->items[item].value = (uint32_t)r->at;
    }
    if (type == TOML_ARRAY || type == TOML_TABLE)
        return open_frame(r, item, depth);
    if (type == TOML_STRING) {
        if (skip_string(r) < 0)
            return -1;
    } else {
        struct slice rest = slice_from(r->src, r->at);
        size_t len = toml_plain_len(rest);
        if (toml_plain_kind(slice_upto(rest, len)) == TOML_PLAIN_BAD)
            return fault(r, len ? "not a value of TOML 1.0; a text needs quotes" : "a value was expected");
        r->at += len;
    }
    end_item(r, item);
    return 0;
}

/* A key, `=` and the value's beginning. Pairs inside lists have no item: no path leads there. */
static int read_one_pair(struct reader *r) {
    uint32_t depth = 0;
    size_t start = r->at, item = NO_ITEM;
    if (read_key(r, r->table_depth, &depth) < 0)
        return -1;
    if (peek(r) != '=')
        return fault(r, "`=` was expected");
    r->at++;
    skip_spaces(r);
    if (name_pair(r, depth) < 0)
        return -1;
    if (!r->lists) {
        item = r->to->count;
        add_item(r, TOML_PAIR, depth, start)->inner = r->open_count > 0;
    }
    return read_value(r, item, depth);
}

/* Reads the next part of the innermost open list or inline table. */
static int read_inside(struct reader *r) {
    struct frame *f = &r->open[r->open_count - 1];
    if (!f->list)
        skip_spaces(r);
    else if (skip_lines(r) < 0)
        return -1;
    if (peek(r) == (f->list ? ']' : '}')) {
        if (!f->list && f->comma)
            return fault(r, "an inline table ends with a comma; remove it");
        close_frame(r);
        return 0;
    }
    if (f->any && !f->comma) {
        if (peek(r) != ',')
            return fault(r, f->list ? "a list does not end" : "an inline table does not end on its line");
        f->comma = true;
        r->at++;
        return 0;
    }
    f->any = true;
    f->comma = false;
    return f->list ? read_value(r, NO_ITEM, r->table_depth) : read_one_pair(r);
}

/* Reads one pair with its entire value. */
static int read_pair(struct reader *r) {
    if (read_one_pair(r) < 0)
        return -1;
    while (r->open_count)
        if (read_inside(r) < 0)
            return -1;
    return end_line(r);
}

static int read_all(struct reader *r) {
    if (slice_starts(r->src, SLICE("\xef\xbb\xbf")))
        r->at = 3;
    for (;;) {
        if (skip_lines(r) < 0)
            return -1;
        if (at_end(r))
            return 0;
        if (peek(r) == '[' ? read_header(r) < 0 : read_pair(r) < 0)
            return -1;
    }
}

int toml_parse(struct slice src, struct arena *a, struct toml *ret_toml, struct err *err) {
    struct reader r = {.src = src, .arena = a, .to = ret_toml, .err = err};
    *ret_toml = (struct toml){.src = src};
    if (src.len > TREE_BYTES_MAX)
        return err_set(err, "larger than %u bytes", TREE_BYTES_MAX);
    if (!tape_utf8_valid(src) || (src.len && memchr(src.ptr, '\0', src.len)))
        return err_set(err, "not valid UTF-8");
    map_init(&r.names);
    int rc = read_all(&r);
    map_free(&r.names);
    return rc;
}

/* ---- queries ---- */

bool toml_below(const struct toml_item *item, const struct slice *path, size_t depth) {
    if (item->depth < depth)
        return false;
    for (size_t i = 0; i < depth; i++)
        if (!slice_eq(item->path[i], path[i]))
            return false;
    return true;
}

const struct toml_item *toml_find(const struct toml *t, const struct slice *path, size_t depth) {
    for (size_t i = 0; i < t->count; i++)
        if (t->items[i].kind == TOML_PAIR && !t->items[i].listed && t->items[i].depth == depth &&
            toml_below(&t->items[i], path, depth))
            return &t->items[i];
    return NULL;
}

bool toml_text(const struct toml *t, const struct toml_item *item, struct arena *a, struct slice *ret_text) {
    return item->type == TOML_STRING &&
           toml_decode_string(slice_of(t->src.ptr + item->value, item->end - item->value), a, ret_text);
}

/* Writes one part of a value, checked before, as JSON. False for values that JSON does not have, and for
 * dotted keys, whose table would have to be collected first. */
static bool put_part(struct reader *r, struct buf *out) {
    struct slice rest = slice_from(r->src, r->at), text;
    const bool list = r->open[r->open_count - 1].list;
    size_t start = r->at;
    if (!list) {
        if (read_key_part(r, &text) < 0 || !emit_quote(out, text))
            return false;
        skip_spaces(r);
        if (peek(r) != '=')
            return false;
        r->at++;
        skip_spaces(r);
        buf_put_char(out, ':');
        start = r->at;
        rest = slice_from(r->src, start);
    }
    if (peek(r) == '[' || peek(r) == '{')
        return buf_put_char(out, peek(r)) && open_frame(r, NO_ITEM, 0) == 0;
    if (peek(r) == '"' || peek(r) == '\'')
        return skip_string(r) == 0 &&
               toml_decode_string(slice_of(r->src.ptr + start, r->at - start), r->arena, &text) &&
               emit_quote(out, text);
    size_t len = toml_plain_len(rest);
    r->at += len;
    return toml_plain_json(slice_upto(rest, len), out);
}

bool toml_json(const struct toml *t, const struct toml_item *item, struct arena *a, struct buf *out) {
    struct err ignored;
    struct slice raw = slice_of(t->src.ptr + item->value, item->end - item->value);
    struct reader r = {.src = raw, .arena = a, .err = &ignored, .open = {{.list = true}}, .open_count = 1};
    if (!put_part(&r, out))
        return false;
    while (r.open_count > 1) {
        struct frame *f = &r.open[r.open_count - 1];
        const char close = f->list ? ']' : '}';
        skip_lines(&r);
        if (peek(&r) == ',') {
            r.at++;
        } else if (peek(&r) == close) {
            buf_put_char(out, close);
            close_frame(&r);
        } else {
            if (f->any)
                buf_put_char(out, ',');
            f->any = true;
            if (!put_part(&r, out))
                return false;
        }
    }
    return !out->full;
}

uint32_t toml_line_start(const struct toml *t, uint32_t at) {
    while (at && t->src.ptr[at - 1] != '\n')
        at--;
    return at;
}

uint32_t toml_line_end(const struct toml *t, uint32_t at) {
    const char *end = at < t->src.len ? memchr(t->src.ptr + at, '\n', t->src.len - at) : NULL;
    return end ? (uint32_t)(end - t->src.ptr) + 1 : (uint32_t)t->src.len;
}

bool toml_array_first(const struct toml *t, const struct toml_item *item, uint32_t *ret_at, bool *ret_empty) {
    if (item->type != TOML_ARRAY)
        return false;
    struct err ignored;
    struct reader r = {.src = t->src, .at = item->value + 1, .err = &ignored};
    skip_lines(&r);
    *ret_at = (uint32_t)r.at;
    *ret_empty = peek(&r) == ']';
    return true;
}

void toml_quote(struct buf *out, struct slice text) {
    struct slice run;
    bool more;
    buf_put_char(out, '"');
    do {
        more = slice_cut(&text, 0x7f, &run);
        emit_escape(out, run);
        buf_put_str(out, more ? "\\u007F" : ""); /* JSON allows DEL in a string, TOML does not */
    } while (more);
    buf_put_char(out, '"');
}
