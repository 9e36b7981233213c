/* The methods of the protocol: a request is looked up in one table and handed to the function that answers
 * it. */
#pragma once

#include "code/model.h"

/* Answers the request, now or later. One that needs to know what the sandbox can do waits in server->parked
 * until that is known. */
void code_method_run(struct code_req *r);
