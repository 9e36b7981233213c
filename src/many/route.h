/* ROUTE: what a message is about, and which server it goes to. Where a session leads to many, names tell
 * (names.h); what one server alone cannot answer is gathered (gather.h). */
#pragma once

#include "call/call.h"

enum call_next route_step(struct call *c);
