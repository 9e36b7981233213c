/* Small files as a whole. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

/* Into `out`, which has its ceiling. "-" is stdin. A missing file is an error, and *ret_missing (may be NULL)
 * says that it was that one. */
int io_file_read(const char *path, struct buf *out, bool *ret_missing, struct err *err);
/* Beside the file first, then renamed over it: a reader sees the old text or the new one. What is no plain
 * file (/dev/stdout) is written into. */
int io_file_write(const char *path, struct slice text, struct err *err);
/* The same, and the file keeps its mode and owner; a new one gets `mode`. The path is no symbolic link: the
 * link would be replaced. */
int io_file_replace(const char *path, struct slice text, unsigned mode, struct err *err);
/* The same without waiting for the disk: for pages that are written again all the time. */
int io_file_post(const char *path, struct slice text, unsigned mode, struct err *err);
/* The same for a name in an open directory; a link there is replaced, not followed. Until it is whole the
 * file has a name that starts with `temp_prefix`. -1 with errno. */
int io_file_post_at(int dir, const char *name, const char *temp_prefix, struct slice text, unsigned mode);
/* Creates the file whole or not at all. One that is there already stays as it is, which is no error: of two
 * processes that create it at once both then find the same. */
int io_file_create(const char *path, struct slice text, unsigned mode, struct err *err);
/* The directory and those above it, for this user only. */
int io_make_dir(const char *dir, struct err *err);
/* Keeps others who ask for the same out of the file's directory until the descriptor is closed; waits for
 * them. -1 when that cannot be had. */
int io_file_guard(const char *path);
