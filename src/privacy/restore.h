/* The RESTORE step: tokens in a tool's arguments become values again, where the rules allow it. */
#pragma once

#include "call/call.h"

/* False: the call must not be made, its answer is set. */
bool restore_arguments(struct call *c);
