#include "packages/choose.h"

#include "io/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define HEX(c)                                                                                               \
    c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c  \
        c c c c c c c c c c c c

/* pandas 2 needs numpy 2; numpy 1 is there, too; yaml was asked for by an agent. */
static const char text[] =
    "{\"version\":1,\"layers\":["
    "{\"path\":\"py/" HEX(
        "0") "\",\"name\":\"pandas\",\"version\":\"2.0\",\"modules\":\"pandas\",\"bytes\":10},"
             "{\"path\":\"py/" HEX(
                 "1") "\",\"name\":\"numpy\",\"version\":\"2.0\",\"modules\":\"numpy\",\"bytes\":20},"
                      "{\"path\":\"py/" HEX(
                          "2") "\",\"name\":\"numpy\",\"version\":\"1.0\",\"modules\":\"numpy\",\"bytes\":30}"
                               ","
                               "{\"path\":\"py/" HEX(
                                   "3") "\",\"name\":\"PyYAML\",\"version\":\"6.0\",\"modules\":\"yaml "
                                        "_yaml\",\"bytes\":5},"
                                        "{\"path\":\"js/" HEX(
                                            "4") "\",\"name\":\"zod\",\"version\":\"3.1.0\",\"modules\":"
                                                 "\"zod\",\"bytes\":5}],"
                                                 "\"packages\":["
                                                 "{\"kind\":\"pip\",\"name\":\"numpy\",\"version\":\"1.0\","
                                                 "\"python\":\"3.11\",\"layers\":[2]},"
                                                 "{\"kind\":\"pip\",\"name\":\"pandas\",\"version\":\"2.0\","
                                                 "\"python\":\"3.11\",\"layers\":[0,1]},"
                                                 "{\"kind\":\"pip\",\"name\":\"PyYAML\",\"version\":\"6.0\","
                                                 "\"python\":\"3.11\",\"on_request\":true,\"layers\":[3]},"
                                                 "{\"kind\":\"npm\",\"name\":\"zod\",\"version\":\"3.1.0\","
                                                 "\"layers\":[4]}]}";

static char dir[] = "/tmp/sallyport-test-XXXXXX";

static void write_manifest(const char *json) {
    char path[64];
    struct err err = {""};
    snprintf(path, sizeof(path), "%s/" PACK_MANIFEST_NAME, dir);
    if (io_file_write(path, slice_str(json), &err) < 0)
        fail_msg("%s", err.text);
}

static void test_choice(void **state) {
    (void)state;
    static const struct {
        enum pack_kind kind;
        const char *asked[3], *kept, *allow, *python;
        const char *json; /* or, of an error, a part of its text */
        bool fails;
    } rows[] = {
        {PACK_PIP, {"pandas"}, NULL, NULL, "3.11", "[\"py/" HEX("0") "\",\"py/" HEX("1") "\"]", false},
        {PACK_PIP,
         {"pandas", "numpy==1.0"},
         NULL,
         NULL,
         NULL,
         "[\"py/" HEX("0") "\",\"py/" HEX("2") "\"]",
         false},
        {PACK_PIP, {"numpy"}, "pandas", NULL, NULL, "[\"py/" HEX("2") "\",\"py/" HEX("0") "\"]", false},
        {PACK_PIP, {NULL}, "gone", NULL, NULL, "", false},
        {PACK_PIP, {"pyyaml"}, NULL, "pandas\nPyYaml", NULL, "[\"py/" HEX("3") "\"]", false},
        {PACK_NPM, {"zod@3"}, NULL, NULL, NULL, "{\"zod\":\"js/" HEX("4") "\"}", false},
        {PACK_PIP, {"pyyaml"}, NULL, "pandas", NULL, "not allowed here", true},
        {PACK_PIP,
         {"pandas"},
         NULL,
         NULL,
         "3.12",
         "installed for Python 3.11, but code runs with 3.12",
         true},
        {PACK_PIP, {"pandas==9"}, NULL, NULL, NULL, "but version 2.0 is", true},
        {PACK_PIP, {"pandas==9"}, NULL, "pandas", NULL, "call install_package", true},
        {PACK_PIP, {"httpx"}, NULL, "data-science", NULL, "call install_package", true},
        {PACK_PIP, {"httpx"}, NULL, "data-sciences", NULL, "sallyport code packages add httpx", true},
        {PACK_NPM, {"left-pad"}, NULL, NULL, NULL, "sallyport code packages add npm:left-pad", true},
        {PACK_PIP, {"--x"}, NULL, NULL, NULL, "is not the name of a package", true},
    };
    write_manifest(text);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct slice asked[3], kept = slice_str(rows[i].kept);
        struct pack_choose q = {.dir = dir,
                                .allow = rows[i].allow,
                                .kind = rows[i].kind,
                                .python = rows[i].python,
                                .asked = asked,
                                .kept = &kept,
                                .kept_count = rows[i].kept != NULL};
        for (; rows[i].asked[q.asked_count]; q.asked_count++)
            asked[q.asked_count] = slice_str(rows[i].asked[q.asked_count]);
        cleanup_buf struct buf json;
        struct err err = {""};
        buf_init(&json, 65536);
        const int got = pack_choose(&q, &json, &err);
        if (got != (rows[i].fails ? -1 : 0) ||
            (got == 0 ? !slice_is(buf_slice(&json), rows[i].json) : !strstr(err.text, rows[i].json)))
            fail_msg("row %zu: %.*s %s", i, SLICE_FMT(buf_slice(&json)), err.text);
    }
}

static void test_modules(void **state) {
    (void)state;
    static const struct {
        const char *module, *allow, *spec;
        bool installed;
    } rows[] = {{"pandas", NULL, "pandas==2.0", true},
                {"yaml", "pyyaml", "PyYAML==6.0", true},
                {"yaml", NULL, "", false},
                {"httpx", "data-science", "httpx", false},
                {"numpy", NULL, "numpy==1.0", true},
                {"unknown", "pandas", "", false}};
    cleanup_arena struct arena a;
    arena_init(&a);
    write_manifest(text);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct pack_choose q = {.dir = dir, .allow = rows[i].allow, .kind = PACK_PIP};
        bool installed;
        const struct slice got = pack_choose_for_module(&q, slice_str(rows[i].module), &installed, &a);
        if (!slice_is(got, rows[i].spec) || installed != rows[i].installed)
            fail_msg("%s: `%.*s`", rows[i].module, SLICE_FMT(got));
    }
}

/* What no program of ours has written is refused, and a path that leads elsewhere is. */
static void test_damaged(void **state) {
    (void)state;
    static const char *const rows[] = {
        "",
        "[]",
        "{\"version\":2,\"layers\":[],\"packages\":[]}",
        "{\"version\":1,\"layers\":[]}",
        ("{\"version\":1,\"layers\":[{\"path\":\"py/../../"
         "x\",\"name\":\"a\",\"version\":\"1\"}],\"packages\":[]}"),
        "{\"version\":1,\"layers\":[],\"packages\":[{\"name\":\"a\",\"version\":\"1\",\"layers\":[0]}]}"};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pack_manifest m;
        struct err err = {""};
        write_manifest(rows[i]);
        assert_int_equal(pack_manifest_load(dir, &m, &err), -1);
        assert_non_null(strstr(err.text, "is damaged"));
    }
}

static int make_dir(void **state) {
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state) {
    (void)state;
    char path[64];
    snprintf(path, sizeof(path), "%s/" PACK_MANIFEST_NAME, dir);
    unlink(path);
    return rmdir(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_choice), cmocka_unit_test(test_modules),
                                       cmocka_unit_test(test_damaged)};
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
