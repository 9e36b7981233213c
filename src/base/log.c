#include "base/log.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/glyph.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define LOG_LINE_MAX 4096
#define LOG_FRAME_MAX 96   /* room for colour, program name, time and level */
#define LOG_SPELLED_MAX 12 /* bytes of one escaped character */
#define LOG_HELD_MAX 16384 /* lines of one turn of the loop that are written together */
#define LOG_OFTEN_MAX 1024 /* longer lines are not counted as repetitions */
#define LOG_FIELDS_MAX 8
#define LOG_FIELD_MAX 256 /* bytes of one value */

static const char *const log_names[] = {"debug", "info", "warn", "error"};
static const char *const log_colours[] = {"\033[2m", "", "\033[33m", "\033[31m"};
static atomic_int log_threshold = LOG_INFO;

static atomic_bool log_json, log_timed;

static bool log_is_json(void) { return atomic_load_explicit(&log_json, memory_order_relaxed); }

void log_set_json(bool on) { atomic_store(&log_json, on); }

void log_set_timed(bool on) { atomic_store(&log_timed, on); }

void log_set_level(enum log_level level) { atomic_store(&log_threshold, (int)level); }

enum log_level log_get_level(void) { return (enum log_level)atomic_load(&log_threshold); }

/* The number of bytes of the character; 0 for invalid UTF-8. */
static size_t log_char(struct slice at) {
    const unsigned char *b = (const unsigned char *)at.ptr;
    size_t len = b[0] < 0x80                   ? 1
                 : b[0] >= 0xc2 && b[0] < 0xe0 ? 2
                 : (b[0] & 0xf0) == 0xe0       ? 3
                 : b[0] >= 0xf0 && b[0] < 0xf5 ? 4
                                               : 0;
    for (size_t i = 1; i < len; i++)
        if (i >= at.len || (b[i] & 0xc0) != 0x80)
            return 0;
    return len;
}

/* Log lines may contain text from peers. Control codes are escaped so that they do not reach a terminal,
 * and so are characters that are invisible or change the order of text. The variation selector after many
 * emoji stays. Returns the end of the output, at most `cap` bytes. */
static char *log_defuse(char *to, size_t cap, struct slice text) {
    const char *end = to + cap;
    for (size_t i = 0, len; i < text.len; i += len) {
        const unsigned char first = (unsigned char)text.ptr[i];
        uint32_t cp = first;
        len = first < 0x80 ? 1 : log_char(slice_from(text, i));
        if (len > 1)
            cp = glyph_next(text, i, &len);
        if (end - to < LOG_SPELLED_MAX)
            break;
        if (!len || first < 0x20 || first == 0x7f) {
            *to++ = len ? ' ' : '?';
            len = 1;
        } else if (len > 1 && cp != 0xfe0f && (glyph_is_control(cp) || glyph_is_invisible(cp))) {
            to += snprintf(to, LOG_SPELLED_MAX, "<U+%04X>", cp);
        } else {
            memcpy(to, text.ptr + i, len);
            to += len;
        }
    }
    return to;
}

/* ---- where lines go ---- */

static _Thread_local struct {
    bool on;
    size_t len;
    char lines[LOG_HELD_MAX];
    /* The line that log_often wrote last. */
    enum log_level level;
    uint64_t again;   /* repetitions since then */
    size_t often_len; /* 0: no line is counted */
    char often[LOG_OFTEN_MAX];
} log_held;

void log_flush(void) {
    if (!log_held.len)
        return;
    fwrite(log_held.lines, 1, log_held.len, stderr);
    log_held.len = 0;
}

void log_hold(bool on) {
    log_write_count();
    log_flush();
    check_last_words = log_flush;
    log_held.on = on;
}

static void log_put(const char *line, size_t len) {
    if (len > sizeof(log_held.lines) - log_held.len)
        log_flush();
    if (!log_held.on || len > sizeof(log_held.lines)) {
        fwrite(line, 1, len, stderr);
        return;
    }
    memcpy(log_held.lines + log_held.len, line, len);
    log_held.len += len;
}

/* ---- lines ---- */

/* A member of a JSON object. Control characters and invalid bytes are removed from the text. */
static size_t log_member(char *to, const char *name, struct slice text, size_t text_max) {
    char plain[LOG_LINE_MAX];
    const char *end = log_defuse(plain, text_max, text);
    size_t n = (size_t)snprintf(to, LOG_FRAME_MAX, ",\"%s\":\"", name);
    for (const char *c = plain; c < end; c++) {
        if (*c == '"' || *c == '\\')
            to[n++] = '\\';
        to[n++] = *c;
    }
    to[n++] = '"';
    return n;
}

static void log_write_json(enum log_level level, struct slice text, const struct log_field *fields,
                           size_t count) {
    char out[LOG_LINE_MAX * 2 + LOG_FIELDS_MAX * (LOG_FIELD_MAX * 2 + LOG_FRAME_MAX) + 128],
        time[CLOCK_TEXT_MAX];
    clock_text(clock_wall_ms(), time);
    size_t n = (size_t)snprintf(out, 128, "{\"time\":\"%s\",\"level\":\"%s\"", time, log_names[level]);
    n += log_member(out + n, "message", text, LOG_LINE_MAX);
    for (size_t i = 0; i < count; i++)
        if (fields[i].value.len)
            n += log_member(out + n, fields[i].name, fields[i].value, LOG_FIELD_MAX);
    memcpy(out + n, "}\n", 2);
    log_put(out, n + 2);
}

/* Read once: a line is written for each denial, while other calls wait. */
static bool log_has_colour(void) {
    static _Atomic int known = -1;
    int terminal = atomic_load_explicit(&known, memory_order_relaxed);
    if (terminal < 0) {
        const char *term = getenv("TERM"), *refused = getenv("NO_COLOR");
        terminal = isatty(STDERR_FILENO) && !(refused && *refused) && term && strcmp(term, "dumb") != 0;
        atomic_store_explicit(&known, terminal, memory_order_relaxed);
    }
    return terminal;
}

static char *log_add(char *to, const char *text) {
    size_t len = strlen(text);
    memcpy(to, text, len);
    return to + len;
}

static void log_write_text(enum log_level level, struct slice text, bool timed) {
    char line[LOG_LINE_MAX + LOG_FRAME_MAX], time[CLOCK_TEXT_MAX], *to = line;
    const char *colour = log_has_colour() ? log_colours[level] : "";
    to = log_add(log_add(to, colour), "sallyport: ");
    if (timed) {
        clock_local_text(clock_wall_ms(), time);
        to = log_add(log_add(to, time), " ");
    }
    if (level != LOG_INFO)
        to = log_add(log_add(to, log_names[level]), ": ");
    to = log_defuse(to, LOG_LINE_MAX, text);
    to = log_add(log_add(to, *colour ? "\033[0m" : ""), "\n");
    log_put(line, (size_t)(to - line));
}

static bool log_is_enabled(enum log_level level) {
    return (int)level >= atomic_load_explicit(&log_threshold, memory_order_relaxed);
}

void log_line(enum log_level level, struct slice text) {
    if (!log_is_enabled(level))
        return;
    text = slice_upto(text, LOG_LINE_MAX - 1);
    if (log_is_json())
        log_write_json(level, text, NULL, 0);
    else
        log_write_text(level, text, atomic_load_explicit(&log_timed, memory_order_relaxed));
}

void log_write(enum log_level level, const char *fmt, ...) {
    if (!log_is_enabled(level))
        return;
    char text[LOG_LINE_MAX];
    va_list ap;
    va_start(ap, fmt);
    int len = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (len > 0)
        log_line(level, slice_of(text, (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1));
}

/* Does the text already contain it, as `value` or [value]? */
static bool log_names_it(struct slice text, struct slice value) {
    const char *at = text.ptr, *end = text.ptr + text.len;
    while ((at = memmem(at, (size_t)(end - at), value.ptr, value.len))) {
        if (at > text.ptr && (at[-1] == '`' || at[-1] == '['))
            return true;
        at++;
    }
    return false;
}

/* The text, then name=value of each field that fits; with `once`, only fields that the text does not
 * contain. */
static struct slice log_join(char to[LOG_LINE_MAX], struct slice text, const struct log_field *fields,
                             size_t count, bool once) {
    CHECK(count <= LOG_FIELDS_MAX && text.len < LOG_LINE_MAX);
    size_t len = text.len;
    memcpy(to, text.ptr, len);
    for (size_t i = 0; i < count; i++) {
        struct slice value = slice_upto(fields[i].value, LOG_FIELD_MAX);
        if (!value.len || (once && log_names_it(text, value)))
            continue;
        struct slice name = slice_str(fields[i].name);
        if (name.len + value.len + 2 >= LOG_LINE_MAX - len)
            break;
        to[len++] = ' ';
        memcpy(to + len, name.ptr, name.len);
        len += name.len;
        to[len++] = '=';
        memcpy(to + len, value.ptr, value.len);
        len += value.len;
    }
    return slice_of(to, len);
}

void log_about(enum log_level level, const struct log_field *fields, size_t count, const char *fmt, ...) {
    char message[LOG_LINE_MAX], joined[LOG_LINE_MAX];
    if (!log_is_enabled(level))
        return;
    va_list ap;
    va_start(ap, fmt);
    int len = vsnprintf(message, sizeof(message), fmt, ap);
    va_end(ap);
    if (len <= 0)
        return;
    struct slice text = slice_of(message, (size_t)len < sizeof(message) ? (size_t)len : sizeof(message) - 1);
    if (log_is_json())
        log_write_json(level, text, fields, count);
    else
        log_line(level, log_join(joined, text, fields, count, true));
}

/* ---- repeated lines ---- */

bool log_counts(void) { return log_held.often_len > 0; }

void log_write_count(void) {
    struct slice message = slice_of(log_held.often, log_held.often_len);
    if (log_held.again)
        log_write(log_held.level, "%.*s (%llu more of these)", SLICE_FMT(message),
                  (unsigned long long)log_held.again);
    log_held.again = 0;
    log_held.often_len = 0;
}

/* Is it the same line as the last one? Then it is only counted. */
static bool log_again(enum log_level level, struct slice text) {
    if (log_held.often_len && level == log_held.level &&
        slice_eq(text, slice_of(log_held.often, log_held.often_len))) {
        log_held.again++;
        return true;
    }
    log_write_count();
    return false;
}

static void log_remember(enum log_level level, struct slice text) {
    if (!log_held.on || text.len > LOG_OFTEN_MAX)
        return;
    memcpy(log_held.often, text.ptr, text.len);
    log_held.often_len = text.len;
    log_held.level = level;
}

void log_often(enum log_level level, struct slice text) {
    if (log_again(level, text))
        return;
    log_line(level, text);
    log_remember(level, text);
}

void log_often_about(enum log_level level, struct slice text, const struct log_field *fields, size_t count) {
    char message[LOG_LINE_MAX];
    if (!log_is_enabled(level))
        return;
    struct slice joined = log_join(message, slice_upto(text, LOG_OFTEN_MAX), fields, count, false);
    if (log_again(level, joined))
        return;
    if (log_is_json())
        log_write_json(level, text, fields, count);
    else
        log_line(level, joined);
    log_remember(level, joined);
}
