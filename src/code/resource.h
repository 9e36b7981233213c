/* Resources: the files of the workspace, skills in the form of Agent Skills, and those of a profile; also
 * prompts, because they are read in the same way. */
#pragma once

#include "code/model.h"

void resource_list(struct code_req *r);
void resource_templates(struct code_req *r);
void resource_read(struct code_req *r);
void resource_directory(struct code_req *r);
void resource_prompt(struct code_req *r);
void resource_skills(struct code_req *r);
void resource_skill(struct code_req *r);

/* workspace:///a/b%20c.txt */
struct slice resource_file_uri(struct slice path, struct arena *a);
