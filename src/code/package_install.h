/* Installing a package for an agent: one of the operator's list. */
#pragma once

#include "code/model.h"

/* The tool, for profiles that have none of their own. */
extern const struct code_tool package_install_tool;
/* Installs the package of that name and answers the request; a refusal when it is not among the allowed. */
void package_install(struct code_req *r);
void package_install_stop(struct code_server *s); /* with the server */
