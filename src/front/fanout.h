/* Questions about the gate that all of its processes answer together. */
#pragma once

#include "front/front.h"

/* The request is one of those, and is answered. False: it is for this process alone, or there is no other. */
bool front_fanout(struct front_conn *c, const struct web_request *request);
/* The same for /readyz: what this process would answer, and what the others do. */
bool front_fanout_ready(struct front_conn *c, const struct http_head *head, int status, struct slice text);
