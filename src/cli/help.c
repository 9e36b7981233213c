/* Help for people, made from the table, and the `help` command. */
#include "cli/command.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define HELP_WIDTH 96
#define HELP_WIDTH_MIN 40
#define HELP_INDENT 2
/* Where the explanation of an option, and of a command, starts; below a width of HELP_WIDE both start further
 * left. */
#define HELP_WIDE 72
#define HELP_COLUMN 30
#define HELP_COMMAND_COLUMN 22
#define HELP_NARROW_COLUMN 8

struct help_options {
    bool man;
};

static const struct cli_option help_rows[] = {
    {CLI_SWITCH(struct help_options, man), .name = "man", .help = "print the manual page in roff"},
    {0},
};

static int help_run(const void *options, const struct cli_rest *rest) {
    const struct help_options *opt = options;
    cleanup_buf struct buf text;
    buf_init(&text, CLI_TEXT_MAX);
    if (opt->man) {
        cli_man(&cli_commands, &text);
        return cli_print(&text);
    }
    /* `help X Y` prints exactly what `X Y --help` prints. The operands came from a main's argv. */
    char program[] = "sallyport", flag[] = "--help";
    char *argv[5] = {program};
    int argc = 1;
    for (size_t i = 0; i < rest->operand_count; i++)
        argv[argc++] = (char *)rest->operands[i];
    argv[argc++] = flag;
    return cli_run(&cli_commands, argc, argv);
}

static const struct cli_example help_examples[] = {
    {"sallyport help --man | man -l -", "read the manual page"},
    {0},
};

const struct cli_command cli_help = {
    .name = "help",
    .summary = "explain the program or one command",
    .options = help_rows,
    .options_size = sizeof(struct help_options),
    .operands = "[COMMAND]",
    .operands_max = 2,
    .examples = help_examples,
    .run = help_run,
};

/* ---- parts ---- */

static void help_heading(const char *heading, bool colour, struct buf *text) {
    buf_printf(text, "%s%s%s\n", colour ? "\033[1m" : "", heading, colour ? "\033[0m" : "");
}

/* A terminal may be narrower than the page; a file gets the whole width. */
static size_t help_width(void) {
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0 ||
        size.ws_col > HELP_WIDTH)
        return HELP_WIDTH;
    return size.ws_col < HELP_WIDTH_MIN ? HELP_WIDTH_MIN : size.ws_col;
}

static size_t help_column(size_t wide) { return help_width() < HELP_WIDE ? HELP_NARROW_COLUMN : wide; }

static void help_pad(struct buf *text, size_t count) {
    while (count-- > 0)
        buf_put_char(text, ' ');
}

/* Words of `prose` wrapped at the width; the first line starts at `column`, the others at `indent`. */
static void help_wrap(const char *prose, size_t column, size_t indent, struct buf *text) {
    const size_t width = help_width();
    bool fresh = true;
    while (*prose) {
        if (*prose == '\n') {
            buf_put_char(text, '\n');
            prose++;
            column = 0;
            fresh = true;
            continue;
        }
        size_t len = strcspn(prose, " \n");
        if (!fresh && column + 1 + len > width) {
            buf_put_char(text, '\n');
            column = 0;
            fresh = true;
        }
        if (fresh && column < indent) {
            help_pad(text, indent - column);
            column = indent;
        } else if (!fresh) {
            buf_put_char(text, ' ');
            column++;
        }
        buf_put(text, prose, len);
        column += len;
        fresh = false;
        prose += len;
        prose += strspn(prose, " ");
    }
    buf_put_char(text, '\n');
}

static void help_put_choices(const struct cli_option *option, struct buf *text) {
    for (size_t i = 0; option->choices[i]; i++)
        buf_printf(text, "%s%s", i ? "|" : "", option->choices[i]);
}

void cli_help_option_name(const struct cli_option *option, struct buf *text) {
    if (option->letter)
        buf_printf(text, "-%c, ", option->letter);
    buf_printf(text, "--%s", option->name);
    if (option->kind == CLI_KIND_SWITCH)
        return;
    buf_put_char(text, ' ');
    if (option->argument)
        buf_put_str(text, option->argument);
    else if (option->choices)
        help_put_choices(option, text);
    else
        buf_put_str(text, option->kind == CLI_KIND_DURATION ? "TIME" : "VALUE");
}

void cli_help_synopsis(const struct cli_command *command, struct buf *text) {
    buf_put_str(text, command->name);
    for (const struct cli_option *o = command->options; o && o->name; o++) {
        if (o->required) {
            buf_put_char(text, ' ');
            cli_help_option_name(o, text);
        }
    }
    buf_put_str(text, " [options]");
    if (command->operands)
        buf_printf(text, " %s", command->operands);
    if (command->takes_command)
        buf_put_str(text, " -- CMD ARG...");
}

static void help_option(const struct cli_option *option, struct buf *text) {
    if (option->hidden)
        return;
    size_t start = text->len;
    help_pad(text, HELP_INDENT);
    cli_help_option_name(option, text);
    size_t column = text->len - start;
    if (column + 1 > help_column(HELP_COLUMN)) {
        buf_put_char(text, '\n');
        column = 0;
    }
    cleanup_buf struct buf prose;
    buf_init(&prose, CLI_TEXT_MAX);
    buf_put_str(&prose, option->help);
    if (option->required)
        buf_put_str(&prose, " (needed)");
    if (option->kind == CLI_KIND_LIST)
        buf_put_str(&prose, " (may be repeated)");
    if (option->fallback && *option->fallback)
        buf_printf(&prose, " (default %s)", option->fallback);
    buf_put_char(&prose, '\0');
    help_wrap(prose.ptr, column, help_column(HELP_COLUMN), text);
}

static void help_options(const struct cli_option *options, struct buf *text) {
    for (; options && options->name; options++)
        help_option(options, text);
}

static void help_command_row(const struct cli_command *command, struct buf *text) {
    size_t start = text->len;
    help_pad(text, HELP_INDENT);
    buf_put_str(text, command->name);
    help_pad(text, 1);
    help_wrap(command->summary, text->len - start, help_column(HELP_COMMAND_COLUMN), text);
}

static void help_usage(const struct cli_program *program, const struct cli_command *command,
                       struct buf *text) {
    if (!command->synopses) {
        buf_printf(text, "  %s ", program->name);
        cli_help_synopsis(command, text);
        buf_put_char(text, '\n');
        return;
    }
    for (const char *const *line = command->synopses; *line; line++)
        buf_printf(text, "  %s %s\n", program->name, *line);
}

static void help_examples_of(const struct cli_command *command, bool colour, struct buf *text) {
    if (!command->examples)
        return;
    buf_put_char(text, '\n');
    help_heading("Examples", colour, text);
    for (const struct cli_example *e = command->examples; e->line; e++) {
        buf_printf(text, "  %s\n", e->line);
        help_wrap(e->what, 0, 6, text);
    }
}

/* ---- the three pages ---- */

void cli_help_command(const struct cli_program *program, const struct cli_command *command, bool colour,
                      struct buf *text) {
    buf_printf(text, "%s%s%s: %s\n\n", program->name, *command->name ? " " : "", command->name,
               command->summary);
    help_heading("Usage", colour, text);
    help_usage(program, command, text);
    if (command->detail) {
        buf_put_char(text, '\n');
        help_wrap(command->detail, 0, 0, text);
    }
    buf_put_char(text, '\n');
    help_heading("Options", colour, text);
    help_options(command->options, text);
    help_options(cli_common_options, text);
    help_examples_of(command, colour, text);
}

void cli_help_group(const struct cli_program *program, const char *group, bool colour, struct buf *text) {
    help_heading("Commands", colour, text);
    for (const struct cli_command *const *c = program->commands; *c; c++)
        if (cli_verb_of(*c, group))
            help_command_row(*c, text);
    buf_printf(text, "\n`%s %s COMMAND --help` explains one of them.\n", program->name, group);
}

static void help_heading_before(const struct cli_program *program, const struct cli_command *command,
                                bool colour, struct buf *text) {
    for (const struct cli_heading *h = program->headings; h && h->text; h++)
        if (h->first == command) {
            buf_put_char(text, '\n');
            help_heading(h->text, colour, text);
        }
}

void cli_help_program(const struct cli_program *program, bool colour, struct buf *text) {
    buf_printf(text, "%s %s: %s\n\n", program->name, program->version, program->summary);
    help_heading("Usage", colour, text);
    help_usage(program, program->wrap, text);
    buf_printf(text, "  %s COMMAND [options]\n\n", program->name);
    help_heading("Commands", colour, text);
    for (const struct cli_command *const *c = program->commands; *c; c++) {
        help_heading_before(program, *c, colour, text);
        help_command_row(*c, text);
    }
    buf_put_char(text, '\n');
    help_heading("Flags", colour, text);
    help_options(program->wrap->options, text);
    help_options(cli_common_options, text);
    help_examples_of(program->wrap, colour, text);
    buf_printf(text, "\n`%s help COMMAND` explains one command.\n", program->name);
}
