/* Requests about the whole gate, which all of its processes answer together. */
#pragma once

#include "front/front.h"

/* Returns true if the request is one of those; it is answered. False: this process handles it alone, or
 * there is no other process. */
bool front_fanout(struct front_conn *c, const struct web_request *request);
/* The same for /readyz: combines what this process would answer with the answers of the others. */
bool front_fanout_ready(struct front_conn *c, const struct http_head *head, int status, struct slice text);
