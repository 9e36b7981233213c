/* The engine alone, with a table of toy steps: only what steps return moves a call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "call/answer.h"
#include "call/call.h"
#include "call/client_ask.h"

#include <string.h>

static struct io_loop loop;
static struct core core;
static struct session session;
static struct principal *who;

/* ---- toy steps: each writes its letter and does what the script says next ---- */

static char trace[64];
static const enum call_next *script; /* one entry for each visit of `work`; then CALL_NEXT */
static size_t script_left;
static size_t ended, cancelled;
static bool paused;
static char reason[64];

static enum call_next visit(char letter) {
    size_t len = strlen(trace);
    assert_true(len + 1 < sizeof(trace));
    trace[len] = letter;
    trace[len + 1] = '\0';
    return CALL_NEXT;
}

static enum call_next step_first(struct call *c) {
    c->id_raw = c->request->rpc.id ? tape_raw(&c->request->tape, c->request->rpc.id) : (struct slice){0};
    return visit('1');
}
static enum call_next step_judge(struct call *c) {
    (void)c;
    return visit('j');
}
static enum call_next step_send(struct call *c) {
    (void)c;
    return visit('s');
}
static enum call_next step_work(struct call *c) {
    (void)c;
    visit('w');
    if (!script_left)
        return CALL_NEXT;
    script_left--;
    return *script++;
}
static enum call_next step_filter(struct call *c) {
    visit('f');
    if (c->response)
        answer_set_response(c, 0);
    return CALL_NEXT;
}
static enum call_next step_settle(struct call *c) {
    (void)c;
    return visit('x');
}
static enum call_next step_reply(struct call *c) {
    visit('r');
    call_reply(c);
    return CALL_NEXT;
}

static void on_end(struct call *c) {
    (void)c;
    ended++;
}
static void on_cancel(struct call *c, struct slice why) {
    (void)c;
    cancelled++;
    memcpy(reason, why.ptr, why.len);
    reason[why.len] = '\0';
}
static void on_pause(struct call *c, bool on) {
    (void)c;
    paused = on;
}

enum { FIRST, JUDGE, SEND, WORK, FILTER, SETTLE, REPLY, COUNT };
static const struct call_step steps[COUNT] = {
    {"first", step_first},   {"judge", step_judge},   {"send", step_send},  {"work", step_work},
    {"filter", step_filter}, {"settle", step_settle}, {"reply", step_reply}};
static void (*const ends[])(struct call *) = {on_end, NULL};
static const struct call_walk walk = {.steps = steps,
                                      .count = COUNT,
                                      .fail = SETTLE,
                                      .done = REPLY,
                                      .judge = JUDGE,
                                      .gather = WORK,
                                      .answered = FILTER,
                                      .resend = SEND,
                                      .ends = ends,
                                      .cancel = on_cancel,
                                      .pause = on_pause};

/* ---- a sink ---- */

static char replied[256];
static size_t reply_count, none_count;

static void on_reply(struct call_sink *sink, const struct session_out *out) {
    (void)sink;
    cleanup_buf struct buf text;
    buf_init(&text, sizeof(replied) - 1);
    assert_true(splice_write(out->text, &text));
    memcpy(replied, text.ptr, text.len);
    replied[text.len] = '\0';
    reply_count++;
}
static void on_event(struct call_sink *sink, const struct session_out *out) {
    on_reply(sink, out), reply_count--;
}
static void on_streaming(struct call_sink *sink, int64_t retry_ms, bool left) {
    (void)sink, (void)retry_ms, (void)left;
}
static void on_none(struct call_sink *sink) {
    (void)sink;
    none_count++;
}
static const struct call_sink_ops sink_ops = {on_reply, on_event, on_streaming, on_none};
static struct call_sink sink;

static int set_up(void **state) {
    (void)state;
    io_loop_init(&loop);
    core = (struct core){.up = {.loop = &loop}, .walk = &walk};
    msg_pool_init(&core.up.msgs);
    buf_init(&core.scratch, MSG_BYTES_MAX);
    list_init(&core.sessions);
    map_init(&core.trails);
    who = principal_new(PRINCIPAL_LOCAL, "local");
    session = (struct session){.core = &core, .principal = who};
    list_init(&session.calls);
    map_init(&session.by_id);
    slots_init(&session.asks);
    sink = (struct call_sink){.ops = &sink_ops};
    trace[0] = replied[0] = reason[0] = '\0';
    script = NULL;
    script_left = ended = cancelled = reply_count = none_count = 0;
    paused = false;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    while (!list_empty(&session.calls))
        call_cancel(container_of(session.calls.next, struct call, node), "the test is over");
    client_ask_drop(&session, NULL);
    slots_free(&session.asks);
    map_free(&session.by_id);
    call_pool_free(&core);
    trail_free_all(&core);
    msg_pool_free(&core.up.msgs);
    buf_free(&core.scratch);
    principal_unref(who);
    io_loop_free(&loop);
    return 0;
}

static struct msg *message(const char *text) {
    struct msg *m = call_read_text(&core, slice_str(text));
    assert_non_null(m);
    return m;
}

#define PLAY(...)                                                                                            \
    static const enum call_next plays[] = {__VA_ARGS__};                                                     \
    script = plays;                                                                                          \
    script_left = sizeof(plays) / sizeof(*plays)

static struct call *start(void) {
    struct msg *m = message("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x\",\"params\":{}}");
    call_start(&session, m, &sink);
    msg_unref(m);
    return list_empty(&session.calls) ? NULL : container_of(session.calls.next, struct call, node);
}

/* ---- transitions ---- */

static void test_steps_run_in_their_order_and_the_call_is_freed(void **state) {
    (void)state;
    assert_null(start());
    assert_string_equal(trace, "1jswfxr");
    assert_int_equal(ended, 1);
    assert_int_equal(none_count, 1); /* no step set an answer */
    assert_int_equal(core.calls_under_way, 0);
}

static void test_waiting_call_runs_the_same_step_again_when_it_is_resumed(void **state) {
    (void)state;
    PLAY(CALL_WAIT, CALL_WAIT, CALL_NEXT);
    struct call *c = start();
    assert_string_equal(trace, "1jsw");
    call_resume(c);
    assert_string_equal(trace, "1jsww");
    call_resume(c);
    assert_string_equal(trace, "1jswwwfxr");
}

static void test_failed_call_skips_to_settling(void **state) {
    (void)state;
    PLAY(CALL_FAIL);
    start();
    assert_string_equal(trace, "1jswxr");
}

static void test_done_call_has_nothing_to_settle(void **state) {
    (void)state;
    PLAY(CALL_DONE);
    start();
    assert_string_equal(trace, "1jswr");
}

static void test_judging_again_drops_the_policy_and_the_definition(void **state) {
    (void)state;
    PLAY(CALL_WAIT, CALL_JUDGE_AGAIN, CALL_WAIT);
    struct call *c = start();
    cleanup_problems struct policy_problems problems;
    policy_problems_init(&problems);
    struct policy *policy = NULL;
    assert_int_equal(policy_load(SLICE("{\"version\":\"1\",\"default\":\"allow\"}"), "p", &policy, &problems),
                     0);
    call_set_policy(c, policy);
    call_set_definition(c, "abc", POLICY_CLASS_UNKNOWN);
    policy_unref(policy);
    call_resume(c);
    assert_string_equal(trace, "1jswwjsw");
    assert_null(c->policy);
    assert_int_equal(c->fingerprint.len, 0);
}

static void test_gather_and_answered_lead_to_their_steps(void **state) {
    (void)state;
    PLAY(CALL_GATHER, CALL_ANSWERED);
    start();
    assert_string_equal(trace, "1jswwfxr");
}

static void test_resending_forgets_the_response(void **state) {
    (void)state;
    PLAY(CALL_WAIT, CALL_RESEND, CALL_WAIT);
    struct call *c = start();
    struct msg *m = message("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    call_answer(c, m);
    msg_unref(m);
    assert_string_equal(trace, "1jswwsw");
    assert_null(c->response);
    assert_null(c->answer);
}

static void test_wait_resend_goes_on_with_sending(void **state) {
    (void)state;
    PLAY(CALL_WAIT_RESEND, CALL_NEXT);
    struct call *c = start();
    assert_string_equal(trace, "1jsw");
    call_resume(c);
    assert_string_equal(trace, "1jswswfxr");
}

static void test_event_from_outside_resends_or_concludes(void **state) {
    (void)state;
    PLAY(CALL_WAIT, CALL_WAIT);
    struct call *c = start();
    call_resend(c);
    assert_string_equal(trace, "1jswsw");
    call_conclude(c);
    assert_string_equal(trace, "1jswswxr");
}

static void test_rewound_call_resends_when_it_is_resumed(void **state) {
    (void)state;
    PLAY(CALL_WAIT, CALL_NEXT);
    struct call *c = start();
    call_rewind(c);
    assert_string_equal(trace, "1jsw");
    call_resume(c);
    assert_string_equal(trace, "1jswswfxr");
}

/* ---- answers ---- */

static void test_answer_reaches_the_sink_once(void **state) {
    (void)state;
    PLAY(CALL_WAIT);
    struct call *c = start();
    assert_ptr_equal(sink.call, c);
    struct msg *m = message("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1}}");
    call_answer(c, m);
    msg_unref(m);
    assert_int_equal(reply_count, 1);
    assert_string_equal(replied, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1}}");
    assert_null(sink.call);
}

static void test_refusal_has_the_clients_id(void **state) {
    (void)state;
    PLAY(CALL_WAIT);
    struct call *c = start();
    answer_fail(c, "say \"no\"");
    assert_string_equal(
        replied, "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32603,\"message\":\"say \\\"no\\\"\"}}");
    assert_string_equal(trace, "1jswxr");
}

static void test_error_with_data_is_one_object(void **state) {
    (void)state;
    PLAY(CALL_WAIT);
    struct call *c = start();
    answer_error_data(c, -32003, "wait", SLICE("{\"a\":[1]}"));
    call_conclude(c);
    assert_string_equal(
        replied, "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32003,\"message\":\"wait\",\"data\":{"
                 "\"a\":[1]}}}");
}

static void test_notification_has_no_sink(void **state) {
    (void)state;
    struct msg *m = message("{\"jsonrpc\":\"2.0\",\"method\":\"x\"}");
    call_start(&session, m, &sink);
    msg_unref(m);
    assert_string_equal(trace, "1jswfxr");
    assert_int_equal(reply_count + none_count, 0);
}

/* ---- an early end ---- */

static void test_cancelled_call_tells_the_server_and_answers_nothing(void **state) {
    (void)state;
    PLAY(CALL_WAIT);
    struct call *c = start();
    call_cancel(c, "enough");
    assert_int_equal(cancelled, 1);
    assert_string_equal(reason, "enough");
    assert_string_equal(trace, "1jswxr");
    assert_int_equal(none_count, 1);
    assert_int_equal(ended, 1);
}

static void test_stopped_call_gets_the_answer_that_it_is_given(void **state) {
    (void)state;
    PLAY(CALL_WAIT);
    struct call *c = start();
    call_stop(c, "stopped", answer_text(c, SLICE("{}")));
    assert_string_equal(replied, "{}");
}

static void test_orphan_goes_on_without_a_sink(void **state) {
    (void)state;
    PLAY(CALL_WAIT);
    struct call *c = start();
    call_pause(c, true);
    assert_true(paused);
    call_orphan(c);
    assert_false(paused); /* no client is slow any more */
    assert_null(sink.call);
    call_resume(c);
    assert_string_equal(trace, "1jswwfxr");
    assert_int_equal(reply_count + none_count, 0);
}

static void test_last_call_of_a_draining_gate(void **state) {
    (void)state;
    PLAY(CALL_WAIT, CALL_WAIT);
    struct call *one = start();
    assert_int_equal(core.calls_under_way, 1);
    core.draining = true;
    call_resume(one);
    call_cancel(one, "x");
    assert_int_equal(core.calls_under_way, 0);
}

static void test_calls_are_used_again_with_nothing_left_of_the_last_one(void **state) {
    (void)state;
    PLAY(CALL_WAIT, CALL_WAIT);
    struct call *one = start();
    call_set_outcome(one, "odd");
    call_set_denied(one, true);
    call_add_finding(one, SLICE("a"));
    call_add_finding(one, SLICE("b"));
    assert_true(slice_is(one->findings, "a; b"));
    call_cancel(one, "x");
    sink = (struct call_sink){.ops = &sink_ops};
    struct call *two = start();
    assert_ptr_equal(one, two);
    assert_null(two->outcome);
    assert_false(two->denied);
    assert_int_equal(two->findings.len, 0);
}

/* ---- ids, questions at the client, flow labels ---- */

static void test_ids_that_read_alike_are_told_apart(void **state) {
    (void)state;
    cleanup_arena struct arena a;
    arena_init(&a);
    struct msg *m = message("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}");
    struct msg *n = message("{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"method\":\"x\"}");
    struct msg *o = message("{\"jsonrpc\":\"2.0\",\"id\":\"\\u0031\",\"method\":\"x\"}");
    struct slice number = call_id_key(&m->tape, m->rpc.id, &a), text = call_id_key(&n->tape, n->rpc.id, &a);
    assert_false(slice_eq(number, text));
    assert_true(slice_eq(text, call_id_key(&o->tape, o->rpc.id, &a)));
    msg_unref(m), msg_unref(n), msg_unref(o);
}

static uint64_t answered_id;
static void on_answered(struct call *c, uint64_t id, struct msg *m) {
    (void)c, (void)m;
    answered_id = id;
}

static void test_question_of_the_gate_finds_its_answer(void **state) {
    (void)state;
    PLAY(CALL_WAIT);
    struct call *c = start();
    uint64_t id = 0;
    assert_true(client_ask(c, SLICE("roots/list"), SLICE("{}"), on_answered, &id));
    assert_non_null(strstr(replied, "\"method\":\"roots/list\""));
    char text[96];
    snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{}}", (unsigned long long)id);
    struct msg *m = message(text);
    struct client_ask *ask = client_ask_find(&session, m);
    assert_non_null(ask);
    assert_ptr_equal(ask->call, c);
    client_ask_free(&session, ask);
    assert_null(client_ask_find(&session, m));
    msg_unref(m);
}

static void test_questions_at_one_client_are_bounded(void **state) {
    (void)state;
    for (int i = 0; i < SESSION_ASKS_MAX; i++)
        assert_non_null(client_ask_add(&session, NULL, SLICE("1")));
    assert_null(client_ask_add(&session, NULL, SLICE("1")));
}

static void test_flow_labels_last_for_their_window(void **state) {
    (void)state;
    core.flow_window_ms = 1000;
    struct trail *t = trail_of(&core, "grant:a");
    assert_ptr_equal(t, trail_of(&core, "grant:a"));
    trail_add(t, 1u << 2, 5000);
    trail_add(t, 1u << 3, 5900);
    assert_int_equal(trail_labels(&core, t, 5900), 1u << 2 | 1u << 3);
    assert_int_equal(trail_labels(&core, t, 6500), 1u << 3);
    assert_int_equal(trail_labels(&core, trail_of(&core, "grant:b"), 5900), 0);
}

#define engine_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        engine_test(test_steps_run_in_their_order_and_the_call_is_freed),
        engine_test(test_waiting_call_runs_the_same_step_again_when_it_is_resumed),
        engine_test(test_failed_call_skips_to_settling),
        engine_test(test_done_call_has_nothing_to_settle),
        engine_test(test_judging_again_drops_the_policy_and_the_definition),
        engine_test(test_gather_and_answered_lead_to_their_steps),
        engine_test(test_resending_forgets_the_response),
        engine_test(test_wait_resend_goes_on_with_sending),
        engine_test(test_event_from_outside_resends_or_concludes),
        engine_test(test_rewound_call_resends_when_it_is_resumed),
        engine_test(test_answer_reaches_the_sink_once),
        engine_test(test_refusal_has_the_clients_id),
        engine_test(test_error_with_data_is_one_object),
        engine_test(test_notification_has_no_sink),
        engine_test(test_cancelled_call_tells_the_server_and_answers_nothing),
        engine_test(test_stopped_call_gets_the_answer_that_it_is_given),
        engine_test(test_orphan_goes_on_without_a_sink),
        engine_test(test_last_call_of_a_draining_gate),
        engine_test(test_calls_are_used_again_with_nothing_left_of_the_last_one),
        engine_test(test_ids_that_read_alike_are_told_apart),
        engine_test(test_question_of_the_gate_finds_its_answer),
        engine_test(test_questions_at_one_client_are_bounded),
        engine_test(test_flow_labels_last_for_their_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
