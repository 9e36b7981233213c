/* Edits on JSON with comments leave a text that is read again, with every other member as it was. Input: one
 * byte that says which members go, then the text. */
#include "wire/jsonc.h"
#include "fuzz.h"

static void read_again(const struct splice *s, struct buf *out, struct jsonc *ret_json) {
    struct err err;
    buf_init(out, s->src.len * 2 + 4096);
    CHECK(splice_write(s, out));
    jsonc_init(ret_json);
    CHECK(jsonc_parse(ret_json, buf_slice(out), &err) == 0);
}

static void check_drop(const struct jsonc *j, uint8_t mask, struct arena *a) {
    uint32_t keys[64];
    size_t count = 0, at = 0;
    TAPE_FOR_MEMBER(&j->tape, 0, key) {
        if (mask >> at++ % 8 & 1 && count < ARRAY_LEN(keys))
            keys[count++] = key;
    }
    struct splice s;
    cleanup_buf struct buf out;
    cleanup_jsonc struct jsonc after;
    splice_init(&s, j->src, a);
    CHECK(jsonc_drop_members(j, &s, 0, keys, count));
    read_again(&s, &out, &after);
    CHECK(tape_node(&after.tape, 0)->count == tape_node(&j->tape, 0)->count - count);
    TAPE_FOR_MEMBER(&j->tape, 0, key) {
        bool gone = false;
        for (size_t i = 0; i < count; i++)
            gone |= keys[i] == key;
        uint32_t found = tape_get(&after.tape, 0, tape_text(&j->tape, key, a));
        CHECK(gone ? !found : slice_eq(tape_raw(&j->tape, key + 1), tape_raw(&after.tape, found)));
    }
}

static void check_add(const struct jsonc *j, uint32_t key, struct arena *a) {
    const struct slice values[] = {SLICE("\"x\""), SLICE("{}")};
    uint32_t value = key + 1;
    struct splice s;
    cleanup_buf struct buf out;
    cleanup_jsonc struct jsonc after;
    struct slice name = tape_text(&j->tape, key, a), fresh = SLICE("a \"new\" one");
    if (tape_get(&j->tape, 0, fresh))
        return;
    splice_init(&s, j->src, a);
    CHECK(jsonc_add_behind(j, &s, key, fresh, SLICE("[1]")));
    if (tape_is(&j->tape, value, TAPE_ARRAY))
        CHECK(jsonc_prepend(j, &s, value, values, ARRAY_LEN(values)));
    read_again(&s, &out, &after);
    CHECK(tape_node(&after.tape, 0)->count == tape_node(&j->tape, 0)->count + 1);
    uint32_t now = tape_get(&after.tape, 0, name);
    CHECK(tape_node(&after.tape, now)->count ==
          tape_node(&j->tape, value)->count + (tape_is(&j->tape, value, TAPE_ARRAY) ? ARRAY_LEN(values) : 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice in = slice_of((const char *)data, size);
    uint8_t mask = fuzz_byte(&in);
    cleanup_jsonc struct jsonc j;
    cleanup_arena struct arena a;
    struct err err;
    jsonc_init(&j);
    arena_init(&a);
    char *copy = fuzz_copy(in);
    if (jsonc_parse(&j, slice_of(copy, in.len), &err) == 0 && tape_is(&j.tape, 0, TAPE_OBJECT)) {
        jsonc_unit(&j);
        check_drop(&j, mask, &a);
        if (tape_node(&j.tape, 0)->count)
            check_add(&j, 1, &a);
    }
    free(copy);
    return 0;
}
