/* One line of `simulate`: a policy, calls, and what would become of them. */
#pragma once

#include "base/buf.h"

#define POLICY_SIMULATE_LINE_MAX (64u << 20)

/* Appends one line of JSON with its newline. Whatever is wrong with the input becomes an `error` line. */
void policy_simulate_line(struct slice line, struct buf *out);
