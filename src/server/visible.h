/* The servers that a session leads to. */
#pragma once

#include "server/server.h"

/* Does the session lead to it, and may its principal use it? */
bool visible_is(const struct session *s, const struct server *server);
/* Is it new, not trusted by an operator yet, and the session not one of the console? Agents may not see what
 * it has.
 */
bool visible_distrusts(const struct session *s, const struct server *server);
/* The next one that may be seen, in the order of the settings: start with *at = 0; NULL at the end. */
struct server *visible_next(const struct session *s, size_t *at);
/* The same for every server that the principal may use, when the session itself leads to one only. */
struct server *visible_next_any(const struct session *s, size_t *at);
/* The visible server with that prefix, or NULL. */
struct server *visible_by_prefix(const struct session *s, struct slice prefix);
/* Are names and URIs of this session's servers changed on their way? */
bool visible_renames(const struct session *s);
