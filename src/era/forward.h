/* FORWARD: the message as the server gets it. */
#pragma once

#include "call/call.h"

enum call_next forward_step(struct call *c);
