/* Spreads the word about calls that wait for a person: a signed POST to one URL, tried again with growing
 * pauses until the receiver takes it or the request is over. What was not delivered when the process ended is
 * delivered by the next one. */
#pragma once

#include "session/session.h"

struct session_webhook;

/* After session_approvals_init(). -1 when the URL cannot be used: only https, or http
 * on this machine. */
int session_webhook_start(struct session_core *core, const char *url, const char *secret, struct err *err);
void session_webhook_stop(struct session_webhook *w); /* NULL is fine */
