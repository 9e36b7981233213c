/* Requests that a legacy server works on while its modern client is asked something, and tasks. */
#include "harness.h"

#include "channel/limits.h"
#include "era/limits.h"

#define ASK(id)                                                                                              \
    "{'jsonrpc':'2.0','id':'" id "','method':'elicitation/create','params':{'message':'Question " id         \
    "','requestedSchema':{'type':'object','properties':{}}}}"
#define CALL "'name':'echo','arguments':{'a':1}"

static struct harness *h;
static struct fake_server *server;
static struct fake_client *agent;

static void open_with(enum fake_speaks speaks, const char *policy) {
    h = harness_open(&(struct harness_config){.policy = policy});
    server = harness_server(h, "files", speaks);
    agent = harness_client(h, server, true, NULL, "{'elicitation':{},'roots':{}}");
}

/* A call whose server asks one question; the request at the server, and the client's state. */
static struct fake_heard *parked(const char **ret_state) {
    struct fake_reply *r = fake_request(agent, "1", "tools/call", CALL);
    struct fake_heard *m = fake_take(server, "tools/call");
    fake_say(server, m, ASK("s1"));
    assert_false(r->over); /* more questions may come with it */
    harness_advance(h, PARK_GATHER_MS);
    const char *text = fake_text(r);
    assert_has(text, "'resultType':'input_required'");
    assert_has(text, "'q1':{'method':'elicitation/create'");
    assert_has(text, "Question s1");
    *ret_state = fake_member(h, text, "requestState");
    return m;
}

static struct fake_reply *come_back(const char *state, const char *call, const char *responses) {
    return fake_request(
        agent, "2", "tools/call",
        arena_printf(&h->arena, "%s,'requestState':'%s','inputResponses':%s", call, state, responses).ptr);
}

#define ACCEPT "{'q1':{'action':'accept','content':{}}}"

static void test_answer_goes_to_the_server_and_the_result_to_the_second_call(void **state) {
    (void)state;
    open_with(FAKE_LEGACY, NULL);
    const char *kept;
    struct fake_heard *m = parked(&kept);
    struct fake_reply *r = come_back(kept, CALL, ACCEPT);
    assert_has(fake_take(server, "")->text, "'id':'s1','result':{'action':'accept','content':{}}");
    assert_int_equal(fake_count(server, "tools/call"), 1); /* it is the same request */
    fake_answer(m, "{'content':[{'type':'text','text':'done'}]}");
    assert_has(fake_text(r), "'id':2");
    assert_has(fake_text(r), "'text':'done'");
    assert_has(harness_log(h), "outcome input_required");
}

static void test_questions_that_come_together_are_asked_together(void **state) {
    (void)state;
    open_with(FAKE_LEGACY, NULL);
    struct fake_reply *r = fake_request(agent, "1", "tools/call", CALL);
    struct fake_heard *m = fake_take(server, "tools/call");
    fake_say(server, m, ASK("one"));
    fake_say(server, m, "{'jsonrpc':'2.0','id':'two','method':'roots/list'}");
    harness_advance(h, PARK_GATHER_MS);
    assert_has(fake_text(r), "'q1':{'method':'elicitation/create'");
    assert_has(fake_text(r), "'q2':{'method':'roots/list'");
}

static void test_question_left_open_is_asked_again(void **state) {
    (void)state;
    open_with(FAKE_LEGACY, NULL);
    const char *kept;
    parked(&kept);
    struct fake_reply *r = come_back(kept, CALL, "{}");
    assert_null(fake_peek(server, ""));
    harness_advance(h, PARK_GATHER_MS);
    assert_has(fake_text(r), "Question s1");
}

static void test_server_that_answers_meanwhile_is_heard_by_the_next_call(void **state) {
    (void)state;
    open_with(FAKE_LEGACY, NULL);
    const char *kept;
    struct fake_heard *m = parked(&kept);
    fake_answer(m, "{'content':[{'type':'text','text':'early'}]}");
    assert_has(fake_text(come_back(kept, CALL, ACCEPT)), "'text':'early'");
}

static void test_parked_request_expires_and_the_server_is_told(void **state) {
    (void)state;
    open_with(FAKE_LEGACY, NULL);
    const char *kept;
    struct fake_heard *m = parked(&kept);
    harness_advance(h, PARK_MS + 1000);
    assert_has(
        fake_take(server, "notifications/cancelled")->text,
        arena_printf(&h->arena, "'requestId':%llu,'reason':'no answer in time'", (unsigned long long)m->id)
            .ptr);
    assert_has(fake_text(come_back(kept, CALL, ACCEPT)), "this requestState has expired");
    assert_int_equal(fake_count(server, "tools/call"), 1);
}

static void test_state_is_good_for_its_own_call_only(void **state) {
    (void)state;
    open_with(FAKE_LEGACY, NULL);
    const char *kept;
    parked(&kept);
    assert_has(fake_text(come_back(kept, "'name':'echo','arguments':{'a':2}", ACCEPT)),
               "this requestState belongs to another call");
    assert_has(fake_text(come_back(kept, "'name':'wipe','arguments':{'a':1}", ACCEPT)),
               "this requestState belongs to another call");
    assert_null(fake_peek(server, ""));
}

static void test_state_of_another_principal_or_one_that_was_changed_is_refused(void **state) {
    (void)state;
    open_with(FAKE_LEGACY, NULL);
    const char *kept;
    parked(&kept);
    struct fake_client *owner = agent;
    cleanup_principal struct principal *mallory = principal_new(PRINCIPAL_GRANT, "grant:mallory");
    agent = harness_client(h, server, true, mallory, owner->capabilities);
    assert_has(fake_text(come_back(kept, CALL, ACCEPT)), "this requestState was not made here");
    agent = owner;
    char *changed = arena_alloc(&h->arena, strlen(kept) + 1);
    memcpy(changed, kept, strlen(kept) + 1);
    changed[strlen(changed) / 2] ^= 1;
    assert_has(fake_text(come_back(changed, CALL, ACCEPT)), "this requestState was not made here");
}

static void test_state_is_used_once(void **state) {
    (void)state;
    open_with(FAKE_LEGACY, NULL);
    const char *kept;
    parked(&kept);
    struct fake_reply *r = come_back(kept, CALL, ACCEPT);
    assert_has(fake_text(come_back(kept, CALL, ACCEPT)), "has ended");
    assert_false(r->over);
}

/* A call over a link of its own that is left waiting for an answer; returns the client's state. */
static const char *leave_a_question_open(uint32_t number) {
    const char *id = arena_printf(&h->arena, "%u", 10 + number).ptr;
    struct fake_reply *r = fake_request(agent, id, "tools/call", CALL);
    fake_say(server, fake_take(server, "tools/call"), ASK("s1"));
    harness_advance(h, PARK_GATHER_MS);
    return fake_member(h, fake_text(r), "requestState");
}

static void test_question_left_open_gives_its_link_to_a_call_that_waits(void **state) {
    (void)state;
    open_with(FAKE_LEGACY, NULL);
    const char *kept[1 + CHANNEL_OTHERS_MAX];
    for (uint32_t i = 0; i <= CHANNEL_OTHERS_MAX; i++)
        kept[i] = leave_a_question_open(i);
    struct fake_reply *late = fake_request(agent, "1", "tools/call", CALL);
    assert_null(fake_peek(server, "tools/call")); /* the clients may be about to answer */
    harness_advance(h, PARK_YIELD_MS);
    assert_has(fake_take(server, "notifications/cancelled")->text, "another call needs the link");
    assert_has(fake_take(server, "")->text, "'id':'s1','error':");
    assert_null(fake_peek(server, "notifications/cancelled")); /* one link is enough for one call */
    fake_answer(fake_take(server, "tools/call"), "{'content':[{'type':'text','text':'in time'}]}");
    assert_has(fake_text(late), "'text':'in time'");

    /* The oldest question can still be answered: the call is made again, once. */
    struct fake_reply *r = come_back(kept[0], CALL, ACCEPT);
    struct fake_heard *again = fake_take(server, "tools/call");
    fake_say(server, again, ASK("s2"));
    assert_has(fake_text(come_back(kept[0], CALL, ACCEPT)), "has ended");
    fake_answer(again, "{'content':[{'type':'text','text':'again'}]}");
    assert_has(fake_text(r), "'text':'again'");
    /* The others kept their links. */
    come_back(kept[1], CALL, ACCEPT);
    assert_has(fake_take(server, "")->text, "'id':'s1','result':{'action':'accept'");
    assert_null(fake_peek(server, "tools/call"));
}

static void test_call_that_stops_waiting_leaves_questions_open(void **state) {
    (void)state;
    open_with(FAKE_LEGACY, NULL);
    const char *kept = leave_a_question_open(0);
    for (uint32_t i = 1; i <= CHANNEL_OTHERS_MAX; i++)
        leave_a_question_open(i);
    call_cancel(fake_request(agent, "1", "tools/call", CALL)->sink.call, "client disconnected");
    harness_advance(h, PARK_YIELD_MS);
    assert_null(fake_peek(server, "notifications/cancelled"));
    come_back(kept, CALL, ACCEPT);
    assert_has(fake_take(server, "")->text, "'id':'s1','result':{'action':'accept'");
}

static void test_parked_request_ends_with_its_server(void **state) {
    (void)state;
    open_with(FAKE_LEGACY, NULL);
    const char *kept;
    parked(&kept);
    fake_die(server, "server `files` ended");
    assert_has(fake_text(come_back(kept, CALL, ACCEPT)), "has ended");
}

static void test_parked_request_ends_with_its_session(void **state) {
    (void)state;
    open_with(FAKE_LEGACY, NULL);
    const char *kept;
    parked(&kept);
    fake_leave(agent);
    assert_int_equal(server->open_count, 0);
}

static void test_client_that_left_before_the_question_cannot_be_asked(void **state) {
    (void)state;
    open_with(FAKE_LEGACY, NULL);
    struct fake_reply *r = fake_request(agent, "1", "tools/call", CALL);
    struct fake_heard *m = fake_take(server, "tools/call");
    call_orphan(r->sink.call);
    fake_say(server, m, ASK("s1"));
    assert_has(fake_take(server, "")->text, "no client can be asked here");
}

static void test_client_that_cannot_answer_is_not_asked_and_told_what_it_lacks(void **state) {
    (void)state;
    open_with(FAKE_LEGACY, NULL);
    agent->capabilities = "{}";
    struct fake_reply *r = fake_request(agent, "1", "tools/call", CALL);
    struct fake_heard *m = fake_take(server, "tools/call");
    fake_say(
        server, m,
        "{'jsonrpc':'2.0','id':1,'method':'sampling/createMessage','params':{'messages':[],'maxTokens':1}}");
    assert_has(fake_take(server, "")->text, "has not declared");
    fake_error(m, -32000, "could not ask");
    assert_has(fake_text(r), "'requiredCapabilities':{'sampling':{}}");
}

static void test_policy_decides_whether_the_client_is_asked(void **state) {
    (void)state;
    open_with(
        FAKE_LEGACY,
        "{'version':'1','default':'allow','methods':{'elicitation/create':{'rules':[{'name':'no questions',"
        "'action':'deny','on_deny':'No'}]}}}");
    fake_request(agent, "1", "tools/call", CALL);
    fake_say(server, fake_take(server, "tools/call"), ASK("s1"));
    assert_has(fake_take(server, "")->text, "'id':'s1','error'");
}

static void test_question_taken_back_is_not_asked(void **state) {
    (void)state;
    open_with(FAKE_LEGACY, NULL);
    struct fake_reply *r = fake_request(agent, "1", "tools/call", CALL);
    struct fake_heard *m = fake_take(server, "tools/call");
    fake_say(server, m, ASK("s1"));
    fake_say(server, m, "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':'s1'}}");
    harness_advance(h, 1000);
    assert_false(r->over);
    fake_answer(m, "{'content':[]}");
    assert_has(fake_text(r), "'resultType':'complete'");
}

static void ask_too_much(enum fake_speaks speaks) {
    open_with(speaks, NULL);
    const char *kept;
    struct fake_heard *m = parked(&kept);
    for (int i = 0; i < 3 * INPUT_QUESTIONS_MAX; i++)
        fake_say(server, m,
                 arena_printf(&h->arena, "{'jsonrpc':'2.0','id':%d,'method':'roots/list'}", 100 + i).ptr);
    struct fake_heard *no = fake_peek(server, "");
    assert_non_null(no);
    assert_has(no->text, "too many questions");
    assert_int_equal(fake_count(server, ""), 2 * INPUT_QUESTIONS_MAX + 1); /* one was open already */
}

static void test_server_on_pipes_asks_a_parked_client_so_much_and_no_more(void **state) {
    (void)state;
    ask_too_much(FAKE_LEGACY);
}

static void test_server_over_http_asks_a_parked_client_so_much_and_no_more(void **state) {
    (void)state;
    ask_too_much(FAKE_LEGACY_HTTP);
}

static void test_over_http_calls_share_a_link_and_questions_come_on_their_streams(void **state) {
    (void)state;
    open_with(FAKE_LEGACY_HTTP, NULL);
    struct fake_reply *one = fake_request(agent, "1", "tools/call", CALL);
    struct fake_reply *two = fake_request(agent, "2", "tools/call", "'name':'echo','arguments':{'a':2}");
    fake_take(server, "tools/call");
    struct fake_heard *second = fake_take(server, "tools/call");
    assert_int_equal(server->open_count, 1);
    fake_say(server, second, ASK("s2"));
    harness_advance(h, PARK_GATHER_MS);
    assert_false(one->over);
    assert_has(fake_text(two), "Question s2");
}

/* ---- tasks ---- */

static void test_task_of_a_legacy_server_in_the_words_of_a_modern_client(void **state) {
    (void)state;
    h = harness_open(NULL);
    server = harness_server(h, "files", FAKE_LEGACY);
    server->capabilities = "{'tools':{},'tasks':{'list':{},'cancel':{},'requests':{'tools':{'call':{}}}}}";
    server->tools = "[{'name':'echo','description':'d','inputSchema':{'type':'object'},'execution':{'"
                    "taskSupport':'optional'}}]";
    agent = harness_client(h, server, true, NULL, "{'extensions':{'io.modelcontextprotocol/tasks':{}}}");
    struct fake_reply *r = fake_request(agent, "1", "tools/call", CALL);
    struct fake_heard *m = fake_take(server, "tools/call");
    assert_has(m->text, "'task':{");
    fake_answer(
        m, "{'task':{'taskId':'t1','status':'working','createdAt':'2026-06-17T12:00:00Z','lastUpdatedAt':"
           "'2026-06-17T12:00:00Z','ttl':60000}}");
    assert_has(fake_text(r), "'resultType':'task'");
    assert_has(fake_text(r), "'taskId':'t1'");
    /* The task is over: its result, which the legacy era asks for by itself, stands in the answer. */
    struct fake_reply *get = fake_request(agent, "2", "tasks/get", "'taskId':'t1'");
    fake_answer(fake_take(server, "tasks/get"),
                "{'taskId':'t1','status':'completed','createdAt':'2026-06-17T12:00:00Z',"
                "'lastUpdatedAt':'2026-06-17T12:00:00Z','ttl':60000}");
    struct fake_heard *result = fake_take(server, "tasks/result");
    assert_has(result->text, "'taskId':'t1'");
    fake_answer(result, "{'content':[{'type':'text','text':'late result'}]}");
    assert_has(fake_text(get), "'status':'completed'");
    assert_has(fake_text(get), "late result");
}

static void test_task_of_a_modern_server_is_polled_for_a_legacy_client(void **state) {
    (void)state;
    h = harness_open(NULL);
    server = harness_server(h, "files", FAKE_MODERN);
    server->capabilities = "{'tools':{},'extensions':{'io.modelcontextprotocol/tasks':{}}}";
    agent = harness_legacy(h, server);
    struct fake_reply *r = fake_request(agent, "1", "tools/call", CALL ",'task':{'ttl':60000}");
    fake_answer(fake_take(server, "tools/call"),
                "{'resultType':'task','taskId':'t9','status':'working','createdAt':"
                "'2026-06-17T12:00:00Z','lastUpdatedAt':'2026-06-17T12:00:00Z','ttlMs':60000}");
    assert_has(fake_text(r), "'task':{'status':'working','taskId':'t9'");
    struct fake_reply *result = fake_request(agent, "2", "tasks/result", "'taskId':'t9'");
    fake_answer(fake_take(server, "tasks/get"),
                "{'resultType':'complete','taskId':'t9','status':'working','createdAt':"
                "'2026-06-17T12:00:00Z','lastUpdatedAt':'2026-06-17T12:00:00Z','ttlMs':60000,"
                "'pollIntervalMs':2000}");
    assert_false(result->over);
    assert_null(fake_peek(server, "tasks/get"));
    harness_advance(h, 2000);
    fake_answer(fake_take(server, "tasks/get"),
                "{'resultType':'complete','taskId':'t9','status':'completed','createdAt':"
                "'2026-06-17T12:00:00Z','lastUpdatedAt':'2026-06-17T12:00:00Z','ttlMs':60000,"
                "'result':{'resultType':'complete','content':[{'type':'text','text':'polled'}]}}");
    assert_has(fake_text(result), "polled");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        harness_test(test_answer_goes_to_the_server_and_the_result_to_the_second_call),
        harness_test(test_questions_that_come_together_are_asked_together),
        harness_test(test_question_left_open_is_asked_again),
        harness_test(test_server_that_answers_meanwhile_is_heard_by_the_next_call),
        harness_test(test_parked_request_expires_and_the_server_is_told),
        harness_test(test_state_is_good_for_its_own_call_only),
        harness_test(test_state_of_another_principal_or_one_that_was_changed_is_refused),
        harness_test(test_state_is_used_once),
        harness_test(test_question_left_open_gives_its_link_to_a_call_that_waits),
        harness_test(test_call_that_stops_waiting_leaves_questions_open),
        harness_test(test_parked_request_ends_with_its_server),
        harness_test(test_parked_request_ends_with_its_session),
        harness_test(test_client_that_left_before_the_question_cannot_be_asked),
        harness_test(test_client_that_cannot_answer_is_not_asked_and_told_what_it_lacks),
        harness_test(test_policy_decides_whether_the_client_is_asked),
        harness_test(test_question_taken_back_is_not_asked),
        harness_test(test_server_on_pipes_asks_a_parked_client_so_much_and_no_more),
        harness_test(test_server_over_http_asks_a_parked_client_so_much_and_no_more),
        harness_test(test_over_http_calls_share_a_link_and_questions_come_on_their_streams),
        harness_test(test_task_of_a_legacy_server_in_the_words_of_a_modern_client),
        harness_test(test_task_of_a_modern_server_is_polled_for_a_legacy_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
