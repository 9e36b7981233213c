/* Points in time as people give them. */
#pragma once

#include "base/err.h"

#include <stdint.h>

/* How help describes what cli_when reads. */
#define CLI_WHEN_HELP "2h, yesterday, 2026-11-16, or 2026-11-16T14:00:00Z"

/* RFC 3339; how long ago: 15m, 2h, 7d; now, today, yesterday; or a date, with or without a time, in the time
 * zone of this machine. A day begins at midnight. NULL leaves 0. `option` is named in the error. */
int cli_when(const char *option, const char *text, uint64_t *ret_us, struct err *err);
