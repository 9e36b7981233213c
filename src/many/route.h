/* ROUTE: what a message is about, and which server it goes to. In a session of many servers the name decides
 * (names.h); what needs several servers is gathered (gather.h). */
#pragma once

#include "call/call.h"

enum call_next route_step(struct call *c);
