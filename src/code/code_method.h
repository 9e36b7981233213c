/* The methods of the protocol: a table maps each request to the function that handles it. */
#pragma once

#include "code/model.h"

/* Answers the request, now or later. A request that needs the capabilities of the sandbox waits in
 * server->parked until they are known. */
void code_method_run(struct code_req *r);
