/* What the table is turned into: help, the man page, completions. */
#include "cli/command.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

struct demo_options {
    const char *output;
    int mode;
    bool secret;
};

static const char *const modes[] = {"closed", "open", NULL};
static const struct cli_option rows[] = {
    {CLI_TEXT(struct demo_options, output), .name = "output", .letter = 'o', .argument = "FILE",
     .help = "where it's written"},
    {CLI_CHOICE(struct demo_options, mode), .name = "mode", .choices = modes, .fallback = "open",
     .help = "a mode"},
    {CLI_SWITCH(struct demo_options, secret), .name = "secret", .hidden = true, .help = "not shown"},
    {0},
};
static const struct cli_example examples[] = {{"sallyport scan -o x", ".starts with a dot"}, {0}};
static const struct cli_command wrap = {
    .name = "", .summary = "wrap", .detail = "Wraps a\\b.", .options = rows};
static const struct cli_command scan = {
    .name = "scan", .summary = "look at tools", .options = rows, .operands = "FILE", .examples = examples};
static const struct cli_command tail = {.name = "audit tail", .summary = "follow the log"};
static const struct cli_command *const commands[] = {&scan, &tail, NULL};
static const struct cli_heading headings[] = {{"See what happened", &tail}, {0}};
static const struct cli_program program = {.name = "sallyport",
                                           .version = "1.2.3",
                                           .summary = "a gate",
                                           .wrap = &wrap,
                                           .commands = commands,
                                           .headings = headings};

static void assert_holds(const struct buf *text, const char *part) {
    if (!memmem(text->ptr, text->len, part, strlen(part)))
        fail_msg("`%s` is missing in:\n%.*s", part, (int)text->len, text->ptr);
}

static void assert_lacks(const struct buf *text, const char *part) {
    if (memmem(text->ptr, text->len, part, strlen(part)))
        fail_msg("`%s` stands in:\n%.*s", part, (int)text->len, text->ptr);
}

static void test_help(void **state) {
    (void)state;
    cleanup_buf struct buf text;
    buf_init(&text, CLI_TEXT_MAX);
    cli_help_command(&program, &scan, false, &text);
    assert_holds(&text, "sallyport scan [options] FILE\n");
    assert_holds(&text, "  -o, --output FILE           where it's written\n");
    assert_holds(&text, "  --mode closed|open          a mode (default open)\n");
    assert_holds(&text, "  sallyport scan -o x\n      .starts with a dot\n");
    assert_lacks(&text, "secret");
    assert_lacks(&text, "\033");
    buf_reset(&text);
    cli_help_program(&program, true, &text);
    assert_holds(&text, "\033[1mCommands\033[0m\n");
    assert_holds(&text, "\n\n\033[1mSee what happened\033[0m\n  audit tail          follow the log\n");
}

static void test_man(void **state) {
    (void)state;
    cleanup_buf struct buf text;
    buf_init(&text, CLI_TEXT_MAX);
    cli_man(&program, &text);
    assert_holds(&text, ".TH SALLYPORT 1");
    assert_holds(&text, "\\fB\\-o, \\-\\-output FILE\\fR\n");
    assert_holds(&text, "\\&.starts with a dot");
    assert_holds(&text, "Wraps a\\eb.");
    assert_lacks(&text, "secret");
}

static void test_completions(void **state) {
    (void)state;
    void (*const writers[])(const struct cli_program *,
                            struct buf *) = {cli_completion_bash, cli_completion_zsh, cli_completion_fish};
    for (size_t i = 0; i < ARRAY_LEN(writers); i++) {
        cleanup_buf struct buf text;
        buf_init(&text, CLI_TEXT_MAX);
        writers[i](&program, &text);
        assert_holds(&text, "scan");
        assert_holds(&text, "tail");
        assert_holds(&text, "output");
        assert_holds(&text, "closed open");
        assert_lacks(&text, "secret");
        assert_lacks(&text, "it's"); /* a quote would end the quoted text */
        assert_false(text.full);
    }
}

/* A line of help as a shell splits it, without pipes and redirections. */
static int words_of(char *line, char **argv, int max) {
    int argc = 0;
    while (argc < max && *(line += strspn(line, " ")) && !strchr("|<>", *line)) {
        const char quote = strchr("'\"", *line) ? *line++ : ' ';
        argv[argc++] = line;
        line += strcspn(line, (char[]){quote, 0});
        if (*line)
            *line++ = 0;
    }
    argv[argc] = NULL;
    return argc;
}

static void assert_example(const struct cli_command *command, const struct cli_example *example) {
    char line[256], *argv[32];
    struct cli_request r;
    struct err err = {0};
    assert_true(example->what && *example->what);
    assert_true((size_t)snprintf(line, sizeof(line), "%s", example->line) < sizeof(line));
    int argc = words_of(line, argv, 31);
    /* A shell may come first: `git diff | sallyport ...`, `eval "$(sallyport ...)"`. */
    if (argc == 0 || strcmp(argv[0], "sallyport") != 0) {
        if (!strstr(example->line, "sallyport "))
            fail_msg("`%s`: `%s` does not call the program", command->name, example->line);
        return;
    }
    if (cli_parse(&cli_commands, argc, argv, &r, &err) < 0)
        fail_msg("`%s`: `%s`: %s", command->name, example->line, err.text);
    if (r.command != command)
        fail_msg("`%s` shows an example of another command: `%s`", command->name, example->line);
    cli_request_free(&r);
}

/* Of the program's own table: each command shows at least one line, and each line is one that it takes. */
static void test_every_command_has_examples(void **state) {
    (void)state;
    for (const struct cli_command *const *c = cli_commands.commands; *c; c++) {
        if (!(*c)->examples || !(*c)->examples[0].line)
            fail_msg("`%s` has no example", (*c)->name);
        for (const struct cli_example *e = (*c)->examples; e->line; e++)
            assert_example(*c, e);
    }
    assert_non_null(cli_commands.wrap->examples);
    for (const struct cli_example *e = cli_commands.wrap->examples; e->line; e++)
        assert_example(cli_commands.wrap, e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_man),
        cmocka_unit_test(test_completions),
        cmocka_unit_test(test_every_command_has_examples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
