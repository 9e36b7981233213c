/* Which tools of all servers the list of a client of many servers shows. Tools that are not listed can still
 * be found (search_tools) and called; the policy decides that elsewhere. */
#pragma once

#include "many/many.h"
#include "server/server.h"

/* Is that server's list needed to answer a client's tools/list? */
bool shortlist_asks(const struct session *s, const struct server *server);
/* The most used tools, for shortlist_shows(); in the arena. NULL when they do not matter. */
struct shortlist_kept *shortlist_keep(const struct session *s, struct arena *a);
/* Is that tool listed? */
bool shortlist_shows(const struct session *s, const struct shortlist_kept *kept, const struct server *server,
                     struct slice tool);
/* Instructions for the model: what is listed, how to find the rest, and when to use which. Empty when
 * everything is listed. */
void shortlist_instructions(const struct session *s, struct buf *out);
