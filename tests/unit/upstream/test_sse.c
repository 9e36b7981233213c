/* HTTP+SSE: the endpoint, posts, answers on the stream, its end. */
#include "stand.h"

#include "base/mem.h"

#define NOTE "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}"
#define STREAM(text)                                                                                         \
    {                                                                                                        \
        .method = "GET", .mode = STAND_CHUNKED, .chunk = 5, .status = 200, .type = STAND_EVENTS,             \
        .body = text, .hold_open = true                                                                      \
    }
#define ENDPOINT(ref) STREAM("event: endpoint\r\ndata: " ref "\r\n\r\n")
#define ANSWER(text)                                                                                         \
    { .method = "POST", .status = 202, .push = "event: message\r\ndata: " STAND_RESULT(text) "\r\n\r\n" }

static void test_calls(void **state) {
    (void)state;
    STAND_START(
        "/sse", ENDPOINT("/messages/?session_id=abc"),
        {.status = 202,
         .push = "data: {\"jsonrpc\":\"2.0\",\"id\":@,\"result\":{\"protocolVersion\":\"2024-11-05\"}}\n\n"},
        {.status = 202, .push = "data: " NOTE "\n\n"}, ANSWER("two"));
    assert_int_equal(stand.ups, 1);
    assert_true(stand_has(stand.requests[0].head, "GET /sse HTTP/1.1\r\n"));
    assert_true(stand_has(stand.requests[0].head, "\r\nAccept: text/event-stream\r\n"));
    stand_say(0, "initialize");
    assert_true(stand_has(calls[0].answer, "2024-11-05"));
    assert_string_equal(stand.link->version, "2024-11-05");
    assert_true(stand_has(stand.requests[1].head, "POST /messages/?session_id=abc HTTP/1.1\r\n"));
    stand_note(&stand, "notifications/initialized");
    stand_say(1, "tools/list");
    assert_true(stand_has(calls[1].answer, "two"));
    assert_int_equal(stand.log.len, sizeof(NOTE));
    stand_end();
}

static void endpoint_is(const struct stand_reply *stream, const char *path, const char *want) {
    struct stand_reply script[] = {*stream, ANSWER("ok")};
    stand_prepare(path, script, ARRAY_LEN(script));
    stand.server.use_sse = true;
    stand_link(&stand);
    if (!want) {
        assert_int_equal(stand.downs, 1);
        assert_int_equal(stand.down_status, LINK_FAILED);
        assert_true(stand_has(stand.down_why, "unusable endpoint"));
    } else {
        stand_say(0, "ping");
        if (!stand_has(stand.requests[1].head, want))
            fail_msg("no %s in %s", want, stand.requests[1].head);
    }
    stand_end();
}

static void test_endpoints(void **state) {
    (void)state;
    static const struct {
        struct stand_reply stream;
        const char *path;
        const char *want;
    } cases[] = {
        {ENDPOINT("/m"), "/a/sse", "POST /m HTTP"},
        {ENDPOINT("m?x=1"), "/a/sse?y=2", "POST /a/m?x=1 HTTP"},
        {ENDPOINT("./m"), "/a/sse", "POST /a/m HTTP"},
        {ENDPOINT("../../m"), "/a/b/sse", "POST /m HTTP"},
        {ENDPOINT("?s=1"), "/a/sse?y=2", "POST /a/sse?s=1 HTTP"},
        {ENDPOINT("http://elsewhere.example/m"), "/sse", NULL},
        {ENDPOINT("//elsewhere.example/m"), "/sse", NULL},
        {ENDPOINT("https://127.0.0.1/m"), "/sse", NULL},
        {ENDPOINT("http://127.0.0.1:1/m"), "/sse", NULL},
        {ENDPOINT("/m HTTP/1.1"), "/sse", NULL},
        {ENDPOINT("file:///etc/passwd"), "/sse", "POST /file:///etc/passwd HTTP"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        endpoint_is(&cases[i].stream, cases[i].path, cases[i].want);
}

static void test_absolute_endpoint(void **state) {
    (void)state;
    stand_prepare("/sse", NULL, 0);
    struct buf text;
    buf_init(&text, 1024);
    buf_printf(&text, "event: endpoint\ndata: http://127.0.0.1:%u/m\n\n", stand.port);
    buf_put_char(&text, '\0');
    struct stand_reply script[] = {STREAM(text.ptr), ANSWER("ok")};
    stand_again(&stand, script, ARRAY_LEN(script));
    stand_link(&stand);
    stand_say(0, "ping");
    assert_true(stand_has(stand.requests[1].head, "POST /m HTTP"));
    buf_free(&text);
    stand_end();
}

static void test_post_refused(void **state) {
    (void)state;
    STAND_START("/sse", ENDPOINT("/m"), {.status = 413, .type = "text/plain", .body = "too big"},
                {.mode = STAND_HANG_UP}, {.status = 400});
    stand_say(0, "tools/call");
    assert_int_equal(calls[0].req.status, 413);
    assert_true(stand_has(calls[0].why, "HTTP 413: too big"));
    assert_false(calls[0].retry);
    stand_say(1, "tools/call");
    assert_int_equal(calls[1].failures, 1);
    assert_false(calls[1].retry);
    stand_note(&stand, "notifications/initialized");
    stand_turn(&stand, 30);
    assert_int_equal(stand.noises, 1);
    assert_int_equal(stand.downs, 0);
    stand_end();
}

static void test_stream_ends(void **state) {
    (void)state;
    STAND_START("/sse", ENDPOINT("/m"), {.status = 202},
                {.status = 202, .push = ": bye\n\n", .end_held = true});
    stand_send(&calls[0], "tools/call");
    stand_turn(&stand, 20);
    stand_send(&calls[1], "tools/call");
    stand_until(&stand, "the link to go down", stand_is_down, NULL);
    assert_int_equal(calls[0].failures, 1);
    assert_int_equal(calls[1].failures, 1);
    assert_false(calls[0].retry);
    assert_int_equal(stand.down_status, LINK_LOST);
    stand_end();
}

static void test_no_stream(void **state) {
    (void)state;
    static const struct {
        struct stand_reply reply;
        const char *why;
        int status;
        bool use_sse;
    } cases[] = {
        {{.status = 405}, "HTTP 405", LINK_LOST, false},
        {{.status = 401}, "refused our credentials", LINK_FAILED, true},
        {{.status = 200, .type = "text/html", .body = "x"}, "something else", LINK_FAILED, true},
        {{.mode = STAND_HANG_UP}, "closed the connection", LINK_FAILED, true},
        {{.mode = STAND_CHUNKED, .status = 200, .type = STAND_EVENTS, .body = ": x\n\n"},
         "something else",
         LINK_FAILED,
         true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        stand_begin("/sse", &cases[i].reply, 1);
        assert_int_equal(stand.downs, 1);
        assert_int_equal(stand.down_status, cases[i].status);
        assert_int_equal(stand.server.use_sse, cases[i].use_sse);
        if (!stand_has(stand.down_why, cases[i].why))
            fail_msg("%s is not %s", stand.down_why, cases[i].why);
        stand_end();
    }
}

static void test_close_inside(void **state) {
    (void)state;
    for (int way = 0; way < 3; way++) {
        STAND_START(
            "/sse", ENDPOINT("/m"),
            {.status = 202, .push = "data: " NOTE "\n\ndata: " STAND_RESULT("x") "\n\ndata: " NOTE "\n\n"},
            {.status = 500});
        calls[0].close_in_answer = way == 0;
        stand.close_in_message = way == 1;
        calls[1].close_in_failed = way == 2;
        stand_send(&calls[0], "tools/call");
        stand_turn(&stand, 30);
        if (stand.link)
            stand_send(&calls[1], "tools/call");
        stand_turn(&stand, 30);
        assert_null(stand.link);
        stand_end();
    }
}

static void test_abandoned(void **state) {
    (void)state;
    STAND_START("/sse", ENDPOINT("/m"), ANSWER("late"), ANSWER("ok"));
    stand_send(&calls[0], "tools/call");
    link_end(&calls[0].req);
    stand_say(1, "tools/call");
    assert_int_equal(calls[0].answers + calls[0].failures, 0);
    assert_int_equal(calls[1].answers, 1);
    assert_int_equal(stand.noises, 1); /* the late answer */
    stand_end();
}

static void test_pause(void **state) {
    (void)state;
    STAND_START("/sse", ENDPOINT("/m"), ANSWER("ok"));
    link_pause(stand.link, NULL, true);
    stand_send(&calls[0], "tools/call");
    stand_turn(&stand, 40);
    assert_int_equal(calls[0].answers, 0);
    link_pause(stand.link, NULL, false);
    stand_wait(&calls[0]);
    assert_int_equal(calls[0].answers, 1);
    stand_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_endpoints),
        cmocka_unit_test(test_absolute_endpoint),
        cmocka_unit_test(test_post_refused),
        cmocka_unit_test(test_stream_ends),
        cmocka_unit_test(test_no_stream),
        cmocka_unit_test(test_close_inside),
        cmocka_unit_test(test_abandoned),
        cmocka_unit_test(test_pause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
