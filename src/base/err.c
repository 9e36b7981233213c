#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, const char *fmt, ...) {
    if (!err)
        return -1;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof(err->text), fmt, ap);
    va_end(ap);
    return -1;
}

int err_wrap(struct err *err, const char *fmt, ...) {
    if (!err)
        return -1;
    char outer[ERR_TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(outer, sizeof(outer), fmt, ap);
    va_end(ap);
    size_t front = strlen(outer), kept = strlen(err->text);
    if (front + 2 >= sizeof(err->text))
        return -1;
    if (kept > sizeof(err->text) - front - 3)
        kept = sizeof(err->text) - front - 3;
    memmove(err->text + front + 2, err->text, kept);
    memcpy(err->text, outer, front);
    memcpy(err->text + front, ": ", 2);
    err->text[front + 2 + kept] = '\0';
    return -1;
}
