#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

void (*check_last_words)(void);

_Noreturn void check_fail(const char *expr, const char *file, int line) {
    if (check_last_words)
        check_last_words();
    fprintf(stderr, "sallyport: internal error: %s (%s:%d)\n", expr, file, line);
    abort();
}
