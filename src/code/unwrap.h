/* The value of a tool's answer, as code that called the tool gets it. */
#pragma once

#include "base/arena.h"

/* False: *ret_value is a text that says why there is none. */
bool unwrap_result(struct slice result, struct arena *a, struct slice *ret_value);
