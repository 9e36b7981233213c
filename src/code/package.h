/* Packages that an operator allows: installed by pip outside the sandbox into HOME/code/packages, which runs
 * see read-only. Nothing an agent says reaches pip's command line: its words only choose among the
 * operator's. */
#pragma once

#include "code/model.h"

/* For the configuration: makes the directory when packages are allowed. "" when none are. */
const char *package_dir(struct code_server *s);
/* Installs the package of that name and answers the request; a refusal when it is not among the allowed. */
void package_install(struct code_req *r, struct slice name);
void package_stop(struct code_server *s); /* with the server */
