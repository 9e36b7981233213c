/* MCP sessions of both eras. Fronts open them and hand them messages; call/ walks each message through the
 * steps of steps.c; what servers send on their own account is delivered by messages.c.
 *
 *   front ── session_receive ──▶ session ── call ──▶ channel ──▶ server
 *     ▲                            │  ▲                  │
 *     └── deliver / call_sink ─────┘  └──── answers, messages, requests
 */
#pragma once

#include "call/core.h"
#include "session/limits.h"

void session_core_init(struct core *core, struct io_loop *loop, struct spawn *spawn);
/* Sessions and servers too. */
void session_core_free(struct core *core);
/* Its channels are closed and calls under way fail; the next call starts it again. */
void session_restart_server(struct core *core, struct server *server);
/* The same, and its slot is free. */
void session_remove_server(struct core *core, struct server *server);

/* Takes a reference to the principal. */
struct session *session_new(struct core *core, const struct session_front *front, void *owner,
                            struct principal *principal, struct server *only, bool stateless);
void session_close(struct session *s); /* cancels its calls, closes its channels, frees it; NULL is fine */

/* A message from the client: takes a reference. `sink` gets the answer of a request (required for those). */
void session_receive(struct session *s, struct msg *m, struct call_sink *sink);
/* From now on the client listens outside calls too. */
void session_listen(struct session *s);
/* The client is slow (or no longer): stop (go on) reading what its servers send. */
void session_pause(struct session *s, bool on);
