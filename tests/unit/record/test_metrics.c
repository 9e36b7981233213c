/* What is counted of a call, and what the log has of arguments and shadow verdicts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "call/call.h"
#include "record/metrics.h"
#include "record/record.h"
#include "server/server.h"

#include <stdio.h>
#include <string.h>

static struct io_loop loop;
static struct core core;
static struct session session;
static struct server server;

static int set_up(void **state) {
    (void)state;
    io_loop_init(&loop);
    core = (struct core){.up = {.loop = &loop}};
    msg_pool_init(&core.up.msgs);
    buf_init(&core.scratch, MSG_BYTES_MAX);
    core.metrics = metrics_new();
    session = (struct session){.core = &core};
    server = (struct server){.up = {.name = "files"}};
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    metrics_free(core.metrics);
    buf_free(&core.scratch);
    msg_pool_free(&core.up.msgs);
    io_loop_free(&loop);
    return 0;
}

static void count(const char *tool, enum policy_outcome verdict, const char *outcome, uint64_t latency_us) {
    struct msg *m = call_read_text(&core, SLICE("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}"));
    struct call c = {.session = &session,
                     .server = &server,
                     .kind = CALL_TOOLS_CALL,
                     .method = SLICE("tools/call"),
                     .name = slice_str(tool),
                     .request = m,
                     .response = verdict == POLICY_ALLOW ? m : NULL,
                     .sent = verdict == POLICY_ALLOW,
                     .denied = verdict == POLICY_DENY,
                     .verdict = {.outcome = verdict}};
    metrics_count(core.metrics, &c, outcome, latency_us);
    msg_unref(m);
}

static uint64_t outcomes_of(const struct metrics_cell *cell, const char *name) {
    for (size_t i = 0; i < METRICS_OUTCOMES; i++)
        if (strcmp(metrics_outcome_names[i], name) == 0)
            return cell->outcomes[i];
    fail_msg("there is no outcome %s", name);
    return 0;
}

static void test_calls_are_counted_by_tool_verdict_and_outcome(void **state) {
    (void)state;
    count("echo", POLICY_ALLOW, "ok", 100);
    count("echo", POLICY_ALLOW, "tool_error", 200);
    count("echo", POLICY_DENY, "denied", 0);
    count("wipe", POLICY_ALLOW, "ok", 100);
    assert_int_equal(core.metrics->count, 2);
    const struct metrics_cell *echo = core.metrics->first;
    assert_true(slice_is(echo->tool, "echo"));
    assert_int_equal(echo->verdicts[POLICY_ALLOW], 2);
    assert_int_equal(echo->verdicts[POLICY_DENY], 1);
    assert_int_equal(outcomes_of(echo, "ok"), 1);
    assert_int_equal(outcomes_of(echo, "tool_error"), 1);
}

static void test_every_call_falls_into_one_bucket(void **state) {
    (void)state;
    for (size_t i = 0; i < METRICS_BUCKETS; i++) {
        count("echo", POLICY_ALLOW, "ok", metrics_bucket_us[i]);
        assert_true(i == 0 || metrics_bucket_us[i] > metrics_bucket_us[i - 1]);
    }
    count("echo", POLICY_ALLOW, "ok", (uint64_t)metrics_bucket_us[METRICS_BUCKETS - 1] + 1);
    uint64_t sum = 0;
    for (size_t i = 0; i <= METRICS_BUCKETS; i++)
        sum += core.metrics->first->latency[i];
    assert_int_equal(sum, METRICS_BUCKETS + 1);
    assert_int_equal(core.metrics->first->latency[METRICS_BUCKETS], 1);
}

static void test_names_of_agents_fill_no_memory(void **state) {
    (void)state;
    char name[32];
    size_t before = 0;
    for (int i = 0; i < 100000 && core.metrics->rest.verdicts[POLICY_ALLOW] == 0; i++) {
        snprintf(name, sizeof(name), "tool-%d", i);
        count(name, POLICY_ALLOW, "ok", 1);
        before = core.metrics->count;
    }
    assert_int_equal(core.metrics->rest.verdicts[POLICY_ALLOW], 1);
    count("one-more", POLICY_ALLOW, "ok", 1);
    assert_int_equal(core.metrics->count, before);
    assert_int_equal(core.metrics->rest.verdicts[POLICY_ALLOW], 2);
}

static struct slice arguments(enum audit_args_mode mode, const char *json, struct arena *a) {
    static struct tape t;
    tape_init(&t);
    assert_int_equal(tape_parse(&t, slice_str(json), NULL), TAPE_OK);
    core.audit_args = mode;
    struct slice text = arena_dup(a, record_arguments(&session, &server, &t, 0, a));
    tape_free(&t);
    return text;
}

static void test_log_has_the_names_of_arguments_unless_it_is_told_to_have_all(void **state) {
    (void)state;
    cleanup_arena struct arena a;
    arena_init(&a);
    struct tape t;
    tape_init(&t);
    assert_int_equal(tape_parse(&t, SLICE("{\"x\":{\"path\":\"/etc\",\"n\":[1,2]}}"), NULL), TAPE_OK);
    uint32_t args = tape_get_str(&t, 0, "x");
    core.audit_args = AUDIT_ARGS_KEYS;
    assert_true(slice_is(record_arguments(&session, &server, &t, args, &a), "[\"path\",\"n\"]"));
    assert_true(slice_is(record_arguments(&session, &server, &t, 0, &a), "[]"));
    core.audit_args = AUDIT_ARGS_FULL;
    assert_true(
        slice_is(record_arguments(&session, &server, &t, args, &a), "{\"path\":\"/etc\",\"n\":[1,2]}"));
    tape_free(&t);
    assert_true(slice_is(arguments(AUDIT_ARGS_KEYS, "{}", &a), "[]"));
}

static void test_shadow_verdicts_are_a_list(void **state) {
    (void)state;
    cleanup_arena struct arena a;
    arena_init(&a);
    struct policy_verdict v = {0};
    assert_int_equal(record_shadows(&v, &a).len, 0);
    struct policy_shadow noted = {
        .outcome = POLICY_DENY, .rule = SLICE("a \"rule\""), .pointer = SLICE("/x")};
    v.shadows = &noted;
    v.shadow_count = 1;
    assert_true(slice_is(record_shadows(&v, &a),
                         "[{\"verdict\":\"deny\",\"rule\":\"a \\\"rule\\\"\",\"pointer\":\"/x\"}]"));
}

static void test_refusal_without_a_log_is_no_error(void **state) {
    (void)state;
    static const struct principal who = {.id = "local", .grant = ""};
    record_refusal(&core, &(struct refusal){.kind = REFUSAL_MALFORMED, .who = &who, .why = SLICE("no JSON")});
    assert_null(core.audit);
}

#define record_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        record_test(test_calls_are_counted_by_tool_verdict_and_outcome),
        record_test(test_every_call_falls_into_one_bucket),
        record_test(test_names_of_agents_fill_no_memory),
        record_test(test_log_has_the_names_of_arguments_unless_it_is_told_to_have_all),
        record_test(test_shadow_verdicts_are_a_list),
        record_test(test_refusal_without_a_log_is_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
