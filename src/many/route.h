/* Which of many servers a message is about; see names.h for what tells. */
#pragma once

#include "call/call.h"

/* Sets c->server and puts the server's own names into the message, or starts a gather, or answers. */
enum call_next route_find(struct call *c);
/* A task that somebody else started looks as if it were not there. */
enum call_next route_check_task(struct call *c);
/* Answers and messages of a server on their way to the client: its names become the session's. False when a
 * text cannot be changed as it must be. */
bool route_back(struct call *c, struct splice *text, const struct msg *m);
bool route_back_message(struct channel *ch, struct splice *text, const struct msg *m, struct slice method,
                        struct arena *a);
/* One element of a list, renamed, appended to `out`. False: it is left out. */
bool route_element(struct call *c, struct server *server, const char *list, const struct tape *t,
                   uint32_t elem, struct buf *out);
