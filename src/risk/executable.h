/* The file that a command line runs, and its hash. A server whose file differs from the accepted one is not
 * started.
 *
 * For an interpreter the file is the script; the interpreter itself is updated by the system. A package
 * runner (npx, uvx, docker) has no such file; there the pinned version is checked. */
#pragma once

#include "base/arena.h"

/* "sha256:..." in the arena; empty when there is no file to hash or it cannot be read. `cwd` is the server's
 * working directory, NULL for the current one; `path` is the PATH to search. */
struct slice risk_executable_hash(const struct slice *argv, size_t count, const char *cwd, const char *path,
                                  struct arena *a);
/* Is there an executable for this command? */
bool risk_executable_found(struct slice command, const char *cwd, const char *path);
