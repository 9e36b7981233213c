/* The gate's own answer to initialize and server/discover in a session of many servers. */
#pragma once

#include "call/call.h"

/* The whole response. Servers that have not been heard of yet count as able to do everything: what they offer
 * may still come. */
struct slice describe_text(struct call *c);
