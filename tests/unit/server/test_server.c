/* Configured servers and what is known of them, without a single call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "call/call.h"
#include "server/limits.h"
#include "server/task_owner.h"
#include "server/visible.h"

static struct io_loop loop;
static struct core core;
static struct principal *alice, *bob;
static struct session of_alice, of_bob;

static struct server *add(const char *name) {
    struct server *s = server_new(&core);
    s->up.name = name;
    return s;
}

static int set_up(void **state) {
    (void)state;
    io_loop_init(&loop);
    core = (struct core){.up = {.loop = &loop}};
    task_owner_init(&core);
    alice = principal_new(PRINCIPAL_GRANT, "grant:alice");
    bob = principal_new(PRINCIPAL_GRANT, "grant:bob");
    of_alice = (struct session){.core = &core, .principal = alice};
    of_bob = (struct session){.core = &core, .principal = bob};
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (size_t i = 0; i < core.server_count; i++)
        if (core.servers[i])
            server_release(&core, core.servers[i]);
    free(core.servers);
    task_owner_free(&core);
    policy_unref(core.policy);
    policy_unref(core.no_policy);
    principal_unref(alice);
    principal_unref(bob);
    io_loop_free(&loop);
    return 0;
}

static struct policy *policy(const char *text) {
    cleanup_problems struct policy_problems problems;
    policy_problems_init(&problems);
    struct policy *p = NULL;
    assert_int_equal(policy_load(slice_str(text), "p", &p, &problems), 0);
    return p;
}

static void test_slot_of_a_removed_server_is_used_again(void **state) {
    (void)state;
    struct server *a = add("a"), *b = add("b");
    assert_int_equal(a->slot, 0);
    assert_int_equal(b->slot, 1);
    server_release(&core, a);
    assert_null(server_find(&core, SLICE("a")));
    assert_ptr_equal(server_find(&core, SLICE("b")), b);
    assert_int_equal(add("c")->slot, 0);
    assert_int_equal(core.server_count, 2);
}

static void test_new_server_is_not_taken_for_the_one_whose_slot_it_has(void **state) {
    (void)state;
    struct server *a = add("a");
    uint32_t changes = a->tools_changes;
    server_release(&core, a);
    assert_int_not_equal(add("a")->tools_changes, changes);
}

static void test_origin_tells_servers_of_one_name_apart(void **state) {
    (void)state;
    struct server *a = add("db"), *b = add("db"), *c = add("db");
    char *one[] = {(char[]){"npx"}, (char[]){"server"}, NULL}, *two[] = {(char[]){"npx server"}, NULL};
    server_set_origin(a, one, NULL);
    server_set_origin(b, two, NULL);
    server_set_origin(c, NULL, "https://db.example/mcp");
    assert_string_not_equal(a->origin, b->origin);
    assert_string_not_equal(a->origin, c->origin);
    assert_memory_equal(a->origin, "db#", 3);
}

static void test_most_specific_policy_counts(void **state) {
    (void)state;
    struct server *a = add("a");
    struct policy *none = server_policy(&of_alice, a);
    assert_non_null(none); /* refuses nearly everything */
    core.policy = policy("{\"version\":\"1\",\"default\":\"allow\"}");
    assert_ptr_equal(server_policy(&of_alice, a), core.policy);
    a->policy = policy("{\"version\":\"1\",\"default\":\"deny\",\"tools\":{}}");
    assert_ptr_equal(server_policy(&of_alice, a), a->policy);
    assert_ptr_equal(server_policy(&of_alice, NULL), core.policy);
    alice->policy = policy("{\"version\":\"1\",\"default\":\"allow\"}");
    assert_ptr_equal(server_policy(&of_alice, a), alice->policy);
    assert_ptr_equal(server_policy(&of_bob, a), a->policy);
}

static void test_without_a_policy_no_tool_is_called(void **state) {
    (void)state;
    struct server *a = add("a");
    cleanup_arena struct arena arena;
    arena_init(&arena);
    struct policy_verdict v;
    cleanup_tape struct tape t;
    tape_init(&t);
    assert_int_equal(tape_parse(&t, SLICE("{}"), NULL), TAPE_OK);
    struct policy_facts facts = {.method = SLICE("tools/call"), .tool = SLICE("anything"), .tape = &t};
    policy_decide(server_policy(&of_alice, a), &facts, &arena, NULL, &v);
    assert_int_equal(v.outcome, POLICY_DENY);
}

static void learn(struct server *s, const char *description) {
    cleanup_tape struct tape t;
    tape_init(&t);
    assert_int_equal(tape_parse(&t, slice_str(description), NULL), TAPE_OK);
    server_learn_description(s, &t, 0);
}

static void test_capabilities_are_unknown_until_they_are_said(void **state) {
    (void)state;
    struct server *a = add("a");
    assert_true(server_offers(a, "prompts")); /* it may be asked */
    learn(a, "{\"capabilities\":{\"tools\":{}},\"instructions\":\"be kind\"}");
    assert_true(server_offers(a, "tools"));
    assert_false(server_offers(a, "prompts"));
    assert_string_equal(a->description.instructions, "\"be kind\"");
    learn(a, "{\"capabilities\":[]}"); /* no description: the one before stays */
    assert_true(server_offers(a, "tools"));
    learn(a, "{\"capabilities\":{\"prompts\":{}}}");
    assert_false(server_offers(a, "tools"));
    assert_null(a->description.instructions);
}

static void test_visible_servers_are_those_of_the_session_and_its_principal(void **state) {
    (void)state;
    struct server *a = add("alpha"), *b = add("beta");
    static const char *const servers[] = {"al*"};
    alice->servers = servers;
    alice->server_count = 1;
    size_t at = 0;
    assert_ptr_equal(visible_next(&of_alice, &at), a);
    assert_null(visible_next(&of_alice, &at));
    of_bob.only = b;
    at = 0;
    assert_ptr_equal(visible_next(&of_bob, &at), b);
    assert_null(visible_next(&of_bob, &at));
    at = 0;
    assert_ptr_equal(visible_next_any(&of_bob, &at), a); /* whatever the session leads to */
    assert_false(visible_is(&of_alice, NULL));
}

static void test_names_are_changed_as_the_settings_say(void **state) {
    (void)state;
    struct server *a = add("alpha");
    core.prefix = SERVER_PREFIX_MANY;
    assert_false(visible_renames(&of_alice));
    struct server *b = add("beta");
    assert_true(visible_renames(&of_alice));
    core.prefix = SERVER_PREFIX_NEVER;
    assert_false(visible_renames(&of_alice));
    core.prefix = SERVER_PREFIX_ALWAYS;
    of_alice.only = a;
    assert_false(visible_renames(&of_alice));
    b->prefix = "short";
    assert_ptr_equal(visible_by_prefix(&of_bob, SLICE("short")), b);
    assert_null(visible_by_prefix(&of_bob, SLICE("beta")));
}

static bool own(struct session *s, struct server *server, const char *tool, const char *id, uint64_t cap) {
    struct call c = {
        .session = s, .server = server, .name = slice_str(tool), .verdict = {.result_bytes_max = cap}};
    arena_init(&c.arena);
    bool added = task_owner_add(&c, slice_str(id));
    arena_free(&c.arena);
    return added;
}

static void test_task_belongs_to_who_started_it(void **state) {
    (void)state;
    struct server *a = add("a"), *b = add("b");
    assert_true(own(&of_alice, a, "build", "t1", 0));
    assert_true(task_owner_is(&of_alice, a, SLICE("t1")));
    assert_false(task_owner_is(&of_bob, a, SLICE("t1")));
    assert_false(task_owner_is(&of_alice, b, SLICE("t1")));
    assert_false(task_owner_is(&of_alice, a, SLICE("t2")));
    assert_true(slice_is(task_owner_tool(&of_alice, a, SLICE("t1")), "build"));
    assert_false(own(&of_bob, a, "build", "t1", 0)); /* a server that gives one id to two */
    assert_true(task_owner_is(&of_alice, a, SLICE("t1")));
}

static void test_caps_of_a_task_only_get_tighter(void **state) {
    (void)state;
    struct server *a = add("a");
    assert_true(own(&of_alice, a, "build", "t1", 500));
    assert_true(own(&of_alice, a, "build", "t1", 900));
    struct call c = {.session = &of_alice,
                     .server = a,
                     .name = SLICE("t1"),
                     .subject = "taskId",
                     .method = SLICE("tasks/get")};
    arena_init(&c.arena);
    struct policy_verdict v = {0};
    task_owner_limit(&c, &v);
    assert_int_equal(v.result_bytes_max, 500);
    arena_free(&c.arena);
}

static void test_oldest_tasks_are_forgotten_first(void **state) {
    (void)state;
    struct server *a = add("a");
    char id[32];
    for (int i = 0; i <= TASK_OWNERS_MAX; i++) {
        snprintf(id, sizeof(id), "t%d", i);
        assert_true(own(&of_alice, a, "x", id, 0));
    }
    assert_false(task_owner_is(&of_alice, a, SLICE("t0")));
    assert_true(task_owner_is(&of_alice, a, SLICE("t1")));
}

#define server_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        server_test(test_slot_of_a_removed_server_is_used_again),
        server_test(test_new_server_is_not_taken_for_the_one_whose_slot_it_has),
        server_test(test_origin_tells_servers_of_one_name_apart),
        server_test(test_most_specific_policy_counts),
        server_test(test_without_a_policy_no_tool_is_called),
        server_test(test_capabilities_are_unknown_until_they_are_said),
        server_test(test_visible_servers_are_those_of_the_session_and_its_principal),
        server_test(test_names_are_changed_as_the_settings_say),
        server_test(test_task_belongs_to_who_started_it),
        server_test(test_caps_of_a_task_only_get_tighter),
        server_test(test_oldest_tasks_are_forgotten_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
