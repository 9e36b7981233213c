/* The walk of one call, step by step: what is decided, recorded, forwarded and answered, in that order. */
#include "harness.h"

#define DENY_WIPE                                                                                            \
    "{'version':'1','default':'allow','tools':{'wipe':{'deny_if':[{'name':'never wipe','conditions':[],"     \
    "'on_deny':'Not by agents'}]}}}"

static struct harness *h;
static struct fake_server *files;
static struct fake_client *agent;

static void open_with(const struct harness_config *config) {
    h = harness_open(config);
    files = harness_server(h, "files", FAKE_LEGACY);
    agent = harness_legacy(h, files);
}

/* ---- calls that pass ---- */

static void test_allowed_call_reaches_the_server_under_our_id_and_the_client_under_its_own(void **state) {
    (void)state;
    open_with(NULL);
    struct fake_reply *r = fake_call(agent, "'mine'", "echo", "{'text':'hi'}");
    struct fake_heard *m = fake_take(files, "tools/call");
    assert_has(m->text, "'params':{'name':'echo','arguments':{'text':'hi'}}");
    assert_lacks(m->text, "'id':'mine'");
    assert_false(r->over);
    fake_answer(m, "{'content':[{'type':'text','text':'hi'}]}");
    assert_string_equal(fake_text(r),
                        "{\"jsonrpc\":\"2.0\",\"id\":\"mine\",\"result\":{\"content\":[{\"type\":"
                        "\"text\",\"text\":\"hi\"}]}}");
}

static void test_bytes_that_need_no_change_leave_as_they_came(void **state) {
    (void)state;
    open_with(NULL);
    fake_send(agent,
              "{ 'id' : 5 ,'jsonrpc':'2.0', 'method':'tools/call','params':{'arguments':{ 'n': 1.50e+2 , "
              "'u':'\\u00e9'},'name':'echo','extra':null}}");
    assert_has(fake_take(files, "tools/call")->text,
               ",'jsonrpc':'2.0', 'method':'tools/call','params':{'arguments':{ 'n': 1.50e+2 , "
               "'u':'\\u00e9'},'name':'echo','extra':null}}");
}

static void test_decision_is_on_record_before_the_server_hears_of_the_call(void **state) {
    (void)state;
    open_with(&(struct harness_config){.durable = true});
    fake_request_only(agent, "1", "tools/call", "'name':'echo','arguments':{}");
    /* The record is on its way to the disk. The call waits for it. */
    assert_int_equal(fake_count(files, "tools/call"), 0);
    struct fake_heard *m = fake_take(files, "tools/call");
    assert_true(m->record > 0);
    const char *log = harness_log(h);
    assert_has(log, "decision tools/call echo allow");
    assert_lacks(strstr(log, "decision tools/call"), "outcome");
}

static void test_outcome_is_on_record_before_the_client_is_answered(void **state) {
    (void)state;
    open_with(NULL);
    struct fake_reply *r = fake_call(agent, "1", "echo", "{}");
    fake_answer(fake_take(files, "tools/call"), "{'content':[]}");
    assert_true(r->over);
    assert_has(strstr(harness_log(h), "decision tools/call echo allow"), "outcome ok");
}

static void test_a_gate_without_a_log_answers_calls(void **state) {
    (void)state;
    open_with(&(struct harness_config){.no_audit = true});
    struct fake_reply *r = fake_call(agent, "1", "echo", "{}");
    fake_answer(fake_take(files, "tools/call"), "{'content':[]}");
    assert_has(fake_text(r), "'result'");
}

static void test_ping_is_answered_by_the_gate(void **state) {
    (void)state;
    open_with(NULL);
    assert_has(fake_text(fake_request(agent, "9", "ping", "")), "'id':9,'result':{}");
    assert_int_equal(fake_count(files, "ping"), 0);
}

/* ---- calls that do not ---- */

static void test_denied_call_never_reaches_the_server_and_has_no_outcome(void **state) {
    (void)state;
    open_with(&(struct harness_config){.policy = DENY_WIPE});
    const char *answer = fake_text(fake_call(agent, "1", "wipe", "{}"));
    assert_has(answer, "[POLICY DENIED] Not by agents");
    assert_has(answer, "'isError':true");
    assert_has(answer, "'sallyport/denial':{'rule':'never wipe'");
    assert_int_equal(fake_count(files, "tools/call"), 0);
    const char *log = strstr(harness_log(h), "decision tools/call wipe deny never wipe [Not by agents]");
    assert_non_null(log);
    assert_lacks(log, "outcome");
}

static void test_hidden_tool_looks_like_one_that_does_not_exist(void **state) {
    (void)state;
    open_with(&(struct harness_config){
        .policy = "{'version':'1','default':'deny','hide':['wipe'],'tools':{'echo':{}}}"});
    const char *hidden = fake_text(fake_call(agent, "1", "wipe", "{}")),
               *missing = fake_text(fake_call(agent, "1", "none", "{}"));
    assert_has(hidden, "[POLICY DENIED] Tool \\'wipe\\' is not permitted by policy");
    assert_has(missing, "[POLICY DENIED] Tool \\'none\\' is not permitted by policy");
    assert_string_equal(strstr(hidden, " is not"), strstr(missing, " is not"));
    assert_has(harness_log(h), "decision tools/call wipe deny (hidden)"); /* the record says what it was */
    const char *list = fake_text(fake_request(agent, "3", "tools/list", ""));
    assert_has(list, "'name':'echo'");
    assert_lacks(list, "wipe");
    harness_policy(h, "{'version':'1','default':'allow','hide':['wipe'],'tools':{'echo':{}}}");
    assert_has(fake_text(fake_call(agent, "4", "wipe", "{}")),
               "'code':-32602,'message':'Unknown tool: wipe'");
}

static void test_a_denied_method_is_a_json_rpc_error(void **state) {
    (void)state;
    open_with(&(struct harness_config){
        .policy = "{'version':'1','default':'allow','methods':{'resources/read':{'rules':[{'name':'no files',"
                  "'action':'deny','on_deny':'No resources'}]}}}"});
    const char *answer = fake_text(fake_request(agent, "1", "resources/read", "'uri':'file:///etc/passwd'"));
    assert_has(answer, "'error':{'code':-32600");
    assert_has(answer, "No resources");
    assert_int_equal(fake_count(files, "resources/read"), 0);
}

static void test_arguments_must_be_an_object(void **state) {
    (void)state;
    open_with(NULL);
    assert_has(fake_text(fake_call(agent, "1", "echo", "[1]")), "params.arguments must be an object");
    assert_has(fake_text(fake_request(agent, "2", "tools/call", "'name':7")), "params.name must be a string");
    assert_int_equal(fake_count(files, "tools/call"), 0);
    assert_has(harness_log(h), "decision tools/call echo deny (refused)");
}

static void test_a_key_that_only_differs_in_case_from_ours_is_refused(void **state) {
    (void)state;
    open_with(NULL);
    assert_has(fake_text(fake_request(agent, "1", "tools/list", "")), "'tools'");
    struct fake_reply *r = fake_request(agent, "2", "tools/call", "'name':'echo','Arguments':{'a':1}");
    assert_has(fake_text(r), "differs only in case");
}

static void test_revoked_principal_may_do_nothing_more(void **state) {
    (void)state;
    open_with(NULL);
    fake_answer(fake_call(agent, "1", "echo", "{}") ? fake_take(files, "tools/call") : NULL,
                "{'content':[]}");
    h->local->revoked = true;
    struct fake_reply *r = fake_call(agent, "2", "echo", "{}");
    assert_has(fake_text(r), "the grant has been revoked");
    assert_int_equal(r->status, 401);
    assert_int_equal(fake_count(files, "tools/call"), 1);
}

static void test_principal_expires_by_the_clock(void **state) {
    (void)state;
    open_with(NULL);
    h->local->expires_ms = harness_now_ms() + 60000;
    struct fake_reply *r = fake_call(agent, "1", "echo", "{}");
    fake_answer(fake_take(files, "tools/call"), "{'content':[]}");
    assert_has(fake_text(r), "'result'");
    harness_advance(h, 60000);
    assert_has(fake_text(fake_call(agent, "2", "echo", "{}")), "the grant has expired");
}

static void test_grant_for_some_tools_opens_no_others(void **state) {
    (void)state;
    h = harness_open(&(struct harness_config){.policy = DENY_WIPE});
    files = harness_server(h, "files", FAKE_LEGACY);
    static const char *const tools[] = {"echo"};
    cleanup_principal struct principal *alice = principal_new(PRINCIPAL_GRANT, "grant:alice");
    alice->tools = tools;
    alice->tool_count = 1;
    agent = harness_client(h, files, false, alice, NULL);
    assert_has(fake_text(fake_call(agent, "1", "wipe", "{}")), "Unknown tool: wipe");
    assert_has(fake_text(fake_request(agent, "2", "resources/read", "'uri':'x:'")),
               "This grant is for certain tools");
    assert_lacks(fake_text(fake_request(agent, "3", "tools/list", "")), "wipe");
    fake_call(agent, "4", "echo", "{}");
    assert_non_null(fake_peek(files, "tools/call"));
}

/* ---- answers that are no results ---- */

static void test_error_of_the_server_passes_with_the_clients_id(void **state) {
    (void)state;
    open_with(NULL);
    struct fake_reply *r = fake_call(agent, "3", "echo", "{}");
    fake_error(fake_take(files, "tools/call"), -32001, "broken");
    assert_string_equal(fake_text(r),
                        "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32001,\"message\":\"broken\"}}");
    assert_has(harness_log(h), "outcome rpc_error");
}

static void test_result_that_is_an_error_is_recorded_as_one(void **state) {
    (void)state;
    open_with(NULL);
    fake_call(agent, "1", "echo", "{}");
    fake_answer(fake_take(files, "tools/call"), "{'content':[],'isError':true}");
    assert_has(harness_log(h), "outcome tool_error");
}

static void test_server_that_dies_fails_its_calls_by_name(void **state) {
    (void)state;
    open_with(NULL);
    struct fake_reply *one = fake_call(agent, "1", "echo", "{}"), *two = fake_call(agent, "2", "echo", "{}");
    fake_die(files, "server `files` ended");
    assert_has(fake_text(one), "'code':-32603,'message':'server `files` ended'");
    assert_has(fake_text(two), "'id':2,'error'");
    assert_int_equal(one->status, 502);
    assert_true(agent->ended);
    assert_has(harness_log(h), "outcome gone");
}

static void test_call_that_the_server_did_not_see_is_sent_once_more(void **state) {
    (void)state;
    open_with(NULL);
    struct fake_reply *r = fake_call(agent, "1", "echo", "{'n':1}");
    fake_fail(fake_take(files, "tools/call"), "the connection was closed", true);
    struct fake_heard *again = fake_take(files, "tools/call");
    assert_has(again->text, "'arguments':{'n':1}");
    fake_answer(again, "{'content':[]}");
    assert_has(fake_text(r), "'id':1,'result'");
    assert_int_equal(fake_count(files, "tools/call"), 2);
}

static void test_call_is_not_sent_a_third_time(void **state) {
    (void)state;
    open_with(NULL);
    struct fake_reply *r = fake_call(agent, "1", "echo", "{}");
    fake_fail(fake_take(files, "tools/call"), "closed", true);
    fake_fail(fake_take(files, "tools/call"), "closed again", true);
    assert_has(fake_text(r), "closed again");
    assert_int_equal(fake_count(files, "tools/call"), 2);
}

static void test_call_that_the_server_may_have_done_is_not_sent_again(void **state) {
    (void)state;
    open_with(NULL);
    struct fake_reply *r = fake_call(agent, "1", "echo", "{}");
    fake_fail(fake_take(files, "tools/call"), "lost in the middle", false);
    assert_has(fake_text(r), "lost in the middle");
    assert_int_equal(fake_count(files, "tools/call"), 1);
}

static void test_silent_server_times_out_and_is_told(void **state) {
    (void)state;
    open_with(NULL);
    files->server->timeout_ms = 30000;
    struct fake_reply *r = fake_call(agent, "1", "echo", "{}");
    struct fake_heard *m = fake_take(files, "tools/call");
    harness_advance(h, 29000);
    assert_false(r->over);
    harness_advance(h, 2000);
    assert_has(fake_text(r), "server `files` did not answer in time");
    assert_has(fake_take(files, "notifications/cancelled")->text, "'reason':'timed out'");
    assert_true(m->abandoned);
    assert_has(harness_log(h), "outcome timeout");
}

static void test_a_late_answer_goes_to_nobody(void **state) {
    (void)state;
    open_with(NULL);
    files->server->timeout_ms = 1000;
    fake_call(agent, "1", "echo", "{}");
    struct fake_heard *late = fake_take(files, "tools/call");
    harness_advance(h, 2000);
    struct fake_reply *next = fake_call(agent, "1", "echo", "{}");
    fake_answer(late, "{'content':[{'type':'text','text':'late'}]}");
    assert_false(next->over);
    fake_answer(fake_take(files, "tools/call"), "{'content':[{'type':'text','text':'in time'}]}");
    assert_has(fake_text(next), "in time");
    assert_int_equal(agent->delivered_count, 0);
}

/* ---- more than one ---- */

static void test_replies_out_of_order_find_their_calls(void **state) {
    (void)state;
    open_with(NULL);
    struct fake_reply *r[5];
    struct fake_heard *m[5];
    for (int i = 0; i < 5; i++) {
        r[i] = fake_call(agent, arena_printf(&h->arena, "%d", i).ptr, "echo", "{}");
        m[i] = fake_take(files, "tools/call");
    }
    static const int order[] = {3, 0, 4, 2, 1};
    for (int i = 0; i < 5; i++)
        fake_answer(m[order[i]], arena_printf(&h->arena, "{'content':[],'n':%d}", order[i]).ptr);
    for (int i = 0; i < 5; i++)
        assert_has(fake_text(r[i]),
                   arena_printf(&h->arena, "'id':%d,'result':{'content':[],'n':%d}", i, i).ptr);
}

static void test_same_id_twice_is_refused_and_the_first_goes_on(void **state) {
    (void)state;
    open_with(NULL);
    struct fake_reply *first = fake_call(agent, "1", "echo", "{}");
    struct fake_reply *second = fake_call(agent, "1", "echo", "{}");
    assert_has(fake_text(second), "a request with this id is under way");
    assert_false(first->over);
    fake_answer(fake_take(files, "tools/call"), "{'content':[]}");
    assert_has(fake_text(first), "'id':1,'result'");
    struct fake_reply *third = fake_call(agent, "1", "echo", "{}"); /* it is free again */
    fake_answer(fake_take(files, "tools/call"), "{'content':[]}");
    assert_has(fake_text(third), "'result'");
}

static void test_number_and_string_of_the_same_digits_are_two_ids(void **state) {
    (void)state;
    open_with(NULL);
    struct fake_reply *number = fake_call(agent, "1", "echo", "{}"),
                      *text = fake_call(agent, "'1'", "echo", "{}");
    fake_answer(fake_take(files, "tools/call"), "{'content':[],'first':true}");
    fake_answer(fake_take(files, "tools/call"), "{'content':[],'first':false}");
    assert_has(fake_text(number), "'id':1,'result':{'content':[],'first':true}");
    assert_has(fake_text(text), "'id':'1','result':{'content':[],'first':false}");
}

static void test_stateless_requests_may_share_an_id(void **state) {
    (void)state;
    h = harness_open(NULL);
    files = harness_server(h, "files", FAKE_MODERN);
    agent = harness_modern(h, files);
    struct fake_reply *one = fake_call(agent, "1", "echo", "{'n':1}"),
                      *two = fake_call(agent, "1", "echo", "{'n':2}");
    fake_answer(fake_take(files, "tools/call"), "{'resultType':'complete','content':[],'n':1}");
    fake_answer(fake_take(files, "tools/call"), "{'resultType':'complete','content':[],'n':2}");
    assert_has(fake_text(one), "'n':1");
    assert_has(fake_text(two), "'n':2");
}

/* ---- the client goes, or changes its mind ---- */

static void test_cancelled_call_is_not_answered_and_the_server_is_told(void **state) {
    (void)state;
    open_with(NULL);
    struct fake_reply *r = fake_call(agent, "'a'", "echo", "{}");
    struct fake_heard *m = fake_take(files, "tools/call");
    fake_send(
        agent,
        "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':'a','reason':'enough'}}");
    assert_true(r->none);
    const char *told = fake_take(files, "notifications/cancelled")->text;
    assert_has(told,
               arena_printf(&h->arena, "'requestId':%llu,'reason':'enough'", (unsigned long long)m->id).ptr);
    assert_has(harness_log(h), "outcome cancelled");
    fake_answer(m, "{'content':[]}"); /* no call waits for it */
    assert_null(r->text);
}

static void test_cancelling_what_is_not_under_way_does_nothing(void **state) {
    (void)state;
    open_with(NULL);
    struct fake_reply *r = fake_call(agent, "1", "echo", "{}");
    fake_send(agent, "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':'1'}}");
    fake_send(agent, "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':2}}");
    fake_send(agent, "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{}}");
    assert_false(r->over);
    assert_null(fake_peek(files, "notifications/cancelled"));
}

static void test_call_is_cancelled_before_its_server_is_up(void **state) {
    (void)state;
    h = harness_open(NULL);
    files = harness_server(h, "files", FAKE_LEGACY);
    files->by_hand = true;
    agent = harness_modern(h, files);
    struct fake_reply *r = fake_call(agent, "1", "echo", "{}");
    assert_non_null(fake_peek(files, "server/discover"));
    call_cancel(r->sink.call, "the client is gone");
    assert_true(r->none);
    fake_error(fake_take(files, "server/discover"), -32601, "Method not found");
    assert_int_equal(fake_count(files, "tools/call"), 0);
}

static void test_closing_a_session_ends_its_calls_and_links(void **state) {
    (void)state;
    open_with(NULL);
    struct fake_reply *r = fake_call(agent, "1", "echo", "{}");
    fake_take(files, "tools/call");
    fake_leave(agent);
    assert_true(r->none);
    assert_int_equal(files->open_count, 0);
    assert_int_equal(fake_count(files, "notifications/cancelled"), 1);
    assert_int_equal(h->core.calls_under_way, 0);
}

static void test_call_of_a_client_that_went_away_goes_on(void **state) {
    (void)state;
    open_with(NULL);
    struct fake_reply *r = fake_call(agent, "1", "echo", "{}");
    call_orphan(r->sink.call);
    fake_answer(fake_take(files, "tools/call"), "{'content':[]}");
    assert_false(r->over);
    assert_has(harness_log(h), "outcome ok");
}

static void test_slow_client_pauses_its_server(void **state) {
    (void)state;
    open_with(NULL);
    struct fake_reply *r = fake_call(agent, "1", "echo", "{}");
    call_pause(r->sink.call, true);
    assert_true(files->paused);
    call_pause(r->sink.call, false);
    assert_false(files->paused);
    session_pause(agent->session, true);
    assert_true(files->paused);
}

/* ---- what servers say on their own account ---- */

static void test_progress_goes_to_the_call_that_asked_for_it_under_its_own_token(void **state) {
    (void)state;
    open_with(NULL);
    struct fake_reply *quiet = fake_call(agent, "1", "echo", "{}");
    struct fake_heard *of_quiet = fake_take(files, "tools/call");
    struct fake_reply *r = fake_request(agent, "2", "tools/call",
                                        "'name':'echo','arguments':{},'_meta':{'progressToken':'tok'}");
    struct fake_heard *m = fake_take(files, "tools/call");
    assert_has(m->text, arena_printf(&h->arena, "'progressToken':%llu", (unsigned long long)m->id).ptr);
    fake_say(files, NULL,
             arena_printf(&h->arena,
                          "{'jsonrpc':'2.0','method':'notifications/"
                          "progress','params':{'progressToken':%llu,'progress':1}}",
                          (unsigned long long)m->id)
                 .ptr);
    assert_int_equal(r->event_count, 1);
    assert_has(r->events[0], "'progressToken':'tok','progress':1");
    fake_say(files, NULL,
             arena_printf(&h->arena,
                          "{'jsonrpc':'2.0','method':'notifications/"
                          "progress','params':{'progressToken':%llu,'progress':1}}",
                          (unsigned long long)of_quiet->id)
                 .ptr);
    assert_int_equal(quiet->event_count, 0);
    assert_int_equal(agent->delivered_count, 0);
}

static void test_question_of_a_server_comes_back_under_the_servers_id(void **state) {
    (void)state;
    h = harness_open(NULL);
    files = harness_server(h, "files", FAKE_LEGACY);
    agent = harness_client(h, files, false, NULL, "{'roots':{}}");
    fake_say(files, NULL, "{'jsonrpc':'2.0','id':'q-1','method':'roots/list'}");
    assert_int_equal(agent->delivered_count, 1);
    assert_has(agent->delivered[0], "'method':'roots/list'");
    assert_lacks(agent->delivered[0], "q-1");
    fake_send(agent, arena_printf(&h->arena, "{'jsonrpc':'2.0','id':%s,'result':{'roots':[]}}",
                                  fake_number(h, agent->delivered[0], "id"))
                         .ptr);
    struct fake_heard *m = fake_take(files, "");
    assert_has(m->text, "'id':'q-1','result':{'roots':[]}");
}

static void test_answer_to_no_question_is_dropped(void **state) {
    (void)state;
    open_with(NULL);
    fake_send(agent, "{'jsonrpc':'2.0','id':77,'result':{}}");
    assert_null(fake_peek(files, ""));
}

static void test_servers_ping_is_answered_by_the_gate(void **state) {
    (void)state;
    open_with(NULL);
    fake_say(files, NULL, "{'jsonrpc':'2.0','id':'p','method':'ping'}");
    assert_has(fake_take(files, "")->text, "'id':'p','result':{}");
    assert_int_equal(agent->delivered_count, 0);
}

static void test_policy_decides_what_servers_may_ask(void **state) {
    (void)state;
    h = harness_open(&(struct harness_config){.policy =
                                                  "{'version':'1','default':'allow','methods':{'sampling/"
                                                  "createMessage':{'rules':[{'name':'no sampling',"
                                                  "'action':'deny','on_deny':'Not here'}]}}}"});
    files = harness_server(h, "files", FAKE_LEGACY);
    agent = harness_client(h, files, false, NULL, "{'sampling':{}}");
    fake_say(files, NULL,
             "{'jsonrpc':'2.0','id':4,'method':'sampling/createMessage','params':{'messages':[]}}");
    assert_int_equal(agent->delivered_count, 0);
    assert_has(fake_take(files, "")->text, "'id':4,'error':{'code':-32600");
    assert_has(harness_log(h), "decision sampling/createMessage deny no sampling");
}

static void test_question_that_cannot_be_delivered_is_refused(void **state) {
    (void)state;
    open_with(NULL);
    agent->unreachable = true;
    fake_say(files, NULL, "{'jsonrpc':'2.0','id':5,'method':'roots/list'}");
    assert_has(fake_take(files, "")->text, "the client cannot be reached");
}

static void test_server_takes_its_question_back(void **state) {
    (void)state;
    open_with(NULL);
    fake_say(files, NULL, "{'jsonrpc':'2.0','id':'q','method':'roots/list'}");
    fake_say(files, NULL, "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':'q'}}");
    assert_int_equal(agent->delivered_count, 2);
    const char *id = fake_number(h, agent->delivered[0], "id");
    assert_string_equal(fake_number(h, agent->delivered[1], "requestId"), id);
    fake_send(agent, arena_printf(&h->arena, "{'jsonrpc':'2.0','id':%s,'result':{'roots':[]}}", id).ptr);
    assert_null(fake_peek(files, ""));
}

static void test_garbage_from_a_server_is_on_record_and_harms_no_call(void **state) {
    (void)state;
    open_with(NULL);
    struct fake_reply *r = fake_call(agent, "1", "echo", "{}");
    struct fake_heard *m = fake_take(files, "tools/call");
    fake_say(files, NULL, "this is no JSON");
    fake_say(files, NULL, "{'jsonrpc':'2.0','id':424242,'result':{}}");
    assert_false(r->over);
    fake_answer(m, "{'content':[]}");
    assert_has(fake_text(r), "'result'");
    assert_has(harness_log(h), "deny (malformed by the server)");
}

/* ---- caps ---- */

static void test_oversized_result_is_withheld_and_recorded(void **state) {
    (void)state;
    open_with(&(struct harness_config){.policy =
                                           "{'version':'1','default':'allow','tools':{'echo':{'rules':[{'"
                                           "name':'small','action':'allow','max_result_bytes':200}]}}}"});
    struct fake_reply *r = fake_call(agent, "1", "echo", "{}");
    char *big = arena_zalloc(&h->arena, 400);
    memset(big, 'x', 300);
    fake_answer(fake_take(files, "tools/call"),
                arena_printf(&h->arena, "{'content':[{'type':'text','text':'%s'}]}", big).ptr);
    assert_has(fake_text(r), "the policy allows 200");
    assert_lacks(fake_text(r), "xxxxx");
    assert_has(harness_log(h), "outcome result_too_large [The result has");
    struct fake_reply *small = fake_call(agent, "2", "echo", "{}");
    fake_answer(fake_take(files, "tools/call"), "{'content':[]}");
    assert_has(fake_text(small), "'result':{'content':[]}");
}

/* ---- a policy is swapped while calls are under way ---- */

static void test_call_under_way_keeps_the_policy_that_it_was_judged_by(void **state) {
    (void)state;
    open_with(&(struct harness_config){.policy =
                                           "{'version':'1','default':'allow','tools':{'echo':{'rules':[{'"
                                           "name':'small','action':'allow','max_result_bytes':100}]}}}"});
    struct fake_reply *old = fake_call(agent, "1", "echo", "{}");
    struct fake_heard *m = fake_take(files, "tools/call");
    harness_policy(h, "{'version':'1','default':'deny','tools':{}}");
    assert_has(fake_text(fake_call(agent, "2", "echo", "{}")), "POLICY DENIED");
    fake_answer(m, "{'content':[{'type':'text','text':'a text that makes this result longer than one hundred "
                   "bytes, which the policy of the call does not let pass'}]}");
    assert_has(fake_text(old), "the policy allows 100");
}

static void test_policy_swapped_while_the_record_is_written_does_not_stop_the_call(void **state) {
    (void)state;
    open_with(&(struct harness_config){.durable = true});
    struct fake_reply *r = fake_request_only(agent, "1", "tools/call", "'name':'echo','arguments':{}");
    harness_policy(h, "{'version':'1','default':'deny','tools':{}}");
    fake_answer(fake_take(files, "tools/call"), "{'content':[]}");
    assert_has(fake_text(r), "'result':{'content':[]}");
}

static void test_cancelled_while_the_record_is_written(void **state) {
    (void)state;
    open_with(&(struct harness_config){.durable = true});
    struct fake_reply *r = fake_request_only(agent, "1", "tools/call", "'name':'echo','arguments':{}");
    assert_false(r->over);
    call_cancel(r->sink.call, "never mind");
    assert_true(r->none);
    harness_settle(h);
    assert_int_equal(fake_count(files, "tools/call"), 0);
}

static void test_removed_server_fails_its_calls(void **state) {
    (void)state;
    open_with(NULL);
    struct fake_reply *r = fake_call(agent, "1", "echo", "{}");
    fake_take(files, "tools/call");
    session_remove_server(&h->core, files->server);
    assert_has(fake_text(r), "server `files` has been removed");
    assert_int_equal(files->open_count, 0);
    h->server_count = 0;
    agent->session->only = NULL;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        harness_test(test_allowed_call_reaches_the_server_under_our_id_and_the_client_under_its_own),
        harness_test(test_bytes_that_need_no_change_leave_as_they_came),
        harness_test(test_decision_is_on_record_before_the_server_hears_of_the_call),
        harness_test(test_outcome_is_on_record_before_the_client_is_answered),
        harness_test(test_a_gate_without_a_log_answers_calls),
        harness_test(test_ping_is_answered_by_the_gate),
        harness_test(test_denied_call_never_reaches_the_server_and_has_no_outcome),
        harness_test(test_hidden_tool_looks_like_one_that_does_not_exist),
        harness_test(test_a_denied_method_is_a_json_rpc_error),
        harness_test(test_arguments_must_be_an_object),
        harness_test(test_a_key_that_only_differs_in_case_from_ours_is_refused),
        harness_test(test_revoked_principal_may_do_nothing_more),
        harness_test(test_principal_expires_by_the_clock),
        harness_test(test_grant_for_some_tools_opens_no_others),
        harness_test(test_error_of_the_server_passes_with_the_clients_id),
        harness_test(test_result_that_is_an_error_is_recorded_as_one),
        harness_test(test_server_that_dies_fails_its_calls_by_name),
        harness_test(test_call_that_the_server_did_not_see_is_sent_once_more),
        harness_test(test_call_is_not_sent_a_third_time),
        harness_test(test_call_that_the_server_may_have_done_is_not_sent_again),
        harness_test(test_silent_server_times_out_and_is_told),
        harness_test(test_a_late_answer_goes_to_nobody),
        harness_test(test_replies_out_of_order_find_their_calls),
        harness_test(test_same_id_twice_is_refused_and_the_first_goes_on),
        harness_test(test_number_and_string_of_the_same_digits_are_two_ids),
        harness_test(test_stateless_requests_may_share_an_id),
        harness_test(test_cancelled_call_is_not_answered_and_the_server_is_told),
        harness_test(test_cancelling_what_is_not_under_way_does_nothing),
        harness_test(test_call_is_cancelled_before_its_server_is_up),
        harness_test(test_closing_a_session_ends_its_calls_and_links),
        harness_test(test_call_of_a_client_that_went_away_goes_on),
        harness_test(test_slow_client_pauses_its_server),
        harness_test(test_progress_goes_to_the_call_that_asked_for_it_under_its_own_token),
        harness_test(test_question_of_a_server_comes_back_under_the_servers_id),
        harness_test(test_answer_to_no_question_is_dropped),
        harness_test(test_servers_ping_is_answered_by_the_gate),
        harness_test(test_policy_decides_what_servers_may_ask),
        harness_test(test_question_that_cannot_be_delivered_is_refused),
        harness_test(test_server_takes_its_question_back),
        harness_test(test_garbage_from_a_server_is_on_record_and_harms_no_call),
        harness_test(test_oversized_result_is_withheld_and_recorded),
        harness_test(test_call_under_way_keeps_the_policy_that_it_was_judged_by),
        harness_test(test_policy_swapped_while_the_record_is_written_does_not_stop_the_call),
        harness_test(test_cancelled_while_the_record_is_written),
        harness_test(test_removed_server_fails_its_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
