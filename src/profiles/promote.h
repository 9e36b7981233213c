/* Skills that the operator offers as tools of their own: those in HOME/code/shared/skills, in any language,
 * whose NAME.json has an `input_schema`. To a policy each is a tool of the code server under the skill's
 * name; what its code calls is judged under the caller's grant. */
#pragma once

#include "code/model.h"

void promote_list(struct code_req *r, struct emit *e);
/* False: there is no such tool. Else the request is answered, now or when the run is over. */
bool promote_call(struct code_req *r, struct slice name);
