/* Where a server's program comes from, read off its command line: `npx -y pkg`, `uvx pkg==1.2`, `docker run
 * img`. A package that is fetched by name alone is whatever its author, or whoever took over the author's
 * account, published last. */
#pragma once

#include "base/arena.h"
#include "base/slice.h"

struct risk_supply {
    struct slice package; /* empty: not started through a package runner */
    struct slice version; /* empty: not pinned; a range or a tag such as `latest` is not a version */
    const char *runner;   /* "npx", "uvx", "docker"; NULL */
    bool unpinned;
};

/* `argv` is program and arguments. */
void risk_supply_read(const struct slice *argv, size_t count, struct risk_supply *ret_supply);
