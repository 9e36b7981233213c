/* Edits leave a text that is JSON again and differs only where it was meant to. Input: one byte for the edit,
 * two for the value it is made on, one that says which elements go; then the JSON. */
#include "wire/splice.h"
#include "base/buf.h"
#include "fuzz.h"
#include "wire/emit.h"

struct source {
    struct tape tape;
    struct splice splice;
    struct arena arena;
    uint32_t node;
    uint8_t mask;
};

/* The result, read again. */
static void take(struct source *s, struct buf *out, struct tape *ret_tape) {
    buf_init(out, s->tape.src.len * 2 + 4096);
    CHECK(splice_write(&s->splice, out));
    CHECK(out->len == splice_len(&s->splice));
    tape_init(ret_tape);
    CHECK(tape_parse(ret_tape, buf_slice(out), NULL) == TAPE_OK);
}

static void check_value(struct source *s) {
    struct slice value = SLICE("{\"\\n\": [1, 2]}");
    struct slice old = tape_raw(&s->tape, s->node);
    cleanup_buf struct buf out = {0};
    cleanup_tape struct tape t = {0};
    CHECK(splice_value(&s->splice, &s->tape, s->node, value));
    take(s, &out, &t);
    size_t front = (size_t)(old.ptr - s->tape.src.ptr);
    CHECK(slice_eq(slice_upto(buf_slice(&out), front), slice_upto(s->tape.src, front)));
    CHECK(slice_eq(tape_raw(&t, s->node), value));
    CHECK(slice_eq(slice_from(buf_slice(&out), front + value.len), slice_from(s->tape.src, front + old.len)));
}

static void check_add_member(struct source *s) {
    cleanup_buf struct buf out = {0};
    cleanup_tape struct tape t = {0};
    struct slice key = SLICE("new \"key\" \x01");
    if (!tape_is(&s->tape, s->node, TAPE_OBJECT) || tape_get(&s->tape, s->node, key))
        return;
    CHECK(splice_add_member(&s->splice, &s->tape, s->node, key, SLICE("[]")));
    take(s, &out, &t);
    CHECK(tape_node(&t, s->node)->count == tape_node(&s->tape, s->node)->count + 1);
    CHECK(tape_is(&t, tape_get(&t, s->node, key), TAPE_ARRAY));
    TAPE_FOR_MEMBER(&s->tape, s->node, k) {
        struct slice name = tape_text(&s->tape, k, &s->arena);
        CHECK(slice_eq(tape_raw(&s->tape, k + 1), tape_raw(&t, tape_get(&t, s->node, name))));
    }
}

static bool drop_by_mask(void *ctx, const struct tape *t, uint32_t elem) {
    struct source *s = ctx;
    (void)t;
    return s->mask >> (elem - s->node) % 8 & 1;
}

static void check_drop_elems(struct source *s) {
    cleanup_buf struct buf out = {0};
    cleanup_tape struct tape t = {0};
    if (!tape_is(&s->tape, s->node, TAPE_ARRAY))
        return;
    if (!splice_drop_elems(&s->splice, &s->tape, s->node, drop_by_mask, s)) {
        CHECK(s->splice.count == SPLICE_EDITS_MAX);
        return;
    }
    take(s, &out, &t);
    uint32_t kept = s->node + 1;
    TAPE_FOR_ELEM(&s->tape, s->node, i) {
        if (drop_by_mask(s, &s->tape, i))
            continue;
        CHECK(kept < tape_node(&t, s->node)->next);
        CHECK(slice_eq(tape_raw(&s->tape, i), tape_raw(&t, kept)));
        kept = tape_node(&t, kept)->next;
    }
    CHECK(kept == tape_node(&t, s->node)->next);
}

static void check_drop_member(struct source *s) {
    cleanup_buf struct buf out = {0};
    cleanup_tape struct tape t = {0};
    uint32_t count = tape_is(&s->tape, s->node, TAPE_OBJECT) ? tape_node(&s->tape, s->node)->count : 0,
             key = 0;
    if (count == 0)
        return;
    uint32_t skip = s->mask % count;
    TAPE_FOR_MEMBER(&s->tape, s->node, k) {
        if (skip-- == 0)
            key = k;
    }
    struct slice name = tape_text(&s->tape, key, &s->arena);
    if (memchr(name.ptr, 0, name.len))
        return;
    const char *const names[] = {arena_dup(&s->arena, name).ptr, NULL};
    CHECK(splice_drop_members(&s->splice, &s->tape, s->node, names));
    take(s, &out, &t);
    CHECK(tape_node(&t, s->node)->count == count - 1);
    TAPE_FOR_MEMBER(&s->tape, s->node, k) {
        uint32_t found = tape_get(&t, s->node, tape_text(&s->tape, k, &s->arena));
        CHECK(k == key ? !found : slice_eq(tape_raw(&s->tape, k + 1), tape_raw(&t, found)));
    }
}

/* Any bytes, written as a string, read back: as they were when they are UTF-8. */
static void check_quote(struct slice bytes) {
    cleanup_buf struct buf out = {0};
    cleanup_tape struct tape t = {0};
    cleanup_arena struct arena a;
    arena_init(&a);
    tape_init(&t);
    buf_init(&out, bytes.len * 6 + 2);
    CHECK(emit_quote(&out, bytes));
    CHECK(tape_parse(&t, buf_slice(&out), NULL) == TAPE_OK);
    if (tape_utf8_valid(bytes))
        CHECK(tape_eq(&t, 0, bytes));
    else
        CHECK(tape_utf8_valid(tape_text(&t, 0, &a)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static void (*const edits[])(struct source *) = {check_value, check_add_member, check_drop_elems,
                                                     check_drop_member};
    struct slice in = slice_of((const char *)data, size);
    struct source s = {0};
    uint8_t edit = fuzz_byte(&in);
    size_t node = fuzz_length(&in, UINT16_MAX);
    s.mask = fuzz_byte(&in);
    check_quote(in);
    tape_init(&s.tape);
    arena_init(&s.arena);
    if (tape_parse(&s.tape, in, NULL) == TAPE_OK) {
        s.node = (uint32_t)(node % s.tape.count);
        splice_init(&s.splice, in, &s.arena);
        /* A key is not a value: where one was hit, its value is next. */
        uint32_t first_key = 0;
        for (uint32_t i = 0; i < s.node; i++)
            if (s.tape.nodes[i].next > s.node && s.tape.nodes[i].type == TAPE_OBJECT)
                first_key = i + 1;
        for (uint32_t k = first_key; first_key && k < s.tape.nodes[first_key - 1].next;
             k = s.tape.nodes[k + 1].next)
            if (k == s.node)
                s.node++;
        edits[edit % ARRAY_LEN(edits)](&s);
    }
    tape_free(&s.tape);
    arena_free(&s.arena);
    return 0;
}
