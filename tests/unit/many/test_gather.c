/* Sessions that lead to many servers: which server a name belongs to, lists that several answer, and servers
 * that are missing. */
#include "harness.h"

#include "many/limits.h"

#define TOOL(name) "{'name':'" name "','description':'d','inputSchema':{'type':'object'}}"

static struct harness *h;
static struct fake_server *a, *b, *c;
static struct fake_client *agent;

static void open_three(bool modern) {
    h = harness_open(&(struct harness_config){.many = true});
    a = harness_server(h, "alpha", FAKE_LEGACY);
    b = harness_server(h, "beta", FAKE_LEGACY);
    c = harness_server(h, "gamma", FAKE_MODERN);
    a->tools = "[" TOOL("one") "]";
    b->tools = "[" TOOL("one") "," TOOL("two") "]";
    c->tools = "[" TOOL("three") "]";
    agent = modern ? harness_modern(h, NULL) : harness_legacy(h, NULL);
}

static const char *list(const char *id) { return fake_text(fake_request(agent, id, "tools/list", "")); }

/* ---- names ---- */

static void test_list_has_the_tools_of_all_under_their_servers_names(void **state) {
    (void)state;
    open_three(false);
    const char *tools = list("1");
    assert_has(tools, "'alpha__one'");
    assert_has(tools, "'beta__one'");
    assert_has(tools, "'beta__two'");
    assert_has(tools, "'gamma__three'");
    assert_true(strstr(tools, "alpha__one") < strstr(tools, "beta__one")); /* in the order of the settings */
}

static void test_call_goes_to_the_server_that_its_prefix_names_without_it(void **state) {
    (void)state;
    open_three(false);
    struct fake_reply *r = fake_call(agent, "1", "beta__one", "{'x':1}");
    struct fake_heard *m = fake_take(b, "tools/call");
    assert_has(m->text, "'name':'one'");
    fake_answer(m, "{'content':[]}");
    assert_has(fake_text(r), "'id':1,'result'");
    assert_int_equal(fake_count(a, "tools/call"), 0);
    assert_has(harness_log(h), "decision tools/call one allow");
}

static void test_name_without_a_known_prefix_is_an_unknown_tool(void **state) {
    (void)state;
    open_three(false);
    assert_has(fake_text(fake_call(agent, "1", "one", "{}")), "Unknown tool");
    assert_has(fake_text(fake_call(agent, "2", "delta__one", "{}")), "Unknown tool");
}

static void test_server_that_the_grant_does_not_name_is_not_there(void **state) {
    (void)state;
    open_three(false);
    static const char *const servers[] = {"alpha", "gam*"};
    cleanup_principal struct principal *alice = principal_new(PRINCIPAL_GRANT, "grant:alice");
    alice->servers = servers;
    alice->server_count = 2;
    agent = harness_client(h, NULL, false, alice, NULL);
    const char *tools = list("1");
    assert_has(tools, "alpha__one");
    assert_has(tools, "gamma__three");
    assert_lacks(tools, "beta");
    assert_has(fake_text(fake_call(agent, "2", "beta__two", "{}")), "Unknown tool");
    assert_int_equal(fake_count(b, "tools/call"), 0);
}

static void test_bare_name_belongs_to_the_server_that_stands_first(void **state) {
    (void)state;
    open_three(false);
    h->core.prefix = SERVER_PREFIX_NEVER;
    const char *tools = list("1");
    const char *first = strstr(tools, "\"one\"");
    assert_non_null(first);
    assert_null(strstr(first + 1, "\"one\"")); /* shown once */
    assert_has(tools, "'two'");
    fake_call(agent, "2", "one", "{}");
    assert_non_null(fake_peek(a, "tools/call"));
    fake_call(agent, "3", "two", "{}");
    assert_non_null(fake_peek(b, "tools/call"));
}

static void test_bare_name_is_looked_for_before_anybody_has_listed(void **state) {
    (void)state;
    open_three(false);
    h->core.prefix = SERVER_PREFIX_NEVER;
    fake_call(agent, "1", "three", "{}");
    assert_non_null(fake_peek(c, "tools/call"));
    assert_has(fake_text(fake_call(agent, "2", "four", "{}")), "Unknown tool");
}

static void test_uris_in_results_lead_back_to_their_server(void **state) {
    (void)state;
    open_three(false);
    struct fake_reply *r = fake_call(agent, "1", "beta__one", "{}");
    fake_answer(fake_take(b, "tools/call"),
                "{'content':[{'type':'resource_link','uri':'file:///x','name':'x'}]}");
    const char *uri = fake_member(h, fake_text(r), "uri");
    assert_string_not_equal(uri, "file:///x");
    fake_request(agent, "2", "resources/read", arena_printf(&h->arena, "'uri':'%s'", uri).ptr);
    assert_has(fake_take(b, "resources/read")->text, "'uri':'file:///x'");
    assert_int_equal(fake_count(a, "resources/read"), 0);
}

/* ---- lists ---- */

static void test_failing_server_is_left_out_of_the_list(void **state) {
    (void)state;
    open_three(false);
    b->refuses_links = true;
    fake_die(b, "server `beta` ended");
    const char *tools = list("1");
    assert_has(tools, "alpha__one");
    assert_has(tools, "gamma__three");
    assert_lacks(tools, "beta__");
    assert_has(tools, "'sallyport/missing':['beta']");
}

static void test_server_that_refuses_has_answered(void **state) {
    (void)state;
    open_three(false);
    assert_has(list("0"), "beta__two");
    b->by_hand = true;
    struct fake_reply *r = fake_request(agent, "1", "tools/list", "");
    fake_error(fake_take(b, "tools/list"), -32601, "Method not found");
    assert_has(fake_text(r), "alpha__one");
    assert_lacks(fake_text(r), "beta__two");
    assert_int_equal(agent->delivered_count, 0); /* nothing is missing */
}

static void test_slow_server_is_waited_for_so_long_and_told_to_stop(void **state) {
    (void)state;
    open_three(false);
    assert_has(list("0"), "beta__two");
    b->by_hand = true;
    struct fake_reply *r = fake_request(agent, "1", "tools/list", "");
    harness_advance(h, GATHER_LIST_MS - 1000);
    assert_false(r->over);
    harness_advance(h, 2000);
    assert_has(fake_text(r), "gamma__three");
    assert_lacks(fake_text(r), "beta__");
    assert_has(fake_text(r), "'sallyport/missing':['beta']");
    assert_has(fake_take(b, "notifications/cancelled")->text, "too slow");
}

static void test_late_part_harms_nothing(void **state) {
    (void)state;
    open_three(false);
    assert_has(list("0"), "beta__two");
    b->by_hand = true;
    struct fake_reply *r = fake_request(agent, "1", "tools/list", "");
    struct fake_heard *late = fake_take(b, "tools/list");
    harness_advance(h, GATHER_LIST_MS + 1000);
    assert_true(r->over);
    fake_answer(late, "{'tools':[" TOOL("two") "]}");
    b->by_hand = false;
    assert_has(list("2"), "beta__two");
}

static void test_server_that_dies_in_the_middle_is_left_out(void **state) {
    (void)state;
    open_three(false);
    assert_has(list("0"), "beta__two");
    b->by_hand = true;
    struct fake_reply *r = fake_request(agent, "1", "tools/list", "");
    fake_take(b, "tools/list");
    fake_die(b, "server `beta` ended");
    assert_has(fake_text(r), "alpha__one");
    assert_lacks(fake_text(r), "beta__");
    assert_has(fake_text(r), "'sallyport/missing':['beta']");
}

static void test_client_hears_when_a_missing_server_is_back(void **state) {
    (void)state;
    open_three(false);
    assert_has(list("0"), "beta__two");
    size_t before = agent->delivered_count;
    fake_die(b, "server `beta` ended");
    assert_true(agent->delivered_count > before); /* its tools are gone */
    before = agent->delivered_count;
    harness_advance(h, 1000);
    assert_true(agent->delivered_count > before); /* and there again */
    assert_has(agent->delivered[agent->delivered_count - 1], "list_changed");
    assert_has(list("1"), "beta__two");
}

static void test_pages_of_one_server_are_followed_to_the_end(void **state) {
    (void)state;
    open_three(false);
    list("0");
    b->by_hand = true;
    struct fake_reply *r = fake_request(agent, "1", "tools/list", "");
    fake_answer(fake_take(b, "tools/list"), "{'tools':[" TOOL("p1") "],'nextCursor':'more'}");
    assert_false(r->over);
    struct fake_heard *second = fake_take(b, "tools/list");
    assert_has(second->text, "'cursor':'more'");
    fake_answer(second, "{'tools':[" TOOL("p2") "]}");
    assert_has(fake_text(r), "beta__p1");
    assert_has(fake_text(r), "beta__p2");
}

static void test_server_that_pages_for_ever_is_cut_off(void **state) {
    (void)state;
    open_three(false);
    list("0");
    b->by_hand = true;
    struct fake_reply *r = fake_request(agent, "1", "tools/list", "");
    int pages = 0;
    for (struct fake_heard *m; !r->over && (m = fake_peek(b, "tools/list")) && pages < 1000; pages++) {
        m->taken = true;
        fake_answer(m, "{'tools':[],'nextCursor':'again'}");
    }
    assert_true(r->over);
    assert_in_range(pages, 1, GATHER_PART_PAGES + 1);
}

static void test_list_that_is_no_list_counts_as_missing(void **state) {
    (void)state;
    open_three(false);
    list("0");
    b->by_hand = true;
    struct fake_reply *r = fake_request(agent, "1", "tools/list", "");
    fake_answer(fake_take(b, "tools/list"), "{'tools':'none'}");
    assert_has(fake_text(r), "alpha__one");
    assert_lacks(fake_text(r), "beta__");
    assert_has(fake_text(r), "'sallyport/missing':['beta']");
}

static void test_each_part_is_judged_by_its_own_policy(void **state) {
    (void)state;
    open_three(false);
    b->server->policy =
        harness_load_policy("{'version':'1','default':'deny','hide':['one'],'tools':{'two':{}}}");
    const char *tools = list("1");
    assert_has(tools, "alpha__one");
    assert_has(tools, "beta__two");
    assert_lacks(tools, "beta__one");
}

static void test_foreign_cursor_is_refused(void **state) {
    (void)state;
    open_three(false);
    assert_has(fake_text(fake_request(agent, "1", "tools/list", "'cursor':'made up'")), "'code':-32602");
}

static void test_cancelled_list_cancels_its_parts(void **state) {
    (void)state;
    open_three(false);
    list("0");
    a->by_hand = b->by_hand = true;
    struct fake_reply *r = fake_request(agent, "1", "tools/list", "");
    fake_take(a, "tools/list");
    fake_take(b, "tools/list");
    fake_send(agent, "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':1}}");
    assert_true(r->none);
    assert_non_null(fake_peek(a, "notifications/cancelled"));
    assert_non_null(fake_peek(b, "notifications/cancelled"));
    assert_int_equal(h->core.calls_under_way, 0);
}

static void test_server_that_offers_no_prompts_is_not_asked_for_them(void **state) {
    (void)state;
    open_three(false);
    list("0");
    assert_has(fake_text(fake_request(agent, "1", "prompts/list", "")), "'prompts':[]");
    assert_int_equal(fake_count(a, "prompts/list"), 0);
}

static void test_session_ends_while_a_list_is_gathered(void **state) {
    (void)state;
    open_three(false);
    list("0");
    b->by_hand = true;
    struct fake_reply *r = fake_request(agent, "1", "tools/list", "");
    fake_leave(agent);
    assert_true(r->none);
    assert_int_equal(h->core.calls_under_way, 0);
}

static void test_removed_server_does_not_hold_up_the_list(void **state) {
    (void)state;
    open_three(false);
    list("0");
    b->by_hand = true;
    struct fake_reply *r = fake_request(agent, "1", "tools/list", "");
    fake_take(b, "tools/list");
    session_remove_server(&h->core, b->server);
    assert_has(fake_text(r), "alpha__one");
    assert_lacks(fake_text(r), "beta__");
    assert_has(fake_text(r), "'sallyport/missing':['beta']");
    h->servers[1] = h->servers[2]; /* the harness forgets it, too */
    h->server_count = 2;
}

/* ---- the modern era ---- */

static void test_modern_client_discovers_what_all_can_do(void **state) {
    (void)state;
    open_three(true);
    const char *answer = fake_text(fake_request(agent, "1", "server/discover", ""));
    assert_has(answer, "'supportedVersions'");
    assert_has(answer, "'tools':{");
}

static void test_subscription_of_a_modern_client_hears_all_servers_under_its_own_id(void **state) {
    (void)state;
    open_three(true);
    assert_has(list("0"), "gamma__three");
    struct fake_reply *r =
        fake_request(agent, "7", "subscriptions/listen", "'notifications':{'toolsListChanged':true}");
    assert_int_equal(r->event_count, 1);
    assert_has(r->events[0], "notifications/subscriptions/acknowledged");
    struct fake_heard *m = fake_take(c, "subscriptions/listen");
    fake_say(c, m,
             arena_printf(&h->arena,
                          "{'jsonrpc':'2.0','method':'notifications/tools/list_changed','params':{'_meta':{"
                          "'io.modelcontextprotocol/subscriptionId':%llu}}}",
                          (unsigned long long)m->id)
                 .ptr);
    assert_int_equal(r->event_count, 2);
    assert_has(r->events[1], "'io.modelcontextprotocol/subscriptionId':7");
}

static void test_shared_server_has_one_link_for_all_sessions_of_a_principal(void **state) {
    (void)state;
    h = harness_open(&(struct harness_config){.many = true});
    a = harness_server(h, "alpha", FAKE_LEGACY);
    b = harness_server(h, "beta", FAKE_LEGACY);
    a->server->shared = true;
    agent = harness_legacy(h, NULL);
    struct fake_reply *one = fake_call(agent, "1", "alpha__echo", "{'n':1}");
    agent = harness_legacy(h, NULL);
    struct fake_reply *two = fake_call(agent, "1", "alpha__echo", "{'n':2}");
    assert_int_equal(a->opened, 1);
    fake_answer(fake_take(a, "tools/call"), "{'content':[],'for':1}");
    fake_answer(fake_take(a, "tools/call"), "{'content':[],'for':2}");
    assert_has(fake_text(one), "'for':1");
    assert_has(fake_text(two), "'for':2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        harness_test(test_list_has_the_tools_of_all_under_their_servers_names),
        harness_test(test_call_goes_to_the_server_that_its_prefix_names_without_it),
        harness_test(test_name_without_a_known_prefix_is_an_unknown_tool),
        harness_test(test_server_that_the_grant_does_not_name_is_not_there),
        harness_test(test_bare_name_belongs_to_the_server_that_stands_first),
        harness_test(test_bare_name_is_looked_for_before_anybody_has_listed),
        harness_test(test_uris_in_results_lead_back_to_their_server),
        harness_test(test_failing_server_is_left_out_of_the_list),
        harness_test(test_server_that_refuses_has_answered),
        harness_test(test_slow_server_is_waited_for_so_long_and_told_to_stop),
        harness_test(test_late_part_harms_nothing),
        harness_test(test_server_that_dies_in_the_middle_is_left_out),
        harness_test(test_client_hears_when_a_missing_server_is_back),
        harness_test(test_pages_of_one_server_are_followed_to_the_end),
        harness_test(test_server_that_pages_for_ever_is_cut_off),
        harness_test(test_list_that_is_no_list_counts_as_missing),
        harness_test(test_each_part_is_judged_by_its_own_policy),
        harness_test(test_foreign_cursor_is_refused),
        harness_test(test_cancelled_list_cancels_its_parts),
        harness_test(test_server_that_offers_no_prompts_is_not_asked_for_them),
        harness_test(test_session_ends_while_a_list_is_gathered),
        harness_test(test_removed_server_does_not_hold_up_the_list),
        harness_test(test_modern_client_discovers_what_all_can_do),
        harness_test(test_subscription_of_a_modern_client_hears_all_servers_under_its_own_id),
        harness_test(test_shared_server_has_one_link_for_all_sessions_of_a_principal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
