/* The value of a tool's response, for the code that called the tool. */
#pragma once

#include "base/arena.h"

/* False: *ret_value is a text with the reason. */
bool unwrap_result(struct slice result, struct arena *a, struct slice *ret_value);
