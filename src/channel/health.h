/* Servers that are there and say nothing. One that was silent for its interval and has nothing to do is asked
 * for a sign of life: ping in the older era, server/discover in the newer one. Any answer is one, a refusal
 * too.
 *
 *   silent ──ask──▶ asked ──answer──▶ silent
 *                     └── timeout ──▶ given up: a child is killed and started anew, an HTTP server is tried
 *                                     again, both after the usual delays
 *
 * A child is asked on each of its links; a server over HTTP once for all of them. Looked at once a second by
 * the sweep of many.c; calls pay nothing for it but one count a message. */
#pragma once

#include "channel/channel.h"

/* Time counts from now on. */
void health_start(struct core *core);
/* Every SWEEP_MS. */
void health_sweep(struct core *core);
/* The link is over: nobody waits for its sign of life. */
void health_forget(struct channel *ch);
