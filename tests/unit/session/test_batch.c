/* Several messages of a client in one array: each is a call of its own, and the answers leave together. */
#include "harness.h"

#include "session/batch.h"

#define DENY_WIPE                                                                                            \
    "{'version':'1','default':'allow','tools':{'wipe':{'deny_if':[{'name':'never wipe','conditions':[]}]}}}"
#define CALL(id, tool)                                                                                       \
    "{'jsonrpc':'2.0','id':" id ",'method':'tools/call','params':{'name':'" tool "','arguments':{}}}"

static struct harness *h;
static struct fake_server *files;
static struct fake_client *agent;

struct batch_reply {
    struct call_sink sink;
    const char *text;
    size_t answers, nones;
};

static void on_reply(struct call_sink *sink, const struct session_out *out) {
    struct batch_reply *r = container_of(sink, struct batch_reply, sink);
    cleanup_buf struct buf text;
    buf_init(&text, MSG_BYTES_MAX);
    assert_true(splice_write(out->text, &text));
    r->text = arena_dup(&h->arena, buf_slice(&text)).ptr;
    r->answers++;
}
static void on_event(struct call_sink *sink, const struct session_out *out) { (void)sink, (void)out; }
static void on_streaming(struct call_sink *sink, int64_t retry_ms, bool left) {
    (void)sink, (void)retry_ms, (void)left;
}
static void on_none(struct call_sink *sink) { container_of(sink, struct batch_reply, sink)->nones++; }
static const struct call_sink_ops batch_ops = {on_reply, on_event, on_streaming, on_none};

static void open_with(const char *policy) {
    h = harness_open(&(struct harness_config){.policy = policy});
    files = harness_server(h, "files", FAKE_LEGACY);
    agent = harness_legacy(h, files);
    snprintf(agent->session->version, sizeof(agent->session->version), "2025-03-26"); /* has batches */
}

static struct session_batch *read_batch(const char *text, const char **ret_why) {
    struct slice bytes = slice_str(harness_json(&h->arena, text));
    struct block *b = block_new(&h->loop.blocks, bytes.len);
    memcpy(b->data, bytes.ptr, bytes.len);
    int code = 0;
    *ret_why = NULL;
    struct session_batch *batch = batch_read(agent->session, b, slice_of(b->data, bytes.len), &code, ret_why);
    block_unref(b);
    return batch;
}

static struct batch_reply *run(const char *text) {
    const char *why;
    struct session_batch *batch = read_batch(text, &why);
    if (!batch)
        fail_msg("the batch was refused: %s", why);
    struct batch_reply *r = arena_new(&h->arena, struct batch_reply);
    r->sink.ops = &batch_ops;
    batch_run(batch, batch_wants_answer(batch) ? &r->sink : NULL);
    harness_settle(h);
    return r;
}

static void test_answers_leave_together_when_the_last_one_is_there(void **state) {
    (void)state;
    open_with(NULL);
    struct batch_reply *r = run("[" CALL("1", "echo") "," CALL("2", "echo") "]");
    struct fake_heard *one = fake_take(files, "tools/call"), *two = fake_take(files, "tools/call");
    fake_answer(two, "{'content':[],'n':2}");
    assert_int_equal(r->answers, 0);
    fake_answer(one, "{'content':[],'n':1}");
    assert_int_equal(r->answers, 1);
    assert_true(r->text[0] == '[');
    assert_has(r->text, "'id':1,'result':{'content':[],'n':1}");
    assert_has(r->text, "'id':2,'result':{'content':[],'n':2}");
}

static void test_each_message_is_judged_by_itself(void **state) {
    (void)state;
    open_with(DENY_WIPE);
    struct batch_reply *r = run("[" CALL("1", "wipe") "," CALL("2", "echo") "]");
    assert_int_equal(fake_count(files, "tools/call"), 1);
    fake_answer(fake_take(files, "tools/call"), "{'content':[]}");
    assert_has(r->text, "never wipe");
    assert_has(r->text, "'id':2,'result':{'content':[]}");
    assert_has(harness_log(h), "decision tools/call wipe deny");
}

static void test_batch_of_notifications_wants_no_answer(void **state) {
    (void)state;
    open_with(NULL);
    struct batch_reply *r = run("[{'jsonrpc':'2.0','method':'notifications/roots/list_changed'}]");
    assert_int_equal(r->answers, 0);
    assert_non_null(fake_peek(files, "notifications/roots/list_changed"));
}

static void test_empty_batch_is_refused(void **state) {
    (void)state;
    open_with(NULL);
    const char *why;
    assert_null(read_batch("[]", &why));
    assert_non_null(why);
}

static void test_batch_of_a_revision_without_batches_is_refused(void **state) {
    (void)state;
    open_with(NULL);
    snprintf(agent->session->version, sizeof(agent->session->version), "2025-11-25");
    const char *why;
    assert_null(read_batch("[" CALL("1", "echo") "]", &why));
    assert_int_equal(fake_count(files, "tools/call"), 0);
}

static void test_cancelled_message_leaves_the_others_their_answer(void **state) {
    (void)state;
    open_with(NULL);
    struct batch_reply *r = run("[" CALL("1", "echo") "," CALL("2", "echo") "]");
    fake_take(files, "tools/call");
    fake_send(agent, "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':1}}");
    fake_answer(fake_take(files, "tools/call"), "{'content':[]}");
    assert_int_equal(r->answers, 1);
    assert_has(r->text, "'id':2,'result'");
    assert_lacks(r->text, "'id':1,");
}

static void test_session_ends_under_a_batch(void **state) {
    (void)state;
    open_with(NULL);
    struct batch_reply *r = run("[" CALL("1", "echo") "," CALL("2", "echo") "]");
    fake_leave(agent);
    assert_int_equal(r->answers + r->nones, 1);
    assert_int_equal(h->core.calls_under_way, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        harness_test(test_answers_leave_together_when_the_last_one_is_there),
        harness_test(test_each_message_is_judged_by_itself),
        harness_test(test_batch_of_notifications_wants_no_answer),
        harness_test(test_empty_batch_is_refused),
        harness_test(test_batch_of_a_revision_without_batches_is_refused),
        harness_test(test_cancelled_message_leaves_the_others_their_answer),
        harness_test(test_session_ends_under_a_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
