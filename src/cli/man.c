/* The manual page, in roff's man macros, from the table. */
#include "cli/command.h"

/* Roff reads a leading dot or quote as a request and a backslash as an escape; a bare hyphen becomes a
 * typographic one, which cannot be pasted into a shell. */
static void man_put(const char *prose, struct buf *text) {
    bool line_start = true;
    for (; *prose; prose++) {
        if (line_start && (*prose == '.' || *prose == '\''))
            buf_put_str(text, "\\&");
        if (*prose == '\\')
            buf_put_str(text, "\\e");
        else if (*prose == '-')
            buf_put_str(text, "\\-");
        else
            buf_put_char(text, *prose);
        line_start = *prose == '\n';
    }
}

static void man_options(const struct cli_option *options, struct buf *text) {
    for (; options && options->name; options++) {
        if (options->hidden)
            continue;
        cleanup_buf struct buf name;
        buf_init(&name, CLI_TEXT_MAX);
        cli_help_option_name(options, &name);
        buf_put_char(&name, '\0');
        buf_put_str(text, ".TP\n\\fB");
        man_put(name.ptr, text);
        buf_put_str(text, "\\fR\n");
        man_put(options->help, text);
        if (options->fallback && *options->fallback) {
            buf_put_str(text, " (default ");
            man_put(options->fallback, text);
            buf_put_char(text, ')');
        }
        buf_put_str(text, options->kind == CLI_KIND_LIST ? "; may be repeated.\n" : ".\n");
    }
}

static void man_synopsis(const struct cli_program *program, const struct cli_command *command,
                         struct buf *text) {
    if (command->synopses) {
        for (const char *const *line = command->synopses; *line; line++) {
            buf_printf(text, ".br\n\\fB%s\\fR ", program->name);
            man_put(*line, text);
            buf_put_char(text, '\n');
        }
        return;
    }
    cleanup_buf struct buf line;
    buf_init(&line, CLI_TEXT_MAX);
    cli_help_synopsis(command, &line);
    buf_put_char(&line, '\0');
    buf_printf(text, ".br\n\\fB%s\\fR ", program->name);
    man_put(line.ptr, text);
    buf_put_char(text, '\n');
}

static void man_examples(const struct cli_command *command, struct buf *text) {
    for (const struct cli_example *e = command->examples; e && e->line; e++) {
        buf_put_str(text, ".PP\n");
        man_put(e->what, text);
        buf_put_str(text, ":\n.PP\n.RS\n.nf\n");
        man_put(e->line, text);
        buf_put_str(text, "\n.fi\n.RE\n");
    }
}

static void man_command(const struct cli_command *command, struct buf *text) {
    buf_printf(text, ".SS %s\n", command->name);
    man_put(command->summary, text);
    buf_put_str(text, ".\n");
    if (command->detail) {
        buf_put_str(text, ".PP\n");
        man_put(command->detail, text);
        buf_put_char(text, '\n');
    }
    man_options(command->options, text);
    man_examples(command, text);
}

void cli_man(const struct cli_program *program, struct buf *text) {
    buf_printf(text, ".TH SALLYPORT 1 \"\" \"%s %s\" \"User Commands\"\n.SH NAME\n%s \\- ", program->name,
               program->version, program->name);
    man_put(program->summary, text);
    buf_put_str(text, "\n.SH SYNOPSIS\n");
    man_synopsis(program, program->wrap, text);
    for (const struct cli_command *const *c = program->commands; *c; c++)
        man_synopsis(program, *c, text);
    buf_put_str(text, "\n.SH DESCRIPTION\n");
    man_put(program->wrap->detail, text);
    buf_put_str(text, "\n.SH OPTIONS\n");
    man_options(program->wrap->options, text);
    man_options(cli_common_options, text);
    buf_put_str(text, ".SH COMMANDS\n");
    for (const struct cli_command *const *c = program->commands; *c; c++)
        man_command(*c, text);
    buf_put_str(text,
                ".SH EXIT STATUS\n"
                ".TP\n0\nEverything is fine. In front of a command, its exit status is passed on.\n"
                ".TP\n1\nThe answer is no: invalid, denied, findings, verification failed.\n"
                ".TP\n2\nThe command line is wrong.\n"
                ".TP\n3\nA policy or configuration file is wrong or missing.\n"
                ".TP\n4\nAn upstream server or a store failed.\n"
                ".SH ENVIRONMENT\n"
                ".TP\n\\fBSALLYPORT_HOME\\fR\nWhere state is kept; else \\fI$XDG_STATE_HOME/sallyport\\fR, "
                "else \\fI~/.local/state/sallyport\\fR.\n"
                ".TP\n\\fBNO_COLOR\\fR\nWhen set to anything, no colours even on a terminal.\n"
                ".SH EXAMPLES\n");
    man_examples(program->wrap, text);
}
