#include "wire/tree_parse.h"

#include "base/map.h"
#include "wire/tape.h"
#include "wire/tree_build.h"

#include <math.h>

/* Refuses characters that two parsers could treat differently: malformed UTF-8, control characters, line
 * ends that only some count, bidirectional overrides. */
static int tree_check_text(struct slice text, struct err *err);
static int tree_from_tape(const struct tape *t, struct arena *a, const struct tree **ret_root,
                          struct err *err);
static int tree_tape_fault(const struct tape *t, enum tape_fault fault, size_t at, struct err *err);

/* Skips the byte-order mark that some editors write. */
static struct slice tree_skip_bom(struct slice text) {
    return slice_starts(text, SLICE("\xef\xbb\xbf")) ? slice_from(text, 3) : text;
}

static bool tree_looks_like_json(struct slice text) {
    text = slice_trim(text);
    return text.len && (text.ptr[0] == '{' || text.ptr[0] == '[');
}

/* Reads a text that passed tree_check_text. With `yaml_too`, a text that is not JSON at all is parsed as
 * YAML in braces; JSON with, for instance, a duplicate key stays refused. */
static int tree_read_json(struct slice text, struct arena *a, bool yaml_too, const struct tree **ret_root,
                          struct err *err) {
    cleanup_tape struct tape t;
    size_t at = 0;
    tape_init(&t);
    enum tape_fault fault = tape_parse(&t, text, &at);
    if (yaml_too && (fault == TAPE_SYNTAX || fault == TAPE_TRUNCATED))
        return tree_read_yaml(text, a, ret_root, err);
    return fault ? tree_tape_fault(&t, fault, at, err) : tree_from_tape(&t, a, ret_root, err);
}

int tree_parse(struct slice text, struct arena *a, const struct tree **ret_root, struct err *err) {
    text = tree_skip_bom(text);
    if (tree_check_text(text, err) < 0)
        return -1;
    return tree_looks_like_json(text) ? tree_read_json(text, a, true, ret_root, err)
                                      : tree_read_yaml(text, a, ret_root, err);
}

int tree_parse_yaml(struct slice text, struct arena *a, const struct tree **ret_root, struct err *err) {
    text = tree_skip_bom(text);
    return tree_check_text(text, err) < 0 ? -1 : tree_read_yaml(text, a, ret_root, err);
}

int tree_parse_json(struct slice text, struct arena *a, const struct tree **ret_root, struct err *err) {
    return tree_check_text(text, err) < 0 ? -1 : tree_read_json(text, a, false, ret_root, err);
}

/* ---- characters ---- */

/* Why a character is not allowed in a configuration document, or NULL. */
static const char *tree_char_fault(struct slice rest) {
    const unsigned char *p = (const unsigned char *)rest.ptr;
    if (p[0] < 0x80) {
        if (p[0] == 0x7f || (p[0] < 0x20 && p[0] != '\t' && p[0] != '\n' && p[0] != '\r'))
            return "control character";
        return NULL;
    }
    size_t len = tree_char_len(p[0]);
    if (len > rest.len || !tape_utf8_valid(slice_upto(rest, len)))
        return "invalid UTF-8";
    if (len == 2 && p[0] == 0xc2 && p[1] < 0xa0)
        return "control character";
    if (len != 3)
        return NULL;
    uint32_t code = (uint32_t)(p[0] & 0x0f) << 12 | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
    if (code == 0x2028 || code == 0x2029)
        return "line separator that only some readers take for one";
    if ((code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069))
        return "character that reorders what is shown";
    if (code == 0xfeff || code >= 0xfffe)
        return "byte-order mark or non-character";
    return NULL;
}

static int tree_check_text(struct slice text, struct err *err) {
    if (text.len > TREE_BYTES_MAX)
        return err_set(err, "the document is larger than %u MB", TREE_BYTES_MAX >> 20);
    struct tree_cursor c;
    tree_cursor_init(&c, text);
    while (c.offset < text.len) {
        const char *why = tree_char_fault(slice_from(text, c.offset));
        if (why)
            return tree_fault(err, c.at, "%s", why);
        tree_cursor_step(&c);
    }
    return 0;
}

/* ---- JSON ---- */

/* Offset of a value's first byte, including its quote. */
static size_t tree_node_offset(const struct tape *t, uint32_t i) {
    return (size_t)(tape_raw(t, i).ptr - t->src.ptr);
}

/* The object with the duplicate key is the one that ends at the fault; its nodes are complete. Both keys are
 * looked up again to report both positions. */
static int tree_tape_duplicate(const struct tape *t, uint32_t obj, struct err *err) {
    cleanup_arena struct arena a;
    struct map seen;
    struct tree_cursor cursor;
    arena_init(&a);
    map_init(&seen);
    tree_cursor_init(&cursor, t->src);
    int result = tree_fault(err, cursor.at, "%s", tape_fault_text(TAPE_DUPLICATE));
    TAPE_FOR_MEMBER(t, obj, key) {
        uint32_t *place = arena_new(&a, uint32_t), *earlier;
        *place = key;
        struct slice text = tape_text(t, key, &a);
        if (!(earlier = map_put(&seen, text, place)))
            continue;
        struct tree_mark first = tree_cursor_to(&cursor, tree_node_offset(t, *earlier));
        struct tree_mark again = tree_cursor_to(&cursor, tree_node_offset(t, key));
        result = tree_fault(err, again, "duplicate key `%.*s`, first at line %u, column %u",
                            SLICE_FMT(tree_show(text)), first.line, first.column);
        break;
    }
    map_free(&seen);
    return result;
}

static int tree_tape_fault(const struct tape *t, enum tape_fault fault, size_t at, struct err *err) {
    struct tree_cursor cursor;
    tree_cursor_init(&cursor, t->src);
    for (uint32_t i = 0; fault == TAPE_DUPLICATE && i < t->count; i++)
        if (tape_is(t, i, TAPE_OBJECT) && (size_t)t->nodes[i].start + t->nodes[i].len == at)
            return tree_tape_duplicate(t, i, err);
    if (slice_trim(t->src).len == 0)
        return tree_fault(err, (struct tree_mark){1, 1}, "the document is empty");
    return tree_fault(err, tree_cursor_to(&cursor, at), "%s", tape_fault_text(fault));
}

static int tree_add_number(struct tree_build *b, const struct tape *t, uint32_t i, struct tree_mark at) {
    struct tree *node = tree_build_add(b, TREE_FLOAT, at);
    if (!node)
        return -1;
    node->text = arena_dup(b->arena, tape_raw(t, i));
    if (tape_int(t, i, &node->integer)) {
        node->type = TREE_INT;
        node->number = (double)node->integer;
        return 0;
    }
    if (!tape_double(t, i, &node->number) || !isfinite(node->number))
        return tree_fault(b->err, at, "number out of range");
    return 0;
}

static int tree_add_node(struct tree_build *b, const struct tape *t, uint32_t i, struct tree_mark at) {
    cleanup_arena struct arena decoded;
    arena_init(&decoded);
    enum tape_type type = tape_type(t, i);
    if (tree_build_wants_key(b))
        return tree_build_key(b, tape_text(t, i, &decoded), at);
    if (type == TAPE_STRING)
        return tree_build_string(b, tape_text(t, i, &decoded), at);
    if (type == TAPE_OBJECT || type == TAPE_ARRAY)
        return tree_build_open(b, type == TAPE_OBJECT ? TREE_MAP : TREE_LIST, at);
    if (type == TAPE_NUMBER)
        return tree_add_number(b, t, i, at);
    struct tree *node = tree_build_add(b, type == TAPE_NULL ? TREE_NULL : TREE_BOOL, at);
    if (!node)
        return -1;
    node->truth = type == TAPE_TRUE;
    node->text = arena_dup(b->arena, tape_raw(t, i));
    return 0;
}

static int tree_from_tape(const struct tape *t, struct arena *a, const struct tree **ret_root,
                          struct err *err) {
    struct tree_build b = {.arena = a, .err = err};
    struct tree_cursor cursor;
    uint32_t ends[TREE_DEPTH_MAX];
    tree_cursor_init(&cursor, t->src);
    for (uint32_t i = 0; i < t->count; i++) {
        while (b.depth && i == ends[b.depth - 1])
            if (tree_build_close(&b) < 0)
                return -1;
        uint32_t depth = b.depth;
        if (tree_add_node(&b, t, i, tree_cursor_to(&cursor, tree_node_offset(t, i))) < 0)
            return -1;
        if (b.depth > depth)
            ends[depth] = t->nodes[i].next;
    }
    while (b.depth)
        if (tree_build_close(&b) < 0)
            return -1;
    *ret_root = b.root;
    return 0;
}
