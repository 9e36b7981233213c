/* One line of `simulate`: a policy, calls, and their verdicts. */
#pragma once

#include "base/buf.h"
#include "policy/policy.h"

#define POLICY_SIMULATE_LINE_MAX (64u << 20)

/* Appends one line of JSON with its newline. An invalid input becomes an `error` line. Without `files`,
 * `under` stays lexical. */
void policy_simulate_line(struct slice line, const struct policy_files *files,
                          const struct policy_detector *detector, struct buf *out);
