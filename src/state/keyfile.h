/* Keys that are made once and kept beside the data they protect. */
#pragma once

#include "base/err.h"

#include <stddef.h>

/* Reads `len` bytes of key from the file, which is made when absent: random, for this user only. A file that
 * others may read is refused. With ret_fd the file stays open and locked, so that two processes take turns;
 * otherwise pass NULL. */
int state_key_file(const char *path, void *key, size_t len, int *ret_fd, struct err *err);
