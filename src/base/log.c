#include "base/log.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define LOG_LINE_MAX 4096

static const char *const log_names[] = {"debug", "info", "warn", "error"};
static const char *const log_colours[] = {"\033[2m", "", "\033[33m", "\033[31m"};
static atomic_int log_threshold = LOG_INFO;

void log_set_level(enum log_level level) { atomic_store(&log_threshold, (int)level); }

int log_level_from(const char *name, enum log_level *ret_level) {
    for (size_t i = 0; i < ARRAY_LEN(log_names); i++) {
        if (strcmp(name, log_names[i]) == 0) {
            *ret_level = (enum log_level)i;
            return 0;
        }
    }
    return -1;
}

/* What others sent us may stand in a log line: no byte of it reaches a terminal as a control code. */
static void log_defuse(char *line) {
    for (; *line; line++)
        if ((unsigned char)*line < 0x20 || *line == 0x7f)
            *line = ' ';
}

void log_write(enum log_level level, const char *fmt, ...) {
    if ((int)level < atomic_load_explicit(&log_threshold, memory_order_relaxed))
        return;
    char line[LOG_LINE_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    log_defuse(line);
    const char *colour = isatty(STDERR_FILENO) ? log_colours[level] : "";
    fprintf(stderr, "%ssallyport: %s%s%s%s\n", colour, level == LOG_INFO ? "" : log_names[level],
            level == LOG_INFO ? "" : ": ", line, *colour ? "\033[0m" : "");
}
