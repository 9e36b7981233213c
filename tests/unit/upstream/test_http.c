/* Streamable HTTP: framing, connections, statuses, heads. */
#include "stand.h"

#include "base/mem.h"
#include "upstream/head.h"

static void test_json_and_reuse(void **state) {
    (void)state;
    STAND_START(
        "/mcp",
        {.method = "POST", .status = 200, .type = STAND_JSON "; charset=utf-8", .body = STAND_RESULT("one")},
        {.status = 202}, {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("two")},
        {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("three")});
    stand_say(0, "tools/call");
    assert_int_equal(calls[0].answers, 1);
    assert_int_equal(calls[0].status, 200);
    assert_true(stand_has(calls[0].answer, "\"one\""));
    calls[1].then = &calls[2];
    calls[1].then_method = "ping";
    stand_note(&stand, "notifications/initialized");
    stand_turn(&stand, 20);
    stand_say(1, "tools/call");
    stand_wait(&calls[2]);
    assert_true(stand_has(calls[2].answer, "three"));
    assert_int_equal(stand.conns_made, 1);
    assert_int_equal(stand.server.conn_count, 1);
    const char *head = stand.requests[0].head;
    assert_true(stand_has(head, "POST /mcp HTTP/1.1\r\n"));
    assert_true(stand_has(head, "\r\nHost: 127.0.0.1:"));
    assert_true(stand_has(head, "\r\nAccept: application/json, text/event-stream\r\n"));
    assert_true(stand_has(head, "\r\nContent-Type: application/json\r\n"));
    assert_false(stand_has(head, "Mcp-Session-Id"));
    assert_false(stand_has(head, "MCP-Protocol-Version"));
    stand_end();
}

/* ---- every way of framing, cut at every byte ---- */

static void one_answer(const struct stand_reply *r, const char *want_message) {
    stand_again(&stand, r, 1);
    stand_call_init(&calls[0], &stand);
    stand_say(0, "tools/call");
    if (!calls[0].answers)
        fail_msg("cut at %zu: %s", r->split, calls[0].why);
    assert_true(stand_has(calls[0].answer, "\"cut\""));
    assert_int_equal(calls[0].log.len != 0, want_message != NULL);
    if (want_message) {
        buf_put_char(&calls[0].log, '\0');
        assert_string_equal(calls[0].log.ptr, want_message);
    }
    stand_call_free(&calls[0]);
    stand_call_init(&calls[0], &stand);
}

static void cut_everywhere(struct stand_reply r, size_t longest, const char *want_message) {
    stand_begin("/mcp", NULL, 0);
    for (r.split = 0; r.split < longest; r.split++)
        one_answer(&r, want_message);
    r.split = 1;
    r.drip = true;
    one_answer(&r, want_message);
    if (r.mode != STAND_CLOSE && r.mode != STAND_RAW)
        assert_true(stand.conns_made <= 2);
    stand_end();
}

#define STREAM                                                                                               \
    ": hello\r\n\r\nevent: message\r\ndata: " STAND_NOTE                                                     \
    "\r\n\r\nid: 4\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":@,\n"                                          \
    "data: \"result\":{\"v\":\"cut\"}}\n\n"

static void test_cut_json(void **state) {
    (void)state;
    cut_everywhere((struct stand_reply){.status = 200, .type = STAND_JSON, .body = STAND_RESULT("cut")}, 150,
                   NULL);
}

static void test_cut_json_chunked(void **state) {
    (void)state;
    cut_everywhere(
        (struct stand_reply){
            .mode = STAND_CHUNKED, .status = 200, .type = STAND_JSON, .body = STAND_RESULT("cut")},
        240, NULL);
}

static void test_cut_json_close(void **state) {
    (void)state;
    cut_everywhere(
        (struct stand_reply){
            .mode = STAND_CLOSE, .status = 200, .type = STAND_JSON, .body = STAND_RESULT("cut")},
        130, NULL);
}

static void test_cut_interim(void **state) {
    (void)state;
    const char *raw =
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n"
        "Content-Type: application/json\r\n\r\n" STAND_RESULT("cut");
    cut_everywhere((struct stand_reply){.mode = STAND_RAW, .body = raw, .hang_up = true}, 180, NULL);
}

static void test_cut_events_chunked(void **state) {
    (void)state;
    cut_everywhere(
        (struct stand_reply){
            .mode = STAND_CHUNKED, .chunk = 11, .status = 200, .type = STAND_EVENTS, .body = STREAM},
        450, STAND_NOTE "\n");
}

static void test_cut_events_length(void **state) {
    (void)state;
    cut_everywhere((struct stand_reply){.status = 200, .type = STAND_EVENTS, .body = STREAM}, 310,
                   STAND_NOTE "\n");
}

static void test_cut_events_close(void **state) {
    (void)state;
    cut_everywhere(
        (struct stand_reply){.mode = STAND_CLOSE, .status = 200, .type = STAND_EVENTS, .body = STREAM}, 290,
        STAND_NOTE "\n");
}

/* ---- large messages ---- */

static char *big_text(size_t len) {
    char *text = mem_alloc(len + 1);
    memset(text, 'x', len);
    text[len] = '\0';
    return text;
}

static void test_large(void **state) {
    (void)state;
    size_t size = 3u << 20;
    cleanup_free char *x = big_text(size);
    struct buf body, events;
    buf_init(&body, 8u << 20);
    buf_init(&events, 8u << 20);
    buf_printf(&body, "{\"jsonrpc\":\"2.0\",\"id\":@,\"result\":{\"v\":\"%s\"}}", x);
    buf_printf(&events, "data: %s\n\ndata: %.*s\n\n", STAND_NOTE, (int)body.len, body.ptr);
    buf_put_char(&body, '\0');
    buf_put_char(&events, '\0');
    struct stand_reply replies[] = {
        {.status = 200, .type = STAND_JSON, .body = body.ptr},
        {.mode = STAND_CHUNKED, .chunk = 50000, .status = 200, .type = STAND_JSON, .body = body.ptr},
        {.mode = STAND_CHUNKED, .chunk = 50000, .status = 200, .type = STAND_EVENTS, .body = events.ptr},
    };
    stand_begin("/mcp", replies, ARRAY_LEN(replies));
    cleanup_free char *params = big_text(size + 8);
    memcpy(params, "{\"a\":\"", 6);
    memcpy(params + size + 6, "\"}", 2);
    for (size_t i = 0; i < ARRAY_LEN(replies); i++) {
        struct link_out out = {.method = SLICE("tools/call")};
        stand_send_out(&calls[i], &out, params);
        stand_wait(&calls[i]);
        assert_int_equal(calls[i].answers, 1);
        assert_true(strlen(calls[i].answer) > size);
        assert_true(strlen(stand.requests[i].body) > size);
    }
    assert_int_equal(stand.conns_made, 1);
    buf_free(&body);
    buf_free(&events);
    stand_end();
}

/* While there is no connection, a large message is not stored twice. */
static void test_large_waits_in_place(void **state) {
    (void)state;
    struct stand_reply replies[] = {{.status = 200, .type = STAND_JSON, .body = STAND_RESULT("fine")}};
    struct arena a;
    struct splice text;
    size_t size = 1u << 20, edit = size / 2;
    stand_begin("/mcp", replies, ARRAY_LEN(replies));
    assert_true(link_begin(stand.link, &calls[0].req, &calls[0]));
    struct block *b = block_new(&stand.loop.blocks, size);
    memset(b->data, 'x', size);
    int head =
        snprintf(b->data, size, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"tools/call\",\"params\":\"",
                 (unsigned long long)calls[0].req.id);
    b->data[head] = 'x';
    memcpy(b->data + size - 2, "\"}", 2);
    arena_init(&a);
    splice_init(&text, slice_of(b->data, size), &a);
    assert_true(splice_replace(&text, (uint32_t)edit, (uint32_t)edit + 1, SLICE("other")));
    struct link_out out = {.text = &text, .block = b, .method = SLICE("tools/call")};
    size_t before = stand.loop.blocks.big_bytes;
    assert_true(link_send(stand.link, &out, &calls[0].req));
    assert_int_equal(stand.loop.blocks.big_bytes, before);
    assert_int_equal(b->refs, 3); /* ours, and one for each side of the edit */
    arena_free(&a);
    block_unref(b);
    stand_wait(&calls[0]);
    assert_int_equal(calls[0].answers, 1);
    assert_int_equal(strlen(stand.requests[0].body), size + 4);
    assert_memory_equal(stand.requests[0].body + edit - 1, "xotherx", 7);
    assert_int_equal(stand.loop.blocks.big_bytes, 0);
    stand_end();
}

static void test_over_ceiling(void **state) {
    (void)state;
    STAND_START(
        "/mcp",
        {.mode = STAND_RAW,
         .body = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 67108865\r\n\r\n{"},
        {.mode = STAND_RAW, .body = "HTTP/1.1 500 No\r\nContent-Length: 1048577\r\n\r\nx"},
        {.mode = STAND_RAW,
         .body = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 3\r\n"
                 "Content-Encoding: gzip\r\n\r\nxyz"},
        {.mode = STAND_RAW,
         .body = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"});
    for (size_t i = 0; i < 4; i++) {
        stand_say(i, "tools/list");
        assert_int_equal(calls[i].failures, 1);
        assert_false(calls[i].retry);
    }
    assert_true(stand_has(calls[0].why, "exceeds the message limit"));
    assert_true(stand_has(calls[2].why, "encoded"));
    assert_int_equal(stand.conns_made, 4);
    stand_end();
}

/* ---- statuses ---- */

static void test_refusals(void **state) {
    (void)state;
    STAND_START("/mcp", {.status = 401, .type = STAND_JSON, .body = "{\"error\":\"nope\"}"},
                {.status = 503, .type = "text/plain", .body = "the \x01 back\nend is \xc3\xa9 gone"},
                {.status = 307, .headers = "Location: https://elsewhere.example/mcp\r\n"}, {.status = 202});
    stand_say(0, "tools/list");
    assert_true(stand_has(calls[0].why, "`fake` refused our credentials (HTTP 401)"));
    assert_int_equal(calls[0].req.status, 401);
    stand_say(1, "tools/list");
    assert_true(stand_has(calls[1].why, "HTTP 503: the ? back end is ?? gone"));
    stand_say(2, "tools/list");
    assert_true(stand_has(
        calls[2].why, "redirect (HTTP 307) to https://elsewhere.example/mcp; redirects are not followed"));
    stand_say(3, "tools/list");
    assert_true(stand_has(calls[3].why, "sent no response"));
    for (size_t i = 0; i < 4; i++)
        assert_false(calls[i].retry);
    assert_int_equal(stand.conns_made, 1);
    stand_end();
}

static void test_errors_that_are_answers(void **state) {
    (void)state;
    STAND_START(
        "/mcp",
        {.status = 400,
         .type = STAND_JSON,
         .body = "{\"jsonrpc\":\"2.0\",\"id\":@,\"error\":{\"code\":-32022,\"message\":\"no\",\"data\":{}}}"},
        {.status = 404,
         .type = STAND_JSON,
         .body = "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32601,\"message\":\"no\"}}"},
        {.status = 400,
         .type = STAND_JSON,
         .body = "{\"jsonrpc\":\"2.0\",\"id\":77,\"error\":{\"code\":-32600,\"message\":\"no\"}}"},
        {.status = 200, .type = STAND_JSON, .body = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"});
    stand_say(0, "+tools/list");
    assert_int_equal(calls[0].answers, 1);
    assert_int_equal(calls[0].status, 400);
    stand_say(1, "+tools/list");
    assert_int_equal(calls[1].answers, 1);
    assert_int_equal(calls[1].status, 404);
    stand_say(2, "+tools/list");
    assert_int_equal(calls[2].failures, 1);
    stand_say(3, "+tools/list");
    assert_int_equal(calls[3].failures, 1);
    assert_true(stand_has(calls[3].why, "not the response"));
    stand_end();
}

static void test_wrong_type(void **state) {
    (void)state;
    STAND_START("/mcp", {.status = 200, .type = "text/html", .body = "<p>hello"},
                {.status = 200, .type = STAND_JSON, .body = "{]"}, {.status = 200, .type = STAND_JSON});
    stand_say(0, "ping");
    assert_true(stand_has(calls[0].why, "neither JSON nor a stream"));
    stand_say(1, "ping");
    assert_int_equal(calls[1].failures, 1);
    stand_say(2, "ping");
    assert_int_equal(calls[2].failures, 1);
    stand_end();
}

/* ---- connections that end ---- */

static void test_early_close(void **state) {
    (void)state;
    STAND_START("/mcp", {.mode = STAND_HANG_UP},
                {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("ok")}, {.mode = STAND_HANG_UP},
                {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("ok")});
    stand_say(0, "tools/list");
    assert_int_equal(calls[0].failures, 1);
    assert_false(calls[0].retry); /* a fresh connection: the server has seen it and chose to go */
    assert_true(stand_has(calls[0].why, "server `fake` closed the connection"));
    stand_say(1, "tools/list");
    stand_say(2, "tools/call");
    assert_int_equal(calls[2].failures, 1);
    assert_false(calls[2].retry);
    stand_say(3, "tools/list");
    assert_int_equal(calls[3].answers, 1);
    stand_end();
}

static void test_stale_list_may_be_repeated(void **state) {
    (void)state;
    STAND_START(
        "/mcp", {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("ok")}, {.mode = STAND_HANG_UP},
        {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("ok")},
        {.mode = STAND_RAW,
         .body = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{\"a",
         .hang_up = true});
    stand_say(0, "tools/list");
    stand_say(1, "tools/list");
    assert_int_equal(calls[1].failures, 1);
    assert_true(calls[1].retry);
    stand_say(2, "tools/list");
    stand_say(3, "tools/list");
    assert_int_equal(stand.requests[3].conn, stand.requests[2].conn);
    assert_int_equal(calls[3].failures, 1);
    assert_false(calls[3].retry); /* it had begun to answer */
    stand_end();
}

static void test_most_recent_first(void **state) {
    (void)state;
    STAND_START("/mcp", {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("one"), .split = 20},
                {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("two")},
                {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("three")},
                {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("four")});
    stand_send(&calls[0], "ping");
    stand_send(&calls[1], "ping");
    stand_wait(&calls[0]);
    stand_wait(&calls[1]);
    assert_int_equal(stand.conns_made, 2);
    stand_say(2, "ping");
    stand_say(3, "ping");
    assert_int_equal(stand.requests[2].conn, stand.requests[0].conn); /* whose answer came last */
    assert_int_equal(stand.requests[3].conn, stand.requests[0].conn);
    stand_end();
}

/* An answer that comes before the request has left is an answer; its connection is of no further use. */
static void test_early_answer(void **state) {
    (void)state;
    STAND_START("/mcp", {.early = true, .status = 413, .type = "text/plain", .body = "too large"},
                {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("ok")});
    size_t size = 12u << 20;
    cleanup_free char *params = big_text(size);
    memcpy(params, "{\"a\":\"", 6);
    memcpy(params + size - 2, "\"}", 2);
    struct link_out out = {.method = SLICE("tools/call")};
    stand_send_out(&calls[0], &out, params);
    stand_wait(&calls[0]);
    assert_true(stand_has(calls[0].why, "HTTP 413: too large"));
    assert_int_equal(stand.server.conn_count, 0);
    stand_say(1, "ping");
    assert_int_equal(calls[1].answers, 1);
    stand_end();
}

static void test_no_server(void **state) {
    (void)state;
    STAND_START("/mcp", {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("ok")});
    io_listener_close(stand.listener);
    stand.listener = NULL;
    stand_say(0, "tools/call");
    assert_int_equal(calls[0].failures, 1);
    assert_true(calls[0].retry);
    assert_true(stand_has(calls[0].why, "server `fake`: connect to 127.0.0.1 port"));
    assert_true(stand.link->is_up);
    stand_end();
}

static void test_not_kept(void **state) {
    (void)state;
    STAND_START(
        "/mcp",
        {.status = 200,
         .headers = "Connection: close\r\n",
         .type = STAND_JSON,
         .body = STAND_RESULT("one"),
         .hang_up = true},
        {.status = 200,
         .headers = "Keep-Alive: timeout=1\r\n",
         .type = STAND_JSON,
         .body = STAND_RESULT("two")},
        {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("three"), .tail = "HTTP/1.1 200 OK\r\n"},
        {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("four")});
    for (size_t i = 0; i < 4; i++)
        stand_say(i, "ping");
    assert_int_equal(stand.conns_made, 4);
    assert_int_equal(calls[3].answers, 1);
    stand_end();
}

static void test_idle_ends(void **state) {
    (void)state;
    STAND_START("/mcp",
                {.status = 200,
                 .type = STAND_JSON,
                 .headers = "Keep-Alive: timeout=2, max=9\r\n",
                 .body = STAND_RESULT("one")},
                {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("two"), .hang_up = true},
                {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("three")});
    stand_say(0, "ping");
    assert_int_equal(stand.server.conn_count, 1);
    uint64_t from = io_now_ms(&stand.loop);
    stand_until(&stand, "the idle connection to be closed", stand_no_conns, NULL);
    assert_true(io_now_ms(&stand.loop) - from < 2000);
    stand_say(1, "ping");
    stand_until(&stand, "the end of the connection to be seen", stand_no_conns, NULL);
    stand_say(2, "ping");
    assert_int_equal(calls[2].answers, 1);
    stand_end();
}

static void test_queue(void **state) {
    (void)state;
    STAND_START("/mcp", {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("one")},
                {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("two")},
                {.status = 200,
                 .type = STAND_JSON,
                 .headers = "Connection: close\r\n",
                 .body = STAND_RESULT("three")},
                {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("four")});
    stand.server.conn_count = UP_CONNS_MAX - 1;
    for (size_t i = 0; i < 4; i++)
        stand_send(&calls[i], "tools/call");
    assert_int_equal(stand.server.conn_waiting, 3);
    for (size_t i = 0; i < 4; i++)
        stand_wait(&calls[i]);
    assert_true(stand_has(calls[1].answer, "two")); /* first come, first served */
    assert_true(stand_has(calls[3].answer, "four"));
    assert_int_equal(stand.conns_made, 2);
    assert_int_equal(stand.server.conn_waiting, 0);
    stand.server.conn_count -= UP_CONNS_MAX - 1;
    stand_end();
}

static void test_leave_queue(void **state) {
    (void)state;
    STAND_START("/mcp", {.mode = STAND_SILENT},
                {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("two")});
    stand.server.conn_count = UP_CONNS_MAX - 1;
    for (size_t i = 0; i < 3; i++)
        stand_send(&calls[i], "tools/call");
    link_end(&calls[1].req);
    assert_int_equal(stand.server.conn_waiting, 1);
    stand_turn(&stand, 10);
    link_end(&calls[0].req);
    stand_wait(&calls[2]);
    assert_int_equal(calls[2].answers, 1);
    assert_int_equal(calls[0].answers + calls[0].failures + calls[1].answers + calls[1].failures, 0);
    stand.server.conn_count -= UP_CONNS_MAX - 1;
    stand_end();
}

static bool server_alone(struct stand *t, void *arg) {
    (void)arg;
    return t->conns_open == 0;
}

static bool has_message(struct stand *t, void *arg) {
    (void)t;
    return ((struct stand_call *)arg)->log.len > 0;
}

static void test_abandon_closes(void **state) {
    (void)state;
    STAND_START("/mcp", {.mode = STAND_CHUNKED,
                         .status = 200,
                         .type = STAND_EVENTS,
                         .body = "data: " STAND_NOTE "\n\n",
                         .hold_open = true});
    calls[0].end_in_message = true;
    stand_send(&calls[0], "+tools/call");
    stand_until(&stand, "a message", has_message, &calls[0]);
    stand_until(&stand, "the server to see the end", server_alone, NULL);
    assert_int_equal(calls[0].answers + calls[0].failures, 0);
    stand_end();
}

/* ---- heads ---- */

static void test_modern_head(void **state) {
    (void)state;
    STAND_START("/mcp", {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("ok")},
                {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("ok")},
                {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("ok")},
                {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("ok")});
    static const struct {
        struct slice name;
        const char *want;
    } names[] = {
        {SLICE("get_weather"), "\r\nMcp-Name: get_weather\r\n"},
        {SLICE("h\xc3\xa9llo"), "\r\nMcp-Name: =?base64?aMOpbGxv?=\r\n"},
        {SLICE("a\r\nX-Evil: 1"), "\r\nMcp-Name: =?base64?YQ0KWC1FdmlsOiAx?=\r\n"},
        {SLICE("=?base64?QQ==?="), "\r\nMcp-Name: =?base64?PT9iYXNlNjQ/UVE9PT89?=\r\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct link_out out = {.method = SLICE("tools/call"),
                               .name = names[i].name,
                               .modern = true,
                               .extra_headers = SLICE("Mcp-Param-Region: eu\r\nMcp-Param-N: 1\r\n")};
        stand_send_out(&calls[i], &out, "{}");
        stand_wait(&calls[i]);
        const char *head = stand.requests[i].head;
        assert_true(stand_has(head, "\r\nMCP-Protocol-Version: 2026-07-28\r\n"));
        assert_true(stand_has(head, "\r\nMcp-Method: tools/call\r\n"));
        assert_true(stand_has(head, "\r\nMcp-Param-Region: eu\r\nMcp-Param-N: 1\r\n"));
        if (!stand_has(head, names[i].want))
            fail_msg("no %s in %s", names[i].want, head);
    }
    stand_end();
}

static void test_header_value(void **state) {
    (void)state;
    struct buf out;
    buf_init(&out, UP_OWN_HEAD_MAX);
    assert_true(up_head_value(&out, SLICE(" lead")));
    buf_put_char(&out, '|');
    assert_true(up_head_value(&out, SLICE("trail ")));
    buf_put_char(&out, '|');
    assert_true(up_head_value(&out, SLICE("in the middle")));
    buf_put_char(&out, '|');
    assert_true(up_head_value(&out, SLICE("")));
    buf_put_char(&out, '\0');
    assert_string_equal(out.ptr, "=?base64?IGxlYWQ=?=|=?base64?dHJhaWwg?=|in the middle|=?base64?"
                                 "?=");
    cleanup_free char *x = big_text(UP_NAME_MAX + 1);
    assert_false(up_head_value(&out, slice_str(x)));
    buf_free(&out);
}

static void test_refused_heads(void **state) {
    (void)state;
    STAND_START("/mcp", {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("ok")});
    static const char *const bad[] = {"X: 1",    "X: 1\n",       "X 1\r\n",     "X: 1\r\n\r\n",
                                      ": 1\r\n", "X: a\x01\r\n", "X: 1\r\nY: 2"};
    struct arena a;
    struct splice s;
    arena_init(&a);
    splice_init(&s, SLICE("{}"), &a);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct link_out out = {
            .text = &s, .method = SLICE("tools/call"), .modern = true, .extra_headers = slice_str(bad[i])};
        assert_false(link_send(stand.link, &out, NULL));
    }
    struct link_out out = {.text = &s, .method = SLICE("tools/call\r\nX: 1"), .modern = true};
    assert_false(link_send(stand.link, &out, NULL));
    arena_free(&a);
    assert_int_equal(stand.conns_made, 0);
    stand_end();
}

static void test_configured_headers(void **state) {
    (void)state;
    static const char *const lines[] = {"Authorization: Bearer t0k", "X-Tenant:a"};
    static const struct stand_reply reply = {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("ok")};
    struct err err;
    stand_prepare("/mcp?x=1", &reply, 1);
    stand.server.headers = lines;
    stand.server.header_count = 2;
    assert_int_equal(up_head_check(&stand.server, &err), 0);
    stand_link(&stand);
    stand_say(0, "ping");
    assert_true(stand_has(stand.requests[0].head, "POST /mcp?x=1 HTTP/1.1\r\n"));
    assert_true(stand_has(stand.requests[0].head, "\r\nAuthorization: Bearer t0k\r\nX-Tenant: a\r\n"));
    static const struct {
        const char *line;
        const char *want;
    } bad[] = {
        {"Authorization", "header 1 has no colon"},
        {"A b: c", "header 1 has no valid name"},
        {"Content-Length: 5", "`Content-Length` is set by the gateway itself"},
        {"mcp-session-id: 5", "`mcp-session-id` is set by the gateway itself"},
        {"X: secret\r\nY: 1", "the value of header `X` has forbidden bytes"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        const char *const one[] = {bad[i].line};
        stand.server.headers = one;
        stand.server.header_count = 1;
        assert_int_equal(up_head_check(&stand.server, &err), -1);
        if (!stand_has(err.text, bad[i].want))
            fail_msg("%s: %s", bad[i].line, err.text);
        assert_false(stand_has(err.text, "secret"));
    }
    stand.server.headers = NULL;
    stand.server.header_count = 0;
    stand_end();
}

/* ---- closing from inside ---- */

static void test_close_inside(void **state) {
    (void)state;
    static const struct stand_reply replies[] = {
        {.status = 200, .type = STAND_JSON, .body = STAND_RESULT("ok")},
        {.mode = STAND_CHUNKED,
         .chunk = 4000,
         .status = 200,
         .type = STAND_EVENTS,
         .body = "data: " STAND_NOTE "\n\ndata: " STAND_RESULT("ok") "\n\ndata: " STAND_NOTE "\n\n"},
        {.mode = STAND_CHUNKED,
         .chunk = 4000,
         .status = 200,
         .type = STAND_EVENTS,
         .body = "data: " STAND_NOTE "\n\ndata: " STAND_RESULT("ok") "\n\n",
         .hold_open = true},
        {.status = 500},
        {.mode = STAND_HANG_UP},
    };
    for (size_t r = 0; r < ARRAY_LEN(replies); r++) {
        for (int way = 0; way < 4; way++) {
            stand_begin("/mcp", &replies[r], 1);
            calls[0].close_in_answer = way == 0;
            calls[0].close_in_message = way == 1;
            calls[0].close_in_failed = way == 2;
            calls[0].end_in_message = way == 3;
            stand_send(&calls[0], "tools/call");
            stand_turn(&stand, 60);
            assert_true(calls[0].answers + calls[0].failures <= 1);
            stand_end();
        }
    }
}

static void test_close_early(void **state) {
    (void)state;
    for (int turns = 0; turns < 6; turns++) {
        STAND_START("/mcp", {.mode = STAND_SILENT}, {.method = "GET", .mode = STAND_SILENT},
                    {.mode = STAND_SILENT});
        stand_send(&calls[0], "tools/call");
        link_listen(stand.link);
        stand_turn(&stand, turns);
        link_close(stand.link);
        stand.link = NULL;
        stand_turn(&stand, 5);
        assert_int_equal(calls[0].answers + calls[0].failures, 0);
        stand_end();
    }
}

static void test_close_in_standing(void **state) {
    (void)state;
    STAND_START("/mcp", {.method = "GET",
                         .mode = STAND_CHUNKED,
                         .chunk = 4000,
                         .status = 200,
                         .type = STAND_EVENTS,
                         .body = "data: " STAND_NOTE "\n\ndata: " STAND_NOTE "\n\n"});
    stand.close_in_message = true;
    link_listen(stand.link);
    stand_turn(&stand, 30);
    assert_int_equal(stand.log.len, sizeof(STAND_NOTE));
    stand_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_and_reuse),
        cmocka_unit_test(test_cut_json),
        cmocka_unit_test(test_cut_json_chunked),
        cmocka_unit_test(test_cut_json_close),
        cmocka_unit_test(test_cut_interim),
        cmocka_unit_test(test_cut_events_chunked),
        cmocka_unit_test(test_cut_events_length),
        cmocka_unit_test(test_cut_events_close),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_large_waits_in_place),
        cmocka_unit_test(test_over_ceiling),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_errors_that_are_answers),
        cmocka_unit_test(test_wrong_type),
        cmocka_unit_test(test_early_close),
        cmocka_unit_test(test_stale_list_may_be_repeated),
        cmocka_unit_test(test_most_recent_first),
        cmocka_unit_test(test_early_answer),
        cmocka_unit_test(test_no_server),
        cmocka_unit_test(test_not_kept),
        cmocka_unit_test(test_idle_ends),
        cmocka_unit_test(test_queue),
        cmocka_unit_test(test_leave_queue),
        cmocka_unit_test(test_abandon_closes),
        cmocka_unit_test(test_modern_head),
        cmocka_unit_test(test_header_value),
        cmocka_unit_test(test_refused_heads),
        cmocka_unit_test(test_configured_headers),
        cmocka_unit_test(test_close_inside),
        cmocka_unit_test(test_close_early),
        cmocka_unit_test(test_close_in_standing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
