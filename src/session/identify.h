/* IDENTIFY: who asks, which method, and under which id. */
#pragma once

#include "call/call.h"

enum call_next identify_step(struct call *c);
