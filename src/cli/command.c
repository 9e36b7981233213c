/* argv → a row of the table and a filled options struct. */
#include "cli/command.h"

#include "base/check.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/nearest.h"

#include <errno.h>
#include <string.h>

/* Indexed by enum log_level. */
static const char *const cli_log_levels[] = {"debug", "info", "warn", "error", NULL};
static const char *const cli_log_formats[] = {"text", "json", NULL};

const struct cli_option cli_common_options[] = {
    {CLI_SWITCH(struct cli_common, help), .name = "help", .letter = 'h', .help = "print this help"},
    {CLI_CHOICE(struct cli_common, log_level), .name = "log-level", .choices = cli_log_levels,
     .fallback = "info", .help = "least severe level that is logged on stderr"},
    {CLI_CHOICE(struct cli_common, log_format), .name = "log-format", .choices = cli_log_formats,
     .fallback = "text", .help = "lines for people, or one JSON object a line"},
    {0},
};

/* The state of parsing argv. */
struct cli_walk {
    const struct cli_command *command;
    struct cli_request *request;
    int argc;
    char **argv;
    int at;
    bool seen[CLI_OPTIONS_MAX]; /* the command's own options first, the common ones behind them */
};

static int cli_pick_command(const struct cli_program *program, struct cli_walk *walk, struct err *err);
static int cli_walk_options(struct cli_walk *walk, struct err *err);
static int cli_fill_absent(struct cli_walk *walk, struct err *err);
static int cli_check_rest(const struct cli_walk *walk, struct err *err);
static int cli_take_long(struct cli_walk *walk, const char *arg, struct err *err);
static int cli_take_letters(struct cli_walk *walk, const char *arg, struct err *err);
static int cli_set(const struct cli_option *option, void *options, const char *value, struct err *err);

int cli_run(const struct cli_program *program, int argc, char **argv) {
    struct cli_request request = {0};
    struct err err = {0};
    if (cli_parse(program, argc, argv, &request, &err) < 0) {
        const char *command = request.command ? request.command->name : "";
        cli_fail(CLI_USAGE, &err);
        fprintf(stderr, "Try `%s%s%s --help`.\n", program->name, *command ? " " : "", command);
        return CLI_USAGE;
    }
    int status;
    if (request.common.help) {
        cleanup_buf struct buf text;
        buf_init(&text, CLI_TEXT_MAX);
        if (request.command)
            cli_help_command(program, request.command, cli_colour(STDOUT_FILENO), &text);
        else if (request.group)
            cli_help_group(program, request.group, cli_colour(STDOUT_FILENO), &text);
        else
            cli_help_program(program, cli_colour(STDOUT_FILENO), &text);
        status = cli_print(&text);
    } else {
        log_set_level((enum log_level)request.common.log_level);
        log_set_json(request.common.log_format == 1);
        status = request.command->run(request.options, &request.rest);
    }
    cli_request_free(&request);
    return status;
}

int cli_parse(const struct cli_program *program, int argc, char **argv, struct cli_request *ret_request,
              struct err *err) {
    struct cli_request request = {0};
    struct cli_walk walk = {.request = &request, .argc = argc, .argv = argv};
    if (cli_pick_command(program, &walk, err) < 0)
        return -1;
    request.command = walk.command;
    if (!request.common.help) {
        CHECK(walk.command);
        request.options = mem_zalloc(walk.command->options_size + 1);
        request.operands = mem_zalloc(sizeof(char *) * ((size_t)argc + 1));
        request.rest.operands = request.operands;
        int bad = cli_walk_options(&walk, err);
        if (bad == 0 && !request.common.help)
            bad = cli_fill_absent(&walk, err) < 0 || cli_check_rest(&walk, err) < 0;
        if (bad) {
            cli_request_free(&request);
            ret_request->command = walk.command;
            return -1;
        }
    }
    *ret_request = request;
    return 0;
}

void cli_request_free(struct cli_request *request) {
    free(request->options);
    free(request->operands);
    *request = (struct cli_request){0};
}

/* ---- which row ---- */

const struct cli_command *cli_find(const struct cli_program *program, struct slice name) {
    for (const struct cli_command *const *c = program->commands; *c; c++)
        if (slice_is(name, (*c)->name))
            return *c;
    return NULL;
}

const char *cli_verb_of(const struct cli_command *command, const char *group) {
    size_t len = strlen(group);
    if (strncmp(command->name, group, len) != 0 || command->name[len] != ' ')
        return NULL;
    return command->name + len + 1;
}

static bool cli_is_help(const char *arg) { return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0; }

/* "group verb" rows: word is the group, and next is not one of its verbs. */
static int cli_pick_group(const struct cli_program *program, struct cli_walk *walk, struct err *err) {
    const char *word = walk->argv[1], *next = walk->argc > 2 ? walk->argv[2] : NULL;
    const char *verbs[CLI_COMMANDS_MAX + 1];
    size_t count = 0;
    char list[256] = "";
    for (const struct cli_command *const *c = program->commands; *c && count < CLI_COMMANDS_MAX; c++) {
        const char *verb = cli_verb_of(*c, word);
        if (!verb)
            continue;
        verbs[count++] = verb;
        size_t used = strlen(list);
        snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "", verb);
    }
    verbs[count] = NULL;
    if (count == 0)
        return 0;
    if (next && cli_is_help(next)) {
        walk->request->common.help = true;
        walk->request->group = word;
        return 1;
    }
    if (!next || next[0] == '-')
        return err_set(err, "`%s` needs one of: %s", word, list);
    const char *near = nearest_word(slice_str(next), verbs);
    if (near)
        return err_set(err, "unknown command `%s %s`, did you mean `%s %s`?", word, next, word, near);
    return err_set(err, "unknown command `%s %s`; `%s` has: %s", word, next, word, list);
}

static int cli_unknown_command(const struct cli_program *program, const char *word, struct err *err) {
    char firsts[CLI_COMMANDS_MAX][32]; /* so far the user wrote only `grants` of `grants create` */
    const char *names[CLI_COMMANDS_MAX + 1];
    size_t count = 0;
    for (const struct cli_command *const *c = program->commands; *c && count < CLI_COMMANDS_MAX; c++) {
        snprintf(firsts[count], sizeof(firsts[count]), "%.*s", (int)strcspn((*c)->name, " "), (*c)->name);
        names[count] = firsts[count];
        count++;
    }
    names[count] = NULL;
    const char *near = nearest_word(slice_str(word), names);
    if (near)
        return err_set(err, "unknown command `%s`, did you mean `%s`?", word, near);
    return err_set(err, "unknown command `%s`; to guard a server write `%s -c POLICY -- %s ...`", word,
                   program->name, word);
}

static int cli_pick_command(const struct cli_program *program, struct cli_walk *walk, struct err *err) {
    if (walk->argc < 2)
        return err_set(err, "a command or a policy is needed; `%s init` sets up the servers of your clients",
                       program->name);
    const char *word = walk->argv[1];
    walk->at = 2;
    if (cli_is_help(word)) {
        walk->request->common.help = true;
        return 0;
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        walk->command = cli_find(program, SLICE("version"));
        CHECK(walk->command);
        return 0;
    }
    if (word[0] == '-') {
        walk->command = program->wrap;
        walk->at = 1;
        return 0;
    }
    char both[128];
    if (walk->argc > 2 && snprintf(both, sizeof(both), "%s %s", word, walk->argv[2]) < (int)sizeof(both)) {
        walk->command = cli_find(program, slice_str(both));
        if (walk->command) {
            walk->at = 3;
            return 0;
        }
    }
    walk->command = cli_find(program, slice_str(word));
    if (walk->command)
        return 0;
    int group = cli_pick_group(program, walk, err);
    if (group != 0)
        return group < 0 ? -1 : 0;
    return cli_unknown_command(program, word, err);
}

/* ---- options ---- */

static int cli_walk_options(struct cli_walk *walk, struct err *err) {
    struct cli_rest *rest = &walk->request->rest;
    bool only_operands = false;
    while (walk->at < walk->argc) {
        const char *arg = walk->argv[walk->at++];
        if (!only_operands && strcmp(arg, "--") == 0) {
            if (!walk->command->takes_command) {
                only_operands = true;
                continue;
            }
            if (walk->at == walk->argc)
                return err_set(err, "there is no command after `--`");
            rest->command = walk->argv + walk->at;
            return 0;
        }
        int bad = 0;
        if (only_operands || arg[0] != '-' || arg[1] == '\0')
            walk->request->operands[rest->operand_count++] = arg;
        else if (arg[1] == '-')
            bad = cli_take_long(walk, arg + 2, err);
        else
            bad = cli_take_letters(walk, arg + 1, err);
        if (bad || walk->request->common.help)
            return bad;
    }
    return 0;
}

static size_t cli_count_options(const struct cli_command *command) {
    size_t count = 0;
    for (const struct cli_option *o = command->options; o && o->name; o++)
        count++;
    return count;
}

/* An option of the command or a common one, by its place in `seen`; NULL behind the last. */
static const struct cli_option *cli_option_at(const struct cli_command *command, size_t index) {
    size_t own = cli_count_options(command);
    const struct cli_option *option =
        index < own ? &command->options[index] : &cli_common_options[index - own];
    CHECK(index < CLI_OPTIONS_MAX);
    return option->name ? option : NULL;
}

static int cli_take_value(struct cli_walk *walk, size_t index, const char *value, struct err *err) {
    const struct cli_option *option = cli_option_at(walk->command, index);
    if (walk->seen[index] && option->kind != CLI_KIND_LIST)
        return err_set(err, "--%s is given twice", option->name);
    walk->seen[index] = true;
    void *to = index < cli_count_options(walk->command) ? walk->request->options : &walk->request->common;
    return cli_set(option, to, value, err);
}

static const char *cli_next_arg(struct cli_walk *walk) {
    if (walk->at == walk->argc || strcmp(walk->argv[walk->at], "--") == 0)
        return NULL;
    return walk->argv[walk->at++];
}

static int cli_unknown_option(const struct cli_walk *walk, struct slice name, struct err *err) {
    const char *names[CLI_OPTIONS_MAX + 1];
    const struct cli_option *option;
    size_t count = 0;
    for (size_t i = 0; (option = cli_option_at(walk->command, i)); i++)
        if (!option->hidden)
            names[count++] = option->name;
    if (!*walk->command->name)
        names[count++] = "version"; /* not in the rows of the wrap form, but accepted there */
    CHECK(count <= CLI_OPTIONS_MAX);
    names[count] = NULL;
    const char *near = nearest_word(name, names);
    if (near)
        return err_set(err, "unknown option `--%.*s`, did you mean `--%s`?", SLICE_FMT(name), near);
    return err_set(err, "unknown option `--%.*s`", SLICE_FMT(name));
}

/* `arg` is what follows the two dashes: name or name=value. */
static int cli_take_long(struct cli_walk *walk, const char *arg, struct err *err) {
    struct slice value = slice_str(arg), name;
    bool inlined = slice_cut(&value, '=', &name);
    const struct cli_option *option;
    size_t index = 0;
    while ((option = cli_option_at(walk->command, index)) && !slice_is(name, option->name))
        index++;
    if (!option)
        return cli_unknown_option(walk, name, err);
    if (option->kind == CLI_KIND_SWITCH && inlined)
        return err_set(err, "--%s takes no value", option->name);
    /* The value of name=value runs to the end of the argument, so it is NUL-terminated. */
    const char *text = inlined ? value.ptr : NULL;
    if (option->kind != CLI_KIND_SWITCH && !inlined && !(text = cli_next_arg(walk)))
        return err_set(err, "--%s needs a value", option->name);
    return cli_take_value(walk, index, text, err);
}

/* `arg` is what follows the dash: switches, then at most one option whose value is the rest or the next word.
 */
static int cli_take_letters(struct cli_walk *walk, const char *arg, struct err *err) {
    for (; *arg; arg++) {
        const struct cli_option *option;
        size_t index = 0;
        while ((option = cli_option_at(walk->command, index)) && option->letter != *arg)
            index++;
        if (!option)
            return err_set(err, "unknown option `-%c`", *arg);
        if (option->kind == CLI_KIND_SWITCH) {
            if (cli_take_value(walk, index, NULL, err) < 0)
                return -1;
            continue;
        }
        const char *text = arg[1] ? arg + 1 : cli_next_arg(walk);
        if (!text)
            return err_set(err, "-%c needs a value", *arg);
        return cli_take_value(walk, index, text, err);
    }
    return 0;
}

static int cli_fill_absent(struct cli_walk *walk, struct err *err) {
    const struct cli_option *option;
    for (size_t i = 0; (option = cli_option_at(walk->command, i)); i++) {
        if (walk->seen[i])
            continue;
        if (option->required && option->letter)
            return err_set(err, "-%c, --%s is needed", option->letter, option->name);
        if (option->required)
            return err_set(err, "--%s is needed", option->name);
        if (option->fallback && cli_take_value(walk, i, option->fallback, err) < 0)
            return -1;
    }
    return 0;
}

static int cli_check_rest(const struct cli_walk *walk, struct err *err) {
    const struct cli_command *command = walk->command;
    const struct cli_rest *rest = &walk->request->rest;
    if (rest->operand_count > command->operands_max)
        return err_set(err, "unexpected argument `%s`%s", rest->operands[command->operands_max],
                       command->takes_command ? "; the server's command goes after `--`" : "");
    if (rest->operand_count < command->operands_min)
        return err_set(err, "`%s` needs %s", command->name, command->operands);
    return 0;
}

/* ---- values ---- */

static int cli_parse_number(const struct cli_option *option, const char *value, uint64_t *ret_number,
                            struct err *err) {
    uint64_t max = option->max ? option->max : UINT64_MAX, number;
    if (!slice_to_u64(slice_str(value), &number))
        return err_set(err, "--%s `%s`: not a whole number", option->name, value);
    if (number < option->min || number > max)
        return err_set(err, "--%s `%s`: must lie between %llu and %llu", option->name, value,
                       (unsigned long long)option->min, (unsigned long long)max);
    *ret_number = number;
    return 0;
}

static int cli_parse_duration(const struct cli_option *option, const char *value, uint64_t *ret_ms,
                              struct err *err) {
    static const struct {
        const char *unit;
        uint64_t ms;
    } units[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    struct slice text = slice_str(value);
    size_t digits = strspn(value, "0123456789");
    uint64_t number;
    if (slice_to_u64(slice_upto(text, digits), &number)) {
        for (size_t i = 0; i < ARRAY_LEN(units); i++) {
            if (!slice_is(slice_from(text, digits), units[i].unit))
                continue;
            if (number > CLI_DURATION_MS_MAX / units[i].ms)
                return err_set(err, "--%s `%s`: longer than a year", option->name, value);
            *ret_ms = number * units[i].ms;
            return 0;
        }
    }
    return err_set(err, "--%s `%s`: write a time like 250ms, 30s, 5m, 2h or 1d", option->name, value);
}

static int cli_parse_choice(const struct cli_option *option, const char *value, int *ret_index,
                            struct err *err) {
    char list[256] = "";
    for (int i = 0; option->choices[i]; i++) {
        if (strcmp(option->choices[i], value) == 0) {
            *ret_index = i;
            return 0;
        }
        size_t used = strlen(list);
        snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "", option->choices[i]);
    }
    const char *near = nearest_word(slice_str(value), option->choices);
    if (near)
        return err_set(err, "--%s `%s`: did you mean `%s`?", option->name, value, near);
    return err_set(err, "--%s `%s`: must be one of %s", option->name, value, list);
}

static int cli_set(const struct cli_option *option, void *options, const char *value, struct err *err) {
    void *to = (char *)options + option->at;
    switch (option->kind) {
    case CLI_KIND_SWITCH:
        *(bool *)to = true;
        return 0;
    case CLI_KIND_TEXT:
        *(const char **)to = value;
        return 0;
    case CLI_KIND_LIST: {
        struct cli_list *list = to;
        if (list->count == CLI_LIST_MAX)
            return err_set(err, "--%s is given more than %d times", option->name, CLI_LIST_MAX);
        list->items[list->count++] = value;
        return 0;
    }
    case CLI_KIND_NUMBER:
        return cli_parse_number(option, value, to, err);
    case CLI_KIND_DURATION:
        return cli_parse_duration(option, value, to, err);
    case CLI_KIND_CHOICE:
        return cli_parse_choice(option, value, to, err);
    }
    CHECK(!"every kind of option is handled above");
    return -1;
}

/* ---- output ---- */

bool cli_colour(int fd) {
    const char *term = getenv("TERM"), *refused = getenv("NO_COLOR");
    return isatty(fd) && !(refused && *refused) && term && strcmp(term, "dumb") != 0;
}

int cli_fail(enum cli_exit status, const struct err *err) {
    log_error("%s", err->text);
    return (int)status;
}

int cli_print(const struct buf *text) {
    CHECK(!text->full);
    if (text->len && (fwrite(text->ptr, 1, text->len, stdout) != text->len || fflush(stdout) != 0)) {
        log_error("cannot write the output: %s", strerror(errno));
        return CLI_FAILED;
    }
    return CLI_OK;
}
