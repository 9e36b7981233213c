/* Resources: the files of the workspace, skills as Agent Skills have them, and what a profile adds; prompts
 * too, as they are read alike. */
#pragma once

#include "code/server.h"

void resource_list(struct code_req *r);
void resource_templates(struct code_req *r);
void resource_read(struct code_req *r);
void resource_directory(struct code_req *r);
void resource_prompt(struct code_req *r);
void resource_skills(struct code_req *r);
void resource_skill(struct code_req *r);

/* workspace:///a/b%20c.txt */
struct slice resource_file_uri(struct slice path, struct arena *a);
/* The content of a resource as the answer. */
struct slice resource_uri_of(struct code_req *r); /* that is to be read; empty when there is none */
struct slice resource_decode(struct slice text, struct arena *a);
void resource_not_found(struct code_req *r);
void resource_reply_text(struct code_req *r, struct slice uri, const char *mime, struct slice text);
