/* Where a server's program comes from, read off its command line: `npx -y pkg`, `uvx pkg==1.2`, `docker run
 * img`. A package that is fetched by name alone is whatever its author, or somebody who took over the
 * author's account, published last. */
#pragma once

#include "base/arena.h"
#include "base/slice.h"
#include "risk/origin.h"

struct risk_supply {
    struct slice package;        /* empty: not started through a package runner */
    struct slice version;        /* empty: not pinned; a range or a tag such as `latest` is not a version */
    const char *runner;          /* "npx", "uvx", "docker"; NULL */
    enum risk_registry registry; /* where the runner fetches from */
    bool unpinned;
};

/* `argv` is program and arguments. */
void risk_supply_read(const struct slice *argv, size_t count, struct risk_supply *ret_supply);
/* Which word of the command line is the program that is meant: the script of an interpreter, the package of a
 * runner, or the command itself. */
size_t risk_supply_subject(const struct slice *argv, size_t count);
/* The name of a server without a configured one: the package, or the file name of its program. The server
 * itself cannot influence it. In the arena. */
struct slice risk_supply_name(const struct slice *argv, size_t count, struct arena *a);
/* The same for a server that is reached over HTTP: host and path. */
struct slice risk_supply_url_name(struct slice url, struct arena *a);
/* The command line as the lock keeps it: what follows --api-key, TOKEN= and the like, and passwords in URLs,
 * are replaced by a hash, so that the lock can be committed and still tells a changed one. In the arena. */
const struct slice *risk_supply_mask(const struct slice *argv, size_t count, struct arena *a);
