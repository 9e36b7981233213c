/* The servers that a session can use. */
#pragma once

#include "server/server.h"

/* Does the session include it, and may its principal use it? */
bool visible_is(const struct session *s, const struct server *server);
/* Is it new and not yet trusted by an operator, and the session not one of the console? Agents may not see
 * its tools. */
bool visible_distrusts(const struct session *s, const struct server *server);
/* The next visible server, in the order of the settings: start with *at = 0; NULL at the end. */
struct server *visible_next(const struct session *s, size_t *at);
/* The same for every server that the principal may use, even if the session includes only one. */
struct server *visible_next_any(const struct session *s, size_t *at);
/* The visible server with that prefix, or NULL. */
struct server *visible_by_prefix(const struct session *s, struct slice prefix);
/* Are names and URIs of this session's servers renamed? */
bool visible_renames(const struct session *s);
