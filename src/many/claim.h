/* Names without a prefix belong to the server that listed them first. `kind` is one of 't' (tool), 'p'
 * (prompt), 'r' (URI), 'T' (template). */
#pragma once

#include "many/many.h"
#include "server/server.h"

/* False: it belongs to another server, or resembles a name that does. */
bool claim_name(struct server *server, char kind, struct slice name);
struct server *claim_owner(const struct session *s, char kind, struct slice name);
struct server *claim_template_owner(const struct session *s, struct slice uri);
void claim_drop(struct core *core, const struct server *server);
