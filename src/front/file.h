/* A whole small file. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

/* Initialises `out` with the ceiling. */
int front_read_file(const char *path, size_t max, struct buf *out, struct err *err);
