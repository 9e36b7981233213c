#include "risk/lockfile.h"

#include "risk_test.h"

#define BEFORE                                                                                               \
    "[{\"name\":\"add\",\"description\":\"Add two "                                                          \
    "numbers\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"list\"}]"

static struct risk_lock *accept_list(const char *old_text, const char *server, const char *tools,
                                     const char *only, char **ret_text) {
    struct err err = {0};
    struct risk_lock *old = NULL, *lock = NULL;
    assert_int_equal(risk_lock_load(slice_str(old_text), &old, &err), 0);
    read_json(tools);
    cleanup_buf struct buf out;
    buf_init(&out, 1 << 20);
    struct slice one = slice_str(only);
    struct risk_server_facts who = {
        .name = slice_str(server), .package = SLICE("pkg"), .version = SLICE("1.0.0")};
    if (risk_lock_accept(old, &who, &tape, 0, only ? &one : NULL, &arena, &out, &err))
        fail_msg("%s", err.text);
    if (risk_lock_load(buf_slice(&out), &lock, &err))
        fail_msg("%s: %.*s", err.text, SLICE_FMT(buf_slice(&out)));
    if (ret_text)
        *ret_text = mem_dup(out.ptr, out.len);
    if (ret_text)
        *ret_text = mem_realloc(*ret_text, out.len + 1), (*ret_text)[out.len] = 0;
    risk_lock_free(old);
    return lock;
}

static enum risk_pin check(const struct risk_lock *lock, const char *server, const char *tool) {
    read_json(tool);
    struct risk_pin_verdict v;
    risk_lock_check(lock, slice_str(server), &tape, 0, &arena, &v);
    assert_int_equal(v.reason.len == 0, v.pin == RISK_PIN_OK);
    return v.pin;
}

static void verdicts(void **state) {
    (void)state;
    cleanup_lock struct risk_lock *lock = accept_list("", "math", BEFORE, NULL, NULL);
    assert_true(risk_lock_knows(lock, SLICE("math")));
    assert_false(risk_lock_knows(lock, SLICE("other")));
    /* order and white space do not matter, _meta neither */
    assert_int_equal(check(lock, "math",
                           "{\"inputSchema\": {\"type\":\"object\"}, \"description\":\"Add two "
                           "numbers\",\"name\":\"add\",\"_meta\":{\"n\":1}}"),
                     RISK_PIN_OK);
    assert_int_equal(check(lock, "math", "{\"name\":\"list\"}"), RISK_PIN_OK);
    assert_int_equal(
        check(
            lock, "math",
            "{\"name\":\"add\",\"description\":\"Add two numbers.\",\"inputSchema\":{\"type\":\"object\"}}"),
        RISK_PIN_CHANGED);
    assert_int_equal(check(lock, "math", "{\"name\":\"list\",\"annotations\":{\"readOnlyHint\":true}}"),
                     RISK_PIN_CHANGED);
    assert_int_equal(check(lock, "math", "{\"name\":\"sub\"}"), RISK_PIN_NEW);
    assert_int_equal(check(lock, "other", "{\"name\":\"add\"}"), RISK_PIN_NEW);
    assert_int_equal(check(lock, "math", "{\"description\":\"no name\"}"), RISK_PIN_FAULT);
    assert_int_equal(check(lock, "math", "[]"), RISK_PIN_FAULT);
}

static void one_tool_is_accepted(void **state) {
    (void)state;
    cleanup_free char *text = NULL;
    risk_lock_free(accept_list("", "math", BEFORE, NULL, &text));
    static const char after[] = "[{\"name\":\"add\",\"description\":\"Evil\"},{\"name\":\"list\","
                                "\"description\":\"new\"},{\"name\":\"sub\"}]";
    cleanup_lock struct risk_lock *lock = accept_list(text, "math", after, "list", NULL);
    assert_int_equal(check(lock, "math", "{\"name\":\"list\",\"description\":\"new\"}"), RISK_PIN_OK);
    assert_int_equal(check(lock, "math", "{\"name\":\"add\",\"description\":\"Evil\"}"), RISK_PIN_CHANGED);
    assert_int_equal(check(lock, "math", "{\"name\":\"sub\"}"), RISK_PIN_NEW);
}

static void other_servers_stay(void **state) {
    (void)state;
    cleanup_free char *text = NULL, *again = NULL;
    risk_lock_free(accept_list("", "b", BEFORE, NULL, &text));
    cleanup_lock struct risk_lock *lock = accept_list(text, "a", "[{\"name\":\"x\"}]", NULL, &again);
    assert_true(risk_lock_knows(lock, SLICE("a")) && risk_lock_knows(lock, SLICE("b")));
    assert_int_equal(check(lock, "b", "{\"name\":\"list\"}"), RISK_PIN_OK);
    /* writing what is there already changes nothing */
    cleanup_free char *same = NULL;
    risk_lock_free(accept_list(again, "a", "[{\"name\":\"x\"}]", NULL, &same));
    assert_string_equal(again, same);
}

static void edited_by_hand(void **state) {
    (void)state;
    cleanup_free char *text = NULL;
    risk_lock_free(accept_list("", "math", BEFORE, NULL, &text));
    char *at = strstr(text, "Add two");
    assert_non_null(at);
    at[0] = 'B';
    struct risk_lock *lock = NULL;
    struct err err = {0};
    assert_int_equal(risk_lock_load(slice_str(text), &lock, &err), -1);
    assert_non_null(strstr(err.text, "does not belong"));
    static const char *const broken[] = {"{",
                                         "[]",
                                         "{\"version\":2,\"servers\":{}}",
                                         "{\"version\":1}",
                                         "{\"version\":1,\"servers\":{\"a\":{}}}",
                                         "{\"version\":1,\"servers\":{\"a\":{\"tools\":{\"x\":{}}}}}",
                                         "{\"version\":1,\"version\":1}"};
    for (size_t i = 0; i < ARRAY_LEN(broken); i++)
        assert_int_equal(risk_lock_load(slice_str(broken[i]), &lock, &err), -1);
}

static void readable_diff(void **state) {
    (void)state;
    cleanup_lock struct risk_lock *lock = accept_list("", "math", BEFORE, NULL, NULL);
    read_json("{\"name\":\"add\",\"description\":\"Add; \\u202ebcc "
              "me\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"bcc\":{\"type\":\"string\"}}}}");
    cleanup_buf struct buf out;
    buf_init(&out, 1 << 16);
    risk_lock_diff(lock, SLICE("math"), &tape, 0, &arena, &out);
    buf_put_char(&out, 0);
    assert_non_null(strstr(out.ptr, "~ description: \"Add two numbers\" -> \"Add; <U+202E>bcc me\"\n"));
    assert_non_null(strstr(out.ptr, "+ inputSchema.properties: {\"bcc\":{\"type\":\"string\"}}\n"));
}

static void count_gone(void *ctx, struct slice name) {
    assert_true(slice_is(name, "list"));
    ++*(int *)ctx;
}

static void tools_that_are_gone(void **state) {
    (void)state;
    cleanup_lock struct risk_lock *lock = accept_list("", "math", BEFORE, NULL, NULL);
    read_json("[{\"name\":\"add\"}]");
    int gone = 0;
    risk_lock_gone(lock, SLICE("math"), &tape, 0, &arena, count_gone, &gone);
    assert_int_equal(gone, 1);
}

static void another_start(void **state) {
    (void)state;
    struct err err = {0};
    struct risk_lock *none = NULL;
    assert_int_equal(risk_lock_load((struct slice){0}, &none, &err), 0);
    read_json(BEFORE);
    struct slice command[] = {SLICE("npx"), SLICE("pkg@1.0.0")};
    struct risk_server_facts who = {
        .name = SLICE("m"), .command = command, .command_count = 2, .executable = SLICE("sha256:aa")};
    cleanup_buf struct buf out;
    buf_init(&out, 1 << 20);
    assert_int_equal(risk_lock_accept(none, &who, &tape, 0, NULL, &arena, &out, &err), 0);
    cleanup_lock struct risk_lock *lock = NULL;
    assert_int_equal(risk_lock_load(buf_slice(&out), &lock, &err), 0);
    struct slice why = {0};
    assert_true(risk_lock_same_start(lock, &who, &arena, &why));
    command[1] = SLICE("pkg@1.0.1");
    assert_false(risk_lock_same_start(lock, &who, &arena, &why));
    command[1] = SLICE("pkg@1.0.0");
    who.executable = SLICE("sha256:bb");
    assert_false(risk_lock_same_start(lock, &who, &arena, &why));
    assert_true(slice_starts(why, SLICE("executable")));
    risk_lock_free(none);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(verdicts, setup, teardown),
        cmocka_unit_test_setup_teardown(one_tool_is_accepted, setup, teardown),
        cmocka_unit_test_setup_teardown(other_servers_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(edited_by_hand, setup, teardown),
        cmocka_unit_test_setup_teardown(readable_diff, setup, teardown),
        cmocka_unit_test_setup_teardown(tools_that_are_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(another_start, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
