#include "risk/survey.h"

#include "risk_test.h"
#include "wire/tree_parse.h"

static struct risk_survey survey;

static const struct tree *policy(const char *tools, enum risk_dialect dialect) {
    read_json(tools);
    struct risk_survey_input in = {.t = &tape, .tools = 0, .server = SLICE("s\nversion: \"2\"")};
    risk_survey_run(&in, &arena, &survey);
    cleanup_buf struct buf out;
    buf_init(&out, 1 << 20);
    assert_true(risk_survey_policy(&survey, dialect, &arena, &out));
    struct err err = {0};
    const struct tree *root;
    struct slice text = arena_dup(&arena, buf_slice(&out));
    if (tree_parse(text, &arena, &root, &err))
        fail_msg("%s\n%.*s", err.text, SLICE_FMT(text));
    return root;
}

#define TOOLS                                                                                                \
    "[{\"name\":\"list_x\",\"description\":\"List x\\n  evil: {rules: []}\\u2028evil2: 1\"},"                \
    "{\"name\":\"delete_x\",\"description\":\"Delete x\"},{\"name\":\"pay_x\",\"description\":\"Pay\"},"     \
    "{\"name\":\"yes\",\"description\":\"List\"},{\"name\":\"9\",\"description\":\"List\"},"                 \
    "{\"name\":\"list_x\",\"description\":\"again\"},{\"name\":\"bad name\"},"                               \
    "{\"name\":\"run_x\",\"description\":\"Run a "                                                           \
    "command\",\"inputSchema\":{\"properties\":{\"command\":{\"type\":\"string\"}},\"required\":["           \
    "\"command\"]}}]"

static void intercept(void **state) {
    (void)state;
    const struct tree *root = policy(TOOLS, RISK_DIALECT_INTERCEPT);
    assert_true(slice_is(tree_get(root, "version")->text, "1"));
    assert_true(slice_is(tree_get(root, "default")->text, "deny"));
    const struct tree *tools = tree_get(root, "tools");
    assert_int_equal(tools->count, 6);
    assert_null(tree_get(tools, "evil"));
    static const char *const refused[] = {"delete_x", "pay_x"};
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        const struct tree *rule = tree_get(tree_get(tools, refused[i]), "rules")->child;
        assert_true(slice_is(tree_get(rule, "action")->text, "deny"));
    }
    assert_true(slice_is(tree_get(tree_get(tree_get(tools, "list_x"), "rules")->child, "rate_limit")->text,
                         "60/minute"));
    assert_true(slice_is(tree_get(tree_get(tree_get(tools, "run_x"), "rules")->child, "rate_limit")->text,
                         "10/minute"));
}

static void policylayer(void **state) {
    (void)state;
    const struct tree *root = policy(TOOLS, RISK_DIALECT_POLICYLAYER);
    const struct tree *tools = tree_get(root, "tools");
    assert_int_equal(tools->count, 6);
    assert_int_equal(tree_get(tree_get(tree_get(tools, "delete_x"), "deny_if")->child, "conditions")->count,
                     0);
    assert_int_equal(tree_get(tree_get(tools, "list_x"), "limits")->child->type, TREE_MAP);
    assert_int_equal(tree_get(tree_get(tools, "run_x"), "require")->count, 1);
}

static void poisoned_tools_are_left_out(void **state) {
    (void)state;
    const struct tree *root =
        policy("[{\"name\":\"a\",\"description\":\"\\u202elist\"}]", RISK_DIALECT_INTERCEPT);
    assert_int_equal(tree_get(root, "tools")->count, 0);
    assert_int_equal(survey.poisoned, 1);
}

static void json_reads_back(void **state) {
    (void)state;
    policy(TOOLS, RISK_DIALECT_INTERCEPT);
    cleanup_buf struct buf out;
    buf_init(&out, 1 << 20);
    risk_survey_json(&survey, &arena, &out);
    struct tape back;
    tape_init(&back);
    assert_int_equal(tape_parse(&back, slice_trim(buf_slice(&out)), NULL), TAPE_OK);
    assert_int_equal(tape_node(&back, 0)->count, 8);
    buf_reset(&out);
    const struct risk_survey *list[] = {&survey};
    risk_sarif_write(list, 1, "1", SLICE("x.json"), &arena, &out);
    assert_int_equal(tape_parse(&back, slice_trim(buf_slice(&out)), NULL), TAPE_OK);
    tape_free(&back);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(intercept, setup, teardown),
        cmocka_unit_test_setup_teardown(policylayer, setup, teardown),
        cmocka_unit_test_setup_teardown(poisoned_tools_are_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(json_reads_back, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
