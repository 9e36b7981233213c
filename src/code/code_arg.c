#include "code/code_arg.h"

#include "base/mem.h"
#include "code/code_reply.h"
#include "code/code_schema.h"
#include "policy/schema.h"

#include <math.h>

/* ---- check ---- */

/* NULL if the tool belongs to another profile and was called from code: its function checks its arguments
 * itself. */
static const struct policy_schema *schema_of(struct code_server *s, const struct code_tool *tool) {
    if (tool < s->face->tools || tool >= s->face->tools + s->face->tool_count)
        return NULL;
    size_t i = (size_t)(tool - s->face->tools);
    struct err err;
    cleanup_buf struct buf input;
    buf_init(&input, CODE_TEXT_RESULT_MAX);
    if (!s->schemas[i])
        code_schema_put(tool, true, &input);
    if (!s->schemas[i] && policy_schema_compile(buf_slice(&input), &s->schemas[i], &err) < 0)
        return NULL;
    return s->schemas[i];
}

/* Describes the expected value, for the most frequent errors. */
static struct slice describe_expected(struct code_req *r, const struct policy_schema_failure *why) {
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

bool code_arg_check(struct code_req *r) {
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
                     SLICE_FMT(describe_expected(r, &why))),
        true);
    return false;
}

/* ---- one argument ---- */

uint32_t code_arg_node(struct code_req *r, const char *key) {
    uint32_t node = r->args ? tape_get_str(&r->tape, r->args, key) : 0;
    return node && !tape_is(&r->tape, node, TAPE_NULL) ? node : 0;
}

struct slice code_arg_text(struct code_req *r, const char *key, struct slice fallback) {
    uint32_t node = code_arg_node(r, key);
    return node && tape_is(&r->tape, node, TAPE_STRING) ? tape_text(&r->tape, node, &r->arena) : fallback;
}

int64_t code_arg_int(struct code_req *r, const char *key, int64_t fallback) {
    uint32_t node = code_arg_node(r, key);
    double value;
    return node && tape_double(&r->tape, node, &value) && fabs(value) < 1e15 ? (int64_t)value : fallback;
}

bool code_arg_bool(struct code_req *r, const char *key, bool fallback) {
    uint32_t node = code_arg_node(r, key);
    return node ? tape_is(&r->tape, node, TAPE_TRUE) : fallback;
}
