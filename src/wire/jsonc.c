#include "wire/jsonc.h"

#include "wire/emit.h"

void jsonc_init(struct jsonc *j) {
    *j = (struct jsonc){0};
    buf_init(&j->plain, TAPE_BYTES_MAX);
    tape_init(&j->tape);
}

void jsonc_free(struct jsonc *j) {
    buf_free(&j->plain);
    tape_free(&j->tape);
}

/* ---- reading ---- */

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* The first byte at or behind `at` that belongs neither to white space nor to a comment. A comment ends where
 * editors end it: at a line feed or a carriage return, even a lone one. One that is opened with a star and
 * not closed is no comment. */
static size_t skip_blank(struct slice text, size_t at) {
    while (at < text.len) {
        struct slice rest = slice_from(text, at);
        if (is_space(text.ptr[at])) {
            at++;
        } else if (slice_starts(rest, SLICE("//"))) {
            while (at < text.len && text.ptr[at] != '\n' && text.ptr[at] != '\r')
                at++;
        } else if (slice_starts(rest, SLICE("/*"))) {
            const char *end = memmem(rest.ptr + 2, rest.len - 2, "*/", 2);
            if (!end)
                break;
            at = (size_t)(end - text.ptr) + 2;
        } else {
            break;
        }
    }
    return at;
}

/* Returns the offset after the string that begins at `at`. */
static size_t skip_string(struct slice text, size_t at) {
    for (at++; at < text.len && text.ptr[at] != '"'; at++)
        if (text.ptr[at] == '\\')
            at++;
    return at < text.len ? at + 1 : text.len;
}

bool jsonc_blank(char *text, size_t len, size_t *ret_at) {
    struct slice all = slice_of(text, len);
    size_t at = 0;
    if (slice_starts(all, SLICE("\xef\xbb\xbf"))) {
        memset(text, ' ', 3);
        at = 3;
    }
    while (at < len) {
        if (text[at] == '"') {
            at = skip_string(all, at);
            continue;
        }
        size_t next = skip_blank(all, at);
        if (slice_starts(slice_from(all, next), SLICE("/*"))) {
            *ret_at = next;
            return false;
        }
        if (text[at] == ',') {
            size_t behind = skip_blank(all, at + 1);
            if (behind < len && (text[behind] == ']' || text[behind] == '}'))
                text[at] = ' ';
        }
        for (size_t i = at; i < next; i++)
            if (!is_space(text[i]))
                text[i] = ' ';
        at = next > at ? next : at + 1;
    }
    return true;
}

static int fault(const struct jsonc *j, size_t at, const char *what, struct err *err) {
    size_t line = 1;
    for (size_t i = 0; i < at && i < j->src.len; i++)
        line += j->src.ptr[i] == '\n';
    return err_set(err, "line %zu: %s", line, what);
}

int jsonc_parse(struct jsonc *j, struct slice src, struct err *err) {
    size_t at = 0;
    j->src = src;
    buf_reset(&j->plain);
    if (!buf_put_slice(&j->plain, src))
        return err_set(err, "too large");
    if (src.len && !jsonc_blank(j->plain.ptr, j->plain.len, &at))
        return fault(j, at, JSONC_OPEN_COMMENT, err);
    enum tape_fault wrong = tape_parse(&j->tape, buf_slice(&j->plain), &at);
    return wrong == TAPE_OK ? 0 : fault(j, at, tape_fault_text(wrong), err);
}

/* ---- places ---- */

uint32_t jsonc_start(const struct jsonc *j, uint32_t node) {
    return (uint32_t)(tape_raw(&j->tape, node).ptr - j->tape.src.ptr);
}

uint32_t jsonc_end(const struct jsonc *j, uint32_t node) {
    return jsonc_start(j, node) + (uint32_t)tape_raw(&j->tape, node).len;
}

bool jsonc_indent(const struct jsonc *j, uint32_t node, struct slice *ret_indent) {
    size_t start = jsonc_start(j, node), line = start;
    while (line && (j->src.ptr[line - 1] == ' ' || j->src.ptr[line - 1] == '\t'))
        line--;
    *ret_indent = slice_of(j->src.ptr + line, start - line);
    return line == 0 || j->src.ptr[line - 1] == '\n';
}

struct slice jsonc_unit(const struct jsonc *j) {
    struct slice first;
    if (j->tape.count > 1 && tape_is(&j->tape, 0, TAPE_OBJECT) && tape_node(&j->tape, 0)->count &&
        jsonc_indent(j, 1, &first) && first.len)
        return first;
    return SLICE("  ");
}

/* ---- edits ---- */

static struct slice keep(struct splice *s, const struct buf *text) {
    return arena_dup(s->arena, buf_slice(text));
}

bool jsonc_prepend(const struct jsonc *j, struct splice *s, uint32_t arr, const struct slice *values,
                   size_t count) {
    const bool empty = tape_node(&j->tape, arr)->count == 0;
    struct slice indent = {0};
    const bool lines = !empty && jsonc_indent(j, arr + 1, &indent);
    cleanup_buf struct buf text;
    buf_init(&text, TAPE_BYTES_MAX);
    for (size_t i = 0; i < count; i++) {
        buf_put_slice(&text, values[i]);
        if (empty && i + 1 == count)
            break;
        buf_put_str(&text, lines ? ",\n" : ", ");
        buf_put_slice(&text, lines ? indent : (struct slice){0});
    }
    uint32_t at = empty ? jsonc_start(j, arr) + 1 : jsonc_start(j, arr + 1);
    return !text.full && splice_replace(s, at, at, keep(s, &text));
}

bool jsonc_add_behind(const struct jsonc *j, struct splice *s, uint32_t key, struct slice name,
                      struct slice json) {
    struct slice indent;
    cleanup_buf struct buf text;
    buf_init(&text, TAPE_BYTES_MAX);
    const bool line = jsonc_indent(j, key, &indent);
    buf_put_str(&text, line ? ",\n" : ", ");
    buf_put_slice(&text, line ? indent : (struct slice){0});
    emit_quote(&text, name);
    buf_put_str(&text, ": ");
    buf_put_slice(&text, json);
    uint32_t at = jsonc_end(j, key + 1);
    return !text.full && splice_replace(s, at, at, keep(s, &text));
}

/* The comma after a member, or the member's end when there is none. */
static size_t comma_behind(const struct jsonc *j, uint32_t key, bool *ret_there) {
    size_t end = jsonc_end(j, key + 1), at = skip_blank(j->src, end);
    *ret_there = at < j->src.len && j->src.ptr[at] == ',';
    return *ret_there ? at : end;
}

static bool drop_one(const struct jsonc *j, struct splice *s, uint32_t key) {
    bool comma;
    struct slice indent;
    size_t start = jsonc_start(j, key), end = comma_behind(j, key, &comma) + comma;
    const bool alone = jsonc_indent(j, key, &indent);
    size_t rest = end;
    while (rest < j->src.len && (j->src.ptr[rest] == ' ' || j->src.ptr[rest] == '\t'))
        rest++;
    size_t line = rest + (rest < j->src.len && j->src.ptr[rest] == '\r');
    if (alone && line < j->src.len && j->src.ptr[line] == '\n') {
        start -= indent.len;
        end = line + 1;
    } else if (!alone) {
        end = rest;
    }
    return splice_replace(s, (uint32_t)start, (uint32_t)end, (struct slice){0});
}

static bool is_among(uint32_t key, const uint32_t *keys, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (keys[i] == key)
            return true;
    return false;
}

bool jsonc_drop_members(const struct jsonc *j, struct splice *s, uint32_t obj, const uint32_t *keys,
                        size_t count) {
    uint32_t kept = 0, last = 0;
    for (size_t i = 0; i < count; i++)
        if (!drop_one(j, s, keys[i]))
            return false;
    TAPE_FOR_MEMBER(&j->tape, obj, key) {
        last = key;
        kept = is_among(key, keys, count) ? kept : key;
    }
    bool comma;
    if (!last || !kept || last == kept || (comma_behind(j, last, &comma), comma))
        return true;
    /* The last member was dropped and had no trailing comma: remove the comma of the new last member. */
    size_t at = comma_behind(j, kept, &comma);
    return !comma || splice_replace(s, (uint32_t)at, (uint32_t)at + 1, (struct slice){0});
}
