/* Why a call from code failed, in a form that code can catch and inspect. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

/* A JSON object: message, kind (denied, rate_limited, approval_needed, unknown_tool, tool_error, failed),
 * server, tool, and details of the gate: rule, policy, reason, retry_after_ms, approval_id, expires_at,
 * instructions, code. `answer` is a CallToolResult with isError, a JSON-RPC error, or plain text. */
void fault_write(struct slice server, struct slice tool, struct slice answer, struct buf *out);
/* In the form of the endpoint for calls: {"error","code","data"}; returns the HTTP status. */
int fault_write_http(struct slice answer, struct buf *out);
/* Only its text. */
struct slice fault_words(struct slice answer, struct arena *a);
/* Is an approval needed first? `answer` as above. */
bool fault_needs_approval(struct slice answer);
