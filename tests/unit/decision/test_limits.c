/* What becomes of the counts behind limits: reserved before a call is sent, kept or given back after it. */
#include "harness.h"

#include "decision/stop.h"
#include "state/stops.h"

#define LIMIT(members)                                                                                       \
    "{'version':'1','default':'allow','tools':{'echo':{'limits':[{'counter':'n'," members "}]}}}"
#define OK "{'content':[]}"

static struct harness *h;
static struct fake_server *files;
static struct fake_client *agent;

static void open_with(const char *policy) {
    h = harness_open(&(struct harness_config){.policy = policy});
    files = harness_server(h, "files", FAKE_LEGACY);
    agent = harness_legacy(h, files);
}

static const char *next_id(void) {
    static int last;
    return arena_printf(&h->arena, "%d", ++last).ptr;
}

static struct fake_reply *echo(void) { return fake_call(agent, next_id(), "echo", "{}"); }

/* A call that the server answers immediately; false when it was denied. */
static bool passes(void) {
    struct fake_reply *r = echo();
    struct fake_heard *m = fake_peek(files, "tools/call");
    if (!m) {
        assert_has(fake_text(r), "POLICY DENIED");
        return false;
    }
    m->taken = true;
    fake_answer(m, OK);
    assert_has(fake_text(r), "'content':[]");
    return true;
}

static void fails_with(int code) {
    echo();
    fake_error(fake_take(files, "tools/call"), code, "no");
}

/* ---- windows ---- */

static void test_window_lets_its_maximum_pass_and_opens_again(void **state) {
    (void)state;
    open_with(LIMIT("'window':'hour','max':2"));
    assert_true(passes());
    assert_true(passes());
    assert_false(passes());
    harness_advance(h, 3600000);
    assert_true(passes());
}

static void test_denial_says_when_to_try_again(void **state) {
    (void)state;
    open_with(LIMIT("'window':'hour','max':1"));
    assert_true(passes());
    harness_advance(h, 600000);
    const char *answer = fake_text(echo());
    assert_has(answer, "'reason':'limit'");
    uint64_t wait = strtoull(fake_number(h, answer, "retry_after_ms"), NULL, 10);
    assert_in_range(wait, 2900000, 3000000); /* the clock started at a full hour */
}

static void test_calls_under_way_are_counted_before_they_are_answered(void **state) {
    (void)state;
    open_with(LIMIT("'window':'hour','max':2"));
    struct fake_reply *one = echo(), *two = echo(), *three = echo();
    assert_false(one->over);
    assert_false(two->over);
    assert_has(fake_text(three), "POLICY DENIED");
    assert_int_equal(fake_count(files, "tools/call"), 2);
}

static void test_one_full_limit_takes_nothing_from_the_others(void **state) {
    (void)state;
    open_with(
        "{'version':'1','default':'allow','tools':{'echo':{'limits':["
        "{'counter':'wide','window':'hour','max':3},{'counter':'narrow','window':'minute','max':1}]}}}");
    assert_true(passes());
    assert_false(passes()); /* `narrow` is full, so `wide` is not charged */
    assert_false(passes());
    harness_advance(h, 60000);
    assert_true(passes());
    harness_advance(h, 60000);
    assert_true(passes());
    harness_advance(h, 60000);
    assert_false(passes()); /* now `wide` is */
}

static void test_shadow_limit_is_recorded_and_refuses_nothing(void **state) {
    (void)state;
    open_with(LIMIT("'window':'hour','max':1,'mode':'shadow'"));
    assert_true(passes());
    assert_true(passes());
    assert_has(harness_log(h), "decision tools/call echo allow");
}

/* ---- giving back ---- */

static void test_result_keeps_the_count_even_when_it_says_error(void **state) {
    (void)state;
    open_with(LIMIT("'window':'hour','max':1,'refund':'errors'"));
    echo();
    fake_answer(fake_take(files, "tools/call"), "{'content':[],'isError':true}");
    assert_false(passes());
}

static void test_refund_never_keeps_the_count_of_an_error(void **state) {
    (void)state;
    open_with(LIMIT("'window':'hour','max':1,'refund':'never'"));
    fails_with(-32601);
    assert_false(passes());
}

static void test_refund_proven_gives_back_what_the_server_cannot_have_done(void **state) {
    (void)state;
    open_with(LIMIT("'window':'hour','max':1,'refund':'proven'"));
    fails_with(-32601);
    fails_with(-32602);
    assert_true(passes());
}

static void test_refund_proven_keeps_the_count_of_any_other_error(void **state) {
    (void)state;
    open_with(LIMIT("'window':'hour','max':1,'refund':'proven'"));
    fails_with(-32000);
    assert_false(passes());
}

static void test_refund_errors_is_bounded_by_the_maximum(void **state) {
    (void)state;
    open_with(LIMIT("'window':'hour','max':3,'refund':'errors'"));
    for (int i = 0; i < 3; i++)
        fails_with(-32000); /* given back */
    for (int i = 0; i < 3; i++)
        fails_with(-32000); /* nothing is given back any more */
    assert_false(passes());
    harness_advance(h, 3600000);
    assert_true(passes());
}

static void test_refund_goes_to_the_window_that_paid(void **state) {
    (void)state;
    open_with(LIMIT("'window':'hour','max':1,'refund':'errors'"));
    harness_advance(h, 3590000);
    echo();
    struct fake_heard *old = fake_take(files, "tools/call");
    harness_advance(h, 20000);
    assert_true(passes());
    fake_error(old, -32000, "no"); /* the new window has not paid for it */
    assert_false(passes());
}

static void test_call_that_was_never_sent_gives_back(void **state) {
    (void)state;
    open_with(LIMIT("'window':'hour','max':1"));
    fake_die(files, "it ended");
    files->refuses_links = true;
    struct fake_reply *r = echo();
    harness_advance(h, 1000);
    assert_has(fake_text(r), "the server cannot be started");
    files->refuses_links = false;
    r = echo();
    harness_advance(h, 2000); /* the back-off of a restart */
    fake_answer(fake_take(files, "tools/call"), OK);
    assert_has(fake_text(r), "'result'");
    assert_false(passes());
}

static void test_lost_timed_out_and_cancelled_calls_count(void **state) {
    (void)state;
    open_with(LIMIT("'window':'hour','max':3,'refund':'errors'"));
    files->server->timeout_ms = 1000;
    echo();
    fake_fail(fake_take(files, "tools/call"), "lost", false);
    echo();
    fake_take(files, "tools/call");
    harness_advance(h, 1500);
    struct fake_reply *r = echo();
    fake_take(files, "tools/call");
    call_cancel(r->sink.call, "enough");
    assert_false(passes());
}

static void test_call_sent_twice_counts_once(void **state) {
    (void)state;
    open_with(LIMIT("'window':'hour','max':2"));
    echo();
    fake_fail(fake_take(files, "tools/call"), "closed", true);
    fake_answer(fake_take(files, "tools/call"), OK);
    assert_true(passes());
    assert_false(passes());
}

/* ---- calls in flight ---- */

#define ONE_AT_A_TIME LIMIT("'kind':'concurrent','max':1")

static void test_slot_is_taken_until_the_server_has_answered(void **state) {
    (void)state;
    open_with(ONE_AT_A_TIME);
    echo();
    struct fake_heard *m = fake_take(files, "tools/call");
    assert_has(fake_text(echo()), "POLICY DENIED");
    fake_answer(m, OK);
    assert_true(passes());
}

static void test_slot_is_free_after_an_error(void **state) {
    (void)state;
    open_with(ONE_AT_A_TIME);
    fails_with(-32000);
    assert_true(passes());
}

static void test_slot_is_free_when_the_server_has_died(void **state) {
    (void)state;
    open_with(ONE_AT_A_TIME);
    echo();
    fake_take(files, "tools/call");
    fake_die(files, "it ended");
    struct fake_reply *r = echo();
    harness_advance(h, 1000);
    fake_answer(fake_take(files, "tools/call"), OK);
    assert_has(fake_text(r), "'result'");
}

static void test_slot_is_free_after_the_time_out(void **state) {
    (void)state;
    open_with(ONE_AT_A_TIME);
    files->server->timeout_ms = 5000;
    echo();
    fake_take(files, "tools/call");
    harness_advance(h, 4000);
    assert_has(fake_text(echo()), "POLICY DENIED");
    harness_advance(h, 2000);
    assert_true(passes());
}

/* One call is under way, then its session closes; another client of the same principal asks. */
static struct fake_heard *close_with_a_call_under_way(void) {
    open_with(ONE_AT_A_TIME);
    echo();
    struct fake_heard *m = fake_take(files, "tools/call");
    fake_leave(agent);
    agent = harness_legacy(h, files);
    assert_false(passes());
    return m;
}

static void test_closed_session_keeps_its_slot_until_the_server_has_answered(void **state) {
    (void)state;
    struct fake_heard *m = close_with_a_call_under_way();
    assert_non_null(fake_peek(files, "notifications/cancelled"));
    assert_int_equal(h->core.session_count, 2);
    fake_answer(m, OK);
    assert_int_equal(h->core.session_count, 1);
    assert_int_equal(files->open_count, 1);
    assert_true(passes());
}

static void test_closed_session_keeps_its_slot_until_the_time_out(void **state) {
    (void)state;
    close_with_a_call_under_way();
    harness_advance(h, CALL_IDLE_MS);
    assert_int_equal(h->core.session_count, 1);
    assert_true(passes());
}

static void test_closed_session_frees_its_slot_when_the_server_has_died(void **state) {
    (void)state;
    struct fake_heard *m = close_with_a_call_under_way();
    fake_fail(m, "it ended", true); /* a cancelled call is not sent again */
    assert_int_equal(fake_count(files, "tools/call"), 1);
    assert_true(passes());
}

/* Modern clients cancel by closing their connection; their session stays. */
static struct fake_heard *disconnect_with_a_call_under_way(enum fake_speaks speaks) {
    h = harness_open(&(struct harness_config){.policy = ONE_AT_A_TIME});
    files = harness_server(h, "files", speaks);
    agent = harness_modern(h, files);
    struct fake_reply *r = echo();
    struct fake_heard *m = fake_take(files, "tools/call");
    call_cancel(r->sink.call, "client disconnected");
    assert_true(r->none);
    for (int i = 0; i < 3; i++)
        assert_false(passes());
    return m;
}

static void disconnect_then_answer(enum fake_speaks speaks) {
    struct fake_heard *m = disconnect_with_a_call_under_way(speaks);
    assert_non_null(fake_peek(files, "notifications/cancelled"));
    fake_answer(m, OK);
    assert_int_equal(h->core.calls_lingering, 0);
    assert_true(passes());
}

static void test_disconnected_call_keeps_its_slot_until_the_server_has_answered(void **state) {
    (void)state;
    disconnect_then_answer(FAKE_LEGACY);
}

static void test_disconnected_call_of_a_modern_child_keeps_its_slot_until_it_has_answered(void **state) {
    (void)state;
    disconnect_then_answer(FAKE_MODERN);
}

static void
test_disconnected_call_of_a_legacy_http_server_keeps_its_slot_until_it_has_answered(void **state) {
    (void)state;
    disconnect_then_answer(FAKE_LEGACY_HTTP);
}

static void test_disconnected_call_keeps_its_slot_until_the_time_out(void **state) {
    (void)state;
    disconnect_with_a_call_under_way(FAKE_LEGACY);
    harness_advance(h, CALL_IDLE_MS);
    assert_true(passes());
}

static void test_disconnected_call_frees_its_slot_when_the_server_has_died(void **state) {
    (void)state;
    disconnect_with_a_call_under_way(FAKE_LEGACY);
    fake_die(files, "it ended");
    struct fake_reply *r = echo();
    harness_advance(h, 1000);
    fake_answer(fake_take(files, "tools/call"), OK);
    assert_has(fake_text(r), "'content':[]");
}

/* The gate closes the stream to a modern server, so it does not learn when that is done. */
static void test_disconnected_call_of_a_closed_stream_keeps_its_slot_until_the_time_out(void **state) {
    (void)state;
    struct fake_heard *m = disconnect_with_a_call_under_way(FAKE_MODERN_HTTP);
    assert_true(m->abandoned);
    harness_advance(h, CALL_IDLE_MS - 1000);
    assert_false(passes());
    harness_advance(h, 1000);
    assert_int_equal(h->core.calls_lingering, 0);
    assert_true(passes());
}

static void test_closed_session_ends_with_a_removed_server(void **state) {
    (void)state;
    open_with(ONE_AT_A_TIME);
    echo();
    fake_take(files, "tools/call");
    fake_leave(agent);
    assert_int_equal(h->core.calls_lingering, 1);
    session_remove_server(&h->core, files->server);
    harness_settle(h);
    assert_int_equal(h->core.session_count, 0);
    assert_int_equal(h->core.calls_lingering, 0);
}

static void test_session_without_slots_closes_immediately(void **state) {
    (void)state;
    open_with(LIMIT("'window':'hour','max':9"));
    echo();
    fake_take(files, "tools/call");
    fake_leave(agent);
    assert_int_equal(h->core.session_count, 0);
}

static void test_gate_that_stops_does_not_wait_for_closed_sessions(void **state) {
    (void)state;
    close_with_a_call_under_way();
    assert_int_equal(h->core.calls_under_way, 0);
    session_end_closed(&h->core);
    assert_int_equal(h->core.session_count, 1);
    assert_true(passes());
}

static void test_denied_call_takes_no_slot(void **state) {
    (void)state;
    open_with("{'version':'1','default':'allow','tools':{'echo':{'limits':[{'counter':'c','kind':'concurrent'"
              ",'max':1},"
              "{'counter':'n','window':'hour','max':1}]}}}");
    assert_true(passes());
    assert_false(passes()); /* by `n`; the slot that was looked at is free */
    harness_advance(h, 3600000);
    assert_true(passes());
}

/* ---- whose counts ---- */

static void test_counts_belong_to_the_grant_unless_the_policy_says_otherwise(void **state) {
    (void)state;
    open_with(LIMIT("'window':'hour','max':1"));
    cleanup_principal struct principal *alice = principal_new(PRINCIPAL_GRANT, "grant:alice");
    assert_true(passes());
    assert_false(passes());
    agent = harness_client(h, files, false, alice, NULL);
    assert_true(passes());
}

static void test_global_counts_are_everybodys(void **state) {
    (void)state;
    open_with(LIMIT("'window':'hour','max':1,'scope':'global'"));
    cleanup_principal struct principal *alice = principal_new(PRINCIPAL_GRANT, "grant:alice");
    assert_true(passes());
    agent = harness_client(h, files, false, alice, NULL);
    assert_false(passes());
}

static void test_session_counts_end_with_the_session(void **state) {
    (void)state;
    open_with(LIMIT("'window':'hour','max':1,'scope':'session'"));
    assert_true(passes());
    assert_false(passes());
    agent = harness_legacy(h, files);
    assert_true(passes());
}

static void test_counters_outlive_a_reload(void **state) {
    (void)state;
    open_with(LIMIT("'window':'hour','max':2"));
    assert_true(passes());
    harness_policy(h, LIMIT("'window':'hour','max':1"));
    assert_false(passes());
}

static void test_policy_swapped_under_way_settles_by_the_old_one(void **state) {
    (void)state;
    open_with(LIMIT("'window':'hour','max':1,'refund':'errors'"));
    echo();
    struct fake_heard *m = fake_take(files, "tools/call");
    harness_policy(h, LIMIT("'window':'hour','max':1,'refund':'never'"));
    fake_error(m, -32000, "no"); /* was reserved with refunds */
    assert_true(passes());
}

static void test_repetition_is_counted_by_canonical_arguments(void **state) {
    (void)state;
    open_with(LIMIT("'kind':'identical','window':'hour','max':1"));
    fake_call(agent, "1", "echo", "{'a':1,'b':2}");
    fake_answer(fake_take(files, "tools/call"), OK);
    assert_has(fake_text(fake_call(agent, "2", "echo", "{ 'b': 2, 'a': 1 }")), "POLICY DENIED");
    fake_call(agent, "3", "echo", "{'a':1,'b':3}");
    assert_non_null(fake_peek(files, "tools/call"));
}

/* ---- the kill switch ---- */

static void stop_all(bool cut) {
    struct err err = {0};
    struct state_stop stop = {.scope = STATE_STOP_ALL,
                              .cancel = cut,
                              .by = SLICE("cli:alice"),
                              .reason = SLICE("incident"),
                              .at_ms = harness_now_ms()};
    if (state_stops_put(stop_store(&h->core), &stop, NULL, &err) < 0)
        fail_msg("%s", err.text);
    stop_sweep(&h->core);
    harness_settle(h);
}

static void test_stopped_gate_refuses_before_the_policy_is_asked(void **state) {
    (void)state;
    open_with(NULL);
    stop_all(false);
    assert_has(fake_text(echo()), "incident");
    assert_int_equal(fake_count(files, "tools/call"), 0);
}

static void test_stop_lets_calls_under_way_finish_unless_it_says_otherwise(void **state) {
    (void)state;
    open_with(NULL);
    struct fake_reply *r = echo();
    struct fake_heard *m = fake_take(files, "tools/call");
    stop_all(false);
    assert_false(r->over);
    fake_answer(m, OK);
    assert_has(fake_text(r), "'result'");
}

static void test_stop_that_cancels_ends_calls_under_way(void **state) {
    (void)state;
    open_with(NULL);
    struct fake_reply *r = echo();
    fake_take(files, "tools/call");
    stop_all(true);
    assert_has(fake_text(r), "'error'");
    assert_non_null(fake_peek(files, "notifications/cancelled"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        harness_test(test_window_lets_its_maximum_pass_and_opens_again),
        harness_test(test_denial_says_when_to_try_again),
        harness_test(test_calls_under_way_are_counted_before_they_are_answered),
        harness_test(test_one_full_limit_takes_nothing_from_the_others),
        harness_test(test_shadow_limit_is_recorded_and_refuses_nothing),
        harness_test(test_result_keeps_the_count_even_when_it_says_error),
        harness_test(test_refund_never_keeps_the_count_of_an_error),
        harness_test(test_refund_proven_gives_back_what_the_server_cannot_have_done),
        harness_test(test_refund_proven_keeps_the_count_of_any_other_error),
        harness_test(test_refund_errors_is_bounded_by_the_maximum),
        harness_test(test_refund_goes_to_the_window_that_paid),
        harness_test(test_call_that_was_never_sent_gives_back),
        harness_test(test_lost_timed_out_and_cancelled_calls_count),
        harness_test(test_call_sent_twice_counts_once),
        harness_test(test_slot_is_taken_until_the_server_has_answered),
        harness_test(test_slot_is_free_after_an_error),
        harness_test(test_slot_is_free_when_the_server_has_died),
        harness_test(test_slot_is_free_after_the_time_out),
        harness_test(test_closed_session_keeps_its_slot_until_the_server_has_answered),
        harness_test(test_closed_session_keeps_its_slot_until_the_time_out),
        harness_test(test_closed_session_frees_its_slot_when_the_server_has_died),
        harness_test(test_disconnected_call_keeps_its_slot_until_the_server_has_answered),
        harness_test(test_disconnected_call_of_a_modern_child_keeps_its_slot_until_it_has_answered),
        harness_test(test_disconnected_call_of_a_legacy_http_server_keeps_its_slot_until_it_has_answered),
        harness_test(test_disconnected_call_keeps_its_slot_until_the_time_out),
        harness_test(test_disconnected_call_frees_its_slot_when_the_server_has_died),
        harness_test(test_disconnected_call_of_a_closed_stream_keeps_its_slot_until_the_time_out),
        harness_test(test_closed_session_ends_with_a_removed_server),
        harness_test(test_session_without_slots_closes_immediately),
        harness_test(test_gate_that_stops_does_not_wait_for_closed_sessions),
        harness_test(test_denied_call_takes_no_slot),
        harness_test(test_counts_belong_to_the_grant_unless_the_policy_says_otherwise),
        harness_test(test_global_counts_are_everybodys),
        harness_test(test_session_counts_end_with_the_session),
        harness_test(test_counters_outlive_a_reload),
        harness_test(test_policy_swapped_under_way_settles_by_the_old_one),
        harness_test(test_repetition_is_counted_by_canonical_arguments),
        harness_test(test_stopped_gate_refuses_before_the_policy_is_asked),
        harness_test(test_stop_lets_calls_under_way_finish_unless_it_says_otherwise),
        harness_test(test_stop_that_cancels_ends_calls_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
