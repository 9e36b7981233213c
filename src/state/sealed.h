/* Small secrets at rest: one file each in a directory of the home, AES-256-GCM under the home's own key. A
 * file can be decrypted only under the name it was encrypted for, so files cannot be swapped. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "state/limits.h"

#define STATE_LOGINS_DIR "logins" /* of logins at servers */
#define STATE_SEALED_FILE_MAX                                                                                \
    (STATE_SEALED_MAX + 131072) /* a whole file, and room for the read that finds its end */

/* HOME/DIR/NAME; the key is HOME/secret.key, created at first use. Replaces the file atomically. */
int state_sealed_write(const char *home, const char *dir, const char *name, struct slice text,
                       struct err *err);
/* Also -1 if it does not exist: then *ret_absent (may be NULL) is true. `out` must be initialised. */
int state_sealed_read(const char *home, const char *dir, const char *name, struct buf *out, bool *ret_absent,
                      struct err *err);
/* Can it be decrypted? `file` is the content of a file of that name. */
int state_sealed_check(const char *home, const char *name, struct slice file, struct err *err);
int state_sealed_remove(const char *home, const char *dir, const char *name, struct err *err);
/* The path; false if the name is not a valid file name. */
bool state_sealed_path(const char *home, const char *dir, const char *name,
                       char ret_path[STATE_SEALED_PATH_MAX]);
