/* Another policy over what the log has: calls that would be denied, allowed or held. */
#include "harness.h"

#include "record/rejudge.h"
#include "wire/emit.h"

#define OK "{'content':[]}"

static struct harness *h;
static struct fake_server *files;
static struct fake_client *agent;

static void call(const char *id, const char *tool) {
    fake_call(agent, id, tool, "{'a':1}");
    struct fake_heard *m = fake_peek(files, "tools/call");
    if (m) {
        m->taken = true;
        fake_answer(m, OK);
    }
}

static void open_with_calls(void) {
    h = harness_open(&(struct harness_config){
        .policy = "{'version':'1','default':'allow','tools':{'wipe':{'deny_if':[{'conditions':[]}]}}}"});
    files = harness_server(h, "files", FAKE_LEGACY);
    agent = harness_legacy(h, files);
    call("1", "echo");
    call("2", "echo");
    call("3", "wipe");
    harness_log(h); /* everything is written: the handshake, too */
}

static const char *replay(const char *policy, const struct rejudge_scope *scope, bool json) {
    struct policy *candidate = harness_load_policy(policy);
    struct rejudge *r = NULL;
    struct err err = {0};
    struct buf out;
    struct emit e;
    buf_init(&out, 1u << 20);
    if (rejudge_log(h->home, candidate, scope, &r, &err) < 0)
        fail_msg("%s", err.text);
    emit_init(&e, &out);
    if (json)
        rejudge_json(r, &e);
    else
        rejudge_text(r, &out);
    const char *text = arena_dup(&h->arena, buf_slice(&out)).ptr;
    buf_free(&out);
    rejudge_free(r);
    policy_unref(candidate);
    return text;
}

static void test_same_policy_changes_nothing(void **state) {
    (void)state;
    open_with_calls();
    const char *text =
        replay("{'version':'1','default':'allow','tools':{'wipe':{'deny_if':[{'conditions':[]}]}}}",
               &(struct rejudge_scope){0}, true);
    assert_has(text, "'calls':5");
    assert_has(text, "'unchanged':5");
}

static void test_stricter_policy_denies_what_was_allowed(void **state) {
    (void)state;
    open_with_calls();
    const char *text = replay("{'version':'1','default':'deny'}", &(struct rejudge_scope){0}, true);
    assert_has(text, "'calls':5");
    assert_has(text, "'unchanged':3");
    assert_has(text, "'newly_denied':{'count':2,'by':[{'server':'files','tool':'echo'");
}

static void test_looser_policy_allows_what_was_denied(void **state) {
    (void)state;
    open_with_calls();
    assert_has(replay("{'version':'1','default':'allow'}", &(struct rejudge_scope){0}, true),
               "'tool':'wipe'");
}

static void test_scope_is_kept_to(void **state) {
    (void)state;
    open_with_calls();
    assert_has(
        replay("{'version':'1','default':'deny'}", &(struct rejudge_scope){.server = SLICE("other")}, true),
        "'calls':0");
    assert_has(replay("{'version':'1','default':'deny'}", &(struct rejudge_scope){.until_us = 1}, true),
               "'calls':0");
    const struct slice names[] = {SLICE("other"), SLICE("file"), SLICE("files")};
    assert_has(replay("{'version':'1','default':'deny'}",
                      &(struct rejudge_scope){.servers = names, .server_count = 2}, true),
               "'calls':0");
    assert_has(replay("{'version':'1','default':'deny'}",
                      &(struct rejudge_scope){.servers = names, .server_count = 3}, true),
               "'calls':5");
}

static void test_text_for_people_names_the_tools(void **state) {
    (void)state;
    open_with_calls();
    assert_has(replay("{'version':'1','default':'deny'}", &(struct rejudge_scope){0}, false), "echo");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        harness_test(test_same_policy_changes_nothing),
        harness_test(test_stricter_policy_denies_what_was_allowed),
        harness_test(test_looser_policy_allows_what_was_denied),
        harness_test(test_scope_is_kept_to),
        harness_test(test_text_for_people_names_the_tools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
