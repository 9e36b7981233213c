#include "profiles/profile.h"

#include "code/code_tool.h"

extern const struct code_face profile_execution, profile_interpreter, profile_mode, profile_datagen;

const char *const profile_names[] = {
    "native", "code-execution-mcp", "python-interpreter", "codemode", "datagen", NULL,
};

static const struct code_face *const faces[] = {
    &profile_native, &profile_execution, &profile_interpreter, &profile_mode, &profile_datagen,
};

const struct code_face *profile_find(struct slice name) {
    for (size_t i = 0; profile_names[i]; i++)
        if (slice_is(name, profile_names[i]))
            return faces[i];
    return NULL;
}

void profile_write_discovery(struct emit *e) {
    for (size_t i = 0; i < profile_native.tool_count; i++)
        if (profile_native.tools[i].leads)
            code_tool_write(&profile_native, &profile_native.tools[i], true, false, e);
}
