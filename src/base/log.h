/* Log lines on stderr. Only main, cli/ and the call path log; lower rooms return errors. */
#pragma once

#include "base/slice.h"

#define LOG_COUNT_MS 1000

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

void log_set_level(enum log_level level);
enum log_level log_get_level(void);
/* One JSON object per line: time, level, message, fields. */
void log_set_json(bool on);
/* Text lines start with the local time. For a gate, whose log is read later. */
void log_set_timed(bool on);
void log_write(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_line(enum log_level level, struct slice text);
/* Buffers the lines of this thread until log_flush, or until the buffer is full: a gate that refuses many
 * calls would otherwise spend as much time on writing lines as on refusals. off (default): each line is
 * written immediately. */
void log_hold(bool on);
void log_flush(void);
/* For lines that may repeat endlessly, in a thread with log_hold: repetitions of the last line are counted
 * instead of written. While log_counts() is true, the owner of the thread calls log_write_count() after
 * LOG_COUNT_MS, which writes the count. An agent that repeats a denied call then cannot fill the disk. */
void log_often(enum log_level level, struct slice text);
/* Fields of a line: name=value at the end of a text line, members of a JSON line. Empty values are
 * omitted. log_about also omits, in text lines, values that the text contains. */
struct log_field {
    const char *name;
    struct slice value;
};
void log_about(enum log_level level, const struct log_field *fields, size_t count, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
#define log_server(level, server, ...)                                                                       \
    log_about(level, &(const struct log_field){"server", slice_str(server)}, 1, __VA_ARGS__)
void log_often_about(enum log_level level, struct slice text, const struct log_field *fields, size_t count);
bool log_counts(void);
void log_write_count(void);

#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)
#define log_info(...) log_write(LOG_INFO, __VA_ARGS__)
#define log_warn(...) log_write(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)
