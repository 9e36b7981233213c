/* What is known of a server's eras, and for how long. */
#include "io/loop.h"
#include "upstream/limits.h"
#include "upstream/link.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct io_loop loop;
static struct up_core core;
static struct up_server server;

static int setup(void **state) {
    (void)state;
    io_loop_init(&loop);
    core = (struct up_core){.loop = &loop};
    up_server_init(&server, &core);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    io_loop_free(&loop);
    return 0;
}

static void pass(uint64_t ms) { loop.uv.time += ms; }

static void test_modern_is_asked_again(void **state) {
    (void)state;
    assert_false(up_era_fresh(&server, false));
    up_era_note(&server, UP_YES, UP_UNKNOWN);
    assert_true(up_era_fresh(&server, false));
    assert_false(up_era_fresh(&server, true)); /* whether it also supports the legacy era is not known */
    up_era_note(&server, UP_YES, UP_NO);
    assert_true(up_era_fresh(&server, true));
    pass(UP_ERA_MODERN_MS - 1);
    assert_true(up_era_fresh(&server, true));
    pass(1);
    assert_false(up_era_fresh(&server, true));
}

static void test_legacy_is_asked_again_sooner(void **state) {
    (void)state;
    up_era_note(&server, UP_NO, UP_UNKNOWN);
    assert_true(up_era_fresh(&server, true));
    pass(UP_ERA_LEGACY_MS);
    assert_false(up_era_fresh(&server, false));
    up_era_note(&server, UP_YES, UP_UNKNOWN); /* it has learned */
    assert_true(up_era_fresh(&server, false));
    assert_true(server.era.modern == UP_YES && server.era.legacy == UP_YES);
}

static void test_pinned_is_never_asked(void **state) {
    (void)state;
    server.era.pinned = true;
    server.era.modern = UP_NO;
    up_era_note(&server, UP_YES, UP_YES);
    pass(UP_ERA_MODERN_MS);
    assert_true(up_era_fresh(&server, true));
    assert_int_equal(server.era.modern, UP_NO);
}

static void read_message(struct tape *tape, struct rpc *rpc, const char *text) {
    const char *why;
    assert_int_equal(tape_parse(tape, slice_str(text), NULL), TAPE_OK);
    assert_int_equal(rpc_read(tape, rpc, &why), 0);
}

static void test_judge(void **state) {
    (void)state;
    bool again;
    cleanup_tape struct tape tape;
    struct rpc rpc;
    tape_init(&tape);
    read_message(&tape, &rpc,
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"supportedVersions\":[\"2026-07-28\"]}}");
    assert_int_equal(up_era_judge(200, &tape, &rpc, &again), UP_YES);
    read_message(
        &tape, &rpc,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"message\":\"\",\"data\":{\"supported\":["
        "\"2026-07-28\"]}}}");
    assert_int_equal(up_era_judge(400, &tape, &rpc, &again), UP_YES);
    assert_true(again);
    read_message(&tape, &rpc,
                 "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,\"message\":\"Server not "
                 "initialized\"}}");
    assert_int_equal(up_era_judge(400, &tape, &rpc, &again), UP_NO);
    /* What says nothing about eras: U1. */
    const int statuses[] = {301, 401, 403, 407, 408, 425, 429, 500, 502, 503, 504};
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        assert_int_equal(up_era_judge(statuses[i], &tape, &rpc, &again), UP_UNKNOWN);
        assert_int_equal(up_era_judge(statuses[i], &tape, NULL, &again), UP_UNKNOWN);
    }
    assert_int_equal(up_era_judge(404, &tape, NULL, &again), UP_NO);
    assert_int_equal(up_era_judge(405, &tape, NULL, &again), UP_NO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_modern_is_asked_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_legacy_is_asked_again_sooner, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pinned_is_never_asked, setup, teardown),
        cmocka_unit_test(test_judge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
