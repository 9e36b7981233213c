/* Several messages of a client in one array, as in 2025-03-26 and in JSON-RPC itself. It is split: each
 * message is a call of its own with all its steps, and the answers are sent together. */
#pragma once

#include "call/call.h"

struct session_batch;

/* Is the text an array? Then it is not a single message. */
bool batch_is(struct slice text);
/* Parses the complete array, without side effects. NULL: the batch is refused, with a code and the reason. */
struct session_batch *batch_read(struct session *s, struct block *block, struct slice bytes, int *ret_code,
                                 const char **ret_why);
/* Does it contain a request? */
bool batch_wants_answer(const struct session_batch *b);
/* Takes ownership of the batch and frees it when it is over. The sink gets one array of answers, or is
 * notified that there is none; it is NULL when the batch contains no request. Events of its calls come
 * before the array. */
void batch_run(struct session_batch *take_b, struct call_sink *sink);
/* The client is gone but its calls continue; the sink is not used again. */
void batch_orphan(struct session_batch *b);
/* The client is slow: pause (resume) reading for its calls. */
void batch_pause(struct session_batch *b, bool on);
