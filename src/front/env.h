/* Selects the environment variables that a child process gets: those that programs need to run, and those
 * named for this child. Every other one may be a secret that is not meant for it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct env_list {
    char **items; /* NULL-terminated */
    size_t count;
};

/* `extra`: NAME passes our value on, NAME=VALUE sets one. `log_withheld`: logs the names of
 * withheld variables: a line for each that looks like a credential, one line for the others. */
void env_select(struct env_list *list, const char *const *extra, size_t extra_count, bool log_withheld);
void env_free(struct env_list *list);
