#include "risk/vocabulary.h"

#include "risk_test.h"

static void table_is_sorted(void **state) {
    (void)state;
    size_t count;
    const struct risk_word *table = risk_word_table(&count);
    assert_true(count > 500);
    for (size_t i = 1; i < count; i++)
        if (strcmp(table[i - 1].text, table[i].text) >= 0)
            fail_msg("`%s` does not come before `%s`", table[i - 1].text, table[i].text);
}

static void every_word_is_found(void **state) {
    (void)state;
    size_t count;
    const struct risk_word *table = risk_word_table(&count);
    for (size_t i = 0; i < count; i++)
        assert_ptr_equal(risk_word_find(slice_str(table[i].text)), &table[i]);
    assert_null(risk_word_find(SLICE("")));
    assert_null(risk_word_find(SLICE("zzz")));
}

static void forms(void **state) {
    (void)state;
    static const struct {
        const char *form, *verb;
        char kind;
    } rows[] = {
        {"deletes", "delete", 's'}, {"fetches", "fetch", 's'},   {"copies", "copy", 's'},
        {"running", "run", 'g'},    {"creating", "create", 'g'}, {"reading", "read", 'g'},
        {"delete", "delete", 0},    {"removes", "remove", 's'},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char kind;
        const struct risk_word *w = risk_word_find_form(slice_str(rows[i].form), &kind);
        assert_non_null(w);
        assert_string_equal(w->text, rows[i].verb);
        assert_int_equal(kind, rows[i].kind);
    }
    char kind;
    assert_null(risk_word_find_form(SLICE("ss"), &kind));
    assert_null(risk_word_find_form(SLICE("xing"), &kind));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(table_is_sorted, setup, teardown),
        cmocka_unit_test_setup_teardown(every_word_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(forms, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
