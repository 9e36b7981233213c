/* Spreads the word about calls that wait for a person: a signed POST to one URL, tried again with growing
 * pauses until the receiver takes it or the request is over. What was not delivered when the process ended is
 * delivered by the next one. */
#pragma once

#include "call/core.h"

struct webhook;

/* Can it be started so? Only https, or http on this machine, and with a secret. Both may be NULL. */
int webhook_check(const char *url, const char *secret, struct err *err);
/* After approve_init(), in place of the one there was; a URL that is NULL stops it. */
int webhook_start(struct core *core, const char *url, const char *secret, struct err *err);
void webhook_stop(struct core *core);
