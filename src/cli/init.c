/* sallyport init: finds the servers of clients and puts the gate in front of them. */
#include "cli/init.h"

#include "base/mem.h"

#include <errno.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define INIT_OUT_MAX (64u << 20)

static const char *const modes[] = {[CLI_MODE_WRAP] = "wrap", [CLI_MODE_SERVE] = "serve", NULL};

static const struct cli_option init_rows[] = {
    {CLI_TEXT(struct init_options, client), .name = "client", .argument = "NAME",
     .values = "claude-desktop claude-code cursor vscode windsurf cline zed codex gemini",
     .help =
         "only this one: claude-desktop, claude-code, cursor, vscode, windsurf, cline, zed, codex, gemini"},
    {CLI_LIST(struct init_options, servers), .name = "server", .argument = "NAME",
     .help = "only the server with this name"},
    {CLI_CHOICE(struct init_options, mode), .name = "mode", .choices = modes, .fallback = "wrap",
     .help = "wrap: each server's command line with the gate in front of it; serve: one gate for all, which "
             "`sallyport serve` runs, and each client gets a grant"},
    {CLI_SWITCH(struct init_options, yes), .name = "yes", .letter = 'y',
     .help = "ask nothing: start servers, write changes"},
    {CLI_SWITCH(struct init_options, dry_run), .name = "dry-run", .letter = 'n',
     .help = "print the changes without writing them"},
    {CLI_SWITCH(struct init_options, details), .name = "details",
     .help = "show every change line by line; at the terminal, `d` at the question does"},
    {CLI_SWITCH(struct init_options, start), .name = "start",
     .help = "start servers to ask for their tools, without asking"},
    {CLI_SWITCH(struct init_options, no_start), .name = "no-start",
     .help = "start nothing: tools are known by the catalogue, or by class"},
    {CLI_SWITCH(struct init_options, undo), .name = "undo",
     .help = "restore the state before the last init; your own edits since then stay"},
    {CLI_SWITCH(struct init_options, force), .name = "force",
     .help = "with --undo: whole files, also when they have changed since (a copy is kept)"},
    {CLI_TEXT(struct init_options, dir), .name = "dir", .argument = "DIR",
     .help = "for sallyport.yaml and the policies; by default sallyport in XDG_CONFIG_HOME or ~/.config"},
    {CLI_TEXT(struct init_options, project), .name = "project", .argument = "DIR", .fallback = ".",
     .help = "where project files such as .mcp.json are looked for"},
    {CLI_TEXT(struct init_options, listen), .name = "listen", .argument = "ADDRESS:PORT",
     .fallback = "127.0.0.1:8640", .help = "of the gate, in a new sallyport.yaml"},
    {CLI_DURATION(struct init_options, timeout_ms), .name = "timeout", .argument = "TIME", .fallback = "30s",
     .help = "how long to wait for a server's answer"},
    {CLI_SWITCH(struct init_options, json), .name = "json", .help = "print JSON; asks nothing"},
    {0},
};

/* ---- prompts ---- */

static bool on_terminal(const struct init_options *opt) {
    return !opt->json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

/* Reads the complete line: the rest of it would answer the next question. */
static int ask(const char *question, const char *choices) {
    fprintf(stderr, "%s [%s] ", question, choices);
    int first = 0, c;
    while ((c = getc(stdin)) != EOF && c != '\n')
        if (!first && c != ' ' && c != '\t' && c != '\r')
            first = c;
    if (c == EOF) {
        fputc('\n', stderr);
        return 'n';
    }
    return first;
}

static bool is_yes(int answer) { return answer == 'y' || answer == 'Y'; }

static int show(struct buf *out) {
    int status = cli_print(out);
    fflush(stdout);
    buf_reset(out);
    return status;
}

static bool may_start(const struct init *in, struct buf *out) {
    const struct init_options *opt = in->opt;
    size_t count = 0;
    for (size_t i = 0; i < in->target_count; i++)
        count += in->targets[i].settings != NULL;
    if (opt->no_start || !count)
        return false;
    if (opt->yes || opt->start)
        return true;
    if (!on_terminal(opt))
        return false;
    char question[128];
    cli_init_show_starts(in, out);
    show(out);
    snprintf(question, sizeof(question), "Start %s to ask for %s tools?", count == 1 ? "it" : "them",
             count == 1 ? "its" : "their");
    int answer = ask(question, "Y/n");
    return !answer || is_yes(answer);
}

/* ---- where things are ---- */

static int find_places(struct init *in, struct err *err) {
    char program[PATH_MAX], dir[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (len < 0)
        return err_set(err, "which program is this? %s", strerror(errno));
    in->program = arena_dup(&in->arena, slice_of(program, (size_t)len)).ptr;
    cli_client_runner(&in->program, &in->lead);
    if (cli_home(in->home, err) < 0)
        return -1;
    if (in->opt->dir && in->opt->dir[0] != '/') {
        if (!getcwd(dir, sizeof(dir)))
            return err_set(err, "where are we? %s", strerror(errno));
        in->dir = arena_printf(&in->arena, "%s/%s", dir, in->opt->dir).ptr;
    } else if (in->opt->dir) {
        in->dir = in->opt->dir;
    } else {
        char config[CLI_PATH_MAX];
        if (cli_home_config_dir(config, err) < 0)
            return err_wrap(err, "give --dir");
        in->dir = arena_dup(&in->arena, slice_str(config)).ptr;
    }
    in->yaml = arena_printf(&in->arena, "%s/sallyport.yaml", in->dir).ptr;
    in->through = arena_printf(&in->arena, "%s/policies/through.yaml", in->dir).ptr;
    return 0;
}

static void init_free(struct init *in) {
    cli_asking_free(&in->asking);
    for (size_t i = 0; i < in->file_count; i++)
        cli_client_file_free(in->files[i].masked);
    for (size_t i = 0; i < in->target_count; i++)
        cli_init_target_free(&in->targets[i]);
    cli_clients_free(&in->clients);
    settings_free(in->own);
    buf_free(&in->own_text);
    arena_free(&in->arena);
}

/* ---- the run ---- */

static size_t count_chosen(const struct init *in) {
    size_t count = 0;
    for (size_t i = 0; i < in->file_count; i++)
        count += in->files[i].chosen;
    return count;
}

/* Files that could not be read are listed again at the end of the output. */
static size_t show_bad(const struct init *in, struct buf *out) {
    size_t count = 0;
    for (size_t i = 0; i < in->file_count; i++) {
        if (!in->files[i].file->bad)
            continue;
        buf_printf(out, "`%s` could not be read; correct it and run init again.\n", in->files[i].file->path);
        count++;
    }
    return count;
}

static void show_runner(const struct init *in, struct buf *out) {
    if (!in->lead)
        return;
    buf_printf(out, "The clients start the gate with `%s", in->program);
    for (size_t i = 0; in->lead[i]; i++)
        buf_printf(out, " %s", in->lead[i]);
    buf_printf(out,
               "`: this copy is in a cache. An installed one starts faster: `%s install%s sallyport`, then "
               "`sallyport init`.\n",
               strcmp(in->program, "npx") == 0 ? "npm" : "uv tool",
               strcmp(in->program, "npx") == 0 ? " -g" : "");
}

static void show_next(const struct init *in, struct buf *out) {
    if (in->opt->mode == CLI_MODE_SERVE)
        buf_printf(out, "Start the gate with `sallyport serve%s%s`, then restart the clients.\n",
                   in->opt->dir ? " --config " : "", in->opt->dir ? in->yaml : "");
    else
        buf_put_str(out, "Restart the clients: their servers are behind the gate then.\n");
    buf_put_str(out,
                "`sallyport audit tail` shows what they do, `sallyport approvals list` what waits for you, "
                "`sallyport init --undo` puts everything back.\n");
}

/* Details are shown whenever the user asks for them. */
static bool may_write(const struct init *in, struct buf *out, struct err *err) {
    int answer;
    while ((answer = ask("Write these changes? (d: show them line by line)", "y/N/d")) == 'd' ||
           answer == 'D') {
        if (cli_init_show_changes(in, out, err) < 0)
            return false;
        show(out);
    }
    return is_yes(answer);
}

/* Shows, asks and writes. */
static int run_text(struct init *in, struct buf *out, struct err *err) {
    cli_init_show_found(in, out);
    if (!in->file_count)
        buf_put_str(out, "No client's configuration was found, neither in your home directory nor in the "
                         "project; `--project DIR` names another one.\n"
                         "To guard one server: sallyport -c POLICY -- COMMAND ...\n");
    else if (!count_chosen(in) && show_bad(in, out)) {
        show(out);
        return CLI_CONFIG;
    } else if (!count_chosen(in))
        buf_put_str(out, "Nothing to do.\n");
    if (!count_chosen(in))
        return show(out);
    if ((in->opt->details && cli_init_show_changes(in, out, err) < 0) ||
        cli_init_show_summary(in, out, err) < 0)
        return cli_fail(CLI_CONFIG, err);
    show_runner(in, out);
    if (in->opt->dry_run)
        buf_printf(out, "Nothing was written.%s\n", in->opt->details ? "" : " --details shows every line.");
    int status = show(out);
    if (status != CLI_OK || in->opt->dry_run)
        return status;
    if (!in->opt->yes && !(on_terminal(in->opt) && may_write(in, out, err))) {
        buf_put_str(out, "Nothing was written. Run again with --yes to write these files.\n");
        show(out);
        return CLI_NO;
    }
    if (cli_init_write(in, err) < 0)
        return cli_fail(CLI_FAILED, err);
    buf_put_str(out, "Written.\n");
    show_bad(in, out);
    cli_init_show_logins(in, out);
    show_next(in, out);
    return show(out);
}

/* Programs show the changes themselves before they use --yes. */
static int run_json(struct init *in, struct buf *out, struct err *err) {
    const bool apply = in->opt->yes && !in->opt->dry_run && count_chosen(in);
    if (cli_init_json(in, apply, out, err) < 0)
        return cli_fail(CLI_CONFIG, err);
    if (apply && cli_init_write(in, err) < 0)
        return cli_fail(CLI_FAILED, err);
    return show(out);
}

static int undo_run(const struct init_options *opt) {
    char home[CLI_PATH_MAX];
    struct err err = {0};
    cleanup_buf struct buf out;
    buf_init(&out, INIT_OUT_MAX);
    if (cli_home(home, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
    enum cli_exit status = cli_init_undo(opt, home, &out, &err);
    if (out.len)
        cli_print(&out);
    return status == CLI_OK ? CLI_OK : cli_fail(status, &err);
}

static int check_usage(const struct init_options *opt, struct err *err) {
    if (opt->start && opt->no_start)
        return err_set(err, "either --start or --no-start");
    if (access(opt->project, X_OK) < 0)
        return err_set(err, "--project `%s`: %s", opt->project, strerror(errno));
    return opt->client && !cli_client_find(opt->client, err) ? -1 : 0;
}

static int init_run(const void *options, const struct cli_rest *rest) {
    const struct init_options *opt = options;
    struct init in = {.opt = opt};
    struct err err = {0};
    cleanup_buf struct buf out;
    buf_init(&out, INIT_OUT_MAX);
    (void)rest;
    if (opt->undo)
        return undo_run(opt);
    if (check_usage(opt, &err) < 0)
        return cli_fail(CLI_USAGE, &err);
    arena_init(&in.arena);
    cli_asking_init(&in.asking);
    int status = CLI_CONFIG;
    if (find_places(&in, &err) < 0 || cli_init_find(&in, &err) < 0 ||
        cli_init_judge(&in, may_start(&in, &out), &err) < 0)
        cli_fail(CLI_CONFIG, &err);
    else
        status = opt->json ? run_json(&in, &out, &err) : run_text(&in, &out, &err);
    init_free(&in);
    return status;
}

static const struct cli_example init_examples[] = {
    {"sallyport init", "find the servers of every client, show what would change, ask, write"},
    {"sallyport init --dry-run --no-start", "only print; nothing is started"},
    {"sallyport init --dry-run --details", "every line that would be written"},
    {"sallyport init --client cursor --server files --yes", "one server of one client, without questions"},
    {"sallyport init --mode serve", "one gate for all clients instead of one before each server"},
    {"sallyport init --undo", "put everything back"},
    {0},
};

const struct cli_command cli_init = {
    .name = "init",
    .summary = "find the servers of your clients and put the gate in front of them",
    .detail =
        "Finds the configurations of Claude Desktop, Claude Code, Cursor, VS Code, Windsurf, Cline, Zed, "
        "Codex and Gemini CLI. Shows what their servers' tools can do, and proposes a policy for each server "
        "and a sallyport.yaml. Lists the changes; --details shows every line. In a client's file only the "
        "servers change; comments, order and layout stay. The old file is kept in the state directory, and "
        "--undo restores it.\n\n"
        "Values of environment variables, headers, credentials in URLs and secret arguments are shown as "
        "stars. With --mode serve, files of a project are left alone: they are usually committed, and a "
        "grant "
        "is a secret.",
    .options = init_rows,
    .options_size = sizeof(struct init_options),
    .examples = init_examples,
    .run = init_run,
};
