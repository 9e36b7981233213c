/* How a client described itself in the legacy handshake. Applies to every server of the session, and is
 * repeated to a server that is restarted. */
#pragma once

#include "call/core.h"

/* initialize has been answered. Large params are not kept: such a session works, but a restart of its
 * server ends it. */
void client_keep_initialize(struct session *s, struct slice params);
void client_set_version(struct session *s, struct slice version);
/* logging/setLevel: later requests to modern servers carry this level. */
void client_set_level(struct session *s, struct slice level);
/* The client's description in requests to modern servers; copied. */
void client_set_meta(struct session *s, struct slice meta, struct slice task_meta, uint32_t bits);
void client_free(struct session *s);
