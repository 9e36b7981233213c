/* A client of one era and a server of the other: what each of them gets, and in which era's form. */
#include "harness.h"

static struct harness *h;
static struct fake_server *server;
static struct fake_client *agent;

static void legacy_to_modern(const char *capabilities) {
    h = harness_open(NULL);
    server = harness_server(h, "files", FAKE_MODERN);
    server->capabilities = "{'tools':{'listChanged':true},'resources':{'subscribe':true},'logging':{}}";
    agent = harness_client(h, server, false, NULL, capabilities);
}

static void modern_to_legacy(const char *capabilities) {
    h = harness_open(NULL);
    server = harness_server(h, "files", FAKE_LEGACY);
    server->capabilities = "{'tools':{'listChanged':true},'resources':{'subscribe':true},'logging':{}}";
    agent = harness_client(h, server, true, NULL, capabilities);
}

/* ---- a legacy client, a modern server ---- */

static void test_handshake_with_a_modern_server_is_the_gates(void **state) {
    (void)state;
    h = harness_open(NULL);
    server = harness_server(h, "files", FAKE_MODERN);
    agent = harness_legacy(h, server);
    /* initialize was tried, refused, and answered from server/discover. */
    assert_int_equal(fake_count(server, "initialize"), 1);
    assert_int_equal(fake_count(server, "server/discover"), 1);
    assert_string_equal(agent->session->version, "2025-11-25");
    assert_int_equal(fake_count(server, "notifications/initialized"), 0);
}

static void test_legacy_call_carries_the_meta_of_the_modern_era(void **state) {
    (void)state;
    legacy_to_modern("{'sampling':{}}");
    struct fake_reply *r = fake_call(agent, "4", "echo", "{'a':1}");
    struct fake_heard *m = fake_take(server, "tools/call");
    assert_has(m->text, "'io.modelcontextprotocol/protocolVersion':'2026-07-28'");
    assert_has(m->text, "'io.modelcontextprotocol/clientInfo':{'name':'agent'");
    assert_has(m->text, "'sampling':{}");
    fake_answer(m, "{'resultType':'complete','content':[{'type':'text','text':'x'}]}");
    assert_has(fake_text(r), "'id':4");
    assert_has(fake_text(r), "'text':'x'");
    assert_lacks(fake_text(r), "resultType");
}

static void test_second_session_knows_the_era(void **state) {
    (void)state;
    legacy_to_modern("{}");
    harness_legacy(h, server);
    assert_int_equal(fake_count(server, "initialize"), 1);
}

static void test_question_of_a_modern_server_becomes_a_request_and_the_call_is_repeated(void **state) {
    (void)state;
    legacy_to_modern("{'elicitation':{}}");
    struct fake_reply *r = fake_call(agent, "1", "echo", "{'a':1}");
    fake_answer(
        fake_take(server, "tools/call"),
        "{'resultType':'input_required','inputRequests':{'name':{'method':'elicitation/create','params':{"
        "'mode':'form','message':'Who?','requestedSchema':{'type':'object','properties':{}}}}},"
        "'requestState':'abc'}");
    assert_false(r->over);
    assert_int_equal(r->event_count, 1);
    assert_has(r->events[0], "'method':'elicitation/create'");
    assert_has(r->events[0], "Who?");
    fake_send(agent,
              arena_printf(&h->arena,
                           "{'jsonrpc':'2.0','id':%s,'result':{'action':'accept','content':{'n':'Bob'}}}",
                           fake_number(h, r->events[0], "id"))
                  .ptr);
    struct fake_heard *again = fake_take(server, "tools/call");
    assert_has(again->text, "'requestState':'abc'");
    assert_has(again->text, "'inputResponses':{'name':{'action':'accept','content':{'n':'Bob'}}}");
    assert_has(again->text, "'arguments':{'a':1}");
    fake_answer(again, "{'resultType':'complete','content':[]}");
    assert_has(fake_text(r), "'id':1");
}

static void test_question_that_the_client_did_not_declare_fails_the_call(void **state) {
    (void)state;
    legacy_to_modern("{}");
    struct fake_reply *r = fake_call(agent, "1", "echo", "{}");
    fake_answer(
        fake_take(server, "tools/call"),
        "{'resultType':'input_required','inputRequests':{'q':{'method':'sampling/createMessage','params':{"
        "'messages':[],'maxTokens':5}}}}");
    assert_has(fake_text(r), "the client has not declared");
    assert_int_equal(r->event_count, 0);
}

static void test_server_may_not_ask_for_ever(void **state) {
    (void)state;
    legacy_to_modern("{'roots':{}}");
    struct fake_reply *r = fake_call(agent, "1", "echo", "{}");
    int rounds = 0;
    while (!r->over && rounds < 32) {
        fake_answer(fake_take(server, "tools/call"),
                    "{'resultType':'input_required','inputRequests':{'r':{'method':'roots/list'}}}");
        if (r->over)
            break;
        rounds++;
        fake_send(agent, arena_printf(&h->arena, "{'jsonrpc':'2.0','id':%s,'result':{'roots':[]}}",
                                      fake_number(h, r->events[r->event_count - 1], "id"))
                             .ptr);
    }
    assert_in_range(rounds, 1, 8);
    assert_has(fake_text(r), "'error'");
}

static void test_client_that_answers_with_an_error_is_told_so_to_the_server_or_fails(void **state) {
    (void)state;
    legacy_to_modern("{'roots':{}}");
    struct fake_reply *r = fake_call(agent, "1", "echo", "{}");
    fake_answer(fake_take(server, "tools/call"),
                "{'resultType':'input_required','inputRequests':{'r':{'method':'roots/list'}}}");
    fake_send(agent,
              arena_printf(&h->arena, "{'jsonrpc':'2.0','id':%s,'error':{'code':-1,'message':'no roots'}}",
                           fake_number(h, r->events[0], "id"))
                  .ptr);
    assert_true(r->over);
    assert_has(fake_text(r), "'error'");
    assert_null(fake_peek(server, "tools/call"));
}

static void test_subscription_of_a_legacy_client_is_a_stream_of_the_modern_server(void **state) {
    (void)state;
    legacy_to_modern("{}");
    struct fake_heard *lists = fake_peek(server, "subscriptions/listen");
    if (lists)
        lists->taken = true;
    struct fake_reply *r = fake_request(agent, "1", "resources/subscribe", "'uri':'file:///a'");
    struct fake_heard *m = fake_take(server, "subscriptions/listen");
    assert_has(m->text, "'resourceSubscriptions':['file:///a']");
    fake_say(
        server, m,
        arena_printf(
            &h->arena,
            "{'jsonrpc':'2.0','method':'notifications/subscriptions/acknowledged','params':{'notifications':{"
            "'resourceSubscriptions':['file:///a']},'_meta':{'io.modelcontextprotocol/"
            "subscriptionId':%llu}}}",
            (unsigned long long)m->id)
            .ptr);
    assert_has(fake_text(r), "'result':{}");
    fake_say(server, m,
             arena_printf(&h->arena,
                          "{'jsonrpc':'2.0','method':'notifications/resources/"
                          "updated','params':{'uri':'file:///a','_meta':{"
                          "'io.modelcontextprotocol/subscriptionId':%llu}}}",
                          (unsigned long long)m->id)
                 .ptr);
    assert_int_equal(agent->delivered_count, 1);
    assert_has(agent->delivered[0], "notifications/resources/updated");
    assert_lacks(agent->delivered[0], "subscriptionId");
}

static void test_methods_that_the_modern_era_dropped_are_unknown(void **state) {
    (void)state;
    legacy_to_modern("{}");
    assert_has(fake_text(fake_request(agent, "1", "logging/setLevel", "'level':'debug'")), "'result':{}");
    assert_has(fake_text(fake_request(agent, "2", "logging/setLevel", "'level':'loud'")),
               "must be a log level");
    struct fake_reply *r = fake_call(agent, "3", "echo", "{}");
    assert_has(fake_take(server, "tools/call")->text, "'io.modelcontextprotocol/logLevel':'debug'");
    assert_false(r->over);
}

/* ---- a modern client, a legacy server ---- */

static void test_legacy_server_is_initialised_in_the_words_of_the_client(void **state) {
    (void)state;
    modern_to_legacy("{'sampling':{}}");
    struct fake_reply *r = fake_call(agent, "1", "echo", "{'a':1}");
    struct fake_heard *m = fake_take(server, "tools/call");
    assert_lacks(m->text, "io.modelcontextprotocol/");
    const char *hello = NULL;
    for (size_t i = 0; i < server->heard_count; i++)
        if (strcmp(server->heard[i]->method, "initialize") == 0)
            hello = server->heard[i]->text;
    assert_has(hello, "'sampling':{}");
    assert_has(hello, "'clientInfo':{'name':'agent'");
    assert_int_equal(fake_count(server, "notifications/initialized"), 1);
    fake_answer(m, "{'content':[{'type':'text','text':'x'}]}");
    assert_has(fake_text(r), "'resultType':'complete'");
    assert_has(fake_text(r), "'io.modelcontextprotocol/serverInfo':{'name':'files','version':'1'}");
}

static void test_requests_of_like_clients_share_a_link(void **state) {
    (void)state;
    modern_to_legacy("{}");
    fake_call(agent, "1", "echo", "{}");
    fake_call(agent, "2", "echo", "{}");
    assert_int_equal(fake_count(server, "tools/call"), 2);
    assert_int_equal(fake_count(server, "initialize"), 1);
}

static void test_clients_that_differ_have_links_of_their_own(void **state) {
    (void)state;
    modern_to_legacy("{}");
    fake_call(agent, "1", "echo", "{}");
    agent->capabilities = "{'roots':{}}";
    fake_call(agent, "2", "echo", "{}");
    assert_int_equal(fake_count(server, "initialize"), 2);
    assert_int_equal(server->open_count, 2);
}

static void test_on_pipes_a_call_that_may_be_asked_has_a_link_for_itself(void **state) {
    (void)state;
    modern_to_legacy("{'elicitation':{}}");
    fake_call(agent, "1", "echo", "{}");
    fake_call(agent, "2", "echo", "{}");
    assert_int_equal(fake_count(server, "tools/call"), 2);
    assert_int_equal(server->open_count, 2);
}

static void test_calls_wait_when_all_links_are_taken_and_go_on_when_one_is_free(void **state) {
    (void)state;
    modern_to_legacy("{'elicitation':{}}");
    struct fake_reply *last = NULL;
    for (int i = 0; i < 10; i++)
        last = fake_call(agent, arena_printf(&h->arena, "%d", i).ptr, "echo", "{}");
    assert_int_equal(fake_count(server, "tools/call"), 9); /* the first link, and eight beside it */
    assert_false(last->over);
    fake_answer(fake_take(server, "tools/call"), "{'content':[]}");
    assert_int_equal(fake_count(server, "tools/call"), 10);
}

static void test_unused_links_are_closed_after_a_while(void **state) {
    (void)state;
    modern_to_legacy("{}");
    fake_call(agent, "1", "echo", "{}");
    struct fake_heard *first = fake_take(server, "tools/call");
    agent->capabilities = "{'roots':{}}";
    fake_call(agent, "2", "echo", "{}");
    fake_answer(fake_take(server, "tools/call"), "{'content':[]}");
    fake_answer(first, "{'content':[]}");
    assert_int_equal(server->open_count, 2);
    harness_advance(h, 301000);
    assert_int_equal(server->open_count, 1);
}

static void test_discover_is_answered_from_the_handshake(void **state) {
    (void)state;
    modern_to_legacy("{}");
    const char *answer = fake_text(fake_request(agent, "1", "server/discover", ""));
    assert_has(answer, "'supportedVersions':");
    assert_has(answer, "'tools':{'listChanged':true}");
    assert_has(answer, "'cacheScope':'private'");
}

static void test_initialize_and_ping_are_unknown_in_the_modern_era(void **state) {
    (void)state;
    modern_to_legacy("{}");
    assert_has(fake_text(fake_request(agent, "1", "initialize", "'protocolVersion':'2025-11-25'")),
               "'code':-32601");
    assert_has(fake_text(fake_request(agent, "2", "ping", "")), "'code':-32601");
}

static void test_log_level_reaches_the_server_before_the_call(void **state) {
    (void)state;
    modern_to_legacy("{}");
    agent->meta = "'io.modelcontextprotocol/logLevel':'warning'";
    struct fake_reply *r = fake_call(agent, "1", "echo", "{}");
    assert_int_equal(fake_count(server, "tools/call"), 0);
    struct fake_heard *level = fake_take(server, "logging/setLevel");
    assert_has(level->text, "'level':'warning'");
    fake_answer(level, "{}");
    struct fake_heard *m = fake_take(server, "tools/call");
    fake_say(server, m,
             "{'jsonrpc':'2.0','method':'notifications/message','params':{'level':'info','data':'quiet'}}");
    fake_say(server, m,
             "{'jsonrpc':'2.0','method':'notifications/message','params':{'level':'error','data':'loud'}}");
    assert_int_equal(r->event_count, 1);
    assert_has(r->events[0], "loud");
}

static void test_stream_of_a_modern_client_is_a_subscription_at_the_legacy_server(void **state) {
    (void)state;
    modern_to_legacy("{}");
    struct fake_reply *r =
        fake_request(agent, "9", "subscriptions/listen",
                     "'notifications':{'toolsListChanged':true,'resourceSubscriptions':['file:///a']}");
    assert_int_equal(r->event_count, 0); /* nothing is promised before the server has agreed */
    struct fake_heard *m = fake_take(server, "resources/subscribe");
    assert_has(m->text, "'uri':'file:///a'");
    fake_answer(m, "{}");
    assert_int_equal(r->event_count, 1);
    assert_has(r->events[0], "notifications/subscriptions/acknowledged");
    fake_say(server, NULL,
             "{'jsonrpc':'2.0','method':'notifications/resources/updated','params':{'uri':'file:///a'}}");
    fake_say(server, NULL,
             "{'jsonrpc':'2.0','method':'notifications/resources/updated','params':{'uri':'file:///b'}}");
    fake_say(server, NULL, "{'jsonrpc':'2.0','method':'notifications/tools/list_changed'}");
    fake_say(server, NULL, "{'jsonrpc':'2.0','method':'notifications/prompts/list_changed'}");
    assert_int_equal(r->event_count, 3);
    assert_has(r->events[1], "'uri':'file:///a'");
    assert_has(r->events[1], "'io.modelcontextprotocol/subscriptionId':9");
    assert_has(r->events[2], "tools/list_changed");
    call_cancel(r->sink.call, "the stream was closed");
    harness_settle(h);
    assert_has(fake_take(server, "resources/unsubscribe")->text, "file:///a");
}

static void test_subscription_that_the_server_refuses_is_not_acknowledged(void **state) {
    (void)state;
    modern_to_legacy("{}");
    struct fake_reply *r = fake_request(agent, "9", "subscriptions/listen",
                                        "'notifications':{'resourceSubscriptions':['file:///a']}");
    fake_error(fake_take(server, "resources/subscribe"), -32002, "no such resource");
    assert_int_equal(r->event_count, 1);
    assert_lacks(r->events[0], "file:///a");
}

static void test_subscription_ends_with_its_server(void **state) {
    (void)state;
    modern_to_legacy("{}");
    struct fake_reply *r =
        fake_request(agent, "9", "subscriptions/listen", "'notifications':{'toolsListChanged':true}");
    assert_int_equal(r->event_count, 1);
    fake_die(server, "server `files` ended");
    assert_true(r->over);
}

static void test_filter_must_be_an_object(void **state) {
    (void)state;
    modern_to_legacy("{}");
    assert_has(fake_text(fake_request(agent, "1", "subscriptions/listen", "'notifications':[]")),
               "must be a filter");
}

static void test_error_codes_are_those_of_the_clients_era(void **state) {
    (void)state;
    modern_to_legacy("{}");
    struct fake_reply *r = fake_request(agent, "1", "resources/read", "'uri':'file:///none'");
    fake_error(fake_take(server, "resources/read"), -32002, "Resource not found");
    assert_has(fake_text(r), "'code':-32602");
}

static void test_server_that_speaks_modern_gets_modern_requests_as_they_are(void **state) {
    (void)state;
    h = harness_open(NULL);
    server = harness_server(h, "files", FAKE_MODERN);
    agent = harness_modern(h, server);
    struct fake_reply *r = fake_call(agent, "1", "echo", "{}");
    struct fake_heard *m = fake_take(server, "tools/call");
    assert_has(m->text, "'io.modelcontextprotocol/clientCapabilities':{}");
    fake_answer(m, "{'resultType':'complete','content':[]}");
    assert_has(fake_text(r), "'id':1,'result':{'resultType':'complete','content':[]}");
    assert_int_equal(fake_count(server, "initialize"), 0);
}

static void test_public_caching_of_a_result_becomes_private(void **state) {
    (void)state;
    h = harness_open(NULL);
    server = harness_server(h, "files", FAKE_MODERN);
    agent = harness_modern(h, server);
    assert_has(fake_text(fake_request(agent, "1", "tools/list", "")), "'cacheScope':'private'");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        harness_test(test_handshake_with_a_modern_server_is_the_gates),
        harness_test(test_legacy_call_carries_the_meta_of_the_modern_era),
        harness_test(test_second_session_knows_the_era),
        harness_test(test_question_of_a_modern_server_becomes_a_request_and_the_call_is_repeated),
        harness_test(test_question_that_the_client_did_not_declare_fails_the_call),
        harness_test(test_server_may_not_ask_for_ever),
        harness_test(test_client_that_answers_with_an_error_is_told_so_to_the_server_or_fails),
        harness_test(test_subscription_of_a_legacy_client_is_a_stream_of_the_modern_server),
        harness_test(test_methods_that_the_modern_era_dropped_are_unknown),
        harness_test(test_legacy_server_is_initialised_in_the_words_of_the_client),
        harness_test(test_requests_of_like_clients_share_a_link),
        harness_test(test_clients_that_differ_have_links_of_their_own),
        harness_test(test_on_pipes_a_call_that_may_be_asked_has_a_link_for_itself),
        harness_test(test_calls_wait_when_all_links_are_taken_and_go_on_when_one_is_free),
        harness_test(test_unused_links_are_closed_after_a_while),
        harness_test(test_discover_is_answered_from_the_handshake),
        harness_test(test_initialize_and_ping_are_unknown_in_the_modern_era),
        harness_test(test_log_level_reaches_the_server_before_the_call),
        harness_test(test_stream_of_a_modern_client_is_a_subscription_at_the_legacy_server),
        harness_test(test_subscription_that_the_server_refuses_is_not_acknowledged),
        harness_test(test_subscription_ends_with_its_server),
        harness_test(test_filter_must_be_an_object),
        harness_test(test_error_codes_are_those_of_the_clients_era),
        harness_test(test_server_that_speaks_modern_gets_modern_requests_as_they_are),
        harness_test(test_public_caching_of_a_result_becomes_private),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
