/* The difference between two texts, line by line, as `diff -u` shows it. */
#pragma once

#include "base/buf.h"
#include "base/slice.h"

/* Nothing when they are the same. */
void cli_linediff(const char *path, struct slice before, struct slice after, bool colour, struct buf *out);
