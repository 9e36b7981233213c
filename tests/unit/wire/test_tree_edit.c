#include "wire/tree_edit.h"

#include "base/mem.h"
#include "wire/emit.h"
#include "wire/tree_parse.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct arena arena;

static int setup(void **state) {
    (void)state;
    arena_init(&arena);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    arena_free(&arena);
    return 0;
}

/* "tools/read/rules/0" or ".../-"; digits are an index. */
static size_t path_of(const char *text, struct tree_step steps[16]) {
    struct slice rest = slice_str(text), part;
    size_t n = 0;
    uint64_t index;
    bool more;
    do {
        more = slice_cut(&rest, '/', &part);
        steps[n++] = slice_to_u64(part, &index) ? (struct tree_step){.index = (uint32_t)index}
                                                : (struct tree_step){.key = part};
    } while (more);
    return n;
}

static int edit(const char *text, const char *path, const char *value, struct buf *out, struct err *err) {
    struct tree_step steps[16];
    const struct tree *tree = NULL;
    if (value)
        assert_int_equal(tree_parse(slice_str(value), &arena, &tree, err), 0);
    struct tree_edit one = {steps, path_of(path, steps), tree};
    return tree_edit(slice_str(text), &one, out, err);
}

static void expect(const char *text, const char *path, const char *value, const char *want) {
    cleanup_buf struct buf out;
    struct err err = {0};
    buf_init(&out, 1 << 20);
    if (edit(text, path, value, &out, &err) < 0)
        fail_msg("%s: %s", path, err.text);
    if (!slice_is(buf_slice(&out), want))
        fail_msg("%s:\n`%.*s`\ninstead of\n`%s`", path, SLICE_FMT(buf_slice(&out)), want);
}

static const char policy[] = "# what agents may do\n"
                             "version: \"1\"\n"
                             "default: deny   # nothing by itself\n"
                             "\n"
                             "hide:\n"
                             "  - wipe   # never\n"
                             "\n"
                             "tools:\n"
                             "  # reading\n"
                             "  read: # free\n"
                             "    rules: []\n"
                             "\n"
                             "  write:\n"
                             "    rules:\n"
                             "      # slowly\n"
                             "      - name: slow\n"
                             "        rate_limit: 5/minute\n"
                             "      - {name: small, action: deny}\n"
                             "\n"
                             "# the end\n";

static void expect_change(const char *path, const char *value, const char *before, const char *after) {
    const char *at = strstr(policy, before);
    assert_non_null(at);
    struct slice want =
        arena_printf(&arena, "%.*s%s%s", (int)(at - policy), policy, after, at + strlen(before));
    expect(policy, path, value, want.ptr);
}

static void test_changes_one_place(void **state) {
    (void)state;
    expect_change("default", "\"allow\"", "default: deny   # nothing by itself\n",
                  "default: allow   # nothing by itself\n");
    expect_change("hide/-", "\"drop\"", "  - wipe   # never\n", "  - wipe   # never\n  - drop\n");
    expect_change("hide/0", NULL, "hide:\n  - wipe   # never\n", "hide: []\n");
    expect_change("tools/write/rules/1", NULL, "      - {name: small, action: deny}\n", "");
    expect_change("tools/write/rules/-", "{\"name\":\"no\",\"action\":\"deny\"}",
                  "      - {name: small, action: deny}\n",
                  "      - {name: small, action: deny}\n      - name: \"no\"\n        action: deny\n");
    expect_change("tools/write/rules/0/rate_limit", "\"9/hour\"", "5/minute", "9/hour");
    expect_change("tools/write/rules/1/mode", "\"shadow\"", "      - {name: small, action: deny}\n",
                  "      - name: small\n        action: deny\n        mode: shadow\n");
}

static void test_makes_what_is_missing(void **state) {
    (void)state;
    expect_change("tools/read/rules/-", "{\"rate_limit\":\"5/minute\"}", "    rules: []\n",
                  "    rules:\n      - rate_limit: 5/minute\n");
    expect_change(
        "tools/send/rules/-",
        "{\"name\":\"ask\",\"conditions\":[{\"path\":\"args.to\",\"op\":\"in\",\"value\":[\"a@b\",\"c\"]}]}",
        "      - {name: small, action: deny}\n",
        "      - {name: small, action: deny}\n  send:\n    rules:\n      - name: ask\n        conditions:\n"
        "          - path: args.to\n            op: in\n            value: [\"a@b\", c]\n");
    expect("version: \"1\"\n", "tools/a", "{\"rules\":[]}", "version: \"1\"\ntools:\n  a:\n    rules: []\n");
    expect("version: \"1\"\ntools:\n", "tools/a", "{}", "version: \"1\"\ntools:\n  a: {}\n");
    expect("version: \"1\"\ntools: {b: {}}", "tools/a", "{}", "version: \"1\"\ntools:\n  b: {}\n  a: {}\n");
    expect("version: \"1\"", "default", "\"deny\"", "version: \"1\"\ndefault: deny\n");
}

static void test_takes_out(void **state) {
    (void)state;
    expect_change("tools/write", NULL,
                  "  write:\n    rules:\n      # slowly\n      - name: slow\n        rate_limit: 5/minute\n"
                  "      - {name: small, action: deny}\n",
                  "");
    expect(policy, "tools/none", NULL, policy);
    expect("a: 1\nb:\n- x\n- y\nc: 3\n", "b/0", NULL, "a: 1\nb:\n- y\nc: 3\n");
    expect("a: 1\nb:\n- x\nc: 3\n", "b/-", "\"z\"", "a: 1\nb:\n- x\n- z\nc: 3\n");
}

static void test_json(void **state) {
    (void)state;
    expect("{\"version\":\"1\",\"tools\":{}}", "tools/a", "{\"limits\":[]}",
           "{\n  \"version\": \"1\",\n  \"tools\": {\n    \"a\": {\n      \"limits\": []\n    }\n  }\n}\n");
}

static void test_strange_names_stay_names(void **state) {
    (void)state;
    expect("tools:\n  a: {}\n", "tools/yes", "{}", "tools:\n  a: {}\n  \"yes\": {}\n");
    expect("tools:\n  a: {}\n", "tools/x: y # z", "{}", "tools:\n  a: {}\n  \"x: y # z\": {}\n");
    expect("tools:\n  a:\n    on_deny: |\n      two\n      # lines\n  b: {}\n", "tools/b", "{\"rules\":[]}",
           "tools:\n  a:\n    on_deny: |\n      two\n      # lines\n  b:\n    rules: []\n");
}

static void test_refuses(void **state) {
    (void)state;
    cleanup_buf struct buf out;
    struct err err = {0};
    buf_init(&out, 1 << 20);
    assert_int_equal(edit("a: text\n", "a/b", "1", &out, &err), -1);
    assert_non_null(strstr(err.text, "line 1"));
    assert_int_equal(edit("a: [\n", "a/-", "1", &out, &err), -1);
    assert_int_equal(edit("x: &one {a: 1}\ny: *one\n", "y/b", "2", &out, &err),
                     0); /* written out, or refused: never wrong */
}

static void test_json_of_tree(void **state) {
    (void)state;
    const struct tree *t;
    struct err err = {0};
    cleanup_buf struct buf out;
    struct emit e;
    buf_init(&out, 4096);
    emit_init(&e, &out);
    assert_int_equal(tree_parse(SLICE("a: [1, 2.5, x, true, null]\nb: {c: \"1\"}\n"), &arena, &t, &err), 0);
    tree_json(t, &e);
    assert_true(slice_is(buf_slice(&out), "{\"a\":[1,2.5,\"x\",true,null],\"b\":{\"c\":\"1\"}}"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes_one_place), cmocka_unit_test(test_makes_what_is_missing),
        cmocka_unit_test(test_takes_out),         cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_of_tree),      cmocka_unit_test(test_strange_names_stay_names),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
