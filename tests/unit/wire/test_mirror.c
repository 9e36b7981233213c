#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wire/mirror.h"

static void check_encode(const char *text, const char *want) {
    cleanup_buf struct buf out;
    buf_init(&out, 1024);
    assert_true(mirror_encode(slice_str(text), &out));
    assert_int_equal(out.len, strlen(want));
    assert_memory_equal(out.ptr, want, out.len);
    cleanup_arena struct arena a;
    arena_init(&a);
    struct slice back;
    assert_true(mirror_decode(buf_slice(&out), &a, &back));
    assert_true(slice_eq(back, slice_str(text)));
}

static void test_encode(void **state) {
    (void)state;
    check_encode("plain", "plain");
    check_encode("in the middle", "in the middle");
    check_encode("", "=?base64?"
                     "?=");
    check_encode(" lead", "=?base64?IGxlYWQ=?=");
    check_encode("trail ", "=?base64?dHJhaWwg?=");
    check_encode("caf\xc3\xa9", "=?base64?Y2Fmw6k=?=");
    check_encode("a\nb", "=?base64?YQpi?=");
    check_encode("=?base64?SGVsbG8=?=", "=?base64?PT9iYXNlNjQ/U0dWc2JHOD0/PQ==?=");
    check_encode("=?base64?SGVsbG8", "=?base64?SGVsbG8");
}

static void test_decode_refuses(void **state) {
    (void)state;
    cleanup_arena struct arena a;
    arena_init(&a);
    struct slice text;
    assert_false(mirror_decode(SLICE("=?base64?SGVsbG8?="), &a, &text));
    assert_false(mirror_decode(SLICE("=?base64?SGVs!!!bG8=?="), &a, &text));
    assert_false(mirror_decode(SLICE("=?base64?/w==?="), &a, &text));    /* not UTF-8 */
    assert_true(mirror_decode(SLICE("=?BASE64?SGVsbG8=?="), &a, &text)); /* the marks are lower case */
    assert_true(slice_is(text, "=?BASE64?SGVsbG8=?="));
}

struct schema_case {
    const char *schema;
    int params; /* -1: the marks break the rules */
};

static const struct schema_case schemas[] = {
    {"{\"type\":\"object\"}", 0},
    {"{\"properties\":{\"r\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"}}}", 1},
    {"{\"properties\":{\"o\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\",\"x-mcp-"
     "header\":\"N\"}}}}}",
     1},
    {"{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"X\"},\"b\":{\"type\":\"boolean\",\"x-"
     "mcp-header\":\"x\"}}}",
     -1},
    {"{\"properties\":{\"a\":{\"type\":\"number\",\"x-mcp-header\":\"X\"}}}", -1},
    {"{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"no space\"}}}", -1},
    {"{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"\"}}}", -1},
    {"{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":7}}}", -1},
    {"{\"properties\":{\"a\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"x-mcp-header\":\"X\"}}}}",
     -1},
    {"{\"$defs\":{\"d\":{\"type\":\"string\",\"x-mcp-header\":\"X\"}},\"properties\":{\"a\":{\"$ref\":\"#/"
     "$defs/d\"}}}",
     -1},
    {"{\"properties\":[],\"x-mcp-header\":\"X\"}", -1},
};

static void test_schemas(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(schemas) / sizeof(schemas[0]); i++) {
        cleanup_tape struct tape t;
        tape_init(&t);
        cleanup_arena struct arena a;
        arena_init(&a);
        struct slice text = arena_printf(&a, "[%s]", schemas[i].schema); /* node 0 never names a schema */
        assert_int_equal(tape_parse(&t, text, NULL), TAPE_OK);
        struct mirror_param *params;
        size_t count;
        bool fine = mirror_params(&t, 1, &a, &params, &count);
        assert_int_equal(fine ? (int)count : -1, schemas[i].params);
    }
}

static void test_agrees(void **state) {
    (void)state;
    cleanup_arena struct arena a;
    arena_init(&a);
    cleanup_tape struct tape call;
    tape_init(&call);
    assert_int_equal(tape_parse(&call,
                                SLICE("[{\"r\":\"eu\",\"n\":42,\"b\":true,\"z\":null,\"o\":{\"r\":\"in\"}}]"),
                                NULL),
                     TAPE_OK);
    struct mirror_param p = {.header = SLICE("H"), .path = {SLICE("r")}, .depth = 1};
    assert_false(mirror_agrees(&call, 0, &p, SLICE("eu"), &a)); /* node 0 means: no arguments */
    assert_true(mirror_agrees(&call, 1, &p, SLICE("eu"), &a));
    assert_true(mirror_agrees(&call, 1, &p, SLICE("=?base64?ZXU=?="), &a));
    assert_false(mirror_agrees(&call, 1, &p, SLICE("us"), &a));
    assert_false(mirror_agrees(&call, 1, &p, (struct slice){0}, &a));
    p.path[0] = SLICE("n");
    p.type = MIRROR_INTEGER;
    assert_true(mirror_agrees(&call, 1, &p, SLICE("042"), &a));
    assert_false(mirror_agrees(&call, 1, &p, SLICE("43"), &a));
    p.path[0] = SLICE("z");
    assert_true(mirror_agrees(&call, 1, &p, (struct slice){0}, &a));
    assert_false(mirror_agrees(&call, 1, &p, SLICE("0"), &a));
    p.path[0] = SLICE("o");
    p.path[1] = SLICE("r");
    p.depth = 2;
    p.type = MIRROR_STRING;
    assert_true(mirror_agrees(&call, 1, &p, SLICE("in"), &a));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encode),
        cmocka_unit_test(test_decode_refuses),
        cmocka_unit_test(test_schemas),
        cmocka_unit_test(test_agrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
