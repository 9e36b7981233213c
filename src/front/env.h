/* Which of our environment variables a child gets: those that programs need to run, and those named for it.
 * Any other may be a secret that is not meant for it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct env_list {
    char **items; /* NULL-terminated */
    size_t count;
};

/* `extra`: NAME passes ours on, NAME=VALUE sets it. `tell`: logs which variables that look like credentials
 * were withheld. */
void env_select(struct env_list *list, const char *const *extra, size_t extra_count, bool tell);
void env_free(struct env_list *list);
