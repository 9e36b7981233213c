/* One request of a client that several servers answer: lists, what they can do, subscriptions. For each
 * server an ordinary call is made (call_make), which walks all the steps under that server's own policy and
 * is recorded; the answers are put together here. A server that does not answer in time is left out, and the
 * client is told when it is back.
 *
 *   call ── gather ──┬── part ── call ──▶ server a
 *     ▲              ├── part ── call ──▶ server b      a part follows the pages of its server to the end
 *     └── one answer ┴── part ── call ──▶ server c
 *
 * A whole list (call->whole) is asked for from inside the gate: the tools of every server that the principal
 * may use, on one page, as [SERVER, DEFINITION, SERVER, DEFINITION, ...] under the servers' own names, and
 * `missing` has the names of servers that did not answer. */
#pragma once

#include "call/call.h"
#include "server/server.h"

struct gather;

/* Starts the parts; c->gathering until they are over. */
void gather_start(struct call *c);
/* Before a name without a prefix can be found: the lists it may stand in. */
void gather_search(struct call *c, const char *const *methods);
/* The call ends: so do its parts that are under way. */
void gather_end(struct call *c);
/* A server of the session accepts subscriptions from now on; `c` is a subscription. */
void gather_listen_to(struct call *c, struct server *server);
/* A message of the gate's own for a subscription: the named list has changed ("tools"). */
void gather_listen_notify(struct call *c, const char *list);
