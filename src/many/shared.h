/* Sessions that no client has: each keeps the channels of shared servers for all sessions of one principal.
 */
#pragma once

#include "many/many.h"

/* The pool of the session's principal; created when there is none. */
struct session *shared_session_of(struct session *s);
/* Closes unused pools; they are created again when they are needed. */
void shared_sweep(struct core *core);
