#include "policy/board.h"

#include "policy/limits.h"
#include "policy/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char intercept[] = "# head\n"
                                "version: \"1\"\n"
                                "default: deny # nothing else\n"
                                "hide: [secret]\n"
                                "tools:\n"
                                "  read: # free\n"
                                "    rules: []\n"
                                "  pay:\n"
                                "    rules:\n"
                                "      - name: small\n"
                                "        conditions:\n"
                                "          - {path: args.amount, op: lte, value: 5}\n"
                                "      - name: never\n"
                                "        action: deny\n";

/* The caller frees it. */
static char *moved(const char *text, const char *tool, enum policy_column to, const char *rate) {
    cleanup_buf struct buf out;
    struct err err = {0};
    buf_init(&out, POLICY_BYTES_MAX);
    if (policy_board_move(slice_str(text), slice_str(tool), to, slice_str(rate), &out, &err) < 0)
        fail_msg("%s", err.text);
    char *copy = strndup(out.ptr, out.len);
    assert_non_null(copy);
    return copy;
}

static void refused(const char *text, const char *tool, enum policy_column to, const char *rate) {
    cleanup_buf struct buf out;
    struct err err = {0};
    buf_init(&out, POLICY_BYTES_MAX);
    assert_int_equal(policy_board_move(slice_str(text), slice_str(tool), to, slice_str(rate), &out, &err),
                     -1);
    assert_true(strlen(err.text) > 0);
    assert_int_equal(out.len, 0);
}

static enum policy_outcome outcome(const char *text, const char *tool, const char *args) {
    cleanup_problems struct policy_problems problems;
    cleanup_policy struct policy *policy = NULL;
    cleanup_arena struct arena a;
    cleanup_tape struct tape t;
    arena_init(&a);
    tape_init(&t);
    policy_problems_init(&problems);
    assert_int_equal(policy_load(slice_str(text), "p", &policy, &problems), 0);
    assert_int_equal(tape_parse(&t, arena_printf(&a, "{\"arguments\":%s}", args), NULL), TAPE_OK);
    const struct policy_facts facts = {.method = SLICE("tools/call"),
                                       .tool = slice_str(tool),
                                       .tape = &t,
                                       .args = tape_get_str(&t, 0, "arguments")};
    struct policy_verdict v;
    policy_decide(policy, &facts, &a, NULL, &v);
    return v.outcome;
}

static void every_column(void **state) {
    (void)state;
    static const struct {
        enum policy_column to;
        enum policy_outcome want;
    } rows[] = {{POLICY_COLUMN_ALLOW, POLICY_ALLOW},
                {POLICY_COLUMN_LIMIT, POLICY_ALLOW},
                {POLICY_COLUMN_APPROVE, POLICY_APPROVE},
                {POLICY_COLUMN_DENY, POLICY_DENY},
                {POLICY_COLUMN_HIDE, POLICY_DENY}};
    static const char *const tools[] = {"read", "pay", "secret", "unlisted", "odd name: \"x\""};
    for (size_t t = 0; t < sizeof(tools) / sizeof(tools[0]); t++) {
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
            char *text = moved(intercept, tools[t], rows[i].to, "7/hour");
            assert_int_equal(outcome(text, tools[t], "{\"amount\":1}"), rows[i].want);
            assert_non_null(strstr(text, "# head"));
            assert_non_null(strstr(text, "# nothing else"));
            assert_non_null(strstr(text, "# free"));
            assert_true(rows[i].to != POLICY_COLUMN_LIMIT || strstr(text, "7/hour"));
            char *again = moved(text, tools[t], rows[i].to, "7/hour");
            assert_string_equal(again, text); /* a second time changes nothing */
            free(again);
            char *back = moved(text, tools[t], POLICY_COLUMN_ALLOW, "");
            assert_int_equal(outcome(back, tools[t], "{\"amount\":1}"), POLICY_ALLOW);
            free(back);
            free(text);
        }
    }
}

static void rules_about_arguments_stay(void **state) {
    (void)state;
    char *text = moved(intercept, "pay", POLICY_COLUMN_ALLOW, "");
    assert_non_null(strstr(text, "name: small"));
    assert_null(strstr(text, "name: never"));
    assert_int_equal(outcome(text, "pay", "{\"amount\":5}"), POLICY_ALLOW);
    assert_int_equal(outcome(text, "pay", "{\"amount\":6}"), POLICY_DENY);
    free(text);
}

static void the_other_dialect(void **state) {
    (void)state;
    static const char layer[] =
        "{\"version\":\"1\",\"default\":\"deny\",\"tools\":{\"pay\":{\"require\":[{\"conditions\":[{"
        "\"path\":\"args.amount\",\"op\":\"lte\",\"value\":5}]}]}}}";
    static const enum policy_outcome want[] = {POLICY_ALLOW, POLICY_ALLOW, POLICY_APPROVE, POLICY_DENY,
                                               POLICY_DENY};
    for (int to = 0; to < POLICY_COLUMNS; to++) {
        char *text = moved(layer, "pay", (enum policy_column)to, "7/hour");
        assert_int_equal(outcome(text, "pay", "{\"amount\":1}"), want[to]);
        assert_int_equal(outcome(text, "pay", "{\"amount\":9}"), POLICY_DENY);
        char *back = moved(text, "pay", POLICY_COLUMN_ALLOW, "");
        assert_int_equal(outcome(back, "pay", "{\"amount\":1}"), POLICY_ALLOW);
        free(back);
        free(text);
    }
}

/* Published snippets write action, reason and rate_limit beside the lists. */
static void short_forms(void **state) {
    (void)state;
    static const char layer[] = "{\"version\":\"1\",\"default\":\"deny\",\"tools\":{"
                                "\"wipe\":{\"action\":\"deny\",\"reason\":\"Not by agents\"},"
                                "\"ask\":{\"action\":\"require_approval\"},"
                                "\"run\":{\"rate_limit\":{\"max\":10,\"window\":60}}}}";
    static const char *const tools[] = {"wipe", "ask", "run"};
    static const enum policy_outcome want[] = {POLICY_ALLOW, POLICY_ALLOW, POLICY_APPROVE, POLICY_DENY,
                                               POLICY_DENY};
    for (size_t t = 0; t < sizeof(tools) / sizeof(tools[0]); t++)
        for (int to = 0; to < POLICY_COLUMNS; to++) {
            char *text = moved(layer, tools[t], (enum policy_column)to, "7/hour");
            assert_int_equal(outcome(text, tools[t], "{}"), want[to]);
            free(text);
        }
}

/* Texts, approvers and the limits of each session are not lost by a choice that is made already. */
static void what_stands_there_is_kept(void **state) {
    (void)state;
    static const char text[] =
        "version: \"1\"\ntools:\n  pay:\n    rules:\n      - name: two eyes\n        action: "
        "require_approval\n"
        "        approvers: [\"grant:ben\"]\n        on_pending: Ben decides\n"
        "      - name: later\n        action: deny\n        mode: shadow\n"
        "      - name: once\n        limits:\n          - {counter: once, kind: identical, window: hour, "
        "max: 1}\n"
        "  mail:\n    rules:\n      - name: slowly\n        rate_limit: 5/hour\n        on_deny: Not so "
        "fast\n"
        "  post:\n    limits:\n      - {counter: a, window: day, max: 5, scope: session}\n"
        "      - {counter: b, window: day, max: 9}\n";
    char *same = moved(text, "pay", POLICY_COLUMN_APPROVE, "");
    assert_string_equal(same, text);
    free(same);
    char *free_of = moved(text, "pay", POLICY_COLUMN_ALLOW, "");
    assert_null(strstr(free_of, "two eyes"));
    assert_non_null(strstr(free_of, "name: later"));
    assert_non_null(strstr(free_of, "kind: identical"));
    free(free_of);
    char *slower = moved(text, "mail", POLICY_COLUMN_LIMIT, "2/hour");
    assert_non_null(strstr(slower, "name: slowly"));
    assert_non_null(strstr(slower, "on_deny: Not so fast"));
    assert_non_null(strstr(slower, "2/hour"));
    assert_null(strstr(slower, "5/hour"));
    free(slower);
    char *allowed = moved(text, "post", POLICY_COLUMN_ALLOW, "");
    assert_non_null(strstr(allowed, "scope: session"));
    assert_null(strstr(allowed, "counter: b"));
    free(allowed);
}

static void stricter_patterns(void **state) {
    (void)state;
    static const char text[] = "version: \"1\"\nhide: [\"x_*\"]\ntools:\n  \"del*\":\n    rules:\n"
                               "      - {name: no, action: deny}\n  \"*\":\n    rules:\n"
                               "      - {name: slowly, rate_limit: 9/day}\n  delete: {rules: []}\n";
    static const struct {
        const char *tool;
        enum policy_column to;
        const char *want;
    } rows[] = {{"delete", POLICY_COLUMN_ALLOW, "del*"}, {"delete", POLICY_COLUMN_APPROVE, "del*"},
                {"delete", POLICY_COLUMN_DENY, ""},      {"read", POLICY_COLUMN_ALLOW, "*"},
                {"read", POLICY_COLUMN_LIMIT, ""},       {"x_1", POLICY_COLUMN_DENY, "x_*"},
                {"x_1", POLICY_COLUMN_HIDE, ""}};
    cleanup_arena struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_true(slice_is(policy_board_other(slice_str(text), slice_str(rows[i].tool), rows[i].to, &a),
                             rows[i].want));
}

static void what_is_refused(void **state) {
    (void)state;
    refused("version: \"1\"\ntoolz: {}\n", "read", POLICY_COLUMN_DENY, "");
    refused("- a list\n", "read", POLICY_COLUMN_DENY, "");
    refused(intercept, "", POLICY_COLUMN_DENY, "");
    static const char *const rates[] = {"",        "5",      "/hour",   "5/", "5/fortnight",
                                        "-1/hour", "0/hour", "1e9/hour"};
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
        refused(intercept, "read", POLICY_COLUMN_LIMIT, rates[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_column),
        cmocka_unit_test(rules_about_arguments_stay),
        cmocka_unit_test(the_other_dialect),
        cmocka_unit_test(short_forms),
        cmocka_unit_test(what_stands_there_is_kept),
        cmocka_unit_test(stricter_patterns),
        cmocka_unit_test(what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
