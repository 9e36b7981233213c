/* The file tree of a sandbox: a tmpfs with a few read-only mounts of the host. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct root_item {
    const char *from; /* on the host */
    const char *to;   /* in the sandbox */
};

/* For a process that is alone in its mount namespace and may mount: builds the tree, changes its root to it
 * and unmounts the old one. `shown` are mounted read-only, `copied` are small files. What is absent on the
 * host is skipped. `scratch`: /tmp is writable; sandboxes have their own there in any case. */
int root_enter(const struct root_item *shown, const struct root_item *copied, bool scratch, struct err *err);
