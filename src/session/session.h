/* MCP sessions of both eras. Fronts open them and hand them messages; call/ walks each message through the
 * steps of steps.c; messages that servers send on their own are delivered by messages.c.
 *
 *   front ── session_receive ──▶ session ── call ──▶ channel ──▶ server
 *     ▲                            │  ▲                  │
 *     └── deliver / call_sink ─────┘  └──── answers, messages, requests
 */
#pragma once

#include "call/core.h"
#include "session/limits.h"

void session_core_init(struct core *core, struct io_loop *loop, struct spawn *spawn);
/* Includes sessions and servers. */
void session_core_free(struct core *core);
/* Closes its channels; calls under way fail. The next call starts it again. */
void session_restart_server(struct core *core, struct server *server);
/* The same, and its slot becomes free. */
void session_remove_server(struct core *core, struct server *server);

/* Takes a reference to the principal. */
struct session *session_new(struct core *core, const struct session_front *front, void *owner,
                            struct principal *principal, struct server *only, bool stateless);
/* Cancels its calls, closes its channels, frees it; NULL is fine. The front and its owner are not used any
 * more. While calls with a concurrency slot wait for their servers (call_cancel()), the session stays. */
void session_close(struct session *s);
/* The same; `over` is called when the session is gone, now or later. */
void session_close_then(struct session *s, void (*over)(void *arg), void *arg);
/* Frees closed sessions that still wait for their calls. */
void session_end_closed(struct core *core);

/* A message from the client: takes a reference. `sink` gets the answer to a request, and is required for
 * one. */
void session_receive(struct session *s, struct msg *m, struct call_sink *sink);
/* From now on the client also receives messages outside of calls. */
void session_listen(struct session *s);
/* The client is slow (or ready again): pause (resume) reading from its servers. */
void session_pause(struct session *s, bool on);
