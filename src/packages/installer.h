/* pip and npm, run to their end. They choose and fetch; nothing that they fetch is run. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <signal.h>

struct pack_installer {
    const char *const *argv;           /* NULL-terminated; found in the path */
    const char *cwd;                   /* NULL: as ours */
    const volatile sig_atomic_t *stop; /* set by a signal: it is ended; may be NULL */
};

/* 0 when it ended well. `out` gets its stdout. The error has the end of what it said on stderr. */
int pack_installer_run(const struct pack_installer *p, struct buf *out, struct err *err);
