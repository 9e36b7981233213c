/* The built-in code server, which sessions use like any other server, and the entry for code in its
 * sandbox to call tools as the session's principal. */
#pragma once

#include "code/code.h"
#include "server/server.h"

struct builtin;

/* Becomes the server of that entry of the core; uses the core's loop and spawner and the server's name. */
int builtin_open(struct core *core, struct server *server, const struct code_config *config,
                 struct builtin **ret_builtin, struct err *err);
/* After the core's sessions are closed. NULL is fine. */
/* Is that tool included in lists that only show tools for finding and calling others? */
bool builtin_shows(const struct server *server, struct slice tool);
void builtin_close(struct builtin *b);
