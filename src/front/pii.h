/* Settings about personal data and secrets, put into force. */
#pragma once

#include "front/settings.h"
#include "session/pii.h"

/* core->pii and what the audit log keeps of arguments. core->pii stays NULL when there is nothing to do; it
 * is freed by whoever frees the core, after it. */
int front_pii_open(struct session_core *core, const struct settings *s, const char *home, struct err *err);
/* What a server's own member `pii` says. */
void front_pii_server(struct session_server *server, const struct settings_server *s);
