/* The file tree a sandbox sees: an empty memory disk with a few read-only windows on the host. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct root_item {
    const char *from; /* on the host */
    const char *to;   /* in the sandbox */
};

/* For a process that is alone in its mount namespace and may mount: builds the tree, moves into it and lets
 * go of the old one. `shown` are shown read-only, `copied` are small files. What is absent on the host is
 * left out. `scratch`: /tmp can be written to; sandboxes see their own there in any case. */
int root_enter(const struct root_item *shown, const struct root_item *copied, bool scratch, struct err *err);
