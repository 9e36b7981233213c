/* A configuration document that is taken can be written as JSON and read again as the same tree; one that is
 * refused says where and why. */
#include "base/buf.h"
#include "fuzz.h"
#include "wire/emit.h"
#include "wire/tree_parse.h"

static void write_scalar(struct emit *e, const struct tree *n) {
    switch (n->type) {
    case TREE_NULL:
        emit_null(e);
        break;
    case TREE_BOOL:
        emit_bool(e, n->truth);
        break;
    case TREE_INT:
        emit_int(e, n->integer);
        break;
    case TREE_FLOAT:
        emit_double(e, n->number == 0 ? 0
                                      : n->number); /* -0.0 is written as an integer, and that has one zero */
        break;
    default:
        CHECK(n->type == TREE_STRING && slice_find(n->text, '\0') < 0);
        emit_str(e, n->text);
        break;
    }
}

/* Depth first, with a stack of what is open. */
static void write_tree(const struct tree *root, struct buf *out) {
    const struct tree *stack[TREE_DEPTH_MAX];
    size_t depth = 0;
    struct emit e;
    emit_init(&e, out);
    for (const struct tree *n = root; n;) {
        CHECK(n->line > 0 && n->column > 0);
        if (depth && stack[depth - 1]->type == TREE_MAP)
            emit_key_slice(&e, n->key);
        if (n->type == TREE_MAP || n->type == TREE_LIST) {
            n->type == TREE_MAP ? emit_object(&e) : emit_array(&e);
            CHECK(depth < TREE_DEPTH_MAX);
            stack[depth++] = n;
        } else {
            write_scalar(&e, n);
        }
        bool down = n->type == TREE_MAP || n->type == TREE_LIST;
        const struct tree *next = down ? n->child : depth ? n->next : NULL;
        while (!next && depth) {
            n = stack[--depth];
            n->type == TREE_MAP ? emit_object_end(&e) : emit_array_end(&e);
            next = depth ? n->next : NULL;
        }
        n = next;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cleanup_arena struct arena a;
    cleanup_buf struct buf first, second;
    cleanup_free char *copy = fuzz_copy(slice_of((const char *)data, size));
    const struct tree *root = NULL, *again = NULL;
    struct err err = {""};
    arena_init(&a);
    buf_init(&first, size * 32 + 1024);
    buf_init(&second, size * 32 + 1024);
    if (tree_parse(slice_of(copy, size), &a, &root, &err) < 0) {
        CHECK(strncmp(err.text, "line ", 5) == 0 && strstr(err.text, ": "));
        return 0;
    }
    memset(copy, 'Z', size);
    write_tree(root, &first);
    CHECK(!first.full);
    if (tree_parse_json(buf_slice(&first), &a, &again, &err) < 0) {
        /* Only what may not stand raw in a document, but came in by an escape. */
        CHECK(strstr(err.text, "character") || strstr(err.text, "line separator"));
        return 0;
    }
    write_tree(again, &second);
    CHECK(slice_eq(buf_slice(&first), buf_slice(&second)));
    return 0;
}
