/* A session's connections to its servers: opened at the first need, opened again after a failure, initialised
 * anew. */
#include "harness.h"

#include "channel/health.h"
#include "many/sweep.h"

static struct harness *h;
static struct fake_server *server;
static struct fake_client *agent;

static void open_with(enum fake_speaks speaks) {
    h = harness_open(NULL);
    server = harness_server(h, "files", speaks);
}

static const char *hello(size_t nth) {
    for (size_t i = 0; i < server->heard_count; i++)
        if (strcmp(server->heard[i]->method, "initialize") == 0 && nth-- == 0)
            return server->heard[i]->text;
    return NULL;
}

static void test_nothing_is_opened_before_the_first_message(void **state) {
    (void)state;
    open_with(FAKE_LEGACY);
    agent = harness_modern(h, server);
    assert_int_equal(server->opened, 0);
    fake_call(agent, "1", "echo", "{}");
    assert_int_equal(server->opened >= 1, 1);
}

static void test_initialize_of_a_legacy_client_passes_as_it_is(void **state) {
    (void)state;
    open_with(FAKE_LEGACY);
    agent = harness_client(h, server, false, NULL, "{'roots':{'listChanged':true}}");
    assert_has(hello(0),
               "'params':{'protocolVersion':'2025-11-25','capabilities':{'roots':{'listChanged':true}},"
               "'clientInfo':{'name':'agent','version':'1'}}");
    assert_int_equal(fake_count(server, "notifications/initialized"), 1);
}

static void test_restarted_server_is_initialised_with_the_clients_own_words(void **state) {
    (void)state;
    open_with(FAKE_LEGACY);
    agent = harness_client(h, server, false, NULL, "{'sampling':{}}");
    fake_die(server, "it ended");
    struct fake_reply *r = fake_call(agent, "1", "echo", "{}");
    harness_advance(h, 1000);
    assert_int_equal(server->opened, 2);
    assert_has(hello(1), "'sampling':{}");
    assert_int_equal(fake_count(server, "notifications/initialized"), 2);
    fake_answer(fake_take(server, "tools/call"), "{'content':[]}");
    assert_has(fake_text(r), "'id':1,'result'");
}

static void test_calls_wait_for_a_handshake_and_pass_in_their_order(void **state) {
    (void)state;
    open_with(FAKE_LEGACY);
    agent = harness_legacy(h, server);
    fake_die(server, "it ended");
    server->by_hand = true;
    for (int i = 0; i < 3; i++)
        fake_call(agent, arena_printf(&h->arena, "%d", i).ptr, "echo",
                  arena_printf(&h->arena, "{'n':%d}", i).ptr);
    harness_advance(h, 1000);
    assert_int_equal(fake_count(server, "tools/call"), 0);
    fake_answer(fake_take(server, "initialize"),
                "{'protocolVersion':'2025-11-25','capabilities':{},'serverInfo':{'name':'x','version':'1'}}");
    for (int i = 0; i < 3; i++)
        assert_has(fake_take(server, "tools/call")->text, arena_printf(&h->arena, "{'n':%d}", i).ptr);
}

static void test_refused_handshake_fails_what_waits_for_it(void **state) {
    (void)state;
    open_with(FAKE_LEGACY);
    agent = harness_legacy(h, server);
    fake_die(server, "it ended");
    server->by_hand = true;
    struct fake_reply *r = fake_call(agent, "1", "echo", "{}");
    harness_advance(h, 1000);
    fake_error(fake_take(server, "initialize"), -32000, "not today");
    fake_error(fake_take(server, "server/discover"), -32601, "Method not found");
    assert_has(fake_text(r), "server `files` refused to be initialised");
    assert_int_equal(fake_count(server, "tools/call"), 0);
}

static void test_back_off_grows_with_each_failure(void **state) {
    (void)state;
    open_with(FAKE_LEGACY);
    agent = harness_legacy(h, server);
    server->refuses_links = true;
    fake_die(server, "it ended");
    uint32_t before = server->opened;
    struct fake_reply *r = fake_call(agent, "1", "echo", "{}");
    harness_advance(h, 400);
    assert_int_equal(server->opened, before + 1);
    assert_has(fake_text(r), "the server cannot be started");
    r = fake_call(agent, "2", "echo", "{}");
    harness_advance(h, 300);
    assert_int_equal(server->opened, before + 1); /* twice as long now */
    harness_advance(h, 500);
    assert_int_equal(server->opened, before + 2);
    assert_true(r->over);
}

static void test_server_that_ran_long_starts_again_soon(void **state) {
    (void)state;
    open_with(FAKE_LEGACY);
    agent = harness_legacy(h, server);
    for (int i = 0; i < 4; i++) {
        harness_advance(h, 15000);
        fake_die(server, "it ended");
        fake_call(agent, arena_printf(&h->arena, "%d", i).ptr, "echo", "{}");
        harness_advance(h, 500);
        assert_non_null(server->link);
    }
}

static void test_child_that_does_not_survive_the_probe_is_legacy(void **state) {
    (void)state;
    open_with(FAKE_LEGACY);
    server->by_hand = true;
    agent = harness_modern(h, server);
    struct fake_reply *r = fake_call(agent, "1", "echo", "{}");
    fake_take(server, "server/discover");
    server->by_hand = false;
    fake_die(server, "it crashed");
    harness_advance(h, 1000);
    assert_int_equal(fake_count(server, "initialize"), 1);
    fake_answer(fake_take(server, "tools/call"), "{'content':[]}");
    assert_has(fake_text(r), "'resultType':'complete'");
}

static void test_silence_on_the_probe_means_legacy(void **state) {
    (void)state;
    open_with(FAKE_LEGACY);
    server->by_hand = true;
    agent = harness_modern(h, server);
    fake_call(agent, "1", "echo", "{}");
    fake_take(server, "server/discover");
    server->by_hand = false;
    harness_advance(h, UP_ERA_ASK_MS + 1000);
    assert_int_equal(fake_count(server, "initialize"), 1);
    assert_non_null(fake_peek(server, "tools/call"));
}

static void test_server_that_is_busy_is_not_sent_more(void **state) {
    (void)state;
    open_with(FAKE_LEGACY);
    agent = harness_legacy(h, server);
    server->busy = true;
    fake_call(agent, "1", "echo", "{}");
    assert_int_equal(fake_count(server, "tools/call"), 0);
    server->busy = false;
    server->link->events->drained(server->link->owner);
    assert_non_null(fake_peek(server, "tools/call"));
}

static void test_health_check_restarts_a_server_that_does_not_answer(void **state) {
    (void)state;
    open_with(FAKE_LEGACY);
    server->server->health_ms = 5000;
    server->server->health_timeout_ms = 2000;
    agent = harness_legacy(h, server);
    sweep_start(&h->core);
    server->by_hand = true;
    for (int i = 0; i < 10; i++)
        harness_advance(h, 1000);
    assert_true(fake_count(server, "ping") >= 1);
    server->by_hand = false;
    for (int i = 0; i < 5; i++)
        harness_advance(h, 1000);
    assert_true(server->opened >= 2);
    assert_true(server->server->health_misses >= 1);
}

static void test_health_check_that_any_answer_passes(void **state) {
    (void)state;
    open_with(FAKE_LEGACY);
    server->server->health_ms = 5000;
    server->server->health_timeout_ms = 2000;
    agent = harness_legacy(h, server);
    sweep_start(&h->core);
    for (int i = 0; i < 30; i++)
        harness_advance(h, 1000);
    assert_true(fake_count(server, "ping") >= 2);
    assert_int_equal(server->opened, 1);
    assert_int_equal(server->server->health_misses, 0);
}

static void test_idle_server_rests_until_the_next_call(void **state) {
    (void)state;
    open_with(FAKE_LEGACY);
    server->server->idle_ms = 10000;
    agent = harness_legacy(h, server);
    sweep_start(&h->core);
    fake_call(agent, "1", "echo", "{}");
    fake_answer(fake_take(server, "tools/call"), "{'content':[]}");
    for (int i = 0; i < 15; i++)
        harness_advance(h, 1000);
    assert_int_equal(server->open_count, 0);
    struct fake_reply *r = fake_call(agent, "2", "echo", "{}");
    fake_answer(fake_take(server, "tools/call"), "{'content':[]}");
    assert_has(fake_text(r), "'result'");
}

#define HELLO "'protocolVersion':'2025-11-25','capabilities':{},'clientInfo':{'name':'agent','version':'1'}"

static void test_one_grant_does_not_take_all_processes(void **state) {
    (void)state;
    cleanup_principal struct principal *greedy = principal_new(PRINCIPAL_GRANT, "grant:greedy");
    cleanup_principal struct principal *modest = principal_new(PRINCIPAL_GRANT, "grant:modest");
    open_with(FAKE_LEGACY);
    h->core.channels->processes_max = 6;
    struct fake_client *first = harness_client(h, server, false, greedy, NULL);
    for (int i = 0; i < 5; i++)
        agent = harness_client(h, server, false, greedy, NULL);
    assert_int_equal(server->open_count, 3);
    assert_has(fake_text(fake_request(agent, "1", "initialize", HELLO)),
               "server `files` cannot be started: this grant has 3 server processes, as many as it may have");
    /* Another grant finds room, also after the first has taken all that it gets. */
    for (int i = 0; i < 3; i++)
        harness_client(h, server, false, modest, NULL);
    assert_int_equal(server->open_count, 5);
    /* Its processes go on; one that has ended makes room for another one. */
    struct fake_reply *r = fake_call(first, "2", "echo", "{}");
    fake_answer(fake_take(server, "tools/call"), "{'content':[]}");
    assert_has(fake_text(r), "'result'");
    fake_leave(first);
    h->core.channels->processes_max = 8;
    assert_has(fake_text(fake_request(agent, "3", "initialize", HELLO)), "'result'");
    assert_int_equal(server->open_count, 5);
    for (size_t i = 0; i < h->client_count; i++)
        if (h->clients[i]->session)
            fake_leave(h->clients[i]);
    assert_int_equal(h->core.up.process_count, 0);
}

static void test_processes_per_grant(void **state) {
    (void)state;
    cleanup_principal struct principal *who = principal_new(PRINCIPAL_GRANT, "grant:who");
    open_with(FAKE_LEGACY);
    h->core.channels->grant_processes_max = 2;
    for (int i = 0; i < 4; i++)
        agent = harness_client(h, server, false, who, NULL);
    assert_int_equal(server->open_count, 2);
    assert_has(fake_text(fake_request(agent, "1", "initialize", HELLO)), "sessions.processes_per_grant");
    /* Servers over HTTP take no process, and a gate without authentication has one client. */
    struct fake_server *http = harness_server(h, "far", FAKE_LEGACY_HTTP);
    for (int i = 0; i < 4; i++)
        harness_client(h, http, false, who, NULL);
    assert_int_equal(http->open_count, 4);
    for (int i = 0; i < 4; i++)
        harness_legacy(h, server);
    assert_int_equal(server->open_count, 6);
}

static void test_all_processes_are_taken(void **state) {
    (void)state;
    open_with(FAKE_LEGACY);
    h->core.channels->processes_max = 2;
    for (int i = 0; i < 3; i++)
        agent = harness_legacy(h, server);
    assert_int_equal(server->open_count, 2);
    assert_has(fake_text(fake_request(agent, "1", "initialize", HELLO)),
               "2 server processes are running, as many as there may be");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        harness_test(test_nothing_is_opened_before_the_first_message),
        harness_test(test_initialize_of_a_legacy_client_passes_as_it_is),
        harness_test(test_restarted_server_is_initialised_with_the_clients_own_words),
        harness_test(test_calls_wait_for_a_handshake_and_pass_in_their_order),
        harness_test(test_refused_handshake_fails_what_waits_for_it),
        harness_test(test_back_off_grows_with_each_failure),
        harness_test(test_server_that_ran_long_starts_again_soon),
        harness_test(test_child_that_does_not_survive_the_probe_is_legacy),
        harness_test(test_silence_on_the_probe_means_legacy),
        harness_test(test_server_that_is_busy_is_not_sent_more),
        harness_test(test_health_check_restarts_a_server_that_does_not_answer),
        harness_test(test_health_check_that_any_answer_passes),
        harness_test(test_idle_server_rests_until_the_next_call),
        harness_test(test_one_grant_does_not_take_all_processes),
        harness_test(test_processes_per_grant),
        harness_test(test_all_processes_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
