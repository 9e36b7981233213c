/* Small secrets at rest: one file each in a directory of the home, AES-256-GCM under the home's own key. A
 * file opens only under the name it was sealed for, so none can take another's place. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "state/limits.h"

/* HOME/DIR/NAME; the key is HOME/secret.key, created at first use. Replaces the file atomically. */
int state_sealed_write(const char *home, const char *dir, const char *name, struct slice text,
                       struct err *err);
/* -1 also when it is not there: then *ret_absent (may be NULL) is true. `out` has been initialised. */
int state_sealed_read(const char *home, const char *dir, const char *name, struct buf *out, bool *ret_absent,
                      struct err *err);
int state_sealed_remove(const char *home, const char *dir, const char *name, struct err *err);
/* The path; false when the name cannot be a file name. */
bool state_sealed_path(const char *home, const char *dir, const char *name,
                       char ret_path[STATE_SEALED_PATH_MAX]);
