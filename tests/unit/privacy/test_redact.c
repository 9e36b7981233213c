/* Personal data and secrets in whole calls: values become tokens on the way to the client, and values again
 * on the way back. */
#include "harness.h"

static struct harness *h;
static struct fake_server *files, *mail;
static struct fake_client *agent;

static void open_with(struct harness_config config) {
    config.many = true;
    h = harness_open(&config);
    files = harness_server(h, "files", FAKE_LEGACY);
    mail = harness_server(h, "mail", FAKE_LEGACY);
    agent = harness_legacy(h, NULL);
}

#define MAIL "{'content':[{'type':'text','text':'write to ann.lee@example.org today'}]}"

static const char *answer_with(const char *id, const char *result) {
    struct fake_reply *r = fake_call(agent, id, "files__echo", "{}");
    fake_answer(fake_take(files, "tools/call"), result);
    return fake_text(r);
}

static const char *token_in(const char *text) {
    const char *at = strstr(text, "[EMAIL_");
    assert_non_null(at);
    return arena_dup(&h->arena, slice_of(at, (size_t)(strchr(at, ']') - at) + 1)).ptr;
}

static void test_without_a_mode_results_pass_as_they_are(void **state) {
    (void)state;
    open_with((struct harness_config){0});
    assert_has(answer_with("1", MAIL), "ann.lee@example.org");
}

static void test_value_becomes_a_token_that_stays_the_same(void **state) {
    (void)state;
    open_with((struct harness_config){.pii = FILTER_TOKENIZE});
    const char *first = answer_with("1", MAIL), *second = answer_with("2", MAIL);
    assert_lacks(first, "ann.lee");
    assert_string_equal(token_in(first), token_in(second));
    assert_has(harness_log(h), "EMAIL 1");
}

static void test_tokens_of_two_sessions_differ(void **state) {
    (void)state;
    open_with((struct harness_config){.pii = FILTER_TOKENIZE});
    const char *mine = token_in(answer_with("1", MAIL));
    agent = harness_legacy(h, NULL);
    assert_string_not_equal(token_in(answer_with("1", MAIL)), mine);
}

static void test_token_in_arguments_becomes_the_value_for_the_server_that_gave_it(void **state) {
    (void)state;
    open_with((struct harness_config){.pii = FILTER_TOKENIZE});
    const char *token = token_in(answer_with("1", MAIL));
    fake_call(agent, "2", "files__echo", arena_printf(&h->arena, "{'to':'%s'}", token).ptr);
    assert_has(fake_take(files, "tools/call")->text, "'to':'ann.lee@example.org'");
}

static void test_log_has_tokens_and_never_values(void **state) {
    (void)state;
    open_with((struct harness_config){.pii = FILTER_TOKENIZE, .args = AUDIT_ARGS_FULL});
    const char *token = token_in(answer_with("1", MAIL));
    fake_call(agent, "2", "files__echo", arena_printf(&h->arena, "{'to':'%s'}", token).ptr);
    const char *log = harness_log(h);
    assert_lacks(log, "ann.lee");
    assert_has(log, "stands for 19 characters");
}

static void test_token_of_somebody_else_stays_a_text(void **state) {
    (void)state;
    open_with((struct harness_config){.pii = FILTER_TOKENIZE});
    const char *token = token_in(answer_with("1", MAIL));
    cleanup_principal struct principal *mallory = principal_new(PRINCIPAL_GRANT, "grant:mallory");
    agent = harness_client(h, NULL, false, mallory, NULL);
    struct fake_reply *r =
        fake_call(agent, "1", "files__echo", arena_printf(&h->arena, "{'to':'%s'}", token).ptr);
    struct fake_heard *m = fake_peek(files, "tools/call");
    if (m)
        assert_lacks(m->text, "ann.lee");
    else
        assert_true(r->over);
}

static void test_redacted_value_cannot_come_back(void **state) {
    (void)state;
    open_with((struct harness_config){.pii = FILTER_REDACT});
    const char *answer = answer_with("1", MAIL);
    assert_lacks(answer, "ann.lee");
    assert_has(answer, "EMAIL");
}

static void test_blocked_result_is_kept_back_whole(void **state) {
    (void)state;
    open_with((struct harness_config){.pii = FILTER_BLOCK});
    const char *answer = answer_with("1", MAIL);
    assert_lacks(answer, "ann.lee");
    assert_lacks(answer, "write to");
    assert_has(answer, "'isError':true");
}

static void test_report_changes_nothing_and_is_recorded(void **state) {
    (void)state;
    open_with((struct harness_config){.pii = FILTER_REPORT});
    assert_has(answer_with("1", MAIL), "ann.lee@example.org");
    assert_has(harness_log(h), "EMAIL 1");
}

static void test_errors_of_servers_are_redacted_too(void **state) {
    (void)state;
    open_with((struct harness_config){.pii = FILTER_TOKENIZE});
    struct fake_reply *r = fake_call(agent, "1", "files__echo", "{}");
    fake_error(fake_take(files, "tools/call"), -32000, "no mailbox ann.lee@example.org");
    assert_lacks(fake_text(r), "ann.lee");
    assert_has(fake_text(r), "[EMAIL_");
}

static void test_server_may_have_a_mode_of_its_own(void **state) {
    (void)state;
    open_with((struct harness_config){.pii = FILTER_TOKENIZE});
    files->server->pii_set = true;
    files->server->pii = FILTER_OFF;
    assert_has(answer_with("1", MAIL), "ann.lee@example.org");
}

static void test_approver_sees_tokens(void **state) {
    (void)state;
    open_with((struct harness_config){
        .pii = FILTER_TOKENIZE,
        .policy = "{'version':'1','default':'allow','tools':{'wipe':{'approve_if':[{'conditions':[]}]}}}"});
    const char *token = token_in(answer_with("1", MAIL));
    struct fake_reply *r =
        fake_call(agent, "2", "files__wipe", arena_printf(&h->arena, "{'who':'%s'}", token).ptr);
    assert_has(fake_text(r), "'code':-32003");
    assert_lacks(fake_text(r), "ann.lee");
    harness_decide(h, harness_pending(h), true);
    fake_call(agent, "3", "files__wipe", arena_printf(&h->arena, "{'who':'%s'}", token).ptr);
    assert_has(fake_take(files, "tools/call")->text, "'who':'ann.lee@example.org'");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        harness_test(test_without_a_mode_results_pass_as_they_are),
        harness_test(test_value_becomes_a_token_that_stays_the_same),
        harness_test(test_tokens_of_two_sessions_differ),
        harness_test(test_token_in_arguments_becomes_the_value_for_the_server_that_gave_it),
        harness_test(test_log_has_tokens_and_never_values),
        harness_test(test_token_of_somebody_else_stays_a_text),
        harness_test(test_redacted_value_cannot_come_back),
        harness_test(test_blocked_result_is_kept_back_whole),
        harness_test(test_report_changes_nothing_and_is_recorded),
        harness_test(test_errors_of_servers_are_redacted_too),
        harness_test(test_server_may_have_a_mode_of_its_own),
        harness_test(test_approver_sees_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
