/* Questions about the gate that all of its processes answer together. */
#pragma once

#include "front/front.h"

/* The request is one of those, and is answered. False: it is for this process alone, or there is no other. */
bool front_fanout(struct front_conn *c, const struct web_request *request);
