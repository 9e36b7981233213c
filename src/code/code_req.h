/* A pending request: it exists until it is answered, cancelled or its conn closes. */
#pragma once

#include "code/model.h"

struct code_req *code_req_new(struct code_conn *c, struct slice bytes);
void code_req_free(struct code_req *r); /* without a response */
/* A message for the client that belongs to this request. */
void code_req_send(const struct code_req *r, struct slice text);
