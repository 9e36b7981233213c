/* Tools: how they are listed, found and called. The tables stand in the profile_*.c files. */
#include "code/server.h"

#include "base/mem.h"
#include "code/promote.h"
#include "policy/schema.h"

#include <math.h>

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
    return tool || !inner ? tool : find_in(&code_native_face, name);
}

bool code_server_leads(const struct code_server *s, struct slice name) {
    bool any = false;
    for (size_t i = 0; i < s->face->tool_count; i++) {
        if (s->face->tools[i].leads && slice_is(name, s->face->tools[i].name))
            return true;
        any |= s->face->tools[i].leads;
    }
    return !any;
}

void code_tool_write(const struct code_face *face, const struct code_tool *tool, bool modern,
                     struct emit *e) {
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
    emit_raw(e, slice_str(tool->input));
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

void code_leads_write(struct emit *e) {
    for (size_t i = 0; i < code_native_face.tool_count; i++)
        if (code_native_face.tools[i].leads)
            code_tool_write(&code_native_face, &code_native_face.tools[i], true, e);
}

/* ---- calling ---- */

/* NULL when the tool is one of another profile's, called from code: its function looks for itself. */
static const struct policy_schema *schema_of(struct code_server *s, const struct code_tool *tool) {
    if (tool < s->face->tools || tool >= s->face->tools + s->face->tool_count)
        return NULL;
    size_t i = (size_t)(tool - s->face->tools);
    struct err err;
    if (!s->schemas[i] && policy_schema_compile(slice_str(tool->input), &s->schemas[i], &err) < 0)
        return NULL;
    return s->schemas[i];
}

/* What would be right, for the faults that are made most. */
static struct slice say_what_fits(struct code_req *r, const struct policy_schema_failure *why) {
    struct slice text = {0};
    cleanup_tape struct tape schema;
    tape_init(&schema);
    if (!why->keyword || tape_parse(&schema, slice_str(r->tool->input), NULL) != TAPE_OK)
        return text;
    const uint32_t required = tape_get_str(&schema, 0, "required"),
                   properties = tape_get_str(&schema, 0, "properties");
    if (strcmp(why->keyword, "required") == 0 && !why->pointer.len && required)
        TAPE_FOR_ELEM(&schema, required, i) {
            struct slice name = tape_text(&schema, i, &r->arena);
            if (!text.len && (!r->args || !tape_get(&r->tape, r->args, name)))
                text = arena_printf(&r->arena, ": `%.*s` is missing", SLICE_FMT(name));
        }
    const uint32_t property =
        properties && why->pointer.len ? tape_get(&schema, properties, slice_from(why->pointer, 1)) : 0;
    const bool listed = strcmp(why->keyword, "enum") == 0 || strcmp(why->keyword, "type") == 0;
    const uint32_t allowed = property && listed ? tape_get_str(&schema, property, why->keyword) : 0;
    if (allowed)
        text = arena_printf(&r->arena, ": %.*s", SLICE_FMT(tape_raw(&schema, allowed)));
    return text;
}

static bool arguments_fit(struct code_req *r) {
    static const char empty[] = "{}";
    const struct policy_schema *schema = schema_of(r->conn->server, r->tool);
    if (!schema)
        return true;
    struct tape none;
    tape_init(&none);
    const struct tape *t = &r->tape;
    if (!r->args) {
        tape_parse(&none, SLICE(empty), NULL);
        t = &none;
    }
    struct policy_schema_failure why = {0};
    enum policy_schema_answer answer = policy_schema_check(schema, t, r->args, &r->arena, &why);
    tape_free(&none);
    if (answer == POLICY_SCHEMA_VALID)
        return true;
    struct slice at = why.pointer.len ? why.pointer : SLICE("/");
    code_reply_text(
        r,
        arena_printf(&r->arena,
                     "Input validation error: %.*s does not satisfy `%s` of the input schema of %s%.*s",
                     SLICE_FMT(at), why.keyword ? why.keyword : "the limits", r->tool->name,
                     SLICE_FMT(say_what_fits(r, &why))),
        true);
    return false;
}

void code_tools_call(struct code_req *r) {
    const struct code_server *s = r->conn->server;
    uint32_t name = r->rpc.params ? tape_get_str(&r->tape, r->rpc.params, "name") : 0;
    struct slice text = name && tape_is(&r->tape, name, TAPE_STRING) ? tape_text(&r->tape, name, &r->arena)
                                                                     : (struct slice){0};
    r->tool = code_tool_find(s, text, r->inner);
    if (!r->tool && promote_call(r, text))
        return;
    if (!r->tool || !code_tool_usable(s, r->tool)) {
        code_reply_error(r, RPC_INVALID_PARAMS,
                         arena_printf(&r->arena, "Unknown tool: %.*s", SLICE_FMT(slice_upto(text, 128))).ptr);
        return;
    }
    if (r->inner && r->tool->executes) {
        code_reply_text(r, SLICE("code cannot run code: call its functions instead"), true);
        return;
    }
    r->args = tape_get_str(&r->tape, r->rpc.params, "arguments");
    if (arguments_fit(r))
        r->tool->run(r);
}

/* ---- arguments ---- */

uint32_t code_arg_node(struct code_req *r, const char *key) {
    uint32_t node = r->args ? tape_get_str(&r->tape, r->args, key) : 0;
    return node && !tape_is(&r->tape, node, TAPE_NULL) ? node : 0;
}

struct slice code_arg_text(struct code_req *r, const char *key, struct slice fallback) {
    uint32_t node = code_arg_node(r, key);
    return node && tape_is(&r->tape, node, TAPE_STRING) ? tape_text(&r->tape, node, &r->arena) : fallback;
}

double code_arg_double(struct code_req *r, const char *key, double fallback) {
    uint32_t node = code_arg_node(r, key);
    double value;
    return node && tape_double(&r->tape, node, &value) && isfinite(value) ? value : fallback;
}

int64_t code_arg_int(struct code_req *r, const char *key, int64_t fallback) {
    double value = code_arg_double(r, key, (double)fallback);
    return value > -1e15 && value < 1e15 ? (int64_t)value : fallback;
}

bool code_arg_bool(struct code_req *r, const char *key, bool fallback) {
    uint32_t node = code_arg_node(r, key);
    return node ? tape_is(&r->tape, node, TAPE_TRUE) : fallback;
}

/* ---- what code gets of another tool's answer ---- */

static struct slice joined_text(const struct tape *t, uint32_t content, struct arena *a, bool *ret_all_text) {
    struct slice all = {0};
    *ret_all_text = content && tape_is(t, content, TAPE_ARRAY) && tape_node(t, content)->count > 0;
    if (!*ret_all_text)
        return all;
    TAPE_FOR_ELEM(t, content, i) {
        uint32_t type = tape_get_str(t, i, "type"), text = tape_get_str(t, i, "text");
        if (!type || !tape_eq(t, type, SLICE("text")) || !text || !tape_is(t, text, TAPE_STRING)) {
            *ret_all_text = false;
            continue;
        }
        struct slice part = tape_text(t, text, a);
        all = all.len ? arena_printf(a, "%.*s\n%.*s", SLICE_FMT(all), SLICE_FMT(part)) : part;
    }
    return all;
}

static struct slice text_value(struct slice text, struct arena *a) {
    cleanup_tape struct tape t;
    tape_init(&t);
    if (text.len && tape_parse(&t, text, NULL) == TAPE_OK)
        return arena_dup(a, text);
    cleanup_buf struct buf quoted;
    buf_init(&quoted, CODE_INNER_RESULT_MAX * 6);
    emit_quote(&quoted, text);
    return arena_dup(a, buf_slice(&quoted));
}

bool code_unwrap(struct slice result, struct arena *a, struct slice *ret_value) {
    cleanup_tape struct tape t;
    tape_init(&t);
    if (result.len > CODE_INNER_RESULT_MAX) {
        *ret_value = SLICE("the tool's answer is too large");
        return false;
    }
    if (tape_parse(&t, result, NULL) != TAPE_OK || !tape_is(&t, 0, TAPE_OBJECT)) {
        *ret_value = SLICE("the tool's answer cannot be read");
        return false;
    }
    bool all_text;
    uint32_t failed = tape_get_str(&t, 0, "isError"), value = tape_get_str(&t, 0, "structuredContent");
    struct slice text = joined_text(&t, tape_get_str(&t, 0, "content"), a, &all_text);
    if (failed && tape_is(&t, failed, TAPE_TRUE)) {
        *ret_value = text.len ? arena_dup(a, text) : SLICE("the tool failed without a word");
        return false;
    }
    if (value && !tape_is(&t, value, TAPE_NULL))
        *ret_value = arena_dup(a, tape_raw(&t, value));
    else if (all_text)
        *ret_value = text_value(text, a);
    else
        *ret_value = arena_dup(a, result);
    return true;
}
