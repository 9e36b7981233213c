/* IDENTIFY: the principal, the method and the id of a request. */
#pragma once

#include "call/call.h"

enum call_next identify_step(struct call *c);
