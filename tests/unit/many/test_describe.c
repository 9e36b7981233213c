/* What the gate says of itself in a session of many servers. */
#include "harness.h"

static struct harness *h;
static struct fake_server *a, *b;

static void open_two(const char *one, const char *two) {
    h = harness_open(&(struct harness_config){.many = true});
    a = harness_server(h, "alpha", FAKE_LEGACY);
    b = harness_server(h, "beta", FAKE_LEGACY);
    a->capabilities = one;
    b->capabilities = two;
}

static const char *describe(struct fake_client *agent, const char *id) {
    return fake_text(agent->modern
                         ? fake_request(agent, id, "server/discover", "")
                         : fake_request(agent, id, "initialize",
                                        "'protocolVersion':'2025-06-18','capabilities':{},'clientInfo':{"
                                        "'name':'t','version':'1'}"));
}

static void test_it_is_the_gate_that_answers(void **state) {
    (void)state;
    open_two("{'tools':{}}", "{'tools':{}}");
    const char *text = describe(harness_modern(h, NULL), "1");
    assert_has(text, "sallyport");
    assert_lacks(text, "alpha");
    assert_has(text, "'tools':{");
}

static void test_what_no_server_can_do_is_not_promised(void **state) {
    (void)state;
    open_two("{'tools':{}}", "{'tools':{}}");
    const char *text = describe(harness_modern(h, NULL), "1");
    assert_lacks(text, "'prompts'");
    assert_lacks(text, "'resources'");
}

static void test_capabilities_of_known_servers_are_put_together(void **state) {
    (void)state;
    open_two("{'tools':{},'prompts':{}}", "{'tools':{}}");
    struct fake_client *agent = harness_modern(h, NULL);
    fake_request(agent, "1", "tools/list", ""); /* both are asked */
    const char *text = describe(agent, "2");
    assert_has(text, "'tools':{");
    assert_has(text, "'prompts':{");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        harness_test(test_it_is_the_gate_that_answers),
        harness_test(test_what_no_server_can_do_is_not_promised),
        harness_test(test_capabilities_of_known_servers_are_put_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
