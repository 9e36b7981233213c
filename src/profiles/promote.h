/* Skills that the operator offers as tools: those in HOME/code/shared/skills, in any language, whose
 * NAME.json has an `input_schema`. For a policy each is a tool of the code server under the skill's name;
 * calls of its code are decided under the caller's grant. */
#pragma once

#include "code/model.h"

void promote_list(struct code_req *r, struct emit *e);
/* False: there is no such tool. Otherwise the request is answered, now or when the run has ended. */
bool promote_call(struct code_req *r, struct slice name);
