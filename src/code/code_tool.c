#include "code/code_tool.h"

#include "base/buf.h"
#include "code/code_schema.h"
#include "code/package.h"

bool code_tool_usable(const struct code_server *s, const struct code_tool *tool) {
    if (!tool->executes)
        return true;
    for (int language = 0; s->sandbox && language < SANDBOX_LANGUAGES; language++)
        if ((!s->face->languages || s->face->languages & 1u << language) &&
            !sandbox_why_not(s->sandbox, (enum sandbox_language)language))
            return true;
    return false;
}

static const struct code_tool *find_in(const struct code_face *face, struct slice name) {
    for (size_t i = 0; i < face->tool_count; i++)
        if (slice_is(name, face->tools[i].name))
            return &face->tools[i];
    return NULL;
}

const struct code_tool *code_tool_find(const struct code_server *s, struct slice name, bool inner) {
    const struct code_tool *tool = find_in(s->face, name);
    if (!tool && slice_is(name, s->package_tool->name) && package_offered(s))
        return s->package_tool;
    return tool || !inner ? tool : find_in(s->config.common, name);
}

void code_tool_write(const struct code_face *face, const struct code_tool *tool, bool modern, bool packages,
                     struct emit *e) {
    cleanup_buf struct buf input;
    buf_init(&input, CODE_TEXT_RESULT_MAX);
    code_schema_put(tool, packages, &input);
    emit_object(e);
    emit_key(e, "name");
    emit_cstr(e, tool->name);
    if (tool->title) {
        emit_key(e, "title");
        emit_cstr(e, tool->title);
    }
    emit_key(e, "description");
    emit_cstr(e, tool->description);
    emit_key(e, "inputSchema");
    emit_raw(e, buf_slice(&input));
    if (tool->output && face->structured) {
        emit_key(e, "outputSchema");
        emit_raw(e, slice_str(tool->output));
    }
    if (tool->hints) {
        emit_key(e, "annotations");
        emit_raw(e, slice_str(tool->hints));
    }
    if (tool->executes && face->structured && !modern) {
        emit_key(e, "execution");
        emit_raw(e, SLICE("{\"taskSupport\":\"optional\"}"));
    }
    emit_object_end(e);
}
