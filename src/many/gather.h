/* One request of a client that several servers answer: lists, what they can do, subscriptions. For each
 * server an ordinary call is made (call_make), which walks all the steps under that server's own policy and
 * is recorded; the answers are put together here. A server that does not answer in time is omitted, and the
 * client is notified when it is back.
 *
 *   call ── gather ──┬── part ── call ──▶ server a
 *     ▲              ├── part ── call ──▶ server b      a part follows the pages of its server to the end
 *     └── one answer ┴── part ── call ──▶ server c
 *
 * A complete list (call->whole) is requested from inside the gate: the tools of every server that the
 * principal may use, on one page, as [SERVER, DEFINITION, SERVER, DEFINITION, ...] under the servers' own
 * names, and `missing` has the names of servers that did not answer. */
#pragma once

#include "call/call.h"
#include "server/server.h"

struct gather;

/* Starts the parts; c->gathering is true until they are over. */
void gather_start(struct call *c);
/* Requests the lists that may contain a name without a prefix. */
void gather_search(struct call *c, const char *const *methods);
/* The call ends: ends its parts that are under way. */
void gather_end(struct call *c);
/* A server of the session now accepts subscriptions; `c` is a subscription. */
void gather_listen_to(struct call *c, struct server *server);
/* Notifies a subscription that the named list has changed ("tools"). */
void gather_listen_notify(struct call *c, const char *list);
