/* Calls that wait for a person: how the person is reached, and what an approval is good for. */
#include "harness.h"

#define ASK(members)                                                                                         \
    "{'version':'1','default':'allow','tools':{'echo':{'approve_if':[{'name':'ask "                          \
    "first','conditions':[]" members "}]}}}"
#define OK "{'content':[]}"

static struct harness *h;
static struct fake_server *files;
static struct fake_client *agent;

static void open_with(struct harness_config config) {
    config.policy = config.policy ? config.policy : ASK("");
    h = harness_open(&config);
    files = harness_server(h, "files", FAKE_LEGACY);
    agent = harness_legacy(h, files);
}

static struct fake_reply *echo(const char *id, const char *arguments) {
    return fake_call(agent, id, "echo", arguments);
}

static bool reaches_server(const char *id, const char *arguments) {
    echo(id, arguments);
    struct fake_heard *m = fake_peek(files, "tools/call");
    if (m) {
        m->taken = true;
        fake_answer(m, OK);
    }
    return m != NULL;
}

/* ---- retry: an error now, the same call later ---- */

static void test_call_is_refused_with_the_id_of_its_request(void **state) {
    (void)state;
    open_with((struct harness_config){0});
    const char *answer = fake_text(echo("1", "{'a':1}"));
    assert_has(answer, "'code':-32003");
    struct slice id = harness_pending(h);
    assert_has(answer, arena_printf(&h->arena, "'approval_id':'%.*s'", SLICE_FMT(id)).ptr);
    assert_has(answer, "make the same call again");
    assert_int_equal(fake_count(files, "tools/call"), 0);
    assert_has(harness_log(h), "event approval_requested");
}

static void test_approved_call_passes_once(void **state) {
    (void)state;
    open_with((struct harness_config){0});
    echo("1", "{'a':1}");
    assert_int_equal(harness_decide(h, harness_pending(h), true), STATE_DECIDED);
    assert_true(reaches_server("2", "{ 'a' : 1 }"));
    assert_false(reaches_server("3", "{'a':1}"));
    const char *log = harness_log(h);
    assert_has(log, "event approval_used");
    assert_has(log, "approved by cli:alice");
}

static void test_approval_is_for_these_arguments_and_no_others(void **state) {
    (void)state;
    open_with((struct harness_config){0});
    echo("1", "{'a':1}");
    harness_decide(h, harness_pending(h), true);
    assert_false(reaches_server("2", "{'a':2}"));
    assert_true(reaches_server("3", "{'a':1}"));
}

static void test_approval_is_for_this_identity_and_no_other(void **state) {
    (void)state;
    open_with((struct harness_config){0});
    cleanup_principal struct principal *mallory = principal_new(PRINCIPAL_GRANT, "grant:mallory");
    struct fake_client *first = agent;
    echo("1", "{}");
    harness_decide(h, harness_pending(h), true);
    agent = harness_client(h, files, false, mallory, NULL);
    assert_false(reaches_server("2", "{}"));
    agent = first;
    assert_true(reaches_server("3", "{}"));
}

static void test_denied_call_stays_denied(void **state) {
    (void)state;
    open_with((struct harness_config){0});
    echo("1", "{}");
    harness_decide(h, harness_pending(h), false);
    assert_has(fake_text(echo("2", "{}")), "A person denied this call");
    assert_int_equal(fake_count(files, "tools/call"), 0);
}

static void test_approval_that_nobody_used_in_time_expires(void **state) {
    (void)state;
    open_with((struct harness_config){.approval_ms = 60000});
    echo("1", "{}");
    struct slice id = harness_pending(h);
    harness_decide(h, id, true);
    harness_advance(h, 61000);
    assert_has(fake_text(echo("2", "{}")), "'code':-32003");
    assert_false(slice_eq(harness_pending(h), id)); /* it is a new request */
}

static void test_request_past_its_time_cannot_be_approved(void **state) {
    (void)state;
    open_with((struct harness_config){.policy = ASK(",'timeout':'1m'")});
    echo("1", "{}");
    struct slice id = harness_pending(h);
    harness_advance(h, 61000);
    assert_int_equal(harness_decide(h, id, true), STATE_DECIDE_OVER);
    assert_false(reaches_server("2", "{}"));
    harness_advance(h, 15000); /* until the next sweep */
    assert_has(harness_log(h), "event approval_expired");
}

static void test_asking_again_while_it_waits_joins_the_same_request(void **state) {
    (void)state;
    open_with((struct harness_config){0});
    echo("1", "{}");
    struct slice id = harness_pending(h);
    assert_has(fake_text(echo("2", "{}")), id.ptr);
    assert_true(slice_eq(harness_pending(h), id));
}

static void test_another_policy_makes_an_approval_stale(void **state) {
    (void)state;
    open_with((struct harness_config){0});
    echo("1", "{}");
    harness_decide(h, harness_pending(h), true);
    harness_policy(h, ASK(",'on_pending':'Now really'"));
    assert_false(reaches_server("2", "{}"));
}

static void test_another_definition_of_the_tool_makes_an_approval_stale(void **state) {
    (void)state;
    open_with((struct harness_config){0});
    echo("1", "{}");
    harness_decide(h, harness_pending(h), true);
    files->tools = "[{'name':'echo','description':'Does something else','inputSchema':{'type':'object'}}]";
    fake_say(files, NULL, "{'jsonrpc':'2.0','method':'notifications/tools/list_changed'}");
    assert_false(reaches_server("2", "{}"));
}

static void test_policy_may_name_the_approvers(void **state) {
    (void)state;
    open_with((struct harness_config){.policy = ASK(",'approvers':['cli:bob']")});
    echo("1", "{}");
    struct slice id = harness_pending(h);
    assert_int_equal(harness_decide(h, id, true), STATE_DECIDE_OTHERS);
    assert_false(reaches_server("2", "{}"));
}

static void test_a_denial_beats_an_approval(void **state) {
    (void)state;
    open_with((struct harness_config){
        .policy = "{'version':'1','default':'allow','tools':{'echo':{'deny_if':[{'name':'no',"
                  "'conditions':[]}],'approve_if':[{'conditions':[]}]}}}"});
    assert_has(fake_text(echo("1", "{}")), "POLICY DENIED");
}

static void test_waiting_holds_nothing_of_the_limits(void **state) {
    (void)state;
    open_with((struct harness_config){
        .policy = "{'version':'1','default':'allow','tools':{'echo':{'approve_if':[{'conditions':[{'path':'"
                  "args.a','op':'eq',"
                  "'value':1}]}],'limits':[{'counter':'n','window':'hour','max':1}]}}}"});
    echo("1", "{'a':1}");
    assert_true(reaches_server("2", "{'a':2}"));
    harness_decide(h, harness_pending(h), true);
    assert_has(fake_text(echo("3", "{'a':1}")), "'reason':'limit'"); /* an approval opens no other door */
}

static void test_notification_cannot_wait_for_anybody(void **state) {
    (void)state;
    open_with((struct harness_config){0});
    fake_send(agent, "{'jsonrpc':'2.0','method':'tools/call','params':{'name':'echo','arguments':{}}}");
    assert_int_equal(fake_count(files, "tools/call"), 0);
}

/* ---- hold: the call itself waits ---- */

static void test_held_call_goes_on_when_it_is_approved(void **state) {
    (void)state;
    open_with((struct harness_config){.mode = APPROVE_HOLD});
    struct fake_reply *r = echo("1", "{}");
    assert_false(r->over);
    harness_decide(h, harness_pending(h), true);
    fake_answer(fake_take(files, "tools/call"), OK);
    assert_has(fake_text(r), "'id':1,'result'");
}

static void test_held_call_is_refused_when_it_is_denied(void **state) {
    (void)state;
    open_with((struct harness_config){.mode = APPROVE_HOLD});
    struct fake_reply *r = echo("1", "{}");
    harness_decide(h, harness_pending(h), false);
    assert_has(fake_text(r), "A person denied this call");
}

static void test_held_call_is_refused_when_its_time_is_over(void **state) {
    (void)state;
    open_with((struct harness_config){.mode = APPROVE_HOLD, .approval_ms = 30000});
    struct fake_reply *r = echo("1", "{}");
    harness_advance(h, 29000);
    assert_false(r->over);
    harness_advance(h, 2000);
    assert_has(fake_text(r), "No approver decided on this call in time");
}

static void test_held_call_tells_its_progress(void **state) {
    (void)state;
    open_with((struct harness_config){.mode = APPROVE_HOLD});
    struct fake_reply *r =
        fake_request(agent, "1", "tools/call", "'name':'echo','arguments':{},'_meta':{'progressToken':'t'}");
    harness_advance(h, 11000);
    assert_in_range(r->event_count, 2, 4);
    assert_has(r->events[0], "'progressToken':'t','progress':1,'message':'waiting for approval");
}

static void test_held_call_is_judged_by_the_policy_of_the_moment(void **state) {
    (void)state;
    open_with((struct harness_config){.mode = APPROVE_HOLD});
    struct fake_reply *r = echo("1", "{}");
    struct slice id = harness_pending(h);
    harness_policy(
        h,
        "{'version':'1','default':'allow','tools':{'echo':{'deny_if':[{'name':'closed','conditions':[]}]}}}");
    assert_false(r->over);
    harness_decide(h, id, true);
    assert_has(fake_text(r), "'rule':'closed'");
    assert_int_equal(fake_count(files, "tools/call"), 0);
}

static void test_held_call_of_a_revoked_grant_is_refused(void **state) {
    (void)state;
    open_with((struct harness_config){.mode = APPROVE_HOLD});
    struct fake_reply *r = echo("1", "{}");
    h->local->revoked = true;
    harness_decide(h, harness_pending(h), true);
    assert_has(fake_text(r), "The identity behind this call is no longer valid");
    assert_int_equal(fake_count(files, "tools/call"), 0);
}

static void test_held_call_is_cancelled_by_its_client(void **state) {
    (void)state;
    open_with((struct harness_config){.mode = APPROVE_HOLD});
    struct fake_reply *r = echo("1", "{}");
    struct slice id = harness_pending(h);
    fake_send(agent, "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':1}}");
    assert_true(r->none);
    harness_decide(h, id, true);
    assert_int_equal(fake_count(files, "tools/call"), 0);
}

static void test_one_approval_lets_one_of_two_held_calls_pass(void **state) {
    (void)state;
    open_with((struct harness_config){.mode = APPROVE_HOLD});
    struct fake_reply *one = echo("1", "{}"), *two = echo("2", "{}");
    harness_decide(h, harness_pending(h), true);
    assert_int_equal(fake_count(files, "tools/call"), 1);
    fake_answer(fake_take(files, "tools/call"), OK);
    assert_int_equal(one->over + two->over, 1);
    harness_decide(h, harness_pending(h), true);
    fake_answer(fake_take(files, "tools/call"), OK);
    assert_true(one->over && two->over);
}

/* ---- elicitation: the person at the client is asked ---- */

static void open_eliciting(void) {
    h = harness_open(&(struct harness_config){.policy = ASK(""), .persons = true});
    files = harness_server(h, "files", FAKE_LEGACY);
    agent = harness_client(h, files, false, NULL, "{'elicitation':{}}");
}

static void answer_question(struct fake_reply *r, const char *result) {
    harness_advance(h, 100);
    assert_int_equal(r->event_count, 1);
    assert_has(r->events[0], "'method':'elicitation/create'");
    fake_send(agent, arena_printf(&h->arena, "{'jsonrpc':'2.0','id':%s,'result':%s}",
                                  fake_number(h, r->events[0], "id"), result)
                         .ptr);
}

static void test_person_at_a_legacy_client_approves(void **state) {
    (void)state;
    open_eliciting();
    struct fake_reply *r = echo("1", "{'path':'/etc'}");
    answer_question(r, "{'action':'accept','content':{'decision':'approve'}}");
    assert_has(r->events[0], "wants to call echo of server files");
    assert_has(fake_take(files, "tools/call")->text, "/etc");
    assert_has(harness_log(h), "event approval_approved");
}

static void test_person_at_a_legacy_client_declines(void **state) {
    (void)state;
    open_eliciting();
    struct fake_reply *r = echo("1", "{}");
    answer_question(r, "{'action':'decline'}");
    assert_has(fake_text(r), "A person denied this call");
}

static void test_accepting_without_a_choice_approves_nothing(void **state) {
    (void)state;
    open_eliciting();
    struct fake_reply *r = echo("1", "{}");
    answer_question(r, "{'action':'accept','content':{}}");
    assert_has(fake_text(r), "'code':-32003");
    assert_int_equal(fake_count(files, "tools/call"), 0);
}

static void test_client_that_is_no_person_is_not_asked(void **state) {
    (void)state;
    h = harness_open(&(struct harness_config){.policy = ASK("")});
    files = harness_server(h, "files", FAKE_LEGACY);
    agent = harness_client(h, files, false, NULL, "{'elicitation':{}}");
    struct fake_reply *r = echo("1", "{}");
    assert_has(fake_text(r), "'code':-32003");
    assert_int_equal(r->event_count, 0);
}

static void test_question_is_withdrawn_when_it_was_decided_elsewhere(void **state) {
    (void)state;
    open_eliciting();
    struct fake_reply *r = echo("1", "{}");
    harness_advance(h, 100);
    harness_decide(h, harness_pending(h), true);
    fake_answer(fake_take(files, "tools/call"), OK);
    assert_int_equal(r->event_count, 2);
    assert_has(r->events[1], "notifications/cancelled");
    assert_has(fake_text(r), "'result'");
}

static void test_modern_client_is_asked_by_an_answer_and_calls_again(void **state) {
    (void)state;
    h = harness_open(&(struct harness_config){.policy = ASK(""), .persons = true});
    files = harness_server(h, "files", FAKE_MODERN);
    agent = harness_client(h, files, true, NULL, "{'elicitation':{}}");
    const char *asked = fake_text(echo("1", "{}"));
    assert_has(asked, "'resultType':'input_required'");
    const char *with =
        arena_printf(&h->arena,
                     "'name':'echo','arguments':{},'requestState':'%s','inputResponses':{"
                     "'sallyport_approval':{'action':'accept','content':{'decision':'approve'}}}",
                     fake_member(h, asked, "requestState"))
            .ptr;
    struct fake_reply *r = fake_request(agent, "2", "tools/call", with);
    struct fake_heard *m = fake_take(files, "tools/call");
    assert_lacks(m->text, "sallyport_approval"); /* that was for the gate */
    assert_lacks(m->text, "requestState");
    fake_answer(m, "{'resultType':'complete','content':[]}");
    assert_has(fake_text(r), "'id':2");
    struct fake_reply *replayed = fake_request(agent, "3", "tools/call", with);
    assert_int_equal(fake_count(files, "tools/call"), 1);
    assert_true(replayed->over);
}

static void test_state_of_another_call_is_refused(void **state) {
    (void)state;
    h = harness_open(&(struct harness_config){.policy = ASK(""), .persons = true});
    files = harness_server(h, "files", FAKE_MODERN);
    agent = harness_client(h, files, true, NULL, "{'elicitation':{}}");
    const char *asked = fake_text(echo("1", "{'a':1}"));
    struct fake_reply *r = fake_request(
        agent, "2", "tools/call",
        arena_printf(
            &h->arena,
            "'name':'echo','arguments':{'a':2},'requestState':'%s','inputResponses':{'sallyport_approval':{"
            "'action':'accept','content':{'decision':'approve'}}}",
            fake_member(h, asked, "requestState"))
            .ptr);
    assert_has(fake_text(r), "requestState does not belong to this call");
    assert_int_equal(fake_count(files, "tools/call"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        harness_test(test_call_is_refused_with_the_id_of_its_request),
        harness_test(test_approved_call_passes_once),
        harness_test(test_approval_is_for_these_arguments_and_no_others),
        harness_test(test_approval_is_for_this_identity_and_no_other),
        harness_test(test_denied_call_stays_denied),
        harness_test(test_approval_that_nobody_used_in_time_expires),
        harness_test(test_request_past_its_time_cannot_be_approved),
        harness_test(test_asking_again_while_it_waits_joins_the_same_request),
        harness_test(test_another_policy_makes_an_approval_stale),
        harness_test(test_another_definition_of_the_tool_makes_an_approval_stale),
        harness_test(test_policy_may_name_the_approvers),
        harness_test(test_a_denial_beats_an_approval),
        harness_test(test_waiting_holds_nothing_of_the_limits),
        harness_test(test_notification_cannot_wait_for_anybody),
        harness_test(test_held_call_goes_on_when_it_is_approved),
        harness_test(test_held_call_is_refused_when_it_is_denied),
        harness_test(test_held_call_is_refused_when_its_time_is_over),
        harness_test(test_held_call_tells_its_progress),
        harness_test(test_held_call_is_judged_by_the_policy_of_the_moment),
        harness_test(test_held_call_of_a_revoked_grant_is_refused),
        harness_test(test_held_call_is_cancelled_by_its_client),
        harness_test(test_one_approval_lets_one_of_two_held_calls_pass),
        harness_test(test_person_at_a_legacy_client_approves),
        harness_test(test_person_at_a_legacy_client_declines),
        harness_test(test_accepting_without_a_choice_approves_nothing),
        harness_test(test_client_that_is_no_person_is_not_asked),
        harness_test(test_question_is_withdrawn_when_it_was_decided_elsewhere),
        harness_test(test_modern_client_is_asked_by_an_answer_and_calls_again),
        harness_test(test_state_of_another_call_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
