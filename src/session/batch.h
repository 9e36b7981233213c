/* Several messages of a client in one array, as 2025-03-26 has them and JSON-RPC before it. It is taken
 * apart: each message is a call of its own with all its steps, and the answers leave together. */
#pragma once

#include "call/call.h"

struct session_batch;

/* Is the text an array? Then it is no message by itself. */
bool batch_is(struct slice text);
/* Reads all of it; nothing is done yet. NULL: it is refused as a whole, with a code and the reason. */
struct session_batch *batch_read(struct session *s, struct block *block, struct slice bytes, int *ret_code,
                                 const char **ret_why);
/* Does anything in it want an answer? */
bool batch_wants_answer(const struct session_batch *b);
/* Takes the batch. The sink is answered once, with an array, or told that there is nothing; NULL when nothing
 * in it wants an answer. Events of its calls come before. The batch is gone after that. */
void batch_run(struct session_batch *take_b, struct call_sink *sink);
/* The client is gone but its calls go on; the sink is not used again. */
void batch_orphan(struct session_batch *b);
/* The client is slow: stop (go on) reading what belongs to its calls. */
void batch_pause(struct session_batch *b, bool on);
