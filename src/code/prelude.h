/* The sources that run before an agent's Python, by profile: index + 1. JavaScript has its functions in the
 * runtime. */
#pragma once

#include "runner/sandbox.h"

enum {
    CODE_PRELUDE_PYTHON = 1, /* the functions of the native profile */
    CODE_PRELUDE_RESTRICTED, /* and the builtins of Code Execution MCP */
    CODE_PRELUDE_REPL,       /* and a prompt */
    CODE_PRELUDE_DATAGEN,    /* and DataGen's names for tools */
    CODE_PRELUDES_END,
};
#define CODE_PRELUDES (CODE_PRELUDES_END - 1)

/* Fills the array for sandbox_config; the sources are part of the program. */
void code_preludes(struct sandbox_prelude ret_preludes[CODE_PRELUDES]);
