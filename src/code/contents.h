/* Contents of resources, for every provider of resources. */
#pragma once

#include "code/model.h"

struct slice contents_uri(struct code_req *r); /* URI of the requested resource; empty if there is none */
/* With percent-encoding decoded; anything else stays as it is. Paths are checked where they are used. */
struct slice contents_decode(struct slice text, struct arena *a);
void contents_reply(struct code_req *r, struct slice uri, const char *mime, struct slice bytes, bool as_text);
void contents_not_found(struct code_req *r);
