/* Lines for people, on stderr. Only main, cli/ and the call path log; the rooms below return errors. */
#pragma once

#include "base/slice.h"

#define LOG_COUNT_MS 1000

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

void log_set_level(enum log_level level);
enum log_level log_get_level(void);
/* One JSON object a line: time, level, message, and what the line is about. */
void log_set_json(bool on);
/* Lines for people begin with the local time: those of a gate, which are read later. */
void log_set_timed(bool on);
void log_write(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_line(enum log_level level, struct slice text);
/* From now on lines of this thread leave together, at log_flush or when they are many: a gate that refuses
 * much would otherwise spend as much on saying so as on the refusal. off: each by itself, as at the start. */
void log_hold(bool on);
void log_flush(void);
/* For what may be said without end, in a thread that holds its lines: the same again is not written but
 * counted, until log_told says how often it was. The owner of the lines does that (log_counts) after
 * LOG_COUNT_MS: an agent that does not take no for an answer fills no disk. */
void log_often(enum log_level level, struct slice text);
/* What a line is about: a line for people ends with name=value, a JSON line has members. Empty values are
 * left away. log_about also leaves away, for people, values that the text has. */
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
void log_told(void);

#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)
#define log_info(...) log_write(LOG_INFO, __VA_ARGS__)
#define log_warn(...) log_write(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)
