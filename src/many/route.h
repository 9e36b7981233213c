/* ROUTE: determines what a message is about, and which server gets it. In a session with many servers the
 * name decides (names.h); requests to several servers are gathered (gather.h). */
#pragma once

#include "call/call.h"

enum call_next route_step(struct call *c);
