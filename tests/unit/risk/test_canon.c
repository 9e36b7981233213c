#include "wire/canon.h"

#include "risk_test.h"

static void assert_canon(const char *json, const char *want) {
    read_json(json);
    cleanup_buf struct buf out;
    buf_init(&out, 1 << 20);
    assert_true(canon_write(&tape, 0, &arena, &out));
    if (!slice_is(buf_slice(&out), want))
        fail_msg("%s gives %.*s instead of %s", json, SLICE_FMT(buf_slice(&out)), want);
}

static void order_and_space(void **state) {
    (void)state;
    assert_canon(" { \"b\" : 1 , \"a\" : [ true , null , { } , [ ] ] } ",
                 "{\"a\":[true,null,{},[]],\"b\":1}");
    assert_canon("{\"\\u0062\":1,\"a\":\"\\u0041\\/\"}", "{\"a\":\"A/\",\"b\":1}");
    assert_canon("\"\\u001f\\n\\u20ac\"", "\"\\u001f\\n\xe2\x82\xac\"");
    assert_canon("[[[[1]]],{\"a\":{\"b\":{\"c\":[]}}}]", "[[[[1]]],{\"a\":{\"b\":{\"c\":[]}}}]");
}

/* The sorting example of RFC 8785, section 3.2.3: UTF-16 code units, not code points. */
static void order_of_code_units(void **state) {
    (void)state;
    assert_canon(
        "{\"\\u20ac\":1,\"\\r\":2,\"\\ufb33\":3,\"1\":4,\"\\ud83d\\ude00\":5,\"\\u0080\":6,\"\\u00f6\":7}",
        "{\"\\r\":2,\"1\":4,\"\xc2\x80\":6,\"\xc3\xb6\":7,\"\xe2\x82\xac\":1,\"\xf0\x9f\x98\x80\":5,"
        "\"\xef\xac\xb3\":3}");
}

static void numbers(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"0", "0"},
        {"-0", "0"},
        {"-0.0", "0"},
        {"1", "1"},
        {"1.0", "1"},
        {"1e0", "1"},
        {"10e-1", "1"},
        {"100", "100"},
        {"1e2", "100"},
        {"-1.50", "-1.5"},
        {"0.000001", "0.000001"},
        {"1e-7", "1e-7"},
        {"0.00000012", "1.2e-7"},
        {"1e21", "1e+21"},
        {"1e20", "100000000000000000000"},
        {"123456789012345678901", "123456789012345678901"},
        {"1234567890123456789012", "1.234567890123456789012e+21"},
        {"333333333.33333329", "333333333.33333329"},
        {"4.50", "4.5"},
        {"2e-3", "0.002"},
        {"9007199254740993", "9007199254740993"},
        {"0.1000000000000000055", "0.1000000000000000055"},
        {"1E+2", "100"},
        {"1e00000000000000000000000000002", "100"},
        {"1e99999999999999999999", "1e99999999999999999999"},
    };
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
        assert_canon(pairs[i][0], pairs[i][1]);
}

static void members_left_out(void **state) {
    (void)state;
    static const char *const skip[] = {"_meta", NULL};
    read_json("{\"_meta\":{\"x\":1},\"a\":{\"_meta\":2}}");
    cleanup_buf struct buf out;
    buf_init(&out, 1 << 20);
    assert_true(canon_write_without(&tape, 0, skip, &arena, &out));
    assert_true(slice_is(buf_slice(&out), "{\"a\":{\"_meta\":2}}"));
}

static void deepest(void **state) {
    (void)state;
    char json[2 * TAPE_DEPTH_MAX + 1];
    memset(json, '[', TAPE_DEPTH_MAX);
    memset(json + TAPE_DEPTH_MAX, ']', TAPE_DEPTH_MAX);
    json[2 * TAPE_DEPTH_MAX] = 0;
    assert_canon(json, json);
}

static void full(void **state) {
    (void)state;
    read_json("[1,2,3,4,5,6,7,8,9,10]");
    cleanup_buf struct buf out;
    buf_init(&out, 8);
    assert_false(canon_write(&tape, 0, &arena, &out));
}

/* Escapes, long runs and many values: whatever is gathered or summed where it stands. */
static void hash_is_that_of_the_text(void **state) {
    (void)state;
    cleanup_buf struct buf json, out, scratch;
    buf_init(&json, 1 << 22);
    buf_init(&out, 1 << 22);
    buf_init(&scratch, 1 << 13);
    char plain[1000];
    memset(plain, 'x', sizeof(plain));
    buf_put_str(&json, "{\"z\":\"");
    for (int i = 0; i < 3000; i++)
        buf_put_str(&json, i % 7 ? "abc\\n" : "\\u0041\\u00e9\\/");
    buf_put_str(&json, "\",\"list\":[0");
    for (int i = 0; i < 3000; i++)
        buf_printf(&json, ",%d.50e1,\"%.*s\"", i, i % 900, plain);
    buf_put_str(&json, "],\"a\":1}");
    buf_put_char(&json, 0);
    read_json(json.ptr);
    assert_true(canon_write(&tape, 0, &arena, &out));
    unsigned char sum[SHA_BYTES], whole[SHA_BYTES];
    struct slice text = buf_slice(&out);
    sha_256(&text, 1, whole);
    canon_hash(&tape, 0, NULL, &arena, &scratch, sum);
    assert_memory_equal(sum, whole, SHA_BYTES);
}

/* The same text, in parts. */
static void parts_are_the_text(void **state) {
    (void)state;
    cleanup_buf struct buf json, out, scratch;
    buf_init(&json, 1 << 20);
    buf_init(&out, 1 << 20);
    buf_init(&scratch, 1 << 13);
    struct sha_text text;
    for (int count = 0; count < 40; count++) {
        buf_reset(&json);
        buf_reset(&out);
        buf_put_str(&json, "{\"z\":1.50,\"a b\":[");
        for (int i = 0; i < count; i++)
            buf_printf(&json, "%s\"%0*d\\n\", %d", i ? "," : "", i * 79 % 1300, i, i);
        buf_put_str(&json, "], \"b\" : { } , \"a\":null}");
        buf_put_char(&json, 0);
        read_json(json.ptr);
        bool few = tape.count <= CANON_PARTS_NODES_MAX && json.len > 4096;
        assert_int_equal(canon_parts(&tape, 0, &arena, &scratch, &text), few);
        for (size_t i = 0; few && i < text.count; i++)
            buf_put_slice(&out, text.parts[i]);
        buf_put_char(&out, 0);
        if (few)
            assert_canon(json.ptr, out.ptr);
    }
    buf_reset(&json);
    buf_printf(&json, "{\"a\":\"%05000d\\u0041\"}", 0);
    read_json(json.ptr);
    assert_false(canon_parts(&tape, 0, &arena, &scratch, &text));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(order_and_space, setup, teardown),
        cmocka_unit_test_setup_teardown(order_of_code_units, setup, teardown),
        cmocka_unit_test_setup_teardown(numbers, setup, teardown),
        cmocka_unit_test_setup_teardown(members_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(deepest, setup, teardown),
        cmocka_unit_test_setup_teardown(full, setup, teardown),
        cmocka_unit_test_setup_teardown(hash_is_that_of_the_text, setup, teardown),
        cmocka_unit_test_setup_teardown(parts_are_the_text, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
