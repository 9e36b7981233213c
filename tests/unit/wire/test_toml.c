#include "wire/toml.h"

#include "base/mem.h"
#include "wire/splice.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct arena arena;
static struct toml toml;

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

static void start(const char *text) {
    struct err err = {0};
    if (toml_parse(slice_str(text), &arena, &toml, &err) < 0)
        fail_msg("%s in `%s`", err.text, text);
}

static const struct toml_item *find(const char *dotted) {
    struct slice path[TOML_PATH_MAX], rest = slice_str(dotted);
    size_t depth = 0;
    while (slice_cut(&rest, '/', &path[depth++]))
        ;
    const struct toml_item *item = toml_find(&toml, path, depth);
    if (!item)
        fail_msg("no `%s`", dotted);
    return item;
}

static void assert_json(const char *path, const char *want) {
    cleanup_buf struct buf out;
    buf_init(&out, 1 << 16);
    assert_true(toml_json(&toml, find(path), &arena, &out));
    if (!slice_is(buf_slice(&out), want))
        fail_msg("`%.*s` instead of `%s`", SLICE_FMT(buf_slice(&out)), want);
}

static const char config[] = "# my settings\n"
                             "model = \"o9\" # the best\n"
                             "limits = { tokens = 1_000, deep = { a.b = [ { x = 1 }, 2 ] } }\n"
                             "\n"
                             "[mcp_servers.files]\n"
                             "command = 'npx'\n"
                             "args = [\n"
                             "  \"-y\", # yes\n"
                             "  \"a \\\"b\\\" \\u00e9\",\n"
                             "]\n"
                             "enabled = true\n"
                             "startup_timeout_sec = 20\n"
                             "\n"
                             "[mcp_servers.files.env]\n"
                             "KEY = \"\"\"\nx \\\n    y\"\"\"\n"
                             "\n"
                             "[mcp_servers.\"my server\"]\n"
                             "url = \"https://example.com/mcp\"\n"
                             "http_headers = { \"X-A\" = 'b', C = \"d\" }\n"
                             "when = 2026-01-02 03:04:05Z\n"
                             "[[profiles]]\n"
                             "name = '''it's'''\n"
                             "[[profiles]]\n"
                             "name = 'twice'\n"
                             "[profiles.more]\n"
                             "hosts = [ { n = 0xff }, ]\n";

static void test_reads(void **state) {
    (void)state;
    start(config);
    assert_json("model", "\"o9\"");
    assert_json("mcp_servers/files/command", "\"npx\"");
    assert_json("mcp_servers/files/args", "[\"-y\",\"a \\\"b\\\" é\"]");
    assert_json("mcp_servers/files/enabled", "true");
    assert_json("mcp_servers/files/startup_timeout_sec", "20");
    assert_json("mcp_servers/files/env/KEY", "\"x y\"");
    assert_json("mcp_servers/my server/url", "\"https://example.com/mcp\"");
    assert_json("mcp_servers/my server/http_headers", "{\"X-A\":\"b\",\"C\":\"d\"}");
    /* Of two elements with the same path none is meant. */
    assert_null(toml_find(&toml, (struct slice[]){SLICE("profiles"), SLICE("name")}, 2));
    const struct toml_item *last = &toml.items[toml.count - 1];
    assert_true(last->listed && last->depth == 3 && slice_is(last->path[2], "hosts"));
    cleanup_buf struct buf out;
    buf_init(&out, 1 << 16);
    assert_false(toml_json(&toml, find("mcp_servers/my server/when"), &arena, &out));
    assert_true(find("limits/deep/a/b")->inner);
}

static void test_refuses(void **state) {
    (void)state;
    static const char *const rows[] = {
        "a = 1\na = 2\n",
        "[t]\n[t]\n",
        "a = \"x\n",
        "a = '''x\n",
        "a = [1, 2\n",
        "a = [1}\n",
        "a = {b = 1\n",
        "a = {b = 1 c=2}\n",
        "a 1\n",
        "a =\n",
        "= 1\n",
        "[t\n",
        "[[t]\n",
        "a = 1 b = 2\n",
        "[t] x\n",
        "a = \"\\x\"\nb",
        "\"\"\"k\"\"\" = 1\n",
        "a = \"\xff\"\n",
        "a = {,}\n",
        "a = {b = 1,}\n",
        "a = {b = 1,\n c = 2}\n",
        "a = 01\n",
        "a = 1__0\n",
        "a = 0x_f\n",
        "a = 9223372036854775808\n",
        "a = .5\n",
        "a = yes\n",
        "a = [yes]\n",
        "a = 2023-02-29\n",
        "a = 12:60:00\n",
        "a = \"\\e\"\n",
        "a = \"\\ud800\"\n",
        "a = \"\x01\"\n",
        "a = 1 # \x7f\n",
        "a = 1\rb = 2\n",
        "\"a\\u0000\" = 1\n",
        "[[t]]\n[t]\n",
        "[t]\n[[t]]\n",
        "t = []\n[[t]]\n",
        "t = {}\n[t.u]\n",
        "[t]\nu.v = 1\n[t.u]\n",
        "[t.u]\n[t]\nu.v = 1\n",
        "[[t]]\n[[t.u]]\n[t.u]\n",
        "a = [{b = 1, b = 2}]\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {0};
        if (toml_parse(slice_str(rows[i]), &arena, &toml, &err) == 0)
            fail_msg("taken: `%s`", rows[i]);
        assert_true(err.text[0]);
    }
}

static void test_ceilings(void **state) {
    (void)state;
    cleanup_buf struct buf text;
    buf_init(&text, 1 << 16);
    struct err err = {0};
    for (int i = 0; i < 40; i++)
        buf_put_str(&text, i ? ".a" : "a");
    buf_put_str(&text, " = 1\n");
    assert_int_equal(toml_parse(buf_slice(&text), &arena, &toml, &err), -1);
    buf_reset(&text);
    buf_put_str(&text, "a = ");
    for (int i = 0; i < 100; i++)
        buf_put_char(&text, '[');
    assert_int_equal(toml_parse(buf_slice(&text), &arena, &toml, &err), -1);
    assert_non_null(strstr(err.text, "too deep"));
}

static void test_definitions(void **state) {
    (void)state;
    static const char *const rows[] = {
        "[a.b]\n[a]\n",
        "[[a]]\nx = 1\n[[a]]\nx = 1\n",
        "[[a]]\n[a.b]\n[[a]]\n[a.b]\n",
        "a.b = 1\na.c = 2\n[a.d]\n",
        "[[a.b]]\n[[a.b.c]]\n[[a.b.c]]\n",
        "a = [{x = 1}, {x = 1}]\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        start(rows[i]);
    start("n = [0xff, +1_0, 1e3, -0.5, true, [], {a = 'b', c = [1,]}]\n");
    assert_json("n", "[255,10,1e3,-0.5,true,[],{\"a\":\"b\",\"c\":[1]}]");
}

/* What a changed value leaves of the rest. */
static void test_rest_stays(void **state) {
    (void)state;
    start(config);
    struct splice splice;
    splice_init(&splice, toml.src, &arena);
    const struct toml_item *item = find("mcp_servers/files/command");
    assert_true(splice_replace(&splice, item->value, item->end, SLICE("\"gate\"")));
    uint32_t at;
    bool empty;
    assert_true(toml_array_first(&toml, find("mcp_servers/files/args"), &at, &empty));
    assert_false(empty);
    assert_true(splice_replace(&splice, at, at, SLICE("\"npx\",\n  ")));
    cleanup_buf struct buf out;
    buf_init(&out, 1 << 16);
    assert_true(splice_write(&splice, &out));
    struct err err = {0};
    assert_int_equal(toml_parse(buf_slice(&out), &arena, &toml, &err), 0);
    assert_json("mcp_servers/files/command", "\"gate\"");
    assert_json("mcp_servers/files/args", "[\"npx\",\"-y\",\"a \\\"b\\\" é\"]");
    size_t head = (size_t)(strstr(config, "'npx'") - config), tail = strlen(strstr(config, "enabled"));
    assert_memory_equal(out.ptr, config, head);
    assert_memory_equal(out.ptr + out.len - tail, config + strlen(config) - tail, tail);
}

static void test_quotes(void **state) {
    (void)state;
    static const char *const rows[] = {"", "plain", "q\"\\\t\n", "\x7f", "é\x7fü", "a\x01z"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        cleanup_buf struct buf text;
        struct slice back;
        buf_init(&text, 1 << 16);
        buf_put_str(&text, "k = ");
        toml_quote(&text, slice_str(rows[i]));
        buf_put_char(&text, 0);
        start(text.ptr);
        assert_true(toml_text(&toml, find("k"), &arena, &back));
        assert_true(slice_is(back, rows[i]));
        assert_null(memchr(text.ptr, 0x7f, text.len));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_reads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refuses, setup, teardown),
        cmocka_unit_test_setup_teardown(test_definitions, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ceilings, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rest_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(test_quotes, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
