/* The built-in code server behind sessions: a server like any other to them, and the way for code in its
 * sandbox to call tools as the session's principal would. */
#pragma once

#include "code/code.h"
#include "server/server.h"

struct builtin;

/* Becomes the server behind that entry of the core; its loop, spawner and name are the core's and the
 * server's. */
int builtin_open(struct core *core, struct server *server, const struct code_config *config,
                 struct builtin **ret_builtin, struct err *err);
/* After the core's sessions are closed. NULL is fine. */
/* Does that tool of it stand in a list that shows only what finds and calls others? */
bool builtin_shows(const struct server *server, struct slice tool);
void builtin_close(struct builtin *b);
