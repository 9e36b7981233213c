/* Why a call from code failed, in a form that code can catch and look at. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

/* A JSON object: message, kind (denied, rate_limited, approval_needed, unknown_tool, tool_error, failed),
 * server, tool, and what the gate said of it: rule, policy, reason, retry_after_ms, approval_id, expires_at,
 * instructions, code. `answer` is a CallToolResult with isError, a JSON-RPC error, or plain words. */
void fault_write(struct slice server, struct slice tool, struct slice answer, struct buf *out);
/* As the endpoint for calls answers it: {"error","code","data"}; gives the HTTP status. */
int fault_write_http(struct slice answer, struct buf *out);
/* The words of it alone. */
struct slice fault_words(struct slice answer, struct arena *a);
/* Does a person have to agree first? `answer` as above. */
bool fault_needs_approval(struct slice answer);
