#include "wire/toml_scalar.h"

#include "base/hex.h"
#include "wire/tape.h"

#include <errno.h>
#include <stdlib.h>

/* ---- strings ---- */

static char byte_at(struct slice s, size_t at) { return at < s.len ? s.ptr[at] : '\0'; }

/* Are there three quotes in a row? */
static bool is_triple(struct slice s, size_t at, char quote) {
    return byte_at(s, at) == quote && byte_at(s, at + 1) == quote && byte_at(s, at + 2) == quote;
}

/* The code point of `digits` hexadecimal digits, or -1 when there is none. */
static int32_t read_hex(struct slice s, size_t at, size_t digits) {
    uint32_t c = 0;
    for (size_t i = 0; i < digits; i++) {
        int v = hex_value(byte_at(s, at + i));
        if (v < 0 || c > 0x10ffff)
            return -1;
        c = c << 4 | (uint32_t)v;
    }
    return c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? -1 : (int32_t)c;
}

/* A backslash at the end of a line removes the line end and all white space up to the next text. Returns
 * where that text begins, or `at` when no line ends here. */
static size_t skip_line_end(struct slice s, size_t at) {
    bool newline = false;
    size_t end = at;
    for (char c;
         (c = byte_at(s, end)) == ' ' || c == '\t' || c == '\n' || (c == '\r' && byte_at(s, end + 1) == '\n');
         end++) {
        newline |= c == '\n';
    }
    return newline ? end : at;
}

/* Length of an escape after its backslash; 0 when it is invalid. */
static size_t escape_len(struct slice s, size_t at, bool lines) {
    char c = byte_at(s, at);
    if (c && strchr("btnfr\"\\", c))
        return 1;
    if (c == 'u' || c == 'U') {
        size_t digits = c == 'u' ? 4 : 8;
        return read_hex(s, at + 1, digits) < 0 ? 0 : 1 + digits;
    }
    return lines ? skip_line_end(s, at) - at : 0;
}

/* Is this byte allowed unescaped in a string? */
static bool is_text(struct slice s, size_t at, bool lines) {
    unsigned char c = (unsigned char)byte_at(s, at);
    if (lines && (c == '\n' || (c == '\r' && byte_at(s, at + 1) == '\n')))
        return true;
    return (c >= 0x20 && c != 0x7f) || c == '\t';
}

const char *toml_skip_string(struct slice s, size_t *at) {
    const char quote = byte_at(s, *at);
    const bool lines = is_triple(s, *at, quote);
    size_t i = *at + (lines ? 3 : 1);
    for (; i < s.len; i++) {
        *at = i;
        if (quote == '"' && s.ptr[i] == '\\') {
            size_t len = escape_len(s, i + 1, lines);
            if (!len)
                return "a string has an escape that TOML 1.0 does not know; write a backslash as `\\\\`";
            i += len;
        } else if (lines ? is_triple(s, i, quote) : s.ptr[i] == quote) {
            i += lines ? 3 : 1;
            /* One or two quotes may directly precede the closing ones. */
            for (int more = 0; lines && more < 2 && byte_at(s, i) == quote; more++)
                i++;
            *at = i;
            return NULL;
        } else if (!is_text(s, i, lines)) {
            return s.ptr[i] == '\n' ? "a string does not end on its line"
                                    : "a string has a control character; write it as `\\uXXXX`";
        }
    }
    return "a string does not end";
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

/* Decodes an escape; *at points behind its backslash and is moved behind the escape. */
static void put_escape(struct slice body, size_t *at, struct buf *out) {
    static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
    const char c = body.ptr[*at], *found = strchr(from, c);
    if (found)
        buf_put_char(out, to[found - from]);
    else if (c == 'u' || c == 'U')
        put_code_point(out, (uint32_t)read_hex(body, *at + 1, c == 'u' ? 4 : 8));
    *at += escape_len(body, *at, true);
}

bool toml_decode_string(struct slice raw, struct arena *a, struct slice *ret_text) {
    const bool literal = raw.ptr[0] == '\'', lines = raw.len >= 6 && is_triple(raw, 0, raw.ptr[0]);
    const size_t quotes = lines ? 3 : 1;
    struct slice body = slice_of(raw.ptr + quotes, raw.len - 2 * quotes);
    if (lines && slice_starts(body, SLICE("\n")))
        body = slice_from(body, 1);
    else if (lines && slice_starts(body, SLICE("\r\n")))
        body = slice_from(body, 2);
    cleanup_buf struct buf out;
    buf_init(&out, raw.len * 2 + 8);
    for (size_t at = 0; at < body.len;) {
        char c = body.ptr[at++];
        if (c != '\\' || literal)
            buf_put_char(&out, c);
        else
            put_escape(body, &at, &out);
    }
    *ret_text = arena_dup(a, buf_slice(&out));
    return !memchr(ret_text->ptr, '\0', ret_text->len);
}

/* ---- numbers and times ---- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_plain_char(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c && strchr("_-.:+", c));
}

size_t toml_plain_len(struct slice text) {
    size_t len = 0;
    /* One space may separate a date from its time. */
    while (is_plain_char(byte_at(text, len)) ||
           (len == 10 && text.ptr[4] == '-' && byte_at(text, len) == ' ' && is_digit(byte_at(text, len + 1))))
        len++;
    return len;
}

/* Digits of this base with single underscores between them; how many bytes they take. */
static size_t digits_len(struct slice s, size_t at, int base) {
    size_t end = at;
    for (;;) {
        int v = hex_value(byte_at(s, end));
        if (v >= 0 && v < base)
            end++;
        else if (byte_at(s, end) == '_' && end > at && s.ptr[end - 1] != '_')
            end++;
        else
            break;
    }
    return end > at && s.ptr[end - 1] == '_' ? 0 : end - at;
}

/* Exactly `count` decimal digits as a number, or -1. */
static int number_at(struct slice s, size_t at, size_t count) {
    int value = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_digit(byte_at(s, at + i)))
            return -1;
        value = value * 10 + (s.ptr[at + i] - '0');
    }
    return value;
}

static bool is_date(struct slice s) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const int year = number_at(s, 0, 4), month = number_at(s, 5, 2), day = number_at(s, 8, 2);
    if (s.len != 10 || s.ptr[4] != '-' || s.ptr[7] != '-' || year < 0 || month < 1 || month > 12 || day < 1)
        return false;
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return day <= days[month - 1] + (month == 2 && leap);
}

/* Length of HH:MM:SS with an optional fraction; 0 for none. */
static size_t time_len(struct slice s) {
    const int hour = number_at(s, 0, 2), minute = number_at(s, 3, 2), second = number_at(s, 6, 2);
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60 || s.ptr[2] != ':' ||
        s.ptr[5] != ':')
        return 0;
    if (byte_at(s, 8) != '.')
        return 8;
    size_t end = 9;
    while (is_digit(byte_at(s, end)))
        end++;
    return end > 9 ? end : 0;
}

static bool is_offset(struct slice s) {
    if (slice_is(s, "") || slice_is(s, "Z") || slice_is(s, "z"))
        return true;
    const int hour = number_at(s, 1, 2), minute = number_at(s, 4, 2);
    return s.len == 6 && (s.ptr[0] == '+' || s.ptr[0] == '-') && s.ptr[3] == ':' && hour >= 0 && hour < 24 &&
           minute >= 0 && minute < 60;
}

static bool is_moment(struct slice s) {
    size_t time = time_len(s);
    if (time)
        return time == s.len;
    if (!is_date(slice_upto(s, 10)))
        return false;
    if (s.len == 10)
        return true;
    struct slice rest = slice_from(s, 11);
    time = strchr("Tt ", s.ptr[10]) ? time_len(rest) : 0;
    return time && is_offset(slice_from(rest, time));
}

/* 0x, 0o and 0b; no sign. */
static int prefix_base(struct slice s) {
    return s.len < 3 || s.ptr[0] != '0' ? 0
           : s.ptr[1] == 'x'            ? 16
           : s.ptr[1] == 'o'            ? 8
           : s.ptr[1] == 'b'            ? 2
                                        : 0;
}

static enum toml_plain number_kind(struct slice s) {
    size_t at = byte_at(s, 0) == '+' || byte_at(s, 0) == '-';
    size_t whole = digits_len(s, at, 10);
    if (!whole || (whole > 1 && s.ptr[at] == '0'))
        return TOML_PLAIN_BAD;
    at += whole;
    if (at == s.len)
        return TOML_PLAIN_INT;
    if (s.ptr[at] == '.') {
        size_t part = digits_len(s, at + 1, 10);
        if (!part)
            return TOML_PLAIN_BAD;
        at += 1 + part;
    }
    if (byte_at(s, at) == 'e' || byte_at(s, at) == 'E') {
        at++;
        at += byte_at(s, at) == '+' || byte_at(s, at) == '-';
        size_t part = digits_len(s, at, 10);
        if (!part)
            return TOML_PLAIN_BAD;
        at += part;
    }
    return at == s.len ? TOML_PLAIN_FLOAT : TOML_PLAIN_BAD;
}

/* An integer in JSON syntax; false when it does not fit 64 bits, which TOML requires to be refused. */
static bool put_integer(struct slice raw, struct buf *out) {
    char digits[80];
    size_t len = 0;
    const int base = prefix_base(raw);
    for (size_t i = base ? 2 : 0; i < raw.len; i++) {
        if (raw.ptr[i] == '_')
            continue;
        if (len + 1 >= sizeof(digits))
            return false;
        digits[len++] = raw.ptr[i];
    }
    digits[len] = '\0';
    errno = 0;
    long long value = strtoll(digits, NULL, base ? base : 10);
    return errno == 0 && (!out || buf_printf(out, "%lld", value));
}

enum toml_plain toml_plain_kind(struct slice raw) {
    if (slice_is(raw, "true") || slice_is(raw, "false"))
        return TOML_PLAIN_BOOL;
    struct slice bare = slice_from(raw, byte_at(raw, 0) == '+' || byte_at(raw, 0) == '-');
    if (slice_is(bare, "inf") || slice_is(bare, "nan") || is_moment(raw))
        return TOML_PLAIN_OTHER;
    const int base = prefix_base(raw);
    enum toml_plain kind = !base                                     ? number_kind(raw)
                           : digits_len(raw, 2, base) + 2 == raw.len ? TOML_PLAIN_INT
                                                                     : TOML_PLAIN_BAD;
    return kind == TOML_PLAIN_INT && !put_integer(raw, NULL) ? TOML_PLAIN_BAD : kind;
}

bool toml_plain_json(struct slice raw, struct buf *out) {
    switch (toml_plain_kind(raw)) {
    case TOML_PLAIN_BOOL:
        return buf_put_slice(out, raw);
    case TOML_PLAIN_INT:
        return put_integer(raw, out);
    case TOML_PLAIN_FLOAT:
        for (size_t i = raw.ptr[0] == '+'; i < raw.len; i++)
            if (raw.ptr[i] != '_')
                buf_put_char(out, raw.ptr[i]);
        return !out->full;
    default:
        return false;
    }
}
