/* The tools of the table: which are offered, and how they are listed. */
#pragma once

#include "code/model.h"

/* By name in the profile; calls from code also find those of the native profile. */
const struct code_tool *code_tool_find(const struct code_server *s, struct slice name, bool inner);
/* Can it be offered now? */
bool code_tool_usable(const struct code_server *s, const struct code_tool *tool);
/* With `packages`: tools that run code have that argument. */
void code_tool_write(const struct code_face *face, const struct code_tool *tool, bool modern, bool packages,
                     struct emit *e);
