/* Finding tools without having all definitions in view: search, one definition, categories; and calling
 * what was found. The tools of other servers come from the conn's owner. */
#pragma once

#include "code/model.h"

void discover_search(struct code_req *r);
void discover_definition(struct code_req *r);
void discover_categories(struct code_req *r);
void discover_call(struct code_req *r);
/* codemode: every server with its tools, and DataGen's names of the same questions */
void discover_servers(struct code_req *r);
void discover_alias(struct code_req *r);
/* {"categories":[...],"total_tools":N} of the built-in tools */
void discover_write_registry(struct code_req *r, struct emit *e);
