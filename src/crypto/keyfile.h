/* Files that hold secret keys, under one rule: a regular file and no symbolic link, owned by this user or by
 * root, readable and writable by its owner only (0600 or stricter). A file that breaks the rule is refused,
 * never repaired: another user may have read or replaced the key already. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "crypto/limits.h"

#include <sys/stat.h>

/* Reads the file. *ret_bytes is always initialised: wipe it with crypto_wipe. When the file does not
 * exist, returns -1 and *ret_missing is true. ret_stat may be NULL. */
int crypto_keyfile_read(const char *path, struct buf *ret_bytes, struct stat *ret_stat, bool *ret_missing,
                        struct err *err);
/* Creates the file with mode 0600, and its directory, atomically. If another process creates it first,
 * that file stays and the call succeeds: read the file afterwards. */
int crypto_keyfile_create(const char *path, struct slice bytes, struct err *err);
/* A file with exactly a key of `len` bytes; created with a random key when it does not exist. */
int crypto_keyfile_load(const char *path, void *ret_key, size_t len, struct err *err);

/* Overwrites the bytes and frees them. */
void crypto_wipe(struct buf *b);
#define cleanup_wipe __attribute__((cleanup(crypto_wipe)))
