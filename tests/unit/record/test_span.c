/* Trace context: continued from the client, passed to the server, and nothing of it while nothing is traced.
 */
#include "harness.h"

#include "record/span.h"

#define PARENT "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

static struct harness *h;
static struct fake_server *files;
static struct fake_client *agent;

static void open_with(const char *collector) {
    struct err err = {0};
    h = harness_open(NULL);
    if (collector && span_exporter_start(&h->core, collector, &err) < 0)
        fail_msg("%s", err.text);
    files = harness_server(h, "files", FAKE_LEGACY);
    agent = harness_legacy(h, files);
}

static const char *call_with(const char *id, const char *meta) {
    fake_request(agent, id, "tools/call",
                 arena_printf(&h->arena, "'name':'echo','arguments':{}%s%s", *meta ? "," : "", meta).ptr);
    struct fake_heard *m = fake_take(files, "tools/call");
    const char *text = m->text;
    fake_answer(m, "{'content':[]}");
    return text;
}

static void test_without_a_collector_nothing_is_added(void **state) {
    (void)state;
    struct span_exporter_health health;
    open_with(NULL);
    assert_lacks(call_with("1", ""), "traceparent");
    assert_has(call_with("2", "'_meta':{'traceparent':'" PARENT "'}"), PARENT);
    assert_false(span_exporter_health(&h->core, &health));
}

static void test_trace_of_the_client_goes_on_under_a_span_of_ours(void **state) {
    (void)state;
    open_with("http://127.0.0.1:9");
    const char *text = call_with("1", "'_meta':{'traceparent':'" PARENT "'}");
    assert_has(text, "'traceparent':'00-0af7651916cd43dd8448eb211c80319c-");
    assert_lacks(text, "b7ad6b7169203331");
}

static void test_call_without_a_trace_begins_one(void **state) {
    (void)state;
    open_with("http://127.0.0.1:9");
    const char *one = call_with("1", ""), *two = call_with("2", "");
    assert_has(one, "'traceparent':'00-");
    assert_true(strcmp(fake_member(h, one, "traceparent"), fake_member(h, two, "traceparent")) != 0);
}

static void test_malformed_context_is_not_continued(void **state) {
    (void)state;
    open_with("http://127.0.0.1:9");
    static const char *const bad[] = {"00-00000000000000000000000000000000-b7ad6b7169203331-01", "hello",
                                      "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"};
    for (size_t i = 0; i < 3; i++) {
        const char *text = call_with(arena_printf(&h->arena, "%zu", i + 1).ptr,
                                     arena_printf(&h->arena, "'_meta':{'traceparent':'%s'}", bad[i]).ptr);
        assert_has(text, "'traceparent':'00-");
        assert_lacks(text, bad[i]);
    }
}

static void test_collector_address_that_cannot_be_used_is_refused(void **state) {
    (void)state;
    struct err err = {0};
    open_with(NULL);
    assert_int_equal(span_exporter_start(&h->core, "ftp://collector", &err), -1);
    assert_true(err.text[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        harness_test(test_without_a_collector_nothing_is_added),
        harness_test(test_trace_of_the_client_goes_on_under_a_span_of_ours),
        harness_test(test_call_without_a_trace_begins_one),
        harness_test(test_malformed_context_is_not_continued),
        harness_test(test_collector_address_that_cannot_be_used_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
