/* The tape against jansson: both take a text or both refuse it, and then they read the same values. */
#include "wire/tape.h"
#include "fuzz.h"

#include <jansson.h>

/* Where the two are meant to differ: depth and the length of numbers are bounded here, the size of numbers
 * there; jansson cannot hold a NUL in a key. */
static bool differ_by_design(enum tape_fault fault, const json_error_t *error) {
    enum json_error_code code = json_error_code(error);
    return fault == TAPE_DEPTH || fault == TAPE_TOO_LARGE || code == json_error_numeric_overflow ||
           code == json_error_null_byte_in_key;
}

/* The shape of the tape itself: children inside their parents, counts that are true. */
static void check_shape(const struct tape *t) {
    for (uint32_t i = 0; i < t->count; i++) {
        const struct tape_node *n = tape_node(t, i);
        struct slice raw = tape_raw(t, i);
        CHECK(n->next > i && n->next <= t->count);
        CHECK(raw.ptr >= t->src.ptr && raw.ptr + raw.len <= t->src.ptr + t->src.len);
        uint32_t count = 0, at = i + 1;
        for (; at < n->next; at = t->nodes[at].next, count++) {
            if (n->type == TAPE_OBJECT) {
                CHECK(tape_is(t, at, TAPE_STRING));
                at = t->nodes[at].next;
            }
            struct slice child = tape_raw(t, at);
            CHECK(child.ptr > raw.ptr && child.ptr + child.len < raw.ptr + raw.len);
        }
        CHECK(at == n->next && count == n->count);
    }
}

static void check_text(const struct tape *t, uint32_t i, const json_t *v, struct arena *a) {
    struct slice text = tape_text(t, i, a);
    CHECK(slice_eq(text, slice_of(json_string_value(v), json_string_length(v))));
    CHECK(tape_eq(t, i, text));
    CHECK(tape_utf8_valid(text));
}

/* One value with jansson's twin; containers only by their size and the look-up of their members. */
static void check_value(const struct tape *t, uint32_t i, const json_t *v, struct arena *a) {
    int64_t whole;
    double number;
    switch (json_typeof(v)) {
    case JSON_NULL:
        CHECK(tape_is(t, i, TAPE_NULL));
        break;
    case JSON_TRUE:
        CHECK(tape_is(t, i, TAPE_TRUE));
        break;
    case JSON_FALSE:
        CHECK(tape_is(t, i, TAPE_FALSE));
        break;
    case JSON_INTEGER:
        CHECK(tape_int(t, i, &whole) && whole == json_integer_value(v));
        break;
    case JSON_REAL:
        CHECK(!tape_int(t, i, &whole) && tape_double(t, i, &number) && number == json_real_value(v));
        break;
    case JSON_STRING:
        check_text(t, i, v, a);
        break;
    case JSON_ARRAY:
        CHECK(tape_is(t, i, TAPE_ARRAY) && tape_node(t, i)->count == json_array_size(v));
        break;
    case JSON_OBJECT:
        CHECK(tape_is(t, i, TAPE_OBJECT) && tape_node(t, i)->count == json_object_size(v));
        break;
    }
}

/* Both trees in step, with a stack of what is open. */
static void check_same(const struct tape *t, const json_t *root, struct arena *a) {
    struct {
        uint32_t node;
        size_t index;
        const json_t *value;
    } stack[TAPE_DEPTH_MAX];
    size_t depth = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        const json_t *v = root;
        while (depth && i >= t->nodes[stack[depth - 1].node].next)
            depth--;
        if (depth && json_is_array(stack[depth - 1].value)) {
            v = json_array_get(stack[depth - 1].value, stack[depth - 1].index++);
        } else if (depth) {
            struct slice key = tape_text(t, i, a);
            v = json_object_getn(stack[depth - 1].value, key.ptr, key.len);
            CHECK(tape_get(t, stack[depth - 1].node, key) == i + 1);
            i++;
        }
        CHECK(v);
        check_value(t, i, v, a);
        if (json_is_array(v) || json_is_object(v)) {
            stack[depth].node = i;
            stack[depth].index = 0;
            stack[depth++].value = v;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice in = slice_of((const char *)data, size);
    cleanup_tape struct tape t;
    cleanup_arena struct arena a;
    json_error_t error = {0};
    size_t at;
    tape_init(&t);
    arena_init(&a);
    enum tape_fault fault = tape_parse(&t, in, &at);
    CHECK(at <= size && tape_fault_text(fault));
    /* A NUL byte is nowhere part of JSON; jansson overlooks one behind a number. */
    if (slice_find(in, '\0') >= 0) {
        CHECK(fault != TAPE_OK);
        return 0;
    }
    json_t *root =
        json_loadb(in.ptr, in.len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (!fault)
        check_shape(&t);
    if (root ? fault != TAPE_OK : fault == TAPE_OK)
        CHECK(differ_by_design(fault, &error));
    if (root && !fault)
        check_same(&t, root, &a);
    json_decref(root);
    return 0;
}
