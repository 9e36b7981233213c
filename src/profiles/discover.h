/* Finds tools without listing all definitions: search, one definition, categories; and calls a found tool.
 * The conn's owner provides the tools of other servers. */
#pragma once

#include "code/model.h"

void discover_search(struct code_req *r);
void discover_definition(struct code_req *r);
void discover_categories(struct code_req *r);
void discover_call(struct code_req *r);
/* codemode: every server with its tools, and DataGen's names for the same requests */
void discover_servers(struct code_req *r);
void discover_alias(struct code_req *r);
/* {"categories":[...],"total_tools":N} of the built-in tools */
void discover_write_registry(struct code_req *r, struct emit *e);
