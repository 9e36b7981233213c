#include "wire/mirror.h"

#include "wire/base64.h"
#include "wire/http.h"

static const struct slice mark_open = SLICE("=?base64?"), mark_close = SLICE("?=");

static bool has_marks(struct slice value) {
    return value.len >= mark_open.len + mark_close.len && slice_starts(value, mark_open) &&
           slice_ends(value, mark_close);
}

/* An empty value counts as unsafe: many parsers drop it. */
static bool plain_is_safe(struct slice text) {
    if (!text.len || text.ptr[0] == ' ' || text.ptr[0] == '\t' || text.ptr[text.len - 1] == ' ' ||
        text.ptr[text.len - 1] == '\t')
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != '\t' && (text.ptr[i] < 0x20 || text.ptr[i] > 0x7e))
            return false;
    return !has_marks(text);
}

bool mirror_encode(struct slice text, struct buf *out) {
    if (plain_is_safe(text))
        return buf_put_slice(out, text);
    buf_put_slice(out, mark_open);
    base64_put(out, text, BASE64_PADDED);
    return buf_put_slice(out, mark_close);
}

bool mirror_decode(struct slice value, struct arena *a, struct slice *ret_text) {
    *ret_text = value;
    if (!has_marks(value))
        return true;
    value = slice_of(value.ptr + mark_open.len, value.len - mark_open.len - mark_close.len);
    return base64_get(value, BASE64_PADDED, a, ret_text) && tape_utf8_valid(*ret_text);
}

/* ---- marks in a schema ---- */

struct level {
    uint32_t at;  /* key of the next property */
    uint32_t end; /* node behind the properties object */
    struct slice key;
};

static bool param_type(const struct tape *t, uint32_t schema, enum mirror_type *ret_type) {
    static const char *const names[] = {"string", "integer", "boolean"};
    uint32_t type = tape_get_str(t, schema, "type");
    for (size_t i = 0; type && i < sizeof(names) / sizeof(names[0]); i++) {
        if (tape_eq(t, type, slice_str(names[i]))) {
            *ret_type = (enum mirror_type)i;
            return true;
        }
    }
    return false;
}

static bool name_is_new(const struct mirror_param *params, size_t count, struct slice name) {
    for (size_t i = 0; i < count; i++)
        if (slice_eq_nocase(params[i].header, name))
            return false;
    return true;
}

/* Counts all marks in the schema, valid positions or not. */
static size_t count_marks(const struct tape *t, uint32_t schema) {
    size_t found = 0;
    for (uint32_t i = schema; i < tape_node(t, schema)->next; i++)
        if (tape_is(t, i, TAPE_OBJECT) && tape_get_str(t, i, "x-mcp-header"))
            found++;
    return found;
}

bool mirror_params(const struct tape *t, uint32_t schema, struct arena *a, struct mirror_param **ret_params,
                   size_t *ret_count) {
    *ret_count = 0;
    *ret_params = NULL;
    size_t marks = schema && tape_is(t, schema, TAPE_OBJECT) ? count_marks(t, schema) : 0;
    if (!marks)
        return true;
    if (marks > MIRROR_PARAMS_MAX)
        return false;
    struct mirror_param *params = arena_array(a, struct mirror_param, marks);
    struct level stack[MIRROR_PATH_MAX];
    uint32_t depth = 0;
    uint32_t props = tape_get_str(t, schema, "properties");
    if (!props || !tape_is(t, props, TAPE_OBJECT))
        return false;
    stack[depth++] = (struct level){.at = props + 1, .end = tape_node(t, props)->next};
    while (depth) {
        struct level *top = &stack[depth - 1];
        if (top->at >= top->end) {
            depth--;
            continue;
        }
        uint32_t prop = top->at + 1;
        top->key = arena_dup(a, tape_text(t, top->at, a));
        top->at = tape_node(t, prop)->next;
        uint32_t mark = tape_get_str(t, prop, "x-mcp-header");
        if (mark) {
            struct mirror_param p = {.depth = depth};
            struct slice name = arena_dup(a, tape_text(t, mark, a));
            if (!http_token_ok(name) || !name_is_new(params, *ret_count, name) ||
                !param_type(t, prop, &p.type))
                return false;
            p.header = name;
            for (uint32_t i = 0; i < depth; i++)
                p.path[i] = stack[i].key;
            params[(*ret_count)++] = p;
        }
        uint32_t inner = tape_get_str(t, prop, "properties");
        if (inner && tape_is(t, inner, TAPE_OBJECT)) {
            if (depth == MIRROR_PATH_MAX)
                return false;
            stack[depth++] = (struct level){.at = inner + 1, .end = tape_node(t, inner)->next};
        }
    }
    *ret_params = params;
    /* A mark that was not visited is in a place where it is not allowed: items, oneOf, $defs … */
    return *ret_count == marks;
}

static uint32_t find_arg(const struct tape *t, uint32_t args, const struct mirror_param *p) {
    uint32_t node = args;
    for (uint32_t i = 0; i < p->depth && node; i++)
        node = tape_get(t, node, p->path[i]);
    return node && node != args && !tape_is(t, node, TAPE_NULL) ? node : 0;
}

static struct slice arg_text(const struct tape *t, uint32_t node, struct arena *a) {
    return tape_is(t, node, TAPE_STRING) ? tape_text(t, node, a) : tape_raw(t, node);
}

bool mirror_value(const struct tape *t, uint32_t args, const struct mirror_param *p, struct arena *a,
                  struct buf *out) {
    uint32_t node = args ? find_arg(t, args, p) : 0;
    return node && mirror_encode(arg_text(t, node, a), out);
}

/* Parses a header value as an integer; leading zeros and a sign are accepted. */
static bool text_int(struct slice text, int64_t *ret_value) {
    bool negative = text.len && text.ptr[0] == '-';
    uint64_t magnitude;
    if (!slice_to_u64(slice_from(text, negative), &magnitude) || magnitude > INT64_MAX)
        return false;
    *ret_value = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
}

bool mirror_agrees(const struct tape *t, uint32_t args, const struct mirror_param *p, struct slice header,
                   struct arena *a) {
    uint32_t node = args ? find_arg(t, args, p) : 0;
    if (!node || !header.ptr)
        return !node && !header.ptr;
    struct slice text;
    if (!mirror_decode(header, a, &text))
        return false;
    int64_t in_header, in_arguments;
    if (p->type == MIRROR_INTEGER && tape_int(t, node, &in_arguments) && text_int(text, &in_header))
        return in_header == in_arguments;
    return slice_eq(text, arg_text(t, node, a));
}
