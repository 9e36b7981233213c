/* Shell completions from the table, and the `completion` command that prints them. */
#include "cli/command.h"

#include "base/mem.h"
#include "front/settings.h"

#include <stdio.h>
#include <string.h>

#define COMPLETION_PATTERN_MAX 128

typedef void (*completion_fn)(const struct cli_program *program, struct buf *text);

static const struct {
    const char *shell;
    completion_fn write;
} completion_shells[] = {
    {"bash", cli_completion_bash}, {"zsh", cli_completion_zsh}, {"fish", cli_completion_fish}};

/* The scripts run this when a key is pressed. Errors are not shown: there are no values then. */
enum { LIVE_NONE, LIVE_SERVERS, LIVE_GRANTS, LIVE_APPROVALS, LIVE_POLICIES };
static const char *const live_names[] = {"none", "servers", "grants", "approvals", NULL};

struct completion_options {
    int live;
};

static const struct cli_option completion_rows[] = {
    {CLI_CHOICE(struct completion_options, live), .name = "values", .choices = live_names, .fallback = "none",
     .help = "print the names that exist now, one a line, as the scripts ask for them"},
    {0},
};

static void put_servers(struct buf *text) {
    struct err err;
    char path[CLI_PATH_MAX];
    cleanup_settings struct settings *settings = NULL;
    if (!cli_home_settings(NULL, path) || settings_load(path, NULL, 0, &settings, &err) < 0)
        return;
    for (size_t i = 0; i < settings->server_count; i++)
        buf_printf(text, "%s\n", settings->servers[i].name);
}

static int completion_run(const void *options, const struct cli_rest *rest) {
    const struct completion_options *opt = options;
    struct err err = {0};
    cleanup_buf struct buf text;
    buf_init(&text, CLI_TEXT_MAX);
    if (opt->live == LIVE_SERVERS)
        put_servers(&text);
    else if (opt->live == LIVE_GRANTS)
        cli_grants_names(&text);
    else if (opt->live == LIVE_APPROVALS)
        cli_approvals_ids(&text);
    if (opt->live)
        return text.len ? cli_print(&text) : CLI_OK;
    if (!rest->operand_count) {
        err_set(&err, "for which shell? bash, zsh or fish");
        return cli_fail(CLI_USAGE, &err);
    }
    for (size_t i = 0; i < ARRAY_LEN(completion_shells); i++) {
        if (strcmp(rest->operands[0], completion_shells[i].shell) == 0) {
            completion_shells[i].write(&cli_commands, &text);
            return cli_print(&text);
        }
    }
    err_set(&err, "no completions for `%s`: bash, zsh and fish have them", rest->operands[0]);
    return cli_fail(CLI_USAGE, &err);
}

static const struct cli_example completion_examples[] = {
    {"source <(sallyport completion bash)", "complete in this shell"},
    {"sallyport completion fish > ~/.config/fish/completions/sallyport.fish", "complete in every fish shell"},
    {0},
};

const struct cli_command cli_completion = {
    .name = "completion",
    .summary = "print a completion script for bash, zsh or fish",
    .detail =
        "The scripts complete commands, options, their values, and names that exist now: servers of the "
        "settings, grants, approvals that wait, and policy files.",
    .operands = "[bash|zsh|fish]",
    .operands_max = 1,
    .options = completion_rows,
    .options_size = sizeof(struct completion_options),
    .examples = completion_examples,
    .run = completion_run,
};

/* ---- the scripts ---- */

/* Calls visit for each visible option of the command, the common ones last. */
static void completion_options(const struct cli_command *command, struct buf *text,
                               void (*visit)(const struct cli_option *, struct buf *)) {
    for (const struct cli_option *o = command->options; o && o->name; o++)
        if (!o->hidden)
            visit(o, text);
    for (const struct cli_option *o = cli_common_options; o->name; o++)
        visit(o, text);
}

/* The first word of every row, once: rows of a group are adjacent in the table. */
static void completion_first_words(const struct cli_program *program, struct buf *text) {
    struct slice last = SLICE("");
    for (const struct cli_command *const *c = program->commands; *c; c++) {
        struct slice name = slice_str((*c)->name), word;
        slice_cut(&name, ' ', &word);
        if (slice_eq(word, last))
            continue;
        buf_printf(text, "%s%.*s", last.len ? " " : "", SLICE_FMT(word));
        last = word;
    }
}

/* Inside single quotes of any of the three shells a quote ends the string: none of ours may hold one. */
static void completion_put_quoted(const char *prose, struct buf *text) {
    for (; *prose; prose++)
        if (*prose != '\'')
            buf_put_char(text, *prose);
}

/* Values that exist only at run time: queried from the program, or files. */
static int completion_live(const struct cli_option *option) {
    if (option->argument && strcmp(option->argument, "POLICY") == 0)
        return LIVE_POLICIES;
    return strcmp(option->name, "server") == 0  ? LIVE_SERVERS
           : strcmp(option->name, "grant") == 0 ? LIVE_GRANTS
                                                : LIVE_NONE;
}

static int completion_live_operands(const struct cli_command *command) {
    struct slice operands = slice_str(command->operands ? command->operands : "");
    if (slice_starts(operands, SLICE("SERVER")) || slice_starts(operands, SLICE("[SERVER]")))
        return LIVE_SERVERS;
    if (strcmp(command->name, "stop-grant") == 0 ||
        (strncmp(command->name, "grants ", 7) == 0 && strcmp(command->name, "grants create") != 0))
        return operands.len ? LIVE_GRANTS : LIVE_NONE;
    return slice_eq(operands, SLICE("ID")) ? LIVE_APPROVALS : LIVE_NONE;
}

/* The possible values of the option, separated by spaces. */
static void completion_values(const struct cli_option *option, struct buf *text) {
    for (size_t i = 0; option->choices && option->choices[i]; i++)
        buf_printf(text, "%s%s", i ? " " : "", option->choices[i]);
    if (option->values)
        buf_put_str(text, option->values);
}

static void completion_bash_option(const struct cli_option *option, struct buf *text) {
    buf_printf(text, " --%s", option->name);
    if (option->letter)
        buf_printf(text, " -%c", option->letter);
}

static void completion_bash_choices(const struct cli_option *option, struct buf *text) {
    int live = completion_live(option);
    if (!option->choices && !option->values && !live)
        return;
    buf_printf(text, " --%s", option->name);
    if (option->letter)
        buf_printf(text, "|-%c", option->letter);
    if (live == LIVE_POLICIES) {
        buf_put_str(text, ") policies=1;;");
        return;
    }
    buf_put_str(text, ") words='");
    completion_values(option, text);
    buf_printf(text, "' live=%s;;", live ? live_names[live] : "");
}

/* What may follow one command: its options, or the choices of the option that stands before the cursor. */
static void completion_bash_arm(const struct cli_command *command, const char *pattern, struct buf *text) {
    int live = completion_live_operands(command);
    buf_printf(text, "    %s) words='", pattern);
    completion_options(command, text, completion_bash_option);
    buf_printf(text, "'\n      [[ $cur == -* || $prev == -* ]] || live=%s\n      case $prev in",
               live ? live_names[live] : "");
    completion_options(command, text, completion_bash_choices);
    buf_put_str(text, " esac;;\n");
}

void cli_completion_bash(const struct cli_program *program, struct buf *text) {
    buf_put_str(
        text, "# bash completion for sallyport\n"
              "_sallyport() {\n"
              "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words i live policies\n"
              "  COMPREPLY=()\n"
              "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
              "    if [[ ${COMP_WORDS[i]} == -- ]]; then\n"
              "      COMPREPLY=($(compgen -A command -A file -- \"$cur\")); return\n"
              "    fi\n"
              "  done\n"
              "  case \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n");
    /* Two-word rows first: the one-word patterns would swallow them. */
    for (int words = 2; words >= 1; words--) {
        for (const struct cli_command *const *c = program->commands; *c; c++) {
            bool two = strchr((*c)->name, ' ') != NULL;
            char pattern[COMPLETION_PATTERN_MAX];
            snprintf(pattern, sizeof(pattern), "'%s%s", (*c)->name, two ? "'" : " '*");
            if (two == (words == 2))
                completion_bash_arm(*c, pattern, text);
        }
    }
    for (const struct cli_command *const *c = program->commands; *c; c++) {
        const char *space = strchr((*c)->name, ' ');
        if (space && !cli_find(program, slice_of((*c)->name, (size_t)(space - (*c)->name))))
            buf_printf(text, "    '%.*s '*) words= ;;\n", (int)(space - (*c)->name), (*c)->name);
    }
    completion_bash_arm(program->wrap, "*", text);
    buf_put_str(text, "  esac\n  case $COMP_CWORD in\n    1) words+=' ");
    completion_first_words(program, text);
    buf_put_str(text, "';;\n    2) case ${COMP_WORDS[1]} in\n");
    for (const struct cli_command *const *c = program->commands; *c; c++) {
        const char *space = strchr((*c)->name, ' ');
        if (space)
            buf_printf(text, "      %.*s) words+=' %s';;&\n", (int)(space - (*c)->name), (*c)->name,
                       space + 1);
    }
    buf_put_str(
        text,
        "      *) ;;\n    esac;;\n  esac\n"
        "  if [[ $policies ]]; then\n"
        "    COMPREPLY=($(compgen -f -X '!*.yaml' -- \"$cur\"; compgen -f -X '!*.yml' -- \"$cur\"\n"
        "      compgen -f -X '!*.json' -- \"$cur\"; compgen -d -- \"$cur\")); return\n"
        "  fi\n"
        "  [[ -z $live ]] || words+=\" $(\"${COMP_WORDS[0]}\" completion --values $live 2> /dev/null)\"\n"
        "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
        "  [[ ${#COMPREPLY[@]} -gt 0 || $cur == -* ]] ||\n"
        "    COMPREPLY=($(compgen -A file -- \"$cur\"))\n"
        "}\n"
        "complete -o filenames -F _sallyport sallyport\n");
}

static void completion_zsh_option(const struct cli_option *option, struct buf *text) {
    buf_printf(text, "      '%s--%s[", option->kind == CLI_KIND_LIST ? "*" : "", option->name);
    /* A bracket or a colon would end the description early. */
    for (const char *c = option->help; *c; c++)
        if (!strchr("[]:'", *c))
            buf_put_char(text, *c);
    buf_put_char(text, ']');
    int live = completion_live(option);
    if (live == LIVE_POLICIES) {
        buf_printf(text, ":%s:_files -g \"*.(yaml|yml|json)\"", option->name);
    } else if (live) {
        buf_printf(text, ":%s:{_sallyport_live %s}", option->name, live_names[live]);
    } else if (option->choices || option->values) {
        buf_printf(text, ":%s:(", option->name);
        completion_values(option, text);
        buf_put_char(text, ')');
    } else if (option->kind != CLI_KIND_SWITCH) {
        buf_printf(text, ":%s:_files", option->name);
    }
    buf_put_str(text, "' \\\n");
}

void cli_completion_zsh(const struct cli_program *program, struct buf *text) {
    buf_put_str(text, "#compdef sallyport\n"
                      "_sallyport_live() {\n"
                      "  local -a live\n"
                      "  live=(${(f)\"$(${words[1]} completion --values $1 2> /dev/null)\"})\n"
                      "  compadd -a live\n"
                      "}\n"
                      "_sallyport() {\n"
                      "  local -a commands\n"
                      "  commands=(\n");
    for (const struct cli_command *const *c = program->commands; *c; c++) {
        buf_printf(text, "    '%s:", (*c)->name);
        completion_put_quoted((*c)->summary, text);
        buf_put_str(text, "'\n");
    }
    buf_put_str(text, "  )\n"
                      "  case \"${words[2]} ${words[3]}\" in\n");
    for (int words = 2; words >= 1; words--) {
        for (const struct cli_command *const *c = program->commands; *c; c++) {
            bool two = strchr((*c)->name, ' ') != NULL;
            if (two != (words == 2))
                continue;
            buf_printf(text, "    '%s%s) _arguments \\\n", (*c)->name, two ? "'" : " '*");
            completion_options(*c, text, completion_zsh_option);
            int live = completion_live_operands(*c);
            if (live)
                buf_printf(text, "      '*:%s:{_sallyport_live %s}';;\n", live_names[live], live_names[live]);
            else
                buf_put_str(text, "      '*:file:_files';;\n");
        }
    }
    buf_put_str(text, "    *)\n"
                      "      (( CURRENT == 2 )) && _describe command commands\n"
                      "      _arguments \\\n");
    completion_options(program->wrap, text, completion_zsh_option);
    buf_put_str(text, "      '*::: :_normal';;\n"
                      "  esac\n"
                      "}\n"
                      "compdef _sallyport sallyport\n"
                      "# Loaded on first use, the file itself is the function's body.\n"
                      "[[ ${funcstack[1]} == _sallyport ]] && _sallyport \"$@\"\n");
}

static void completion_fish_option(const struct cli_option *option, struct buf *text) {
    buf_printf(text, " -l %s", option->name);
    if (option->letter)
        buf_printf(text, " -s %c", option->letter);
    int live = completion_live(option);
    if (live == LIVE_POLICIES) {
        buf_put_str(text, " -r -k -a '(__fish_complete_suffix .json; __fish_complete_suffix .yml; "
                          "__fish_complete_suffix .yaml)'");
    } else if (live) {
        buf_printf(text, " -x -a '(sallyport completion --values %s)'", live_names[live]);
    } else if (option->choices || option->values) {
        buf_put_str(text, " -x -a '");
        completion_values(option, text);
        buf_put_char(text, '\'');
    } else if (option->kind != CLI_KIND_SWITCH) {
        buf_put_str(text, " -r");
    }
    buf_put_str(text, " -d '");
    completion_put_quoted(option->help, text);
    buf_put_str(text, "'\n");
}

static void completion_fish_when(const struct cli_command *command, int first, const char *space,
                                 struct buf *text) {
    buf_printf(text, "complete -c sallyport -n '__fish_seen_subcommand_from %.*s", first, command->name);
    if (space)
        buf_printf(text, "; and __fish_seen_subcommand_from %s", space + 1);
    buf_put_char(text, '\'');
}

static void completion_fish_row(const struct cli_command *command, struct buf *text) {
    const char *space = strchr(command->name, ' ');
    int first = space ? (int)(space - command->name) : (int)strlen(command->name);
    if (space)
        buf_printf(text, "complete -c sallyport -n '__fish_seen_subcommand_from %.*s' -a %s", first,
                   command->name, space + 1);
    else
        buf_printf(text, "complete -c sallyport -n __fish_use_subcommand -a %s", command->name);
    buf_put_str(text, " -d '");
    completion_put_quoted(command->summary, text);
    buf_put_str(text, "'\n");
    int live = completion_live_operands(command);
    if (live) {
        completion_fish_when(command, first, space, text);
        buf_printf(text, " -f -a '(sallyport completion --values %s)'\n", live_names[live]);
    }
    for (const struct cli_option *o = command->options; o && o->name; o++) {
        if (o->hidden)
            continue;
        completion_fish_when(command, first, space, text);
        completion_fish_option(o, text);
    }
}

void cli_completion_fish(const struct cli_program *program, struct buf *text) {
    buf_put_str(text, "# fish completion for sallyport\n");
    for (const struct cli_option *o = program->wrap->options; o && o->name; o++) {
        if (o->hidden)
            continue;
        buf_put_str(text, "complete -c sallyport -n __fish_use_subcommand");
        completion_fish_option(o, text);
    }
    for (const struct cli_option *o = cli_common_options; o->name; o++) {
        buf_put_str(text, "complete -c sallyport");
        completion_fish_option(o, text);
    }
    buf_put_str(text, "complete -c sallyport -n __fish_use_subcommand -a '");
    completion_first_words(program, text);
    buf_put_str(text, "'\n");
    for (const struct cli_command *const *c = program->commands; *c; c++)
        completion_fish_row(*c, text);
}
