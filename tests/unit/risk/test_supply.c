#include "risk/executable.h"
#include "risk/supply.h"

#include "risk_test.h"

static void command_lines(void **state) {
    (void)state;
    static const struct {
        const char *line, *package, *version;
        bool unpinned;
    } rows[] = {
        {"npx -y @scope/server", "@scope/server", "", true},
        {"npx -y @scope/server@1.2.3", "@scope/server", "1.2.3", false},
        {"npx server@latest", "server", "", true},
        {"npx server@^1.0.0", "server", "", true},
        {"npx -p pkg@2.0.0 bin", "pkg", "2.0.0", false},
        {"/usr/bin/npx --yes pkg@2.0.0 /srv", "pkg", "2.0.0", false},
        {"pnpm dlx pkg", "pkg", "", true},
        {"uvx pkg==1.2", "pkg", "1.2", false},
        {"uvx pkg@1.2", "pkg", "1.2", false},
        {"uvx pkg>=1.2", "pkg", "", true},
        {"uvx --from pkg==3.1 run-it", "pkg", "3.1", false},
        {"docker run -i --rm -e KEY org/image:1.2", "org/image", "1.2", false},
        {"docker run registry:5000/org/image", "registry:5000/org/image", "", true},
        {"docker run org/image:latest", "org/image", "", true},
        {"docker run org/image@sha256:abcd", "org/image", "sha256:abcd", false},
        {"node server.js", "", "", false},
        {"docker ps", "", "", false},
        {"npx", "", "", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct slice argv[16], rest = slice_str(rows[i].line);
        size_t count = 0;
        bool more = true;
        while (more)
            more = slice_cut(&rest, ' ', &argv[count++]);
        struct risk_supply s;
        risk_supply_read(argv, count, &s);
        if (!slice_is(s.package, rows[i].package) || !slice_is(s.version, rows[i].version) ||
            s.unpinned != rows[i].unpinned)
            fail_msg("%s: package `%.*s`, version `%.*s`, unpinned %d", rows[i].line, SLICE_FMT(s.package),
                     SLICE_FMT(s.version), s.unpinned);
    }
}

static size_t split(const char *line, struct slice *argv) {
    struct slice rest = slice_str(line);
    size_t count = 0;
    bool more = true;
    while (more)
        more = slice_cut(&rest, ' ', &argv[count++]);
    return count;
}

static void names(void **state) {
    (void)state;
    static const struct {
        const char *line, *name;
    } rows[] = {
        {"npx -y @a/b@1.2 /srv", "@a/b"},
        {"node --inspect dist/server.js x", "server.js"},
        {"node /srv/billing/dist/index.js", "billing"},
        {"node ./github/build/main.js", "github"},
        {"python3 /opt/notes/server.py", "notes"},
        {"/opt/weather/.venv/bin/python -u /opt/weather/src/main.py", "weather"},
        {"node /x/node_modules/@a/b/dist/index.js", "@a/b"},
        {"node /x/node_modules/a/node_modules/c/index.js", "c"},
        {"node /x/node_modules/.bin/tool", "tool"},
        {"node /index.js", "index.js"},
        {"node ../index.js", "index.js"},
        {"/usr/bin/python3.11 -u app.py", "app.py"},
        {"uv run tool.py", "tool.py"},
        {"/opt/bin/gate --x", "gate"},
        {"node", "node"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct slice argv[16];
        size_t count = split(rows[i].line, argv);
        struct slice name = risk_supply_project(argv, count, &arena);
        if (!slice_is(name, rows[i].name))
            fail_msg("%s is called %.*s", rows[i].line, SLICE_FMT(name));
    }
    struct slice argv[16];
    size_t count = split("node /srv/billing/dist/index.js", argv);
    assert_true(slice_is(risk_supply_name(argv, count, &arena), "index.js")); /* as in locks that are there */
    assert_true(slice_is(risk_supply_url_name(SLICE("https://me:pw@h.example:8/mcp?key=1#x"), &arena),
                         "h.example:8/mcp"));
    assert_true(slice_is(risk_supply_url_name(SLICE("http://h"), &arena), "h"));
}

/* What stands for a secret is the same for the same secret only, and the rest of the line stays. */
static void masks(void **state) {
    (void)state;
    static const char line[] = "srv --api-key s3cret --port 8 TOKEN=abc postgres://u:pw@h/d --auth -v";
    struct slice argv[16], other[16];
    size_t count = split(line, argv);
    const struct slice *shown = risk_supply_mask(argv, count, &arena);
    cleanup_buf struct buf text;
    buf_init(&text, 4096);
    for (size_t i = 0; i < count; i++)
        buf_printf(&text, "%.*s ", SLICE_FMT(shown[i]));
    buf_put_char(&text, 0);
    assert_null(strstr(text.ptr, "s3cret"));
    assert_null(strstr(text.ptr, "abc"));
    assert_null(strstr(text.ptr, ":pw@"));
    assert_non_null(strstr(text.ptr, "--port 8 TOKEN=<"));
    assert_non_null(strstr(text.ptr, "postgres://u:<"));
    assert_non_null(strstr(text.ptr, ">@h/d --auth -v"));
    assert_true(slice_eq(shown[2], risk_supply_mask(argv, count, &arena)[2]));
    size_t again = split("srv --api-key other", other);
    assert_false(slice_eq(shown[2], risk_supply_mask(other, again, &arena)[2]));
}

static void program_hash(void **state) {
    (void)state;
    char path[] = "/tmp/risk-program-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, "abc", 3) == 3);
    close(fd);
    /* SHA-256 of "abc" */
    static const char want[] = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    struct slice script[] = {SLICE("node"), SLICE("--flag"), slice_str(path)};
    assert_true(slice_is(risk_executable_hash(script, 3, NULL, "/usr/bin", &arena), want));
    struct slice relative[] = {slice_str(path + 5)};
    assert_true(slice_is(risk_executable_hash(relative, 1, "/", "/nowhere::/tmp", &arena), want));
    struct slice runner[] = {SLICE("npx"), SLICE("-y"), SLICE("pkg")};
    assert_int_equal(risk_executable_hash(runner, 3, NULL, "/usr/bin", &arena).len, 0);
    struct slice missing[] = {SLICE("/nonexistent/program")};
    assert_int_equal(risk_executable_hash(missing, 1, NULL, NULL, &arena).len, 0);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(command_lines, setup, teardown),
        cmocka_unit_test_setup_teardown(names, setup, teardown),
        cmocka_unit_test_setup_teardown(masks, setup, teardown),
        cmocka_unit_test_setup_teardown(program_hash, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
