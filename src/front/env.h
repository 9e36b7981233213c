/* Which of our environment variables a child gets: those that programs need to run, and those it was given
 * by name. Everything else may be somebody else's secret. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct env_list {
    char **items; /* NULL-terminated */
    size_t count;
};

/* `extra`: NAME passes ours on, NAME=VALUE sets it. `tell`: says on the log which variables that look like
 * credentials were kept back. */
void env_select(struct env_list *list, const char *const *extra, size_t extra_count, bool tell);
void env_free(struct env_list *list);
