/* Installs a package of the operator's list for an agent. */
#pragma once

#include "code/model.h"

/* The tool, for profiles without their own. */
extern const struct code_tool package_install_tool;
/* Installs the package of that name and answers the request; refuses it if it is not allowed. */
void package_install(struct code_req *r);
void package_install_stop(struct code_server *s); /* with the server */
