/* The input schema of a tool. */
#pragma once

#include "code/model.h"

/* With `packages`, a tool that runs code has that argument, in every profile. */
struct buf;
void code_schema_put(const struct code_tool *tool, bool packages, struct buf *out);
