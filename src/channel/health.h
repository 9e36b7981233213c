/* Health checks. A server that was silent for its interval and has no work is sent a request: ping in the
 * legacy era, server/discover in the modern one. Any answer passes the check, an error too.
 *
 *   silent ──check──▶ checked ──answer──▶ silent
 *                       └── timeout ──▶ down: a child is killed and restarted, an HTTP server is retried,
 *                                       both with the usual back-off
 *
 * A child is checked on each of its channels; a server over HTTP once for all of them. many/sweep.c runs this
 * once a second. The cost for calls is one counter per message. */
#pragma once

#include "channel/channel.h"

/* Starts the health clock. */
void health_start(struct core *core);
/* Every SWEEP_MS. */
void health_sweep(struct core *core);
/* The link is closed: forget the check under way. */
void health_forget(struct channel *ch);
