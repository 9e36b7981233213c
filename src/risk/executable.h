/* The file that a command line runs, and its hash: when it is not the one that was accepted, it is not
 * started.
 *
 * For an interpreter that is the script, not the interpreter, which the system updates by itself. A
 * package runner (npx, uvx, docker) has no such file: there the pinned version stands for it. */
#pragma once

#include "base/arena.h"

/* "sha256:..." in the arena; empty when there is no file to hash or it cannot be read. `cwd` is where the
 * server is started, NULL for here; `path` the PATH it is looked for in. */
struct slice risk_executable_hash(const struct slice *argv, size_t count, const char *cwd, const char *path,
                                  struct arena *a);
/* Is there a file of that name where a command is looked for? */
bool risk_executable_found(struct slice command, const char *cwd, const char *path);
