/* The steps of a call. */
#pragma once

#include "call/call.h"

extern const struct call_walk steps_walk;
