/* The file with rules about personal data: what it may say, and what is refused with which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "privacy/privacy_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct pii_rules *rules;

static int load(const char *text, struct err *err) {
    char path[] = "/tmp/sallyport-rules-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    rules = mem_zalloc(sizeof(*rules));
    arena_init(&rules->arena);
    int rc = privacy_rules_load(path, rules, err);
    unlink(path);
    return rc;
}

static void drop(void) {
    arena_free(&rules->arena);
    free(rules);
}

static void test_whole_file(void **state) {
    (void)state;
    struct err err = {0};
    int rc =
        load("version: \"1\"\n"
             "format: preserve\n"
             "results:\n"
             "  - {server: crm, tool: \"export_*\", grant: ci, kinds: [EMAIL, PHONE], mode: redact}\n"
             "arguments:\n"
             "  - {server: crm, kinds: [EMAIL], mode: report}\n"
             "  - {kinds: [SECRET], mode: block}\n"
             "restore:\n"
             "  - {server: deploy, kinds: [SECRET], from: [vault, keys]}\n"
             "custom:\n"
             "  - {name: CUSTOMER, literal: \"C-\", pattern: \"C-[0-9]{6}\", match: [C-123456], nomatch: "
             "[C-12]}\n",
             &err);
    if (rc != 0)
        fail_msg("%s", err.text);
    assert_true(rules->preserve);
    assert_int_equal(rules->mode_count, 1);
    assert_string_equal(rules->modes[0].place.server, "crm");
    assert_string_equal(rules->modes[0].place.tool, "export_*");
    assert_string_equal(rules->modes[0].place.grant, "ci");
    assert_int_equal(rules->modes[0].kinds, PII_BIT(PII_EMAIL) | PII_BIT(PII_PHONE));
    assert_int_equal(rules->modes[0].mode, FILTER_REDACT);
    assert_int_equal(rules->argument_count, 2);
    assert_int_equal(rules->arguments[0].mode, PII_ARGUMENTS_REPORT);
    assert_int_equal(rules->arguments[1].mode, PII_ARGUMENTS_BLOCK);
    assert_null(rules->arguments[1].place.server);
    assert_int_equal(rules->restore_count, 1);
    assert_int_equal(rules->restores[0].from_count, 2);
    assert_true(slice_is(rules->restores[0].from[1], "keys"));
    assert_int_equal(rules->custom_count, 1);
    assert_string_equal(rules->custom[0].name, "CUSTOMER");
    drop();
}

static void test_what_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"", "the document is empty"},
        {"- a\n", "not a map of rules"},
        {"results: []\n", "`version` must be \"1\""},
        {"version: \"2\"\n", "`version` must be \"1\""},
        {"version: \"1\"\nformat: fancy\n", "line 2: `format` is plain or preserve"},
        {"version: \"1\"\nresults: [{kinds: [EMAIL]}]\n", "a rule needs a mode"},
        {"version: \"1\"\nresults: [{kinds: [EMIAL], mode: off}]\n", "there is no kind `EMIAL`"},
        {"version: \"1\"\nresults: [{kinds: EMAIL, mode: off, server: 5}]\n", "`server` is a"},
        {"version: \"1\"\narguments: [{kinds: [EMAIL], mode: redact}]\n",
         "a rule about arguments needs a mode: off, report or block"},
        {"version: \"1\"\nrestore: [{kinds: [SECRET], from: [5]}]\n", "`from` lists names of servers"},
        {"version: \"1\"\ncustom: [{pattern: \"a\"}]\n", "a custom rule needs a name"},
        {"version: \"1\"\nresults: 5\n", "line 2"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct err err = {0};
        int rc = load(rows[i].text, &err);
        drop();
        if (rc == 0 || !strstr(err.text, rows[i].why))
            fail_msg("%s: %s", rows[i].text, rc == 0 ? "it was taken" : err.text);
    }
}

static void test_file_that_is_not_there(void **state) {
    (void)state;
    struct err err = {0};
    rules = mem_zalloc(sizeof(*rules));
    arena_init(&rules->arena);
    assert_int_equal(privacy_rules_load("/nonexistent/pii.yaml", rules, &err), -1);
    assert_non_null(strstr(err.text, "/nonexistent/pii.yaml"));
    drop();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_file),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_file_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
