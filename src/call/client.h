/* What a client said of itself in the legacy handshake. It holds for every server of the session, and for the
 * process that takes the place of one that ended. */
#pragma once

#include "call/core.h"

/* initialize has been answered. Params that are too large are not kept: such a session works, but a restart
 * of its server ends it. */
void client_keep_initialize(struct session *s, struct slice params);
void client_set_version(struct session *s, struct slice version);
/* logging/setLevel: later requests to modern servers say so. */
void client_set_level(struct session *s, struct slice level);
/* How its requests describe it to modern servers; copied. */
void client_set_meta(struct session *s, struct slice meta, struct slice task_meta, uint32_t bits);
void client_free(struct session *s);
