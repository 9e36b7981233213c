#include "cli/command.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct demo_options {
    const char *config;
    bool json;
    bool quiet;
    struct cli_list headers;
    uint64_t port;
    uint64_t wait_ms;
    int mode;
};

static const char *const modes[] = {"closed", "open", NULL};

static const struct cli_option demo_rows[] = {
    {CLI_TEXT(struct demo_options, config), .name = "config", .letter = 'c', .argument = "FILE",
     .required = true},
    {CLI_SWITCH(struct demo_options, json), .name = "json", .letter = 'j'},
    {CLI_SWITCH(struct demo_options, quiet), .name = "quiet", .letter = 'q'},
    {CLI_LIST(struct demo_options, headers), .name = "header"},
    {CLI_NUMBER(struct demo_options, port), .name = "port", .max = 65535, .fallback = "80"},
    {CLI_DURATION(struct demo_options, wait_ms), .name = "wait", .fallback = "30s"},
    {CLI_CHOICE(struct demo_options, mode), .name = "mode", .choices = modes, .fallback = "open"},
    {0},
};

static const struct cli_command wrap = {
    .name = "", .options = demo_rows, .options_size = sizeof(struct demo_options), .takes_command = true};
static const struct cli_command scan = {.name = "scan",
                                        .options = demo_rows,
                                        .options_size = sizeof(struct demo_options),
                                        .operands = "FILE",
                                        .operands_min = 1,
                                        .operands_max = 2};
static const struct cli_command audit_tail = {.name = "audit tail"}, audit_show = {.name = "audit show"};
static const struct cli_command version = {.name = "version"};
static const struct cli_command *const commands[] = {&scan, &audit_tail, &audit_show, &version, NULL};
static const struct cli_program program = {.name = "gate", .wrap = &wrap, .commands = commands};

/* Splits the line at blanks; the words live until the next call. */
static int parse(const char *line, struct cli_request *ret, struct err *err) {
    static char words[512];
    static char *argv[64];
    int argc = 0;
    snprintf(words, sizeof(words), "%s", line);
    for (char *at = words; at; argc++) {
        argv[argc] = at;
        at = strchr(at, ' ');
        if (at)
            *at++ = '\0';
    }
    argv[argc] = NULL;
    return cli_parse(&program, argc, argv, ret, err);
}

static void assert_refused(const char *line, const char *why) {
    struct cli_request request;
    struct err err = {0};
    if (parse(line, &request, &err) == 0)
        fail_msg("accepted: %s", line);
    assert_string_equal(err.text, why);
}

static void test_wrap_form(void **state) {
    (void)state;
    struct cli_request r;
    struct err err = {0};
    assert_int_equal(parse("gate -c p.yaml --header A:1 --header=B:2 --port 0 -- srv --json -c x", &r, &err),
                     0);
    const struct demo_options *opt = r.options;
    assert_ptr_equal(r.command, &wrap);
    assert_string_equal(opt->config, "p.yaml");
    assert_false(opt->json); /* what follows -- belongs to the server */
    assert_int_equal(opt->headers.count, 2);
    assert_string_equal(opt->headers.items[1], "B:2");
    assert_int_equal(opt->port, 0);
    assert_int_equal(opt->mode, 1);
    assert_int_equal(opt->wait_ms, 30000);
    assert_string_equal(r.rest.command[0], "srv");
    assert_string_equal(r.rest.command[3], "x");
    assert_null(r.rest.command[4]);
    cli_request_free(&r);
}

static void test_short_forms(void **state) {
    (void)state;
    struct cli_request r;
    struct err err = {0};
    assert_int_equal(parse("gate scan -jqcp.yaml - --mode closed --wait 250ms", &r, &err), 0);
    const struct demo_options *opt = r.options;
    assert_true(opt->json && opt->quiet);
    assert_string_equal(opt->config, "p.yaml");
    assert_int_equal(opt->mode, 0);
    assert_int_equal(opt->wait_ms, 250);
    assert_int_equal(r.rest.operand_count, 1);
    assert_string_equal(r.rest.operands[0], "-");
    cli_request_free(&r);

    assert_int_equal(parse("gate scan -c p -- --json -x", &r, &err), 0);
    assert_int_equal(r.rest.operand_count, 2); /* no command of its own: -- only ends the options */
    assert_string_equal(r.rest.operands[0], "--json");
    cli_request_free(&r);
}

static void test_groups(void **state) {
    (void)state;
    struct cli_request r;
    struct err err = {0};
    assert_int_equal(parse("gate audit show", &r, &err), 0);
    assert_ptr_equal(r.command, &audit_show);
    cli_request_free(&r);
    assert_int_equal(parse("gate audit --help", &r, &err), 0);
    assert_true(r.common.help);
    assert_null(r.command);
    assert_string_equal(r.group, "audit");
    cli_request_free(&r);
    assert_refused("gate audit", "`audit` needs one of: tail, show");
    assert_refused("gate audit tial", "unknown command `audit tial`, did you mean `audit tail`?");
    assert_refused("gate audit frobnicate", "unknown command `audit frobnicate`; `audit` has: tail, show");
}

static void test_help_wins(void **state) {
    (void)state;
    struct cli_request r;
    struct err err = {0};
    const char *lines[] = {"gate -h", "gate --help", "gate scan --help", "gate scan -x -h", "gate -c x -h"};
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        if (i == 3)
            continue;
        assert_int_equal(parse(lines[i], &r, &err), 0);
        assert_true(r.common.help);
        cli_request_free(&r);
    }
    assert_refused(lines[3], "unknown option `-x`");
    assert_int_equal(parse("gate --version", &r, &err), 0);
    assert_ptr_equal(r.command, &version);
    cli_request_free(&r);
}

static void test_refusals(void **state) {
    (void)state;
    assert_refused("gate",
                   "a command or a policy is needed; `gate init` sets up the servers of your clients");
    assert_refused("gate scna", "unknown command `scna`, did you mean `scan`?");
    assert_refused("gate audt", "unknown command `audt`, did you mean `audit`?");
    assert_refused(
        "gate frobnicate",
        "unknown command `frobnicate`; to guard a server write `gate -c POLICY -- frobnicate ...`");
    assert_refused("gate -c p --prot 1 -- x", "unknown option `--prot`, did you mean `--port`?");
    assert_refused("gate -c p --frobnicate -- x", "unknown option `--frobnicate`");
    assert_refused("gate -c p -c q -- x", "--config is given twice");
    assert_refused("gate --config", "--config needs a value");
    assert_refused("gate -c -- x", "-c needs a value");
    assert_refused("gate -c p --json=1 -- x", "--json takes no value");
    assert_refused("gate --json -- x", "-c, --config is needed");
    assert_refused("gate -c p --", "there is no command after `--`");
    assert_refused("gate -c p srv", "unexpected argument `srv`; the server's command goes after `--`");
    assert_refused("gate scan -c p", "`scan` needs FILE");
    assert_refused("gate scan -c p a b d", "unexpected argument `d`");
}

static void test_values(void **state) {
    (void)state;
    assert_refused("gate -c p --port 65536 -- x", "--port `65536`: must lie between 0 and 65535");
    assert_refused("gate -c p --port -1 -- x", "--port `-1`: not a whole number");
    assert_refused("gate -c p --port 1x -- x", "--port `1x`: not a whole number");
    assert_refused("gate -c p --mode opne -- x", "--mode `opne`: did you mean `open`?");
    assert_refused("gate -c p --mode whatever -- x", "--mode `whatever`: must be one of closed, open");
    assert_refused("gate -c p --wait 5w -- x", "--wait `5w`: write a time like 250ms, 30s, 5m, 2h or 1d");
    assert_refused("gate -c p --wait s -- x", "--wait `s`: write a time like 250ms, 30s, 5m, 2h or 1d");
    assert_refused("gate -c p --wait 400d -- x", "--wait `400d`: longer than a year");
    assert_refused("gate -c p --wait 18446744073709551615h -- x",
                   "--wait `18446744073709551615h`: longer than a year");
}

static void test_list_ceiling(void **state) {
    (void)state;
    char *argv[2 * CLI_LIST_MAX + 8];
    char name[] = "gate", config[] = "-cp", header[] = "--header", value[] = "A: b", end[] = "--",
         srv[] = "x";
    int argc = 0;
    argv[argc++] = name;
    argv[argc++] = config;
    for (int i = 0; i < CLI_LIST_MAX + 1; i++) {
        argv[argc++] = header;
        argv[argc++] = value;
    }
    argv[argc++] = end;
    argv[argc++] = srv;
    argv[argc] = NULL;
    struct cli_request r;
    struct err err = {0};
    assert_int_equal(cli_parse(&program, argc, argv, &r, &err), -1);
    assert_string_equal(err.text, "--header is given more than 64 times");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrap_form),    cmocka_unit_test(test_short_forms),
        cmocka_unit_test(test_groups),       cmocka_unit_test(test_help_wins),
        cmocka_unit_test(test_refusals),     cmocka_unit_test(test_values),
        cmocka_unit_test(test_list_ceiling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
