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
    bool object = tape_is(&tape, 0, TAPE_OBJECT);
    struct risk_lists lists = {.t = &tape,
                               .tools = object ? tape_get_str(&tape, 0, "tools") : 0,
                               .skills = object ? tape_get_str(&tape, 0, "skills") : 0};
    struct risk_server_facts who = {
        .name = slice_str(server), .package = SLICE("pkg"), .version = SLICE("1.0.0")};
    if (risk_lock_accept(old, &who, &lists, only ? &one : NULL, &arena, &out, &err))
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
    risk_lock_check(lock, RISK_PIN_TOOL, slice_str(server), &tape, 0, &arena, &v);
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

static void note_difference(void *ctx, const struct risk_difference *d) {
    buf_printf(ctx, "%s %s %.*s\n%.*s", risk_pin_kind_name(d->kind), d->state, SLICE_FMT(d->name),
               SLICE_FMT(d->diff));
}

static const char *differences(const struct risk_lock *lock, const char *tools) {
    static struct buf out;
    buf_free(&out);
    buf_init(&out, 1 << 16);
    read_json(tools);
    bool object = tape_is(&tape, 0, TAPE_OBJECT);
    struct risk_lists lists = {.t = &tape,
                               .tools = object ? tape_get_str(&tape, 0, "tools") : 0,
                               .skills = object ? tape_get_str(&tape, 0, "skills") : 0};
    risk_lock_compare(lock, SLICE("math"), &lists, &arena, note_difference, &out);
    buf_put_char(&out, 0);
    return out.ptr;
}

static void readable_diff(void **state) {
    (void)state;
    cleanup_lock struct risk_lock *lock = accept_list("", "math", BEFORE, NULL, NULL);
    assert_string_equal(
        differences(
            lock,
            "[{\"name\":\"add\",\"description\":\"Add; \\u202ebcc "
            "me\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"bcc\":{\"type\":\"string\"}}}}]"),
        "tool changed add\n+ inputSchema.properties: {\"bcc\":{\"type\":\"string\"}}\n"
        "~ description: \"Add two numbers\" -> \"Add; <U+202E>bcc me\"\ntool gone list\n");
}

#define DIGEST_A "sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb" /* of "a" */
#define SKILL(text, digest)                                                                                  \
    "{\"uri\":\"skill://pdf/SKILL.md\",\"frontmatter\":{\"name\":\"pdf\",\"description\":\"" text            \
    "\"},\"resources\":[{\"uri\":\"skill://pdf/SKILL.md\",\"digest\":\"" digest                              \
    "\"},{\"uri\":\"skill://pdf/odd\",\"digest\":\"md5:0\"},{\"uri\":\"skill://pdf/none\"}]}"
#define WITH_SKILLS(skills) "{\"tools\":[{\"name\":\"list\"}],\"skills\":[" skills "]}"

static enum risk_pin check_file(const struct risk_lock *lock, const char *server, const char *uri,
                                const char *bytes) {
    struct risk_pin_verdict v;
    risk_lock_check_file(lock, slice_str(server), slice_str(uri), slice_str(bytes), &arena, &v);
    assert_int_equal(v.reason.len == 0, v.pin == RISK_PIN_OK);
    return v.pin;
}

static void skills_are_pinned_too(void **state) {
    (void)state;
    cleanup_free char *text = NULL, *again = NULL;
    cleanup_lock struct risk_lock *lock =
        accept_list("", "math", WITH_SKILLS(SKILL("Fills forms", DIGEST_A)), NULL, &text);
    assert_string_equal(differences(lock, WITH_SKILLS(SKILL("Fills forms", DIGEST_A))), "");
    assert_string_equal(differences(lock, WITH_SKILLS(SKILL("Evil", DIGEST_A))),
                        "skill changed skill://pdf/SKILL.md\n~ frontmatter.description: \"Fills forms\" -> "
                        "\"Evil\"\n");
    assert_string_equal(differences(lock, WITH_SKILLS("{\"uri\":\"skill://x\"}")),
                        "skill new skill://x\nskill gone skill://pdf/SKILL.md\n");
    assert_string_equal(differences(lock, WITH_SKILLS("{},1")),
                        "skill unreadable ?\nskill unreadable ?\nskill gone skill://pdf/SKILL.md\n");
    assert_string_equal(differences(lock, "[{\"name\":\"list\"}]"), ""); /* not asked for its skills */
    /* the content of its files */
    assert_int_equal(check_file(lock, "math", "skill://pdf/SKILL.md", "a"), RISK_PIN_OK);
    assert_int_equal(check_file(lock, "math", "skill://pdf/SKILL.md", "b"), RISK_PIN_CHANGED);
    assert_int_equal(check_file(lock, "other", "skill://pdf/SKILL.md", "a"), RISK_PIN_NEW);
    assert_int_equal(check_file(lock, "math", "skill://pdf/odd", "a"), RISK_PIN_NEW);
    assert_int_equal(check_file(lock, "math", "skill://pdf/none", "a"), RISK_PIN_NEW);
    /* one of them; all of a list without skills; none any more */
    cleanup_lock struct risk_lock *one =
        accept_list(text, "math", WITH_SKILLS("{\"uri\":\"skill://x\"}"), "skill://x", &again);
    assert_string_equal(
        differences(one, WITH_SKILLS("{\"uri\":\"skill://x\"}," SKILL("Fills forms", DIGEST_A))), "");
    cleanup_lock struct risk_lock *kept = accept_list(again, "math", "[{\"name\":\"list\"}]", NULL, NULL);
    assert_int_equal(check_file(kept, "math", "skill://pdf/SKILL.md", "a"), RISK_PIN_OK);
    cleanup_lock struct risk_lock *none = accept_list(again, "math", WITH_SKILLS(""), NULL, NULL);
    assert_int_equal(check_file(none, "math", "skill://pdf/SKILL.md", "a"), RISK_PIN_NEW);
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
    assert_int_equal(risk_lock_accept(none, &who, &(struct risk_lists){.t = &tape}, NULL, &arena, &out, &err),
                     0);
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
        cmocka_unit_test_setup_teardown(skills_are_pinned_too, setup, teardown),
        cmocka_unit_test_setup_teardown(another_start, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
