/* Runs pip and npm to their end. They choose and fetch; fetched code is never run. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <signal.h>

struct pack_installer {
    const char *const *argv;           /* NULL-terminated; the program is searched in PATH */
    const char *cwd;                   /* NULL: as ours */
    const volatile sig_atomic_t *stop; /* set by a signal to end the program; may be NULL */
};

/* 0 on success. `out` gets its stdout. The error has the end of its stderr. */
int pack_installer_run(const struct pack_installer *p, struct buf *out, struct err *err);
