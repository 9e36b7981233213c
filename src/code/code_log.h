/* Output of code as log messages, for clients that requested a level: legacy ones by logging/setLevel, for
 * all requests of their conn; modern ones in the request itself. */
#pragma once

#include "code/model.h"

/* 1 (debug) to 8 (emergency); 0: no level. */
uint32_t code_log_rank(struct slice level);
void code_log_set_level(struct code_req *r);
/* Does the request's client want lines of this stream? stdout is `info`, stderr `warning`. */
bool code_log_wanted(const struct code_req *r, enum sandbox_stream stream);
void code_log_send(const struct code_req *r, enum sandbox_stream stream, struct slice text);
