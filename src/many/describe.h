/* The gate's own answer to initialize and server/discover in a session of many servers. */
#pragma once

#include "call/call.h"

/* The complete response. Servers that have not answered yet count as supporting everything: they may do so
 * later. */
struct slice describe_text(struct call *c);
