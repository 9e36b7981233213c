/* The RESTORE step: tokens in a tool's arguments become values again, where the rules allow it. */
#pragma once

#include "call/call.h"

enum call_next restore_step(struct call *c);
