/* Webhook notifications about calls that wait for a person: a signed POST to one URL, retried with back-off
 * until the receiver accepts it or the request has ended. What was not delivered when the process ended is
 * delivered by the next one. */
#pragma once

#include "call/core.h"

struct webhook;

struct webhook_config {
    const char *url;    /* NULL: no webhook */
    const char *secret; /* signs; may be NULL with `slack`, whose URL is the secret */
    bool slack;         /* a message for a Slack channel instead of our own JSON */
};
/* Is the configuration valid? Only https, or http on this machine, and with a secret. */
int webhook_check(const struct webhook_config *config, struct err *err);
/* After approve_init(). Replaces the current one. */
int webhook_start(struct core *core, const struct webhook_config *config, struct err *err);
void webhook_stop(struct core *core);
