#include "wire/splice.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct arena arena;
static struct tape tape;
static struct splice splice;

static int setup(void **state) {
    (void)state;
    arena_init(&arena);
    tape_init(&tape);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    arena_free(&arena);
    tape_free(&tape);
    return 0;
}

static void start(const char *json) {
    struct slice text = slice_str(json);
    assert_int_equal(tape_parse(&tape, text, NULL), TAPE_OK);
    splice_init(&splice, text, &arena);
}

static void assert_result(const char *want) {
    cleanup_buf struct buf out;
    buf_init(&out, 1 << 20);
    assert_true(splice_write(&splice, &out));
    if (!slice_is(buf_slice(&out), want))
        fail_msg("`%.*s` instead of `%s`", SLICE_FMT(buf_slice(&out)), want);
    assert_int_equal(splice_len(&splice), out.len);
}

/* ---- against a model ---- */

enum { MODEL_TEXT = 40, MODEL_EDITS = 24 };

/* The same numbers on every run. */
static uint32_t next_number(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

/* Two edits get in each other's way when they share a byte, or one inserts inside the other. */
static bool clash(const struct splice_edit *a, const struct splice_edit *b) {
    if (a->start == a->end)
        return b->start < a->start && a->start < b->end;
    if (b->start == b->end)
        return a->start < b->start && b->start < a->end;
    return a->start < b->end && b->start < a->end;
}

/* Byte by byte: at each place first what is inserted there, in order, then what replaces what starts there.
 */
static void model_write(struct slice src, const struct splice_edit *edits, size_t count, struct buf *out) {
    for (uint32_t at = 0; at <= src.len; at++) {
        uint32_t skip = 0;
        for (size_t i = 0; i < count; i++)
            if (edits[i].start == at && edits[i].end == at)
                buf_put_slice(out, edits[i].text);
        for (size_t i = 0; i < count; i++)
            if (edits[i].start == at && edits[i].end > at) {
                buf_put_slice(out, edits[i].text);
                skip = edits[i].end - at;
            }
        if (skip)
            at += skip - 1;
        else if (at < src.len)
            buf_put_char(out, src.ptr[at]);
    }
}

static void test_against_model(void **state) {
    (void)state;
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.:";
    static const char inserts[] = "ABCDEFGHIJKLMNOPQRSTUVWX";
    uint64_t seed = 2026;
    for (int round = 0; round < 20000; round++) {
        struct slice src = slice_of(letters, next_number(&seed) % (MODEL_TEXT + 1));
        struct splice_edit kept[MODEL_EDITS];
        size_t count = 0;
        splice_init(&splice, src, &arena);
        for (int i = 0; i < MODEL_EDITS; i++) {
            struct splice_edit e = {.text = slice_of(inserts + i, next_number(&seed) % 2)};
            e.start = next_number(&seed) % (uint32_t)(src.len + 1);
            e.end = e.start + (next_number(&seed) % 3 ? next_number(&seed) % 5 : 0);
            bool fits = e.end <= src.len;
            for (size_t k = 0; k < count; k++)
                fits = fits && !clash(&kept[k], &e);
            assert_int_equal(splice_replace(&splice, e.start, e.end, e.text), fits);
            if (fits)
                kept[count++] = e;
        }
        cleanup_buf struct buf got, want;
        buf_init(&got, 4096);
        buf_init(&want, 4096);
        model_write(src, kept, count, &want);
        assert_true(splice_write(&splice, &got));
        if (!slice_eq(buf_slice(&got), buf_slice(&want)))
            fail_msg("round %d: `%.*s` instead of `%.*s`", round, SLICE_FMT(buf_slice(&got)),
                     SLICE_FMT(buf_slice(&want)));
        assert_int_equal(splice_len(&splice), want.len);
        arena_reset(&arena);
    }
}

/* ---- on JSON ---- */

/* Many edits in one pass: they are inserted beside the text, not over it. */
static void test_merge(void **state) {
    (void)state;
    start("[11,22,33,44]");
    assert_true(splice_replace(&splice, 4, 6, SLICE("x")));
    const struct splice_edit edits[] = {{1, 3, SLICE("a")}, {7, 9, SLICE("c")}, {10, 12, SLICE("")}};
    assert_true(splice_merge(&splice, edits, 3));
    assert_result("[a,x,c,]");
    const struct splice_edit over[] = {{5, 8, SLICE("no")}}, beyond[] = {{10, 99, SLICE("no")}};
    assert_false(splice_merge(&splice, over, 1));
    assert_false(splice_merge(&splice, beyond, 1));
    assert_true(splice_merge(&splice, NULL, 0));
    assert_result("[a,x,c,]");
}

static void test_nothing(void **state) {
    (void)state;
    start(" {\"a\": [1, 2]} ");
    assert_result(" {\"a\": [1, 2]} ");
}

static void test_value(void **state) {
    (void)state;
    start("{\"id\":\"x\\n\",\"params\":{\"a\":[1]}, \"n\": -1e5 }");
    assert_true(splice_value(&splice, &tape, tape_get_str(&tape, 0, "n"), SLICE("null")));
    assert_true(splice_value(&splice, &tape, tape_get_str(&tape, 0, "id"), SLICE("17")));
    assert_true(splice_value(&splice, &tape, tape_path(&tape, 0, "params", "a", NULL), SLICE("{}")));
    assert_false(
        splice_value(&splice, &tape, tape_get_str(&tape, 0, "params"), SLICE("0"))); /* holds an edit */
    assert_false(splice_value(&splice, &tape, tape_get_str(&tape, 0, "id"), SLICE("0")));
    assert_result("{\"id\":17,\"params\":{\"a\":{}}, \"n\": null }");
    start("5");
    assert_true(splice_value(&splice, &tape, 0, SLICE("\"root\"")));
    assert_result("\"root\"");
}

static void test_add_member(void **state) {
    (void)state;
    start("{\"a\":{ },\"b\":{ \"c\":1}}");
    assert_true(splice_add_member(&splice, &tape, tape_get_str(&tape, 0, "a"), SLICE("x\"y"), SLICE("1")));
    assert_true(splice_add_member(&splice, &tape, tape_get_str(&tape, 0, "b"), SLICE("z"), SLICE("[]")));
    assert_true(splice_add_member(&splice, &tape, 0, SLICE("r"), SLICE("null")));
    assert_result("{\"r\":null,\"a\":{\"x\\\"y\":1 },\"b\":{\"z\":[], \"c\":1}}");
}

static void test_add_beside_first_edit(void **state) {
    (void)state;
    for (int order = 0; order <= 1; order++) {
        start("{\"a\":1,\"b\":2}");
        if (order)
            assert_true(splice_drop_members(&splice, &tape, 0, (const char *const[]){"a", NULL}));
        assert_true(splice_add_member(&splice, &tape, 0, SLICE("n"), SLICE("0")));
        if (!order)
            assert_true(splice_drop_members(&splice, &tape, 0, (const char *const[]){"a", NULL}));
        assert_result("{\"n\":0,\"b\":2}");
    }
}

static bool drop_listed(void *ctx, const struct tape *t, uint32_t elem) {
    const char *which = ctx;
    char c = tape_raw(t, elem).ptr[0];
    return strchr(which, c) != NULL;
}

static void test_drop_elems(void **state) {
    (void)state;
    static const struct {
        const char *json;
        const char *drop;
        const char *want;
    } rows[] = {
        {"[1,2,3]", "", "[1,2,3]"},
        {"[1,2,3]", "1", "[2,3]"},
        {"[1,2,3]", "2", "[1,3]"},
        {"[1,2,3]", "3", "[1,2]"},
        {"[1,2,3]", "12", "[3]"},
        {"[1,2,3]", "23", "[1]"},
        {"[1,2,3]", "13", "[2]"},
        {"[1,2,3]", "123", "[]"},
        {"[]", "1", "[]"},
        {"[1]", "1", "[]"},
        {"[1]", "2", "[1]"},
        {"[ 1 , 2 , 3 ]", "2", "[ 1 , 3 ]"},
        {"[ 1 , 2 , 3 ]", "3", "[ 1 , 2 ]"},
        {"[ 1 , 2 , 3 ]", "1", "[ 2 , 3 ]"},
        {"[ 1 , 2 , 3 ]", "123", "[  ]"},
        {"[1,2,3,4,5,6]", "1346", "[2,5]"},
        {"[[1,2],\"x,y\",{\"a\":[]}]", "\"", "[[1,2],{\"a\":[]}]"},
        {"[[1,2],\"x,y\",{\"a\":[]}]", "[{", "[\"x,y\"]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        start(rows[i].json);
        char drop[16];
        snprintf(drop, sizeof(drop), "%s", rows[i].drop);
        assert_true(splice_drop_elems(&splice, &tape, 0, drop_listed, drop));
        assert_result(rows[i].want);
    }
}

static void test_drop_member(void **state) {
    (void)state;
    static const struct {
        const char *json;
        const char *key;
        const char *want;
    } rows[] = {
        {"{\"a\":1}", "a", "{}"},
        {"{\"a\":1,\"b\":2}", "a", "{\"b\":2}"},
        {"{\"a\":1,\"b\":2}", "b", "{\"a\":1}"},
        {"{\"a\":1,\"b\":2,\"c\":3}", "b", "{\"a\":1,\"c\":3}"},
        {"{ \"a\" : 1 , \"b\" : [2,3] , \"c\" : 3 }", "c", "{ \"a\" : 1 , \"b\" : [2,3] }"},
        {"{ \"a\" : 1 , \"b\" : [2,3] }", "b", "{ \"a\" : 1 }"},
        {"{ \"a\" : {\"b\":{}} , \"b\" : 2 }", "a", "{\"b\" : 2 }"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        start(rows[i].json);
        assert_true(splice_drop_members(&splice, &tape, 0, (const char *const[]){rows[i].key, NULL}));
        assert_result(rows[i].want);
    }
}

static void test_ceiling(void **state) {
    (void)state;
    cleanup_buf struct buf text, out;
    buf_init(&text, 1 << 20);
    buf_init(&out, 1 << 20);
    for (int i = 0; i <= SPLICE_EDITS_MAX; i++)
        buf_put_str(&text, "ab");
    splice_init(&splice, buf_slice(&text), &arena);
    for (uint32_t i = 0; i < SPLICE_EDITS_MAX; i++)
        assert_true(splice_replace(&splice, 2 * i, 2 * i + 1, SLICE("xyz")));
    assert_false(splice_replace(&splice, 2 * SPLICE_EDITS_MAX, 2 * SPLICE_EDITS_MAX + 1, SLICE("x")));
    assert_true(splice_write(&splice, &out));
    assert_int_equal(out.len, 4 * SPLICE_EDITS_MAX + 2);
}

static void test_ranges_outside(void **state) {
    (void)state;
    splice_init(&splice, SLICE("abc"), &arena);
    assert_false(splice_replace(&splice, 2, 1, SLICE("x")));
    assert_false(splice_replace(&splice, 3, 4, SLICE("x")));
    assert_false(splice_replace(&splice, 4, 4, SLICE("x")));
    assert_true(splice_replace(&splice, 3, 3, SLICE("x")));
    assert_result("abcx");
}

static void test_full_buffer_is_said(void **state) {
    (void)state;
    cleanup_buf struct buf out;
    splice_init(&splice, SLICE("abcdef"), &arena);
    buf_init(&out, 5);
    assert_false(splice_write(&splice, &out));
}

static bool stop_after_one(void *ctx, struct slice bytes, bool borrowed_src) {
    (void)bytes;
    assert_true(borrowed_src);
    return ++*(int *)ctx < 1;
}

static bool note_piece(void *ctx, struct slice bytes, bool borrowed_src) {
    assert_true(bytes.len > 0);
    buf_printf(ctx, "%c%.*s", borrowed_src ? '<' : '>', SLICE_FMT(bytes));
    return true;
}

static void test_pieces(void **state) {
    (void)state;
    cleanup_buf struct buf out;
    int calls = 0;
    buf_init(&out, 4096);
    splice_init(&splice, SLICE("abcdef"), &arena);
    assert_true(splice_replace(&splice, 0, 1, SLICE("X")));
    assert_true(splice_replace(&splice, 1, 2, (struct slice){0}));
    assert_true(splice_replace(&splice, 4, 4, SLICE("Y")));
    assert_true(splice_pieces(&splice, note_piece, &out));
    assert_true(slice_is(buf_slice(&out), ">X<cd>Y<ef"));
    splice_init(&splice, SLICE("abcdef"), &arena);
    assert_false(splice_pieces(&splice, stop_after_one, &calls));
    assert_int_equal(calls, 1);
}

static void test_drop_members(void **state) {
    (void)state;
    static const char *const keys[] = {"a", "b", NULL};
    static const struct {
        const char *from, *to;
    } rows[] = {
        {"{}", "{}"},
        {"{\"a\":1}", "{}"},
        {"{\"a\":1,\"b\":2}", "{}"},
        {"{\"a\":1,\"b\":2,\"c\":3}", "{\"c\":3}"},
        {"{\"c\":3,\"a\":1,\"b\":2}", "{\"c\":3}"},
        {"{\"a\":1,\"c\":3,\"b\":2}", "{\"c\":3}"},
        {"{\"c\":3, \"\\u0061\" : [1,{\"a\":2}] , \"d\":4}", "{\"c\":3 , \"d\":4}"},
        {"{\"c\":{\"a\":1},\"A\":2}", "{\"c\":{\"a\":1},\"A\":2}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        start(rows[i].from);
        assert_true(splice_drop_members(&splice, &tape, 0, keys));
        assert_result(rows[i].to);
    }
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_merge, setup, teardown),
        cmocka_unit_test_setup_teardown(test_drop_members, setup, teardown),
        TEST(test_against_model),
        TEST(test_nothing),
        TEST(test_value),
        TEST(test_add_member),
        TEST(test_add_beside_first_edit),
        TEST(test_drop_elems),
        TEST(test_drop_member),
        TEST(test_ceiling),
        TEST(test_ranges_outside),
        TEST(test_full_buffer_is_said),
        TEST(test_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
