/* Principals and their directories: HOME/code/NAME/{workspace,skills}. */
#pragma once

#include "code/model.h"

/* Creates the owner on first use. NULL: see err. */
struct code_owner *code_owner_get(struct code_server *s, struct slice principal, struct err *err);
void code_owner_free(struct code_owner *o);
