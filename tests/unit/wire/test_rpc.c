#include "wire/rpc.h"

#include "base/buf.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct good {
    const char *json;
    enum rpc_kind kind;
    const char *id; /* raw; NULL: none */
};

static const struct good goods[] = {
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", RPC_REQUEST, "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}", RPC_REQUEST, "0"},
    {"{\"jsonrpc\":\"2.0\",\"id\":-7,\"method\":\"ping\"}", RPC_REQUEST, "-7"},
    {"{\"jsonrpc\":\"2.0\",\"id\":9007199254740991,\"method\":\"x\"}", RPC_REQUEST, "9007199254740991"},
    {"{\"jsonrpc\":\"2.0\",\"id\":-9007199254740991,\"method\":\"x\"}", RPC_REQUEST, "-9007199254740991"},
    {"{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"x\"}", RPC_REQUEST, "\"\""},
    {"{\"jsonrpc\":\"2.0\",\"id\":\"a\\u0062\",\"method\":\"x\"}", RPC_REQUEST, "\"a\\u0062\""},
    {"{\"method\":\"x\",\"params\":{},\"id\":1,\"jsonrpc\":\"2.0\"}", RPC_REQUEST, "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"extra\":[1],\"x\":null}", RPC_REQUEST, "1"},
    {"{\"\\u006asonrpc\":\"2\\u002e0\",\"i\\u0064\":1,\"m\\u0065thod\":\"x\"}", RPC_REQUEST, "1"},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", RPC_NOTIFICATION, NULL},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"id\":5}}", RPC_NOTIFICATION, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", RPC_RESULT, "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":\"r\",\"result\":{\"tools\":[]}}", RPC_RESULT, "\"r\""},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"m\"}}", RPC_ERROR, "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"m\"}}", RPC_ERROR, NULL},
    {"{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"m\"}}", RPC_ERROR, NULL},
};

static void test_good(void **state) {
    (void)state;
    cleanup_tape struct tape t;
    tape_init(&t);
    for (size_t i = 0; i < ARRAY_LEN(goods); i++) {
        struct rpc r;
        const char *why = NULL;
        assert_int_equal(tape_parse(&t, slice_str(goods[i].json), NULL), TAPE_OK);
        int code = rpc_read(&t, &r, &why);
        if (code || r.kind != goods[i].kind)
            fail_msg("%s: code %d, kind %d, %s", goods[i].json, code, (int)r.kind, why ? why : "");
        if (goods[i].id)
            assert_true(r.id && slice_is(tape_raw(&t, r.id), goods[i].id));
        else
            assert_int_equal(r.id, 0);
        assert_int_equal(r.method != 0, r.kind == RPC_REQUEST || r.kind == RPC_NOTIFICATION);
        assert_int_equal(r.body != 0, r.kind == RPC_RESULT || r.kind == RPC_ERROR);
    }
}

struct bad {
    const char *json;
    int code;
    const char *id; /* the id that the answer can carry */
};

static const struct bad bads[] = {
    {"[]", RPC_INVALID_REQUEST, NULL},
    {"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}]", RPC_INVALID_REQUEST, NULL},
    {"1", RPC_INVALID_REQUEST, NULL},
    {"null", RPC_INVALID_REQUEST, NULL},
    {"\"x\"", RPC_INVALID_REQUEST, NULL},
    {"{}", RPC_INVALID_REQUEST, NULL},
    {"{\"id\":1,\"method\":\"x\"}", RPC_INVALID_REQUEST, "1"},
    {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"x\"}", RPC_INVALID_REQUEST, "1"},
    {"{\"jsonrpc\":2.0,\"id\":1,\"method\":\"x\"}", RPC_INVALID_REQUEST, "1"},
    {"{\"jsonrpc\":\"2.0 \",\"id\":1,\"method\":\"x\"}", RPC_INVALID_REQUEST, "1"},
    {"{\"jsonrpc\":null,\"id\":1,\"method\":\"x\"}", RPC_INVALID_REQUEST, "1"},
    /* ids */
    {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"x\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"x\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1e2,\"method\":\"x\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":-0,\"method\":\"x\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":9007199254740992,\"method\":\"x\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":-9007199254740992,\"method\":\"x\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":18446744073709551617,\"method\":\"x\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"x\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"x\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"x\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"result\":{}}", RPC_INVALID_REQUEST, NULL},
    /* methods and params */
    {"{\"jsonrpc\":\"2.0\",\"id\":1}", RPC_INVALID_REQUEST, "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":1}", RPC_INVALID_REQUEST, "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":null}", RPC_INVALID_REQUEST, "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}", RPC_INVALID_REQUEST, "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":[]}", RPC_INVALID_PARAMS, "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":null}", RPC_INVALID_PARAMS, "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":\"{}\"}", RPC_INVALID_PARAMS, "1"},
    /* several faults in one message */
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"result\":{}}", RPC_INVALID_REQUEST, "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"error\":{}}", RPC_INVALID_REQUEST, "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}", RPC_INVALID_REQUEST, "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}", RPC_INVALID_REQUEST, "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}", RPC_INVALID_REQUEST, "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"x\"}", RPC_INVALID_REQUEST, "1"},
    /* look-alikes of the envelope's own keys */
    {"{\"jsonrpc\":\"2.0\",\"ID\":1,\"method\":\"x\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"Id\":1,\"method\":\"x\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"Method\":\"x\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"METHOD\":\"y\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"m\\u0045thod\":\"y\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"JsonRpc\":\"2.0\",\"id\":1,\"method\":\"x\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"Params\":{}}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"param\xc5\xbf\":{}}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"param\\u017f\":{}}", RPC_INVALID_REQUEST, NULL},
    {"{\"j\xc5\xbfonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"Result\":{}}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"ERROR\":{}}", RPC_INVALID_REQUEST, NULL},
};

static void test_bad(void **state) {
    (void)state;
    cleanup_tape struct tape t;
    tape_init(&t);
    for (size_t i = 0; i < ARRAY_LEN(bads); i++) {
        struct rpc r;
        const char *why = NULL;
        assert_int_equal(tape_parse(&t, slice_str(bads[i].json), NULL), TAPE_OK);
        int code = rpc_read(&t, &r, &why);
        if (code != bads[i].code)
            fail_msg("%s: %d", bads[i].json, code);
        assert_non_null(why);
        if (bads[i].id && !(r.id && slice_is(tape_raw(&t, r.id), bads[i].id)))
            fail_msg("%s: id lost", bads[i].json);
        if (!bads[i].id && r.id && slice_find(tape_raw(&t, r.id), '1') != 0)
            fail_msg("%s: an id that cannot be used", bads[i].json);
    }
}

static int read_with(const char *before, char fill, size_t count, const char *after) {
    cleanup_tape struct tape t;
    cleanup_buf struct buf b;
    struct rpc r;
    const char *why;
    tape_init(&t);
    buf_init(&b, 1 << 16);
    buf_put_str(&b, before);
    for (size_t i = 0; i < count; i++)
        buf_put_char(&b, fill);
    buf_put_str(&b, after);
    assert_int_equal(tape_parse(&t, buf_slice(&b), NULL), TAPE_OK);
    return rpc_read(&t, &r, &why);
}

static void test_ceilings(void **state) {
    (void)state;
    static const char id[] = "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"id\":\"";
    static const char method[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"";
    static const char other[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"";
    assert_int_equal(read_with(id, 'i', RPC_ID_TEXT_MAX - 2, "\"}"), 0);
    assert_int_equal(read_with(id, 'i', RPC_ID_TEXT_MAX - 1, "\"}"), RPC_INVALID_REQUEST);
    assert_int_equal(read_with(method, 'm', RPC_METHOD_MAX, "\"}"), 0);
    assert_int_equal(read_with(method, 'm', RPC_METHOD_MAX + 1, "\"}"), RPC_INVALID_REQUEST);
    assert_int_equal(read_with(other, 'K', 10000, "\":0}"), 0);
}

/* However a look-alike is written, all in escapes included, it is seen. */
static void test_escaped_look_alike(void **state) {
    (void)state;
    cleanup_tape struct tape t;
    struct rpc r;
    const char *why;
    tape_init(&t);
    struct slice text = SLICE("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\","
                              "\"\\u0050\\u0041\\u0052\\u0041\\u004d\\u0053\":{}}");
    assert_int_equal(tape_parse(&t, text, NULL), TAPE_OK);
    assert_int_equal(rpc_read(&t, &r, &why), RPC_INVALID_REQUEST);
}

/* What a refusal can name of a text that the tape refuses. */
static void test_find_id(void **state) {
    (void)state;
#define CALL(inner) "{\"jsonrpc\":\"2.0\",\"id\":\"a7\",\"method\":\"x\",\"params\":{" inner "}}"
    static const struct {
        const char *text, *id;
    } rows[] = {
        {CALL("\"a\":1,\"a\":2"), "\"a7\""},
        {CALL("\"a\":\"\\ud800\""), "\"a7\""},
        {CALL("\"a\":\"\xff\""), "\"a7\""},
        {CALL("\"a\":\"}]\\\"{\""), "\"a7\""},
        {CALL("\"id\":9,\"a\":[[[{\"id\":8}]]]"), "\"a7\""},
        {"{\"method\":\"x\",\"params\":{\"a\":\"\xff\"},\"id\":7,\"jsonrpc\":\"2.0\"}", "7"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"x\"}", NULL},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"ID\":2,\"method\":\"x\"}", NULL},
        {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"x\"}", NULL},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"\\ud800\",\"method\":\"x\"}", NULL},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1,\"a\":2}}", NULL},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"id\":1,\"id\":2}}", NULL},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{]", NULL},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}}", NULL},
        {"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}]", NULL},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        cleanup_arena struct arena a;
        struct slice id = {0};
        arena_init(&a);
        const bool found = rpc_find_id(slice_str(rows[i].text), &a, &id);
        if (found != (rows[i].id != NULL) || (found && !slice_is(id, rows[i].id)))
            fail_msg("%s: id `%.*s`", rows[i].text, SLICE_FMT(id));
    }
#undef CALL
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),     cmocka_unit_test(test_bad),
        cmocka_unit_test(test_ceilings), cmocka_unit_test(test_escaped_look_alike),
        cmocka_unit_test(test_find_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
