/* Responses, in the form of the request's protocol version. Each function frees the request. */
#pragma once

#include "code/code_answer.h"

void code_reply(struct code_req *r, struct slice members); /* of the result object, may be empty */
void code_reply_cached(struct code_req *r, struct slice members);
void code_reply_answer(struct code_req *r, const struct code_answer *answer);
void code_reply_text(struct code_req *r, struct slice text, bool is_error);
void code_reply_json(struct code_req *r, struct slice json, bool is_error);
void code_reply_error(struct code_req *r, int code, const char *message);
void code_reply_error_as(struct code_req *r, struct slice error); /* a complete JSON-RPC error object */
void code_reply_task(struct code_req *r, struct slice members);
