/* The RESTORE step: tokens in a tool's arguments become values again, where the rules allow it. */
#pragma once

#include "session/call.h"

/* False: the call must not be made, its answer is set. */
bool call_restore(struct call *c);
