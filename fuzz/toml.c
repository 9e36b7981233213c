/* Any bytes as TOML: what is read lies inside the text and in its order, and a value that is replaced leaves
 * a text that is read the same but for it. Input: one byte that says which value, then the text. */
#include "wire/toml.h"
#include "fuzz.h"
#include "wire/splice.h"
#include "wire/tape.h"

static void check_items(const struct toml *t, struct arena *a) {
    for (size_t i = 0; i < t->count; i++) {
        const struct toml_item *item = &t->items[i];
        cleanup_buf struct buf out = {0};
        cleanup_tape struct tape tape = {0};
        CHECK(item->start < item->end && item->end <= t->src.len && item->depth > 0);
        CHECK(i == 0 || t->items[i - 1].start < item->start);
        CHECK(toml_line_start(t, item->start) <= item->start && toml_line_end(t, item->end) >= item->end);
        if (item->kind != TOML_PAIR)
            continue;
        CHECK(item->start < item->value && item->value < item->end);
        buf_init(&out, t->src.len * 8 + 64);
        tape_init(&tape);
        if (toml_json(t, item, a, &out))
            CHECK(tape_parse(&tape, buf_slice(&out), NULL) == TAPE_OK);
    }
}

static void check_replace(const struct toml *t, size_t which, struct arena *a) {
    const struct toml_item *item = &t->items[which % t->count];
    struct splice s;
    struct toml after;
    struct err err;
    cleanup_buf struct buf out = {0};
    if (item->kind != TOML_PAIR || item->type == TOML_TABLE)
        return;
    splice_init(&s, t->src, a);
    CHECK(splice_replace(&s, item->value, item->end, SLICE("\"a \\\"new\\\" one\"")));
    buf_init(&out, t->src.len + 64);
    CHECK(splice_write(&s, &out));
    CHECK(toml_parse(buf_slice(&out), a, &after, &err) == 0 && after.count == t->count);
    struct slice text;
    const struct toml_item *now = &after.items[item - t->items];
    CHECK(toml_text(&after, now, a, &text) && slice_is(text, "a \"new\" one"));
    CHECK(toml_below(now, item->path, item->depth) && now->depth == item->depth);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice in = slice_of((const char *)data, size);
    size_t which = fuzz_byte(&in);
    cleanup_arena struct arena a;
    struct toml t;
    struct err err;
    arena_init(&a);
    char *copy = fuzz_copy(in);
    if (toml_parse(slice_of(copy, in.len), &a, &t, &err) == 0 && t.count) {
        check_items(&t, &a);
        check_replace(&t, which, &a);
    }
    free(copy);
    return 0;
}
