/* A client's side of things: its MCP session of either era, the links to the servers behind it, and the
 * requests that go both ways. Fronts make sessions and hand them messages; call.c walks each message through
 * its steps; what servers say on their own account is delivered from here.
 *
 *   front ── session_receive ──▶ session ── call.c ──▶ link ──▶ server
 *     ▲                            │  ▲                  │
 *     └── deliver / call_sink ─────┘  └──── answers, messages, asks
 */
#pragma once

#include "call/core.h"
#include "session/limits.h"

void session_core_init(struct core *core, struct io_loop *loop, struct spawn *spawn);
/* Sessions and servers too. */
void session_core_free(struct core *core);

/* Why whoever is behind the session may do nothing any more, as of this moment, or NULL. */
const char *session_fault(const struct session *s);

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

/* ---- for the steps of a call ---- */

/* The most specific one: the principal's own, else the server's, else the default. */
struct policy *session_policy(const struct session *s, const struct server *server);
/* initialize has been answered: what the client said holds for every server and for their restarts. */
void session_keep_initialize(struct session *s, struct slice params);
/* logging/setLevel: later requests to servers of the modern era say so. */
void session_set_level(struct session *s, struct slice level);
void channel_refuse(struct channel *ch, struct slice server_id, int code, const char *why);
/* A message of the server to that call's client, or outside calls (NULL). False when it cannot be reached. */
bool channel_deliver(struct channel *ch, struct call *call, const struct session_out *out);
void session_cancel(struct session *s, struct msg *m);
/* Asks the client something on behalf of the call, on the call's own stream: approve_answered() gets the
 * answer. *ret_id is set before anything is sent; false when the client cannot be asked. */
bool session_ask(struct call *c, struct slice method, struct slice params, uint64_t *ret_id);
/* Nobody waits for the answer any more; the client is told. */
void session_ask_forget(struct session *s, uint64_t id);
void session_drop_asks(struct session *s, const struct channel *from); /* from NULL: all of them */
extern const struct link_events session_channel_events;
/* Key of an id in by_id: the decoded text behind a quote, or the digits. */
struct slice call_id_key(const struct tape *t, uint32_t id, struct arena *a);
