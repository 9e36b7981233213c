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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(command_lines, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
