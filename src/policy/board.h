/* A policy as a board: every tool stands in one column, and a move is an edit of the text that keeps its
 * comments and order. The console's board and the commands allow, limit, approve-first, deny and hide make
 * the same edits here.
 *
 *            Allow   Rate limit   Require approval   Deny   Hide
 *   read       x
 *   send                x
 *   remove                                            x
 *
 * A move touches only what puts the whole tool in a column: unconditional denials and approvals, its rate
 * limit, `action` and `rate_limit` beside the lists, its place in `hide`. Rules about arguments, limits with
 * a scope and rules in shadow mode stay. A tool that stands there already keeps its rule as it is, with
 * approvers and texts. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

enum policy_column {
    POLICY_COLUMN_ALLOW,
    POLICY_COLUMN_LIMIT,
    POLICY_COLUMN_APPROVE,
    POLICY_COLUMN_DENY,
    POLICY_COLUMN_HIDE,
    POLICY_COLUMNS,
};
/* "allow", "limit", "approve", "deny", "hide". */
const char *policy_column_name(enum policy_column column);
/* -1 for any other name. */
int policy_column_from(struct slice name, enum policy_column *ret_column);

/* Writes the policy with the tool moved. `rate` is for POLICY_COLUMN_LIMIT: "10/minute". The text must be a
 * valid policy, and so is the result. */
int policy_board_move(struct slice text, struct slice tool, enum policy_column to, struct slice rate,
                      struct buf *out, struct err *err);
/* The pattern, `*` or entry of `hide` that is stricter than the column the tool stands in now, or empty.
 * Which tools an @class selector names is not known here. Allocated in the arena. */
struct slice policy_board_other(struct slice text, struct slice tool, enum policy_column to, struct arena *a);
