/* JSON on its way through: what is touched, what is not, and back. */
#include "filter_test.h"

static void round_trip(struct rig *r, const char *json, const char *gone, const char *stays) {
    cleanup_free char *hidden = rig_json(r, json, false);
    if (gone && strstr(hidden, gone))
        fail_msg("`%s` still stands in `%s`", gone, hidden);
    if (stays && !strstr(hidden, stays))
        fail_msg("`%s` is missing in `%s`", stays, hidden);
    cleanup_free char *back = rig_json(r, hidden, true);
    assert_string_equal(back, json);
}

static void strings_keys_numbers(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    round_trip(&r, "{ \"a\" : [1.50, \"x bob@example.org y\"], \"b\":\"\\u00e9\\/\" }", "bob@",
               "\"b\":\"\\u00e9\\/\" }");
    round_trip(&r, "{\"by\":{\"bob@example.org\":1}}", "bob@", "\":1}}");
    round_trip(&r, "{\"card_number\":4111111111111111,\"n\":12}", "4111111111111111", "\"n\":12");
    round_trip(&r, "{\"order_id\":4111111111111111}", NULL, "4111111111111111");
    round_trip(&r, "{\"phone\":\"9498777106\",\"order_id\":\"9498777106x\"}", "\"9498777106\"",
               "9498777106x");
    rig_free(&r);
}

static void escapes_come_back_as_they_were(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    round_trip(&r, "[\"bob\\u0040example.org\",\"bob@example.org\",\"bob\\u0040example\\u002eorg\"]",
               "example", NULL);
    round_trip(&r, "[\"tel \\u002b41 78 167 07 25\\n\\/x\"]", "167", "\\n\\/x");
    rig_free(&r);
}

static void json_inside_strings(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    round_trip(&r,
               "{\"text\":\"{\\\"email\\\":\\\"bob@example.org\\\",\\\"card_number\\\":4111111111111111}\"}",
               "bob@", "\\\"[CREDIT_CARD_");
    round_trip(&r, "{\"t\":\"{\\\"u\\\":\\\"{\\\\\\\"dob\\\\\\\":\\\\\\\"1989-04-17\\\\\\\"}\\\"}\"}", "1989",
               NULL);
    rig_free(&r);
}

static void twins_get_the_same_token(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    const char *json = "{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"dob\\\":\\\"1989-04-17\\\"}\"}],"
                       "\"structuredContent\":{\"first\":\"1989-04-17\",\"when\":\"2024-01-02\"}}";
    cleanup_free char *hidden = rig_json(&r, json, false);
    const char *first = strstr(hidden, "[DATE_OF_BIRTH_");
    assert_non_null(first);
    const char *second = strstr(first + 5, "[DATE_OF_BIRTH_");
    assert_non_null(second);
    assert_memory_equal(first, second, strlen("[DATE_OF_BIRTH_7K3QX9M2]"));
    assert_non_null(strstr(hidden, "2024-01-02"));
    round_trip(&r, json, "1989", NULL);
    rig_free(&r);
}

static void values_cut_over_content_parts(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    round_trip(&r,
               "{\"content\":[{\"type\":\"text\",\"text\":\"to "
               "bob@exam\"},{\"type\":\"text\",\"text\":\"ple.org now\"}]}",
               "bob@", " now");
    round_trip(&r, "[{\"text\":\"ghp_16C7e42F292c6912\"},{\"text\":\"E7710c838347Ae178B4a\"}]", "E7710c8",
               NULL);
    round_trip(&r, "[{\"text\":\"4111 1111 \"},{\"text\":\"1111 1111\"}]", "1111", NULL);
    rig_free(&r);
}

static void tokens_move_between_levels(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    /* found in JSON inside a string with an escape, used in a plain argument */
    cleanup_free char *hidden = rig_json(&r, "[\"{\\\"password\\\":\\\"hunter2\\\\u0040Tr9!\\\"}\"]", false);
    const char *token = strstr(hidden, "[SECRET_");
    assert_non_null(token);
    char args[64];
    snprintf(args, sizeof(args), "{\"p\":\"%.*s\"}", (int)(strchr(token, ']') - token + 1), token);
    cleanup_free char *back = rig_json(&r, args, true);
    assert_string_equal(back, "{\"p\":\"hunter2@Tr9!\"}");
    rig_free(&r);
}

static void number_tokens_in_text(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    cleanup_free char *hidden = rig_json(&r, "{\"ssn\":219099999}", false);
    char text[64];
    snprintf(text, sizeof(text), "[\"it is %.*s!\"]", (int)strlen(hidden) - 10, hidden + 8);
    cleanup_free char *back = rig_json(&r, text, true);
    assert_string_equal(back, "[\"it is 219099999!\"]");
    rig_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_keys_numbers),          cmocka_unit_test(escapes_come_back_as_they_were),
        cmocka_unit_test(json_inside_strings),           cmocka_unit_test(twins_get_the_same_token),
        cmocka_unit_test(values_cut_over_content_parts), cmocka_unit_test(tokens_move_between_levels),
        cmocka_unit_test(number_tokens_in_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
