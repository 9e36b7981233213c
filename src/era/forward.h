/* FORWARD: builds the message for the server and sends it. */
#pragma once

#include "call/call.h"

enum call_next forward_step(struct call *c);
