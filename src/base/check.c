#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void check_fail(const char *expr, const char *file, int line) {
    fprintf(stderr, "sallyport: internal error: %s (%s:%d)\n", expr, file, line);
    abort();
}
