/* Messages of one era in the words of the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mcp/translate.h"
#include "wire/rpc.h"

static struct arena arena;
static struct tape tape;
static struct rpc rpc;
static struct splice splice;

static int setup(void **state) {
    (void)state;
    arena_init(&arena);
    tape_init(&tape);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    tape_free(&tape);
    arena_free(&arena);
    return 0;
}

static void read(const char *text) {
    const char *why;
    assert_int_equal(tape_parse(&tape, slice_str(text), NULL), TAPE_OK);
    assert_int_equal(rpc_read(&tape, &rpc, &why), 0);
    splice_init(&splice, slice_str(text), &arena);
}

static void expect(const char *text) {
    cleanup_buf struct buf out;
    buf_init(&out, 65536);
    assert_true(splice_write(&splice, &out));
    buf_put_char(&out, '\0');
    assert_string_equal(out.ptr, text);
}

static const struct translate_client client = {
    .info = SLICE("{\"name\":\"c\"}"), .capabilities = SLICE("{\"roots\":{}}"), .log_level = SLICE("info")};

#define CLIENT_META                                                                                          \
    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/"                  \
    "clientCapabilities\":{\"roots\":{}},\"io.modelcontextprotocol/clientInfo\":{\"name\":\"c\"},\"io."      \
    "modelcontextprotocol/logLevel\":\"info\""

static bool request_up(struct slice token, struct slice more) {
    return translate_request_up(&splice, &tape, &rpc, translate_client_meta(&client, &arena), token,
                                (struct slice){0}, more);
}

static void test_request_up(void **state) {
    (void)state;
    read("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
    assert_true(request_up((struct slice){0}, (struct slice){0}));
    expect("{\"params\":{\"_meta\":{" CLIENT_META
           "}},\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");

    read("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"task\":{},\"name\":\"a\","
         "\"_meta\":{\"progressToken\":\"t\",\"x\":1,\"io.modelcontextprotocol/"
         "clientCapabilities\":{\"sampling\":{}}}}}");
    assert_true(request_up(SLICE("7"), SLICE("\"requestState\":\"s\"")));
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
           "call\",\"params\":{\"_meta\":{\"x\":1,\"progressToken\":7," CLIENT_META
           "},\"requestState\":\"s\",\"name\":\"a\"}}");
}

static void test_request_down(void **state) {
    (void)state;
    read("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
         "call\",\"params\":{\"name\":\"a\",\"inputResponses\":{},"
         "\"requestState\":\"s\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}");
    assert_true(translate_request_down(&splice, &tape, &rpc, (struct slice){0}, (struct slice){0},
                                       (struct slice){0}));
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\"}}");
}

static void test_result_up(void **state) {
    (void)state;
    read("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{},"
         "\"tools\":[]}}");
    assert_true(
        translate_result_up(&splice, &tape, rpc.body, SLICE("tools/list"), SLICE("{\"name\":\"s\"}")));
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":"
           "\"private\","
           "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"s\"}},\"tools\":[]}}");
    /* Go's SDK puts the modern hints into legacy lists; the gate's own replace them. */
    read("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"ttlMs\":5,\"cacheScope\":\"public\",\"tools\":[]}}");
    assert_true(translate_result_up(&splice, &tape, rpc.body, SLICE("tools/list"), SLICE("{}")));
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":"
           "\"private\",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{}},\"tools\":[]}}");
    read("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[],\"_meta\":{\"x\":1}}}");
    assert_true(translate_result_up(&splice, &tape, rpc.body, SLICE("tools/call"), SLICE("{}")));
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\",\"content\":[],\"_meta\":{"
           "\"io."
           "modelcontextprotocol/serverInfo\":{},\"x\":1}}}");
}

static void test_result_down(void **state) {
    (void)state;
    read("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\",\"ttlMs\":5,\"cacheScope\":"
         "\"public\",\"tools\":[]}}");
    assert_true(translate_result_down(&splice, &tape, rpc.body, SLICE("tools/list")));
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[]}}");
    read("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\",\"structuredContent\":[1,"
         "\"a\"]}}");
    assert_true(translate_result_down(&splice, &tape, rpc.body, SLICE("tools/call")));
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"[1,"
           "\\\"a\\\"]\"}]}}");
}

static void test_errors(void **state) {
    (void)state;
    read("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"m\",\"data\":{\"uri\":\"x:"
         "\"}}}");
    assert_int_equal(translate_error_down(-32602, SLICE("resources/read"), &tape, rpc.body), -32002);
    assert_int_equal(translate_error_down(-32602, SLICE("tools/call"), &tape, rpc.body), -32602);
    assert_int_equal(translate_error_down(-32021, SLICE("tools/call"), &tape, rpc.body), -32600);
    assert_int_equal(translate_error_up(-32002, SLICE("resources/read")), -32602);
    /* A legacy server cannot use the error codes of the modern era. */
    assert_int_equal(translate_error_up(-32020, SLICE("tools/call")), -32603);
    assert_int_equal(translate_error_up(-32042, SLICE("tools/call")), -32603);
    assert_int_equal(translate_error_up(-32000, SLICE("tools/call")), -32000);
}

static void test_hello(void **state) {
    (void)state;
    const char *initialize =
        "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{\"listChanged\":true},"
        "\"tasks\":{\"list\":{}}},\"serverInfo\":{\"name\":\"s\"},\"instructions\":\"i\"}";
    assert_int_equal(tape_parse(&tape, slice_str(initialize), NULL), TAPE_OK);
    struct slice up = translate_description_up(&tape, 0, &arena);
    assert_true(
        slice_is(up, "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{"
                     "\"tools\":{\"listChanged\":true}},\"instructions\":\"i\",\"ttlMs\":0,\"cacheScope\":"
                     "\"private\",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"s\"}}}"));
    assert_int_equal(tape_parse(&tape, up, NULL), TAPE_OK);
    assert_true(
        slice_is(translate_description_down(&tape, 0, SLICE("2025-06-18"), &arena),
                 "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{\"listChanged\":true}},"
                 "\"serverInfo\":{\"name\":\"s\"},\"instructions\":\"i\"}"));
}

static void test_asks(void **state) {
    (void)state;
    const char *message = "{\"params\":{\"mode\":\"url\",\"url\":\"https://"
                          "x\",\"elicitationId\":\"a\",\"_meta\":{\"progressToken\":1,\"y\":2}}}";
    assert_int_equal(tape_parse(&tape, slice_str(message), NULL), TAPE_OK);
    uint32_t node = tape_get_str(&tape, 0, "params");
    assert_int_equal(translate_ask_bit(SLICE("elicitation/create"), &tape, node), TRANSLATE_URL);
    assert_true(slice_is(translate_ask(&tape, node, NULL, &arena),
                         "{\"mode\":\"url\",\"url\":\"https://x\",\"_meta\":{\"y\":2}}"));
    assert_true(
        slice_is(translate_ask(&tape, node, "n", &arena),
                 "{\"mode\":\"url\",\"url\":\"https://x\",\"_meta\":{\"y\":2},\"elicitationId\":\"n\"}"));
    assert_int_equal(translate_ask_bit(SLICE("ping"), &tape, node), 0);
}

/* The words are the common SDKs' own; nothing that only looks like them is taken for a refusal. */
static void test_refusals(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t bit;
    } cases[] = {
        {"Client does not support sampling (required for sampling/createMessage)", TRANSLATE_SAMPLING},
        {"Client does not support listing roots (required for roots/list)", TRANSLATE_ROOTS},
        {"Client does not support elicitation (required for elicitation/create)", TRANSLATE_FORM},
        {"Client does not support URL elicitation (required for elicitation/create)", TRANSLATE_URL},
        {"Cannot request input 'q (x)' (roots/list): the client on this 2025-era connection did not declare "
         "the required capability",
         TRANSLATE_ROOTS},
        {"Client does not support sampling (required for tools/call)", 0},
        {"Client does not support sampling", 0},
        {"Client does not support )", 0},
        {"The client does not support sampling (required for sampling/createMessage)", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(translate_lacking_bit(slice_str(cases[i].text)), cases[i].bit);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_request_up), TEST(test_request_down), TEST(test_result_up), TEST(test_result_down),
        TEST(test_errors),     TEST(test_hello),        TEST(test_asks),      TEST(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
