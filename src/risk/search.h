/* Searching the catalogue by words of names: the same for the command line, the API and the site. */
#pragma once

#include "risk/catalogue.h"

/* Indexes of all servers in their newest version, the best known first. In the arena. */
size_t risk_search_order(struct arena *a, size_t **ret_servers);
/* Words are separated by spaces; case does not matter; no words fit everything.
 * Does each word occur in the name or the title of the server? */
bool risk_search_names(const struct risk_published *server, struct slice words);
/* Does each word occur there or in the name of one of its tools? */
bool risk_search_server(const struct risk_published *server, struct slice words);
/* Does each word occur in the name of the tool or of its server, or name its class? At least one is about the
 * tool itself. */
bool risk_search_tool(const struct risk_known *known, const struct risk_published *server,
                      struct slice words);
