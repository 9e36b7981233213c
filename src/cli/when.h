/* Points in time as people give them. */
#pragma once

#include "base/err.h"

#include <stdint.h>

/* RFC 3339, or how long ago: 15m, 2h, 7d. NULL leaves 0. `option` is named in the error. */
int cli_when(const char *option, const char *text, uint64_t *ret_us, struct err *err);
