#include "wire/emit.h"

#include "base/check.h"
#include "base/clock.h"
#include "wire/tape.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void emit_init(struct emit *e, struct buf *out) { *e = (struct emit){.out = out}; }

static void emit_value_begin(struct emit *e) {
    if (e->after_key) {
        e->after_key = false;
        return;
    }
    if (e->comma >> e->depth & 1)
        buf_put_char(e->out, ',');
    e->comma |= (uint64_t)1 << e->depth;
}

static void emit_open(struct emit *e, char bracket) {
    emit_value_begin(e);
    CHECK(e->depth + 1 < TAPE_DEPTH_MAX);
    e->depth++;
    e->comma &= ~((uint64_t)1 << e->depth);
    buf_put_char(e->out, bracket);
}

static void emit_close(struct emit *e, char bracket) {
    CHECK(e->depth > 0 && !e->after_key);
    e->depth--;
    buf_put_char(e->out, bracket);
}

void emit_object(struct emit *e) { emit_open(e, '{'); }
void emit_object_end(struct emit *e) { emit_close(e, '}'); }
void emit_array(struct emit *e) { emit_open(e, '['); }
void emit_array_end(struct emit *e) { emit_close(e, ']'); }

void emit_key_slice(struct emit *e, struct slice key) {
    emit_value_begin(e);
    emit_quote(e->out, key);
    buf_put_char(e->out, ':');
    e->after_key = true;
}

void emit_key_raw(struct emit *e, struct slice json) {
    emit_value_begin(e);
    buf_put_slice(e->out, json);
    buf_put_char(e->out, ':');
    e->after_key = true;
}

void emit_key(struct emit *e, const char *key) { emit_key_slice(e, slice_str(key)); }

void emit_str(struct emit *e, struct slice text) {
    emit_value_begin(e);
    emit_quote(e->out, text);
}

void emit_cstr(struct emit *e, const char *text) { emit_str(e, slice_str(text)); }

void emit_raw(struct emit *e, struct slice json) {
    emit_value_begin(e);
    buf_put_slice(e->out, json);
}

void emit_int(struct emit *e, int64_t value) {
    emit_value_begin(e);
    if (value < 0)
        buf_put_char(e->out, '-');
    buf_put_u64(e->out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void emit_double(struct emit *e, double value) {
    if (!isfinite(value)) {
        emit_null(e);
        return;
    }
    char text[32];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    emit_raw(e, slice_str(text));
}

void emit_bool(struct emit *e, bool value) { emit_raw(e, value ? SLICE("true") : SLICE("false")); }
void emit_null(struct emit *e) { emit_raw(e, SLICE("null")); }

static void quote_control(struct buf *out, unsigned char c) {
    static const char shorts[] = {['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    char two[2] = {'\\', c < sizeof(shorts) ? shorts[c] : 0};
    if (two[1])
        buf_put(out, two, 2);
    else
        buf_printf(out, "\\u%04x", c);
}

/* Number of leading bytes that need no escape. */
static size_t plain_run(struct slice s) {
    const unsigned char *p = (const unsigned char *)s.ptr;
    return s.len ? (size_t)(tape_skip_plain(p, p + s.len) - p) : 0;
}

bool emit_escape(struct buf *out, struct slice text) {
    while (text.len) {
        size_t run = plain_run(text);
        buf_put(out, text.ptr, run);
        text = slice_from(text, run);
        if (!text.len)
            break;
        unsigned char c = (unsigned char)text.ptr[0];
        size_t step = 1;
        if (c == '"' || c == '\\') {
            buf_put_char(out, '\\');
            buf_put_char(out, (char)c);
        } else if (c < 0x20) {
            quote_control(out, c);
        } else {
            step = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
            if (step <= text.len && tape_utf8_valid(slice_upto(text, step))) {
                buf_put(out, text.ptr, step);
            } else {
                step = 1;
                buf_put_str(out, "\xef\xbf\xbd");
            }
        }
        text = slice_from(text, step);
    }
    return !out->full;
}

bool emit_quote(struct buf *out, struct slice text) {
    if (plain_run(text) == text.len) { /* the common case */
        char *to = out->full ? NULL : buf_reserve(out, text.len + 2);
        if (!to)
            return false;
        *to++ = '"';
        if (text.len)
            memcpy(to, text.ptr, text.len);
        to[text.len] = '"';
        out->len += text.len + 2;
        return true;
    }
    buf_put_char(out, '"');
    emit_escape(out, text);
    return buf_put_char(out, '"');
}

static void put_line(struct buf *out, size_t depth) {
    buf_put_char(out, '\n');
    for (size_t i = 0; i < depth; i++)
        buf_put_str(out, "  ");
}

bool emit_indented(struct buf *out, struct slice json) {
    size_t depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < json.len; i++) {
        const char c = json.ptr[i];
        const bool empty = i + 1 < json.len && (json.ptr[i + 1] == '}' || json.ptr[i + 1] == ']');
        const bool closes = !quoted && (c == '}' || c == ']');
        if (closes && json.ptr[i - 1] != '{' && json.ptr[i - 1] != '[')
            put_line(out, --depth);
        buf_put_char(out, c);
        if (quoted && c == '\\' && i + 1 < json.len)
            buf_put_char(out, json.ptr[++i]);
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '{' || c == '[') && !empty)
            put_line(out, ++depth);
        else if (!quoted && c == ',')
            put_line(out, depth);
        else if (!quoted && c == ':')
            buf_put_char(out, ' ');
    }
    return !out->full;
}

void emit_text(struct emit *e, const char *key, struct slice text) {
    if (!text.len)
        return;
    emit_key(e, key);
    emit_str(e, text);
}

void emit_time(struct emit *e, const char *key, uint64_t wall_ms) {
    char text[CLOCK_TEXT_MAX];
    if (!wall_ms)
        return;
    clock_text(wall_ms, text);
    emit_key(e, key);
    emit_cstr(e, text);
}

void emit_strings(struct emit *e, const char *key, const char *const *items, size_t count) {
    emit_key(e, key);
    emit_array(e);
    for (size_t i = 0; i < count; i++)
        emit_cstr(e, items[i]);
    emit_array_end(e);
}
