/* The kill switch at this gate: stopped calls are refused before the policy is evaluated; waiting calls and
 * calls under way are cancelled. See state/stops.h. */
#pragma once

#include "base/err.h"

#include <stdbool.h>

struct arena;
struct call;
struct core;
struct policy_verdict;
struct principal;
struct server;
struct state_stops;

int stop_open(struct core *core, const char *home, struct err *err);
void stop_close(struct core *core); /* call it after the last session, even if it was never opened */
/* NULL where nothing can be stopped. */
struct state_stops *stop_store(const struct core *core);

/* Returns true and sets the verdict when the call is stopped. */
bool stop_refuses(struct call *c);
/* The same for any traffic between this server and the principal of a session. */
bool stop_judge(struct core *core, const struct server *server, const struct principal *who, struct arena *a,
                struct policy_verdict *v);
/* Ends calls that were not sent yet and, if the stop requires it, those under way. Also runs periodically,
 * for stops of other processes. */
void stop_sweep(struct core *core);
/* Every call of a client is answered with this error. */
void stop_every_call(struct core *core, const char *why);
/* Ends one call: cancels it at the server and answers the client with an error. */
void stop_call(struct call *c, const char *why);
