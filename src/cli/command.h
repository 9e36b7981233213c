/* The command line as a table. One row per subcommand, one row per option; the parser, --help, the man page
 * and the shell completions all read the same rows, so all of them stay up to date.
 *
 * A subcommand lives in its own file, with three things at the top and its work below:
 *
 *     struct scan_options {                      what the parser fills in
 *         const char *output;
 *         bool json;
 *     };
 *     static const struct cli_option scan_rows[] = {
 *         {CLI_TEXT(struct scan_options, output), .name = "output", .letter = 'o', .argument = "FILE",
 *          .help = "write to this file instead of stdout"},
 *         {CLI_SWITCH(struct scan_options, json), .name = "json", .help = "print JSON"},
 *         {0},
 *     };
 *     const struct cli_command cli_scan = {
 *         .name = "scan", .summary = "...", .run = scan_run,
 *         .options = scan_rows, .options_size = sizeof(struct scan_options),
 *     };
 *
 * and one line in commands.c. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "cli/limits.h"

/* Exit statuses that scripts may rely on. */
enum cli_exit {
    CLI_OK = 0,
    CLI_NO = 1,     /* the answer is no: invalid, denied, findings, verification failed */
    CLI_USAGE = 2,  /* the command line is wrong */
    CLI_CONFIG = 3, /* a policy or configuration file is wrong or missing */
    CLI_FAILED = 4, /* an upstream server or a store failed */
};

enum cli_kind {
    CLI_KIND_SWITCH,   /* bool */
    CLI_KIND_TEXT,     /* const char * */
    CLI_KIND_LIST,     /* struct cli_list: the option may be repeated */
    CLI_KIND_NUMBER,   /* uint64_t, between min and max */
    CLI_KIND_DURATION, /* uint64_t in milliseconds, written 250ms, 30s, 5m, 2h, 1d or a bare number of seconds
                        */
    CLI_KIND_CHOICE,   /* int, the index into choices */
};

struct cli_list {
    const char *items[CLI_LIST_MAX];
    size_t count;
};

struct cli_option {
    enum cli_kind kind;
    size_t at;                  /* where in the options struct the value goes */
    const char *name;           /* without the dashes; NULL ends the array */
    char letter;                /* the short form, or 0 */
    const char *argument;       /* name of the value in help: FILE, URL; choices need none */
    const char *const *choices; /* NULL-terminated */
    const char *values;         /* of a text: what completions propose, separated by spaces */
    const char *fallback;       /* parsed like a given value when the option is absent */
    uint64_t min, max;          /* of a number; max 0 means no upper bound */
    const char *help;
    bool required;
    bool hidden; /* works, but is not in help and completions */
};

/* Each binds a row to a member of the options struct and refuses to compile when the types differ. */
#define CLI_AT(type, member, value_type)                                                                     \
    .at = offsetof(type, member) + 0 * sizeof(&((type *)0)->member == (value_type *)0)
#define CLI_SWITCH(type, member) .kind = CLI_KIND_SWITCH, CLI_AT(type, member, bool)
#define CLI_TEXT(type, member) .kind = CLI_KIND_TEXT, CLI_AT(type, member, const char *)
#define CLI_LIST(type, member) .kind = CLI_KIND_LIST, CLI_AT(type, member, struct cli_list)
#define CLI_NUMBER(type, member) .kind = CLI_KIND_NUMBER, CLI_AT(type, member, uint64_t)
#define CLI_DURATION(type, member) .kind = CLI_KIND_DURATION, CLI_AT(type, member, uint64_t)
#define CLI_CHOICE(type, member) .kind = CLI_KIND_CHOICE, CLI_AT(type, member, int)

struct cli_example {
    const char *line; /* NULL ends the array */
    const char *what;
};

/* Arguments that are not options. */
struct cli_rest {
    const char *const *operands;
    size_t operand_count;
    char *const *command; /* behind `--`, NULL-terminated; NULL when there is none */
};

struct cli_command {
    const char *name;    /* one word, or two for a verb of a group ("pii scan"); "" for the wrap form */
    const char *summary; /* half a line, no full stop */
    const char *detail;  /* paragraphs separated by an empty line, or NULL */
    const char *const
        *synopses; /* lines behind the program's name, NULL-terminated; NULL: made from the rows */
    const struct cli_option *options;
    size_t options_size;
    const char *operands; /* their name in help: "[FILE]", or NULL when there are none */
    size_t operands_min, operands_max;
    bool takes_command;
    const struct cli_example *examples;
    /* Gets the filled options struct; returns an exit status. */
    int (*run)(const void *options, const struct cli_rest *rest);
};

/* A heading in the list of commands. */
struct cli_heading {
    const char *text; /* several words: one word is a section of the help page */
    const struct cli_command *first;
};

struct cli_program {
    const char *name;
    const char *version;
    const char *summary;
    const struct cli_command *wrap; /* runs when the first argument is an option, not a subcommand */
    const struct cli_command *const *commands; /* NULL-terminated, in the order help shows them */
    const struct cli_heading *headings;        /* ends with a row without text; NULL: none */
};

/* commands.c */
extern const struct cli_program cli_commands;

/* Options of every command; cli_run handles them. */
struct cli_common {
    bool help;
    int log_level;  /* an enum log_level */
    int log_format; /* 1: JSON */
};
extern const struct cli_option cli_common_options[];

/* A parsed command line. Owns its memory: free with cli_request_free. */
struct cli_request {
    const struct cli_command *command; /* NULL: help about the program, or about a group when one is named */
    const char *group;
    struct cli_common common; /* help was requested: nothing else was checked */
    void *options;
    struct cli_rest rest;
    const char **operands; /* the memory of rest.operands */
};

/* On failure ret_request->command is set, if it was known already. */
int cli_parse(const struct cli_program *program, int argc, char **argv, struct cli_request *ret_request,
              struct err *err);
void cli_request_free(struct cli_request *request);
/* Parses, runs, reports: what main returns. */
int cli_run(const struct cli_program *program, int argc, char **argv);

/* NULL when there is no such row. */
const struct cli_command *cli_find(const struct cli_program *program, struct slice name);
/* The verb of a row named "group verb"; NULL for every other row. */
const char *cli_verb_of(const struct cli_command *command, const char *group);

/* home.c: the state directory, $SALLYPORT_HOME or its fallbacks. Nothing is created. */
int cli_home(char ret_path[CLI_PATH_MAX], struct err *err);

/* Has no gate and no command recorded anything in this home yet? */
bool cli_home_unused(const char *home);

/* "cli:USER": every user who can write to the home may decide; the record has the system's user name. */
struct arena;
struct audit_action;
struct slice cli_home_user(struct arena *a);
/* Records a person's action in the audit log of the home: -1 when that fails. */
int cli_home_record(const struct audit_action *action, struct err *err);

/* Where sallyport.yaml and policies are kept: sallyport in $XDG_CONFIG_HOME or ~/.config. */
int cli_home_config_dir(char ret_path[CLI_PATH_MAX], struct err *err);
/* The settings of a command: the given file, else ./sallyport.yaml, else that of the configuration
 * directory. False when neither exists; the path is then ./sallyport.yaml. */
/* For completions: names that exist now, one a line; nothing when they cannot be read. */
void cli_grants_names(struct buf *out);
void cli_approvals_ids(struct buf *out);
bool cli_home_settings(const char *given, char ret_path[CLI_PATH_MAX]);

/* Colour only on a terminal and unless disabled (NO_COLOR, TERM=dumb). */
bool cli_colour(int fd);
/* Prints "sallyport: text" on stderr, in red on a terminal, and returns `status`. */
int cli_fail(enum cli_exit status, const struct err *err);
/* Writes everything to stdout; CLI_OK, or CLI_FAILED on a write error. */
int cli_print(const struct buf *text);

/* help.c, man.c, completion.c: other outputs of the table. */
void cli_help_program(const struct cli_program *program, bool colour, struct buf *text);
void cli_help_command(const struct cli_program *program, const struct cli_command *command, bool colour,
                      struct buf *text);
void cli_help_group(const struct cli_program *program, const char *group, bool colour, struct buf *text);
/* "-o, --output FILE", as help and the man page write it. */
void cli_help_option_name(const struct cli_option *option, struct buf *text);
/* The usage line behind the program's name. */
void cli_help_synopsis(const struct cli_command *command, struct buf *text);
void cli_man(const struct cli_program *program, struct buf *text);
void cli_completion_bash(const struct cli_program *program, struct buf *text);
void cli_completion_zsh(const struct cli_program *program, struct buf *text);
void cli_completion_fish(const struct cli_program *program, struct buf *text);
