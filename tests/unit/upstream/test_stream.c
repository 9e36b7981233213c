/* Streamable HTTP: streams and their resumption, sessions and their loss, the older transport. */
#include "stand.h"

#include "base/mem.h"

#define INIT_RESULT                                                                                          \
    "{\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}},\"jsonrpc\":\"2.0\",\"id\":@}"
#define REPLY_INIT                                                                                           \
    {                                                                                                        \
        .method = "POST", .status = 200, .type = STAND_JSON, .headers = "Mcp-Session-Id: s-1\r\n",           \
        .body = INIT_RESULT                                                                                  \
    }

/* ---- streams ---- */

static void test_many_events_then_answer(void **state) {
    (void)state;
    STAND_START("/mcp",
                {.mode = STAND_CHUNKED,
                 .chunk = 4000,
                 .status = 200,
                 .type = STAND_EVENTS,
                 .body = "data: " STAND_NOTE "\n\ndata: " STAND_NOTE
                         "\n\nevent: other\ndata: x\n\n: beat\n\ndata: " STAND_RESULT("end") "\n\n"},
                {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("next")});
    stand_say(0, "tools/call");
    assert_int_equal(calls[0].answers, 1);
    assert_int_equal(calls[0].log.len, 2 * sizeof(STAND_NOTE));
    assert_int_equal(stand.log.len, 0);
    stand_turn(&stand, 10);
    stand_say(1, "tools/call");
    assert_int_equal(stand.conns_made, 1);
    stand_end();
}

/* Messages that are still held do not change when more of the stream arrives. */
static void test_kept_messages_stay(void **state) {
    (void)state;
    struct buf body;
    buf_init(&body, 1u << 20);
    for (int i = 0; i < 300; i++)
        buf_printf(&body, "data: {\"jsonrpc\":\"2.0\",\"method\":\"n%d\",\"params\":{\"x\":\"%0900d\"}}\n\n",
                   i, i);
    buf_put_str(&body, "data: " STAND_RESULT("end") "\n\n");
    buf_put_char(&body, '\0');
    struct stand_reply reply = {.mode = STAND_CHUNKED,
                                .chunk = 5000,
                                .status = 200,
                                .type = STAND_EVENTS,
                                .body = body.ptr,
                                .split = 70000};
    stand_begin("/mcp", &reply, 1);
    stand_say(0, "tools/call");
    assert_int_equal(calls[0].answers, 1);
    assert_int_equal(stand.kept_count, 300);
    buf_free(&body);
    stand_end();
}

/* A stream that stays open behind its answer does not hold its connection for ever. */
static void test_unended_stream_is_cut(void **state) {
    (void)state;
    STAND_START("/mcp", {.mode = STAND_CHUNKED,
                         .status = 200,
                         .type = STAND_EVENTS,
                         .body = "data: " STAND_RESULT("end") "\n\n",
                         .hold_open = true});
    stand_say(0, "tools/call");
    assert_int_equal(calls[0].answers, 1);
    assert_int_equal(stand.server.conn_count, 1);
    stand_until(&stand, "the connection to be given up", stand_no_conns, NULL);
    stand_end();
}

static void test_resume(void **state) {
    (void)state;
    STAND_START("/mcp", REPLY_INIT,
                {.method = "POST",
                 .mode = STAND_CHUNKED,
                 .status = 200,
                 .type = STAND_EVENTS,
                 .body = "id: e/1\nretry: 120\ndata:\n\n"},
                {.method = "GET",
                 .mode = STAND_CHUNKED,
                 .status = 200,
                 .type = STAND_EVENTS,
                 .body = "id: e/2\ndata: " STAND_NOTE "\n\n"},
                {.method = "GET",
                 .mode = STAND_CHUNKED,
                 .status = 200,
                 .type = STAND_EVENTS,
                 .body = "id: e/3\ndata: " STAND_RESULT("late") "\n\n"},
                {.method = "DELETE", .status = 200});
    stand_say(0, "initialize");
    stand_say(1, "tools/call");
    assert_int_equal(calls[1].answers, 1);
    assert_true(stand_has(calls[1].answer, "late"));
    assert_int_equal(calls[1].primed, 1);
    assert_int_equal(calls[1].left, 2);
    assert_int_equal(calls[1].retry_ms, 120);
    assert_int_equal(calls[1].log.len, sizeof(STAND_NOTE));
    assert_true(stand_has(stand.requests[2].head, "\r\nLast-Event-ID: e/1\r\n"));
    assert_true(stand_has(stand.requests[3].head, "\r\nLast-Event-ID: e/2\r\n"));
    assert_true(stand_has(stand.requests[2].head, "\r\nMcp-Session-Id: s-1\r\n"));
    assert_true(stand_has(stand.requests[2].head, "\r\nMCP-Protocol-Version: 2025-11-25\r\n"));
    assert_true(stand_has(stand.requests[2].head, "\r\nAccept: text/event-stream\r\n"));
    assert_true(stand.requests[2].at_ms - stand.requests[1].at_ms >= 120);
    stand_end();
}

static void test_resume_refused(void **state) {
    (void)state;
    STAND_START(
        "/mcp",
        {.mode = STAND_CHUNKED, .status = 200, .type = STAND_EVENTS, .body = "id: 1\nretry: 10\ndata:\n\n"},
        {.method = "GET", .status = 405});
    stand_say(0, "tools/call");
    assert_int_equal(calls[0].failures, 1);
    assert_false(calls[0].retry);
    assert_int_equal(calls[0].req.status, 405);
    stand_end();
}

static void test_ended_stream_fails(void **state) {
    (void)state;
    STAND_START(
        "/mcp",
        {.mode = STAND_CHUNKED, .status = 200, .type = STAND_EVENTS, .body = "data: " STAND_NOTE "\n\n"},
        {.mode = STAND_CHUNKED,
         .status = 200,
         .type = STAND_EVENTS,
         .body = "id: 1\ndata: " STAND_NOTE "\n\n"},
        {.mode = STAND_CHUNKED,
         .status = 200,
         .type = STAND_EVENTS,
         .body = "data: " STAND_NOTE "\n\n",
         .hold_open = true,
         .hang_up = true});
    stand_say(0, "tools/call");
    assert_int_equal(calls[0].failures, 1);
    assert_true(stand_has(calls[0].why, "ended the stream before it answered"));
    stand_say(1, "+tools/call"); /* the modern era has no resumption */
    assert_int_equal(calls[1].failures, 1);
    stand_say(2, "tools/call");
    assert_int_equal(calls[2].failures, 1);
    stand_end();
}

static bool log_has_two(struct stand *t, void *arg) {
    (void)arg;
    return t->log.len >= 2 * sizeof(STAND_NOTE);
}

static void test_listen(void **state) {
    (void)state;
    STAND_START("/mcp",
                {.method = "GET",
                 .mode = STAND_CHUNKED,
                 .status = 200,
                 .type = STAND_EVENTS,
                 .body = "id: a\nretry: 60\ndata: " STAND_NOTE "\n\n"},
                {.method = "GET",
                 .mode = STAND_CHUNKED,
                 .status = 200,
                 .type = STAND_EVENTS,
                 .body = "data: " STAND_NOTE "\n\n",
                 .hold_open = true});
    link_listen(stand.link);
    link_listen(stand.link);
    stand_until(&stand, "two messages", log_has_two, NULL);
    assert_int_equal(stand.request_count, 2);
    assert_true(stand_has(stand.requests[1].head, "Last-Event-ID: a\r\n"));
    assert_true(stand.requests[1].at_ms - stand.requests[0].at_ms >= 60);
    stand_end();
}

static void test_listen_refused(void **state) {
    (void)state;
    STAND_START("/mcp", {.method = "GET", .status = 405},
                {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("ok")});
    link_listen(stand.link);
    stand_turn(&stand, 30);
    stand_say(0, "ping");
    assert_int_equal(calls[0].answers, 1);
    assert_int_equal(stand.noises, 0);
    stand_end();
}

static void test_pause(void **state) {
    (void)state;
    STAND_START("/mcp",
                {.mode = STAND_CHUNKED,
                 .status = 200,
                 .type = STAND_EVENTS,
                 .body = "data: " STAND_NOTE "\n\ndata: " STAND_RESULT("end") "\n\n",
                 .split = 190,
                 .drip = true},
                {.method = "GET",
                 .mode = STAND_CHUNKED,
                 .status = 200,
                 .type = STAND_EVENTS,
                 .body = "data: " STAND_NOTE "\n\n",
                 .hold_open = true,
                 .split = 90});
    stand_send(&calls[0], "tools/call");
    link_pause(stand.link, &calls[0].req, true);
    stand_turn(&stand, 800);
    assert_int_equal(calls[0].log.len, 0);
    assert_int_equal(calls[0].answers, 0);
    link_pause(stand.link, &calls[0].req, false);
    stand_wait(&calls[0]);
    assert_int_equal(calls[0].answers, 1);
    link_listen(stand.link);
    link_pause(stand.link, NULL, true);
    stand_turn(&stand, 30);
    assert_int_equal(stand.log.len, 0);
    link_pause(stand.link, NULL, false);
    stand_turn(&stand, 30);
    assert_int_equal(stand.log.len, sizeof(STAND_NOTE));
    stand_end();
}

/* ---- sessions ---- */

static void test_session(void **state) {
    (void)state;
    STAND_START("/mcp", REPLY_INIT, {.status = 202},
                {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("ok")},
                {.method = "DELETE", .status = 405});
    stand_say(0, "initialize");
    assert_string_equal(stand.link->version, "2025-11-25");
    stand_note(&stand, "notifications/initialized");
    stand_turn(&stand, 20);
    stand_say(1, "tools/call");
    link_close(stand.link);
    stand.link = NULL;
    while (stand.request_count < 4)
        stand_turn(&stand, 1);
    for (size_t i = 1; i < 4; i++) {
        assert_true(stand_has(stand.requests[i].head, "\r\nMCP-Protocol-Version: 2025-11-25\r\n"));
        assert_true(stand_has(stand.requests[i].head, "\r\nMcp-Session-Id: s-1\r\n"));
    }
    assert_true(stand_has(stand.requests[3].head, "DELETE /mcp HTTP/1.1\r\n"));
    assert_int_equal(stand.conns_made, 1);
    stand_end();
}

static void test_initialize_on_a_stream(void **state) {
    (void)state;
    STAND_START("/mcp",
                {.mode = STAND_CHUNKED,
                 .status = 200,
                 .type = STAND_EVENTS,
                 .headers = "mcp-session-id: s-2\r\n",
                 .body = "id: 1\ndata: \n\nid: 2\ndata: " INIT_RESULT "\n\n"},
                {.method = "DELETE", .status = 200});
    stand_say(0, "initialize");
    assert_int_equal(calls[0].answers, 1);
    assert_string_equal(stand.link->version, "2025-11-25");
    stand_end();
}

static void test_bad_session_id(void **state) {
    (void)state;
    STAND_START(
        "/mcp",
        {.status = 200, .type = STAND_JSON, .headers = "Mcp-Session-Id: a b\r\n", .body = INIT_RESULT});
    stand_say(0, "initialize");
    assert_int_equal(calls[0].failures, 1);
    assert_true(stand_has(calls[0].why, "session id"));
    stand_end();
}

#define GONE "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32001,\"message\":\"Session not found\"}}"

static void test_session_lost(void **state) {
    (void)state;
    STAND_START("/mcp", REPLY_INIT, {.status = 404, .type = STAND_JSON, .body = GONE},
                {.status = 404, .type = STAND_JSON, .body = GONE}, {.status = 404});
    stand_say(0, "initialize");
    for (size_t i = 1; i < 4; i++)
        stand_send(&calls[i], "tools/call");
    stand_until(&stand, "the link to go down", stand_is_down, NULL);
    for (size_t i = 1; i < 4; i++) {
        assert_int_equal(calls[i].failures, 1);
        assert_true(calls[i].retry);
        assert_int_equal(calls[i].req.status, 404);
    }
    assert_int_equal(stand.down_status, LINK_LOST);
    assert_true(stand_has(stand.down_why, "no longer knows the session"));
    stand_turn(&stand, 10);
    assert_int_equal(stand.request_count, 4); /* nothing left to delete */
    stand_end();
}

static void test_session_lost_by_another_name(void **state) {
    (void)state;
    static const struct {
        struct stand_reply reply;
        bool lost;
    } cases[] = {
        {{.status = 400, .type = "text/plain", .body = "Bad Request: No valid session ID provided"}, true},
        {{.status = 400,
          .type = STAND_JSON,
          .body = "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"Missing session "
                  "ID\"}}"},
         true},
        {{.status = 400,
          .type = STAND_JSON,
          .body = "{\"jsonrpc\":\"2.0\",\"id\":@,\"error\":{\"code\":-32602,\"message\":\"no such browser "
                  "session\"}}"},
         false},
        {{.status = 400, .type = "text/plain", .body = "bad weather"}, false},
        {{.status = 500, .type = "text/plain", .body = "session store is down"}, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct stand_reply script[] = {REPLY_INIT, cases[i].reply, {.method = "DELETE", .status = 200}};
        stand_begin("/mcp", script, ARRAY_LEN(script));
        stand_say(0, "initialize");
        stand_say(1, "tools/call");
        assert_int_equal(calls[1].retry, cases[i].lost);
        assert_int_equal(stand.downs, cases[i].lost);
        stand_end();
    }
}

/* One that hangs does not keep the others from starting anew, and is not done twice. */
static void test_session_lost_with_straggler(void **state) {
    (void)state;
    STAND_START("/mcp", REPLY_INIT, {.mode = STAND_SILENT},
                {.status = 400,
                 .type = STAND_JSON,
                 .body =
                     "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,\"message\":\"Bad Request: "
                     "No valid session ID provided\"}}"});
    stand_say(0, "initialize");
    stand_send(&calls[1], "tools/call");
    stand_turn(&stand, 10);
    stand_send(&calls[2], "tools/call");
    stand_turn(&stand, 20);
    stand_send(&calls[3], "tools/call"); /* never leaves */
    assert_int_equal(calls[2].failures, 0);
    stand_until(&stand, "the link to go down", stand_is_down, NULL);
    assert_false(calls[1].retry);
    assert_true(calls[2].retry);
    assert_true(calls[3].retry);
    assert_int_equal(stand.request_count, 3);
    stand_end();
}

static void test_session_lost_closed_in_failed(void **state) {
    (void)state;
    STAND_START("/mcp", REPLY_INIT, {.status = 404}, {.status = 404});
    stand_say(0, "initialize");
    calls[1].close_in_failed = true;
    stand_send(&calls[1], "tools/call");
    stand_send(&calls[2], "tools/call");
    stand_wait(&calls[1]);
    stand_turn(&stand, 30);
    assert_int_equal(calls[2].failures, 0);
    assert_int_equal(stand.downs, 0);
    stand_end();
}

/* What belongs to one era does not get into the requests of the other. */
static void test_eras_on_one_link(void **state) {
    (void)state;
    STAND_START("/mcp", REPLY_INIT, {.status = 404}, {.method = "DELETE", .status = 200});
    stand_say(0, "initialize");
    stand_say(1, "+tools/list");
    assert_true(stand_has(stand.requests[1].head, "\r\nMCP-Protocol-Version: 2026-07-28\r\n"));
    assert_false(stand_has(stand.requests[1].head, "2025-11-25"));
    assert_false(stand_has(stand.requests[1].head, "Mcp-Session-Id"));
    assert_false(calls[1].retry);
    assert_int_equal(stand.downs, 0);
    stand_end();
}

static void test_unknown_method_is_no_lost_session(void **state) {
    (void)state;
    STAND_START("/mcp", REPLY_INIT,
                {.status = 404,
                 .type = STAND_JSON,
                 .body = "{\"jsonrpc\":\"2.0\",\"id\":@,\"error\":{\"code\":-32601,\"message\":\"no\"}}"},
                {.method = "DELETE", .status = 200});
    stand_say(0, "initialize");
    stand_say(1, "tools/odd");
    assert_int_equal(calls[1].answers, 1);
    assert_int_equal(stand.downs, 0);
    stand_end();
}

/* ---- the older transport ---- */

static void test_fallback(void **state) {
    (void)state;
    STAND_START("/mcp", {.method = "POST", .status = 405, .type = "text/plain", .body = "no"},
                {.method = "GET",
                 .mode = STAND_CHUNKED,
                 .status = 200,
                 .type = STAND_EVENTS,
                 .body = "event: endpoint\ndata: /messages?s=1\n\n",
                 .hold_open = true});
    stand_send(&calls[0], "initialize");
    stand_until(&stand, "the link to go down", stand_is_down, NULL);
    assert_true(stand.server.use_sse);
    assert_int_equal(calls[0].failures, 1);
    assert_int_equal(calls[0].req.status, 405);
    assert_true(calls[0].retry);
    assert_int_equal(stand.down_status, LINK_LOST);
    stand_end();
}

static void test_no_fallback(void **state) {
    (void)state;
    STAND_START(
        "/mcp", {.method = "POST", .status = 404, .type = "text/plain", .body = "nothing here"},
        {.method = "GET", .status = 404}, {.method = "POST", .status = 405},
        {.method = "GET", .mode = STAND_CHUNKED, .status = 200, .type = STAND_EVENTS, .body = ": x\n\n"},
        {.method = "POST", .status = 500}, {.method = "POST", .status = 404});
    stand_say(0, "initialize");
    assert_true(stand_has(calls[0].why, "HTTP 404: nothing here"));
    assert_int_equal(calls[0].req.status, 404);
    assert_false(calls[0].retry);
    stand_say(1, "initialize");
    assert_true(stand_has(calls[1].why, "HTTP 405"));
    stand_say(2, "initialize");
    stand_say(3, "+server/discover");
    assert_int_equal(calls[3].req.status, 404);
    assert_false(stand.server.use_sse);
    assert_int_equal(stand.downs, 0);
    stand_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_events_then_answer),
        cmocka_unit_test(test_kept_messages_stay),
        cmocka_unit_test(test_unended_stream_is_cut),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_resume_refused),
        cmocka_unit_test(test_ended_stream_fails),
        cmocka_unit_test(test_listen),
        cmocka_unit_test(test_listen_refused),
        cmocka_unit_test(test_pause),
        cmocka_unit_test(test_session),
        cmocka_unit_test(test_initialize_on_a_stream),
        cmocka_unit_test(test_bad_session_id),
        cmocka_unit_test(test_session_lost),
        cmocka_unit_test(test_session_lost_by_another_name),
        cmocka_unit_test(test_session_lost_with_straggler),
        cmocka_unit_test(test_session_lost_closed_in_failed),
        cmocka_unit_test(test_eras_on_one_link),
        cmocka_unit_test(test_unknown_method_is_no_lost_session),
        cmocka_unit_test(test_fallback),
        cmocka_unit_test(test_no_fallback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
