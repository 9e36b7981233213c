#include "wire/toml.h"

#include "base/map.h"
#include "wire/emit.h"
#include "wire/tape.h"

struct reader {
    struct slice src;
    size_t at;
    struct arena *arena;
    struct toml *to;
    size_t cap;
    struct map seen;                  /* paths of pairs and of headers that may stand once */
    struct slice path[TOML_PATH_MAX]; /* of the table that is open, then of the pair */
    uint32_t table_depth;             /* as far as a header or an inline table gives it */
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

static void skip_comment(struct reader *r) {
    if (peek(r) != '#')
        return;
    const char *end = memchr(r->src.ptr + r->at, '\n', r->src.len - r->at);
    r->at = end ? (size_t)(end - r->src.ptr) : r->src.len;
}

/* White space, line ends and comments, as they may stand inside a list. */
static void skip_lines(struct reader *r) {
    for (;;) {
        skip_spaces(r);
        skip_comment(r);
        if (peek(r) != '\n' && peek(r) != '\r')
            return;
        r->at++;
    }
}

/* Nothing but a comment may follow on a line. */
static int end_line(struct reader *r) {
    skip_spaces(r);
    skip_comment(r);
    if (peek(r) == '\r' && r->at + 1 < r->src.len && r->src.ptr[r->at + 1] == '\n')
        r->at++;
    if (at_end(r))
        return 0;
    if (peek(r) != '\n')
        return fault(r, "more than one value on a line");
    r->at++;
    return 0;
}

/* ---- strings ---- */

/* Is there a quote three times? */
static bool triple(const struct slice *s, size_t at, char quote) {
    return s->len - at >= 3 && s->ptr[at] == quote && s->ptr[at + 1] == quote && s->ptr[at + 2] == quote;
}

/* Moves behind a string that begins here. */
static int skip_string(struct reader *r) {
    const char quote = peek(r);
    if (triple(&r->src, r->at, quote)) {
        for (r->at += 3; !at_end(r); r->at++) {
            if (quote == '"' && peek(r) == '\\') {
                r->at++;
            } else if (triple(&r->src, r->at, quote)) {
                r->at += 3;
                /* One or two quotes may stand right before the closing ones. */
                for (int more = 0; more < 2 && peek(r) == quote; more++)
                    r->at++;
                return 0;
            }
        }
        return fault(r, "a string does not end");
    }
    for (r->at++; !at_end(r) && peek(r) != '\n'; r->at++) {
        if (quote == '"' && peek(r) == '\\')
            r->at++;
        else if (peek(r) == quote) {
            r->at++;
            return 0;
        }
    }
    return fault(r, "a string does not end");
}

static void put_code_point(struct buf *out, uint32_t c) {
    char bytes[4];
    size_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    if (len == 1) {
        bytes[0] = (char)c;
    } else {
        for (size_t i = len; i-- > 1; c >>= 6)
            bytes[i] = (char)(0x80 | (c & 0x3f));
        bytes[0] = (char)((0xf0u << (4 - len) & 0xff) | c);
    }
    buf_put(out, bytes, len);
}

static bool put_hex(struct slice body, size_t *at, size_t digits, struct buf *out) {
    uint32_t c = 0;
    for (size_t i = 0; i < digits; i++) {
        char d = *at < body.len ? body.ptr[(*at)++] : ' ';
        int v = d >= '0' && d <= '9'   ? d - '0'
                : d >= 'a' && d <= 'f' ? d - 'a' + 10
                : d >= 'A' && d <= 'F' ? d - 'A' + 10
                                       : -1;
        if (v < 0)
            return false;
        c = c << 4 | (uint32_t)v;
    }
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return false;
    put_code_point(out, c);
    return true;
}

/* What stands behind a backslash; *at is there. */
static bool put_escape(struct slice body, size_t *at, struct buf *out) {
    static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
    char c = *at < body.len ? body.ptr[*at] : ' ';
    const char *found = c ? strchr(from, c) : NULL;
    if (found) {
        ++*at;
        return buf_put_char(out, to[found - from]);
    }
    if (c == 'u' || c == 'U') {
        ++*at;
        return put_hex(body, at, c == 'u' ? 4 : 8, out);
    }
    /* In a string of several lines: a line end and the white space behind it are not there. */
    size_t end = *at;
    bool newline = false;
    while (end < body.len && strchr(" \t\r\n", body.ptr[end]) && body.ptr[end])
        newline |= body.ptr[end++] == '\n';
    *at = end;
    return newline;
}

/* A whole string with its quotes, decoded. */
static bool decode_string(struct slice raw, struct arena *a, struct slice *ret_text) {
    const bool literal = raw.ptr[0] == '\'', lines = raw.len >= 6 && triple(&raw, 0, raw.ptr[0]);
    const size_t quotes = lines ? 3 : 1;
    struct slice body = slice_of(raw.ptr + quotes, raw.len - 2 * quotes);
    if (lines && body.len && body.ptr[0] == '\n')
        body = slice_from(body, 1);
    else if (lines && slice_starts(body, SLICE("\r\n")))
        body = slice_from(body, 2);
    cleanup_buf struct buf out;
    buf_init(&out, raw.len * 2 + 8);
    for (size_t at = 0; at < body.len;) {
        char c = body.ptr[at++];
        if (c != '\\' || literal)
            buf_put_char(&out, c);
        else if (!put_escape(body, &at, &out))
            return false;
    }
    *ret_text = arena_dup(a, buf_slice(&out));
    return tape_utf8_valid(*ret_text) && !memchr(ret_text->ptr, '\0', ret_text->len);
}

/* ---- keys ---- */

static bool bare_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static int read_key_part(struct reader *r, struct slice *ret_part) {
    size_t start = r->at;
    if (peek(r) == '"' || peek(r) == '\'') {
        if (triple(&r->src, r->at, peek(r)))
            return fault(r, "a key cannot have several lines");
        if (skip_string(r) < 0)
            return -1;
        struct slice raw = slice_of(r->src.ptr + start, r->at - start);
        return decode_string(raw, r->arena, ret_part) ? 0 : fault(r, "a key is not valid text");
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

/* ---- items ---- */

static struct toml_item *add_item(struct reader *r, enum toml_kind kind, uint32_t depth) {
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
    *item = (struct toml_item){.kind = kind, .path = path, .depth = depth};
    return item;
}

/* True when this path was there. Each part goes with its length: no two paths look the same. */
static bool seen_before(struct reader *r, char kind, uint32_t depth) {
    cleanup_buf struct buf key;
    buf_init(&key, TREE_BYTES_MAX);
    buf_put_char(&key, kind);
    for (uint32_t i = 0; i < depth; i++)
        buf_printf(&key, "%zu:%.*s", r->path[i].len, SLICE_FMT(r->path[i]));
    return map_put(&r->seen, arena_dup(r->arena, buf_slice(&key)), r) != NULL;
}

static int read_header(struct reader *r) {
    uint32_t depth;
    size_t start = r->at++;
    const bool array = peek(r) == '[';
    r->at += array;
    skip_spaces(r);
    if (read_key(r, 0, &depth) < 0)
        return -1;
    if (peek(r) != ']' || (array && (r->at + 1 >= r->src.len || r->src.ptr[r->at + 1] != ']')))
        return fault(r, "a table's name does not end");
    r->at += array ? 2 : 1;
    if (!array && seen_before(r, 't', depth))
        return fault(r, "a table is there twice");
    struct toml_item *item = add_item(r, array ? TOML_HEADER_ARRAY : TOML_HEADER, depth);
    item->start = (uint32_t)start;
    item->end = (uint32_t)r->at;
    r->table_depth = depth;
    return end_line(r);
}

/* Moves behind a list, whatever is in it. */
static int skip_array(struct reader *r) {
    char open[TOML_NEST_MAX];
    uint32_t depth = 0;
    do {
        skip_lines(r);
        char c = peek(r);
        if (at_end(r))
            return fault(r, "a list does not end");
        if (c == '"' || c == '\'') {
            if (skip_string(r) < 0)
                return -1;
            continue;
        }
        if (c == '[' || c == '{') {
            if (depth == TOML_NEST_MAX)
                return fault(r, "lists are nested too deep");
            open[depth++] = c == '[' ? ']' : '}';
        } else if (c == ']' || c == '}') {
            if (open[--depth] != c)
                return fault(r, "brackets do not match");
        } else if (!bare_char(c) && !strchr(",=.:+", c)) {
            return fault(r, "not a value");
        }
        r->at++;
    } while (depth);
    return 0;
}

static int skip_plain(struct reader *r) {
    size_t start = r->at;
    while (bare_char(peek(r)) || (peek(r) && strchr(".:+", peek(r))) ||
           (peek(r) == ' ' && r->at > start && r->at + 1 < r->src.len && r->src.ptr[r->at + 1] >= '0' &&
            r->src.ptr[r->at + 1] <= '9'))
        r->at++;
    return r->at > start ? 0 : fault(r, "not a value");
}

/* The value of a pair, but for what an inline table holds. */
static int read_value(struct reader *r, struct toml_item *item) {
    char c = peek(r);
    item->value = (uint32_t)r->at;
    item->type = c == '"' || c == '\'' ? TOML_STRING
                 : c == '['            ? TOML_ARRAY
                 : c == '{'            ? TOML_TABLE
                                       : TOML_PLAIN;
    if (item->type == TOML_TABLE)
        return 0;
    int rc = item->type == TOML_STRING  ? skip_string(r)
             : item->type == TOML_ARRAY ? skip_array(r)
                                        : skip_plain(r);
    item->end = (uint32_t)r->at;
    return rc;
}

/* Inline tables that are open: what the path was before each, and which item it is. */
struct open_table {
    uint32_t depth;
    size_t item;
};

/* A pair's key, `=` and value; opens an inline table when that is the value. */
static int read_one_pair(struct reader *r, bool inner, struct open_table *open, uint32_t *open_count) {
    uint32_t depth;
    size_t start = r->at;
    if (read_key(r, r->table_depth, &depth) < 0)
        return -1;
    if (peek(r) != '=')
        return fault(r, "`=` was expected");
    r->at++;
    skip_spaces(r);
    if (seen_before(r, 'p', depth))
        return fault(r, "a key is there twice");
    struct toml_item *item = add_item(r, TOML_PAIR, depth);
    item->start = (uint32_t)start;
    item->inner = inner;
    if (read_value(r, item) < 0)
        return -1;
    if (item->type != TOML_TABLE)
        return 0;
    if (*open_count == TOML_NEST_MAX)
        return fault(r, "tables are nested too deep");
    open[(*open_count)++] = (struct open_table){r->table_depth, r->to->count - 1};
    r->table_depth = depth;
    r->at++;
    return 0;
}

/* One line's pair, with everything that inline tables in it hold. */
static int read_pair(struct reader *r) {
    struct open_table open[TOML_NEST_MAX];
    uint32_t count = 0;
    if (read_one_pair(r, false, open, &count) < 0)
        return -1;
    bool first = true; /* in the table that was opened last */
    while (count) {
        skip_spaces(r);
        if (peek(r) == '}') {
            r->at++;
            struct open_table *t = &open[--count];
            r->to->items[t->item].end = (uint32_t)r->at;
            r->table_depth = t->depth;
            first = false;
            continue;
        }
        if (!first && peek(r) != ',')
            return fault(r, "an inline table does not end");
        r->at += !first;
        skip_spaces(r);
        uint32_t before = count;
        if (read_one_pair(r, true, open, &count) < 0)
            return -1;
        first = count > before;
    }
    return end_line(r);
}

int toml_parse(struct slice src, struct arena *a, struct toml *ret_toml, struct err *err) {
    struct reader r = {.src = src, .arena = a, .to = ret_toml, .err = err};
    *ret_toml = (struct toml){.src = src};
    if (src.len > TREE_BYTES_MAX)
        return err_set(err, "larger than %u bytes", TREE_BYTES_MAX);
    if (!tape_utf8_valid(src) || (src.len && memchr(src.ptr, '\0', src.len)))
        return err_set(err, "not valid UTF-8");
    map_init(&r.seen);
    if (slice_starts(src, SLICE("\xef\xbb\xbf")))
        r.at = 3;
    int rc = 0;
    for (skip_lines(&r); rc == 0 && !at_end(&r); skip_lines(&r))
        rc = peek(&r) == '[' ? read_header(&r) : read_pair(&r);
    map_free(&r.seen);
    return rc;
}

/* ---- asking ---- */

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
        if (t->items[i].kind == TOML_PAIR && t->items[i].depth == depth &&
            toml_below(&t->items[i], path, depth))
            return &t->items[i];
    return NULL;
}

bool toml_text(const struct toml *t, const struct toml_item *item, struct arena *a, struct slice *ret_text) {
    return item->type == TOML_STRING &&
           decode_string(slice_of(t->src.ptr + item->value, item->end - item->value), a, ret_text);
}

/* A number as JSON has them, true or false; dates and other ways to write numbers are not. */
static bool put_plain(struct slice raw, struct buf *out) {
    cleanup_tape struct tape tape;
    tape_init(&tape);
    return tape_parse(&tape, raw, NULL) == TAPE_OK && buf_put_slice(out, raw);
}

/* A list of scalars; lists and tables in it are not taken. */
static bool put_list(struct slice raw, struct arena *a, struct buf *out) {
    struct err ignored;
    struct reader r = {.src = raw, .at = 1, .arena = a, .err = &ignored};
    buf_put_char(out, '[');
    for (bool first = true;; first = false) {
        skip_lines(&r);
        if (!first && peek(&r) == ',') {
            r.at++;
            skip_lines(&r);
        } else if (!first && peek(&r) != ']') {
            return false;
        }
        if (peek(&r) == ']')
            return buf_put_char(out, ']') && r.at + 1 == raw.len;
        struct toml_item item = {0};
        struct toml list = {.src = raw};
        struct slice text;
        if (read_value(&r, &item) < 0 || item.type == TOML_ARRAY || item.type == TOML_TABLE)
            return false;
        if (!first)
            buf_put_char(out, ',');
        if (item.type == TOML_STRING ? !toml_text(&list, &item, a, &text) || !emit_quote(out, text)
                                     : !put_plain(slice_of(raw.ptr + item.value, item.end - item.value), out))
            return false;
    }
}

static bool put_scalar(const struct toml *t, const struct toml_item *item, struct arena *a, struct buf *out) {
    struct slice text, raw = slice_of(t->src.ptr + item->value, item->end - item->value);
    switch (item->type) {
    case TOML_STRING:
        return toml_text(t, item, a, &text) && emit_quote(out, text);
    case TOML_PLAIN:
        return put_plain(raw, out);
    case TOML_ARRAY:
        return put_list(raw, a, out);
    default:
        return false;
    }
}

bool toml_json(const struct toml *t, const struct toml_item *item, struct arena *a, struct buf *out) {
    if (item->type != TOML_TABLE)
        return put_scalar(t, item, a, out);
    bool any = false;
    buf_put_char(out, '{');
    for (const struct toml_item *i = item + 1; i < t->items + t->count && i->inner && i->start < item->end;
         i++) {
        if (i->depth != item->depth + 1)
            return false;
        if (any)
            buf_put_char(out, ',');
        any = true;
        emit_quote(out, i->path[item->depth]);
        buf_put_char(out, ':');
        if (!put_scalar(t, i, a, out))
            return false;
    }
    return buf_put_char(out, '}');
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
        buf_put_str(out, more ? "\\u007F" : ""); /* JSON leaves it as it is, TOML does not */
    } while (more);
    buf_put_char(out, '"');
}
