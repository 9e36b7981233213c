/* Custom rules, and the sealed vault. */
#include "filter/box.h"

#include "filter_test.h"

static const char *const badge_yes[] = {"my badge-204433 is lost", NULL};
static const char *const badge_no[] = {"badge-12", NULL};

static void custom_rules(void **state) {
    (void)state;
    const struct pii_rule rules[] = {
        {.name = "BADGE",
         .literal = "badge-",
         .pattern = "badge-[0-9]{6}",
         .match = badge_yes,
         .nomatch = badge_no},
        {.name = "PROJECT", .literal = "Nightjar"},
    };
    struct rig r;
    struct err err;
    rig_init(&r, 1);
    struct pii_engine *e;
    assert_int_equal(pii_engine_new(rules, 2, &e, &err), 0);
    const uint8_t key[32] = {3};
    struct filter_scope *s = filter_scope_new(e, key, filter_memory_vault(r.memory)), *usual = r.scope;
    r.scope = s;
    cleanup_free char *out = rig_hide(&r, "Badge-204433? badge-204433 of project NIGHTJAR");
    assert_non_null(strstr(out, "[BADGE_"));
    assert_non_null(strstr(out, "[PROJECT_"));
    assert_non_null(strstr(out, "Badge-204433?")); /* the pattern minds the case, the literal does not */
    cleanup_free char *back = rig_back(&r, out);
    assert_string_equal(back, "Badge-204433? badge-204433 of project NIGHTJAR");
    assert_int_equal(pii_engine_kind_from(e, SLICE("badge")), PII_BUILTIN);
    r.scope = usual;
    filter_scope_free(s);
    pii_engine_free(e);
    rig_free(&r);
}

static void bad_rules_are_refused(void **state) {
    (void)state;
    static const char *const never[] = {"badge-204433", NULL};
    static const struct {
        struct pii_rule rule;
        const char *says;
    } rows[] = {
        {{.name = "x", .literal = "ab"}, "name"},
        {{.name = "EMAIL", .literal = "ab"}, "built-in"},
        {{.name = "GOOD", .pattern = "a+"}, "literal"},
        {{.name = "GOOD", .literal = "ab", .pattern = "(a"}, "pattern"},
        {{.name = "GOOD", .literal = "zz", .match = never}, "does not find"},
        {{.name = "GOOD", .literal = "badge", .nomatch = never}, "should not"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct pii_engine *e = NULL;
        struct err err;
        assert_int_equal(pii_engine_new(&rows[i].rule, 1, &e, &err), -1);
        if (!strstr(err.text, rows[i].says))
            fail_msg("`%s` does not say `%s`", err.text, rows[i].says);
    }
}

/* A pattern that would run for ages stops at its limit, and the text is still hidden. */
static void costly_patterns_fail_closed(void **state) {
    (void)state;
    const struct pii_rule rule = {.name = "SLOW", .literal = "aaaa", .pattern = "(a+)+$"};
    struct pii_engine *e;
    struct err err;
    assert_int_equal(pii_engine_new(&rule, 1, &e, &err), 0);
    char text[600];
    memset(text, 'a', sizeof(text));
    text[sizeof(text) - 1] = 'b';
    cleanup_pii_spans struct pii_spans s;
    pii_spans_init(&s);
    const struct pii_options opt = {0};
    pii_engine_scan(e, &opt, slice_of(text, sizeof(text)), NULL, &s);
    assert_true(s.count > 0);
    pii_engine_free(e);
}

static void boxes(void **state) {
    (void)state;
    struct rig a, b;
    struct err err;
    const uint8_t key[32] = {1, 2, 3}, wrong[32] = {3, 2, 1};
    rig_init(&a, 1);
    rig_init(&b, 1);
    cleanup_free char *token = rig_hide(&a, "bob@example.org");
    cleanup_free char *json = rig_json(&a, "[{\"ssn\":219099999,\"e\":\"x\\u0040example.org\"}]", false);
    cleanup_buf struct buf box;
    buf_init(&box, 1 << 20);
    assert_int_equal(filter_box_seal(a.memory, key, &box, &err), 0);
    assert_null(memmem(box.ptr, box.len, "bob@", 4));
    assert_int_equal(filter_box_open(b.memory, wrong, buf_slice(&box), &err), -1);
    assert_int_equal(filter_memory_count(b.memory), 0);
    assert_int_equal(filter_box_open(b.memory, key, buf_slice(&box), &err), 0);
    assert_int_equal(filter_memory_count(b.memory), filter_memory_count(a.memory));
    cleanup_free char *back = rig_back(&b, token);
    assert_string_equal(back, "bob@example.org");
    cleanup_free char *json_back = rig_json(&b, json, true);
    assert_string_equal(json_back, "[{\"ssn\":219099999,\"e\":\"x\\u0040example.org\"}]");
    for (size_t i = 0; i < box.len; i += 7) {
        box.ptr[i] ^= 1;
        struct filter_memory *m = filter_memory_new();
        assert_int_equal(filter_box_open(m, key, buf_slice(&box), &err), -1);
        assert_int_equal(filter_memory_count(m), 0);
        filter_memory_free(m);
        box.ptr[i] ^= 1;
    }
    rig_free(&a);
    rig_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(custom_rules),
        cmocka_unit_test(bad_rules_are_refused),
        cmocka_unit_test(costly_patterns_fail_closed),
        cmocka_unit_test(boxes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
