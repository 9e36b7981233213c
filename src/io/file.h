/* Reads and replaces small files. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct stat;

/* Reads the file into `out`, up to its ceiling. "-" is stdin. A missing file is an error; *ret_missing
 * (may be NULL) is then true. */
int io_file_read(const char *path, struct buf *out, bool *ret_missing, struct err *err);
/* Writes a temporary file first, then renames it over the old one: a reader sees the old text or the new
 * one. A special file (/dev/stdout) is written directly. */
int io_file_write(const char *path, struct slice text, struct err *err);
/* The same, and the file keeps its mode and owner; a new one gets `mode`. The path must not be a symbolic
 * link: the link would be replaced. */
int io_file_replace(const char *path, struct slice text, unsigned mode, struct err *err);
/* The same without fsync: for pages that are rewritten often. */
int io_file_post(const char *path, struct slice text, unsigned mode, struct err *err);
/* The same for a name in an open directory; a symbolic link there is replaced, not followed. Until it is
 * complete the file has a name that starts with `temp_prefix`. -1 with errno. */
int io_file_post_at(int dir, const char *name, const char *temp_prefix, struct slice text, unsigned mode);
/* Creates the file atomically. An existing file stays unchanged, which is not an error: two processes that
 * create it at the same time then read the same content. */
int io_file_create(const char *path, struct slice text, unsigned mode, struct err *err);
/* The same file with the same content, as far as its size and its time of change tell. */
bool io_file_is_same(const struct stat *a, const struct stat *b);
/* Creates the directory and its parents, accessible to this user only. */
int io_make_dir(const char *dir, struct err *err);
/* Takes an exclusive lock on the file's directory; it lasts until the descriptor is closed. Blocks. -1
 * when it cannot be locked. */
int io_file_guard(const char *path);
