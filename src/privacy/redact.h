/* Redaction of what servers send to the client or into the log: values become tokens, or the whole text is
 * withheld. */
#pragma once

#include "call/call.h"
#include "server/server.h"

/* The pass of FILTER: edits the answer, or replaces it when it must be withheld. */
enum call_next redact_filter(struct call *c);
/* Before the reply: false while new tokens in it are not stored yet. */
bool redact_stored(struct call *c);
/* Loosens the schemas of results in a list of tools where results may contain tokens. */
void redact_list(struct call *c, uint32_t tools, struct splice *text);
/* A message that the server sends on its own. False: it is withheld. */
bool redact_message(struct session *s, struct server *server, const struct msg *m, struct splice *text);
/* The params of a question that was translated to the client's era. False: it must not be sent. */
bool redact_params(struct session *s, struct server *server, struct slice *params, struct arena *a);
/* The arguments with tokens instead of values; empty when they cannot be shown. */
struct slice redact_arguments(struct session *s, struct server *server, const struct tape *t, uint32_t args,
                              struct arena *a);
/* The finds in the result of a call: "EMAIL 2, SECRET 1", or empty. */
struct slice redact_summary(struct call *c);
