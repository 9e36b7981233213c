/* sallyport code run: one piece of code in a sandbox, from the command line. */
#include "base/clock.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/hosts.h"
#include "egress/egress.h"
#include "packages/choose.h"
#include "runner/limits.h"
#include "runner/sandbox.h"
#include "wire/emit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define CODE_RUN_OUTPUT_MAX (64u << 20)
#define CODE_RUN_FILES_MAX 128

struct code_run_options {
    int language;
    int profile;
    uint64_t timeout_ms;
    uint64_t memory_mb;
    uint64_t min_tier;
    const char *workspace;
    const char *network;
    struct cli_list packages;
    bool json;
};

static const char *const languages[] = {"auto", "python", "javascript", "typescript", "sql", "bash", NULL};
static const char *const profiles[] = {"pure", "files", "proc", NULL};

static const struct cli_option code_run_rows[] = {
    {CLI_CHOICE(struct code_run_options, language), .name = "language", .letter = 'l', .choices = languages,
     .fallback = "auto", .help = "which language it is; auto goes by the file's name, else python"},
    {CLI_CHOICE(struct code_run_options, profile), .name = "profile", .choices = profiles,
     .fallback = "files",
     .help = "what it may do: compute only; also files beneath its workspace; also programs"},
    {CLI_DURATION(struct code_run_options, timeout_ms), .name = "timeout", .argument = "S", .fallback = "30s",
     .help = "end it after this time"},
    {CLI_NUMBER(struct code_run_options, memory_mb), .name = "memory", .argument = "MB", .fallback = "500",
     .min = 1, .max = SANDBOX_MEMORY_MB_MAX, .help = "memory it may take"},
    {CLI_TEXT(struct code_run_options, workspace), .name = "workspace", .argument = "DIR",
     .help = "copy this directory's files in and, afterwards, back (not with profile pure)"},
    {CLI_TEXT(struct code_run_options, network), .name = "network", .argument = "HOSTS",
     .help = "where it may connect to, HOST:PORT, separated by commas; nowhere by default (not with "
             "profile pure)"},
    {CLI_LIST(struct code_run_options, packages), .name = "package", .argument = "NAME",
     .help = "a package that it may import, of those that `code packages list` shows; may be repeated"},
    {CLI_NUMBER(struct code_run_options, min_tier), .name = "min-tier", .argument = "N", .fallback = "1",
     .min = 1, .max = 3, .help = "refuse to run where confinement is weaker (see doctor)"},
    {CLI_SWITCH(struct code_run_options, json), .name = "json", .help = "print the whole outcome as JSON"},
    {0},
};

/* One file's run. */
struct code_run_item {
    struct code_run *all;
    const char *path;
    struct buf code;
    struct buf packages; /* JSON for the sandbox */
    struct buf report;
    struct egress_port *port; /* while it runs with a network */
    struct sandbox_run *run;  /* NULL: not started, or it has ended */
    int status;
};

struct code_run {
    const struct code_run_options *options;
    char packages_dir[CLI_PATH_MAX + 32]; /* "" when none are asked for */
    struct io_loop loop;
    struct egress *egress; /* NULL: no network */
    struct sandbox *sandbox;
    struct code_run_item items[CODE_RUN_FILES_MAX];
    size_t count;
    size_t left; /* that have not ended */
    uv_signal_t stops[2];
};

/* ---- the result ---- */

/* As a list of lines; the last one need not end. */
static void emit_lines(struct emit *e, struct slice text) {
    emit_array(e);
    while (text.len) {
        struct slice line;
        slice_cut(&text, '\n', &line);
        emit_str(e, line);
    }
    emit_array_end(e);
}

static void write_json(struct code_run_item *c, const struct sandbox_outcome *o) {
    struct emit e;
    emit_init(&e, &c->report);
    emit_object(&e);
    emit_key(&e, "success");
    emit_bool(&e, o->exit == SANDBOX_OK);
    emit_key(&e, "result");
    emit_raw(&e, o->result);
    emit_key(&e, "output");
    emit_lines(&e, o->out);
    if (o->err.len) {
        emit_key(&e, "stderr");
        emit_lines(&e, o->err);
    }
    emit_text(&e, "error", o->error);
    emit_text(&e, "traceback", o->traceback);
    emit_key(&e, "execution_time_ms");
    emit_int(&e, (int64_t)(o->wall_us / 1000));
    emit_key(&e, "execution_time_us");
    emit_int(&e, (int64_t)o->wall_us);
    emit_key(&e, "exit");
    emit_cstr(&e, sandbox_exit_name(o->exit));
    emit_key(&e, "violations");
    emit_array(&e);
    for (size_t i = 0; i < o->violation_count; i++)
        emit_cstr(&e, o->violations[i].name);
    emit_array_end(&e);
    emit_key(&e, "tool_calls");
    emit_int(&e, o->tool_calls);
    emit_key(&e, "tier");
    emit_int(&e, sandbox_tier(c->all->sandbox));
    if (o->out_cut || o->err_cut) {
        emit_key(&e, "truncated");
        emit_bool(&e, true);
    }
    if (o->copy_error)
        emit_text(&e, "workspace", slice_str(o->copy_error));
    emit_object_end(&e);
    buf_put_char(&c->report, '\n');
}

static void write_plain(struct code_run_item *c, const struct sandbox_outcome *o) {
    buf_put_slice(&c->report, o->out);
    if (o->err.len)
        fwrite(o->err.ptr, 1, o->err.len, stderr);
    if (o->traceback.len)
        fprintf(stderr, "%.*s%s", SLICE_FMT(o->traceback), slice_ends(o->traceback, SLICE("\n")) ? "" : "\n");
    if (o->exit != SANDBOX_OK) {
        const bool named = o->exit != SANDBOX_ERROR; /* otherwise the message already contains it */
        struct err err;
        err_set(&err, "%s%s%.*s", named ? sandbox_exit_name(o->exit) : "", named ? ": " : "",
                SLICE_FMT(o->error));
        cli_fail(CLI_NO, &err);
    }
    for (size_t i = 0; i < o->violation_count; i++)
        fprintf(stderr, "sallyport: denied: %s\n", o->violations[i].name);
    if (o->copy_error)
        fprintf(stderr, "sallyport: workspace: %s\n", o->copy_error);
    if (!slice_is(o->result, "null")) {
        buf_put_slice(&c->report, o->result);
        buf_put_char(&c->report, '\n');
    }
}

static void on_done(struct sandbox_run *run, void *owner, const struct sandbox_outcome *o) {
    (void)run;
    struct code_run_item *item = owner;
    egress_port_close(steal(item->port));
    item->run = NULL;
    if (item->all->options->json)
        write_json(item, o);
    else
        write_plain(item, o);
    item->status = o->exit == SANDBOX_OK ? CLI_OK : o->exit == SANDBOX_REFUSED ? CLI_FAILED : CLI_NO;
    if (--item->all->left == 0)
        io_loop_stop(&item->all->loop);
}

static void on_call(struct sandbox_run *run, void *owner, uint32_t id, struct slice server, struct slice tool,
                    struct slice args) {
    (void)owner, (void)args, (void)server, (void)tool;
    sandbox_answer_error(run, id, SLICE("there are no tools here: `sallyport code run` is only the sandbox"));
}

/* Ctrl-C ends what runs; what it has printed until then is shown as at any other end. */
static void on_stop(uv_signal_t *handle, int sig) {
    (void)sig;
    struct code_run *c = handle->data;
    for (size_t i = 0; i < c->count; i++)
        if (c->items[i].run)
            sandbox_cancel(c->items[i].run);
    uv_signal_stop(handle); /* the second one ends this program */
}

static void watch_stops(struct code_run *c) {
    static const int which[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < ARRAY_LEN(c->stops); i++) {
        uv_signal_init(&c->loop.uv, &c->stops[i]);
        c->stops[i].data = c;
        uv_signal_start(&c->stops[i], on_stop, which[i]);
        uv_unref((uv_handle_t *)&c->stops[i]);
    }
}

/* The list of --network is all that decides here: there is no policy. */
static void on_judge(void *owner, struct egress_ask *ask) {
    (void)owner;
    egress_answer(ask, ask->refused.len == 0, ask->refused);
}

static const struct egress_ops egress_ops = {.judge = on_judge};

static void on_network(struct sandbox_run *run, void *owner, int take_listener) {
    (void)run;
    struct code_run_item *item = owner;
    item->port = egress_listen(item->all->egress, take_listener, &egress_ops, item);
}

static const struct sandbox_handlers handlers = {.call = on_call, .network = on_network, .done = on_done};

/* ---- the run ---- */

static int read_code(const char *path, struct buf *ret_code, struct err *err) {
    const bool in = strcmp(path, "-") == 0;
    cleanup_fd int fd = in ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0) {
        char *room = buf_reserve(ret_code, 65536);
        if (!room)
            return err_set(err, "%s: code may have %u MB", path, SANDBOX_CODE_MAX >> 20);
        const ssize_t n = read(fd, room, 65536);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            return 0;
        if (n < 0)
            break;
        ret_code->len += (size_t)n;
    }
    return err_set(err, "%s: %s", path, strerror(errno));
}

static enum sandbox_language language_of(const struct code_run_options *o, const char *path) {
    const struct slice name = slice_str(path);
    if (o->language)
        return (enum sandbox_language)(o->language - 1); /* in the order of `languages` */
    if (slice_ends(name, SLICE(".ts")) || slice_ends(name, SLICE(".mts")))
        return SANDBOX_TYPESCRIPT;
    if (slice_ends(name, SLICE(".js")) || slice_ends(name, SLICE(".mjs")))
        return SANDBOX_JAVASCRIPT;
    if (slice_ends(name, SLICE(".sql")))
        return SANDBOX_SQL;
    if (slice_ends(name, SLICE(".sh")))
        return SANDBOX_BASH;
    return SANDBOX_PYTHON;
}

static struct sandbox_request request_of(const struct code_run_item *item) {
    const struct code_run_options *o = item->all->options;
    const enum sandbox_language language = language_of(o, item->path);
    return (struct sandbox_request){.language = language,
                                    .echo = language == SANDBOX_SQL && !o->json, /* tables as text */
                                    .profile = language == SANDBOX_BASH ? SANDBOX_PROC
                                                                        : (enum sandbox_profile)o->profile,
                                    .code = buf_slice(&item->code),
                                    .memory_mb = (uint32_t)o->memory_mb,
                                    .timeout_ms = (uint32_t)o->timeout_ms,
                                    .packages = buf_slice(&item->packages),
                                    .last_value = true,
                                    .workspace = o->workspace};
}

static int open_network(struct code_run *c, struct err *err) {
    const char *hosts[EGRESS_RULES_MAX];
    struct egress_config config = {.loop = &c->loop, .allow = hosts, .list_name = "--network"};
    cleanup_arena struct arena a;
    arena_init(&a);
    if (!c->options->network)
        return 0;
    return hosts_split(c->options->network, &a, hosts, &config.allow_count, err) < 0
               ? -1
               : egress_open(&config, &c->egress, err);
}

/* ret_status: how the command ends when this fails. */
static int run_all(struct code_run *c, struct spawn *spawn, enum cli_exit *ret_status, struct err *err) {
    const struct code_run_options *o = c->options;
    struct sandbox_config config = {.min_tier = (int)o->min_tier,
                                    .warm = 1,
                                    .share_ceiling.runs = SANDBOX_RUNS_MAX,
                                    .memory_mb_max = (uint32_t)o->memory_mb,
                                    .packages = c->packages_dir,
                                    .profile = (enum sandbox_profile)o->profile};
    for (size_t i = 0; i < c->count; i++)
        config.languages |= 1u << language_of(o, c->items[i].path);
    io_loop_init(&c->loop);
    int done = open_network(c, err);
    *ret_status = done == 0 ? CLI_FAILED : CLI_USAGE;
    if (c->egress)
        config.bundle = egress_bundle(c->egress);
    if (done == 0)
        done = spawn_attach(spawn, &c->loop, err);
    if (done == 0)
        done = sandbox_open(&c->loop, spawn, &config, NULL, NULL, &c->sandbox, err);
    for (size_t i = 0; done == 0 && i < c->count; i++) {
        const struct sandbox_request request = request_of(&c->items[i]);
        c->items[i].run = sandbox_start(c->sandbox, &request, &handlers, &c->items[i], err);
        done = c->items[i].run ? 0 : -1;
        c->left += done == 0;
    }
    if (done == 0) {
        watch_stops(c);
        io_loop_run(&c->loop);
    }
    sandbox_close(c->sandbox);
    egress_close(c->egress);
    spawn_stop(spawn);
    io_loop_free(&c->loop);
    return done;
}

static int choose_packages(struct code_run *c, struct code_run_item *item, struct err *err) {
    struct slice asked[CLI_LIST_MAX];
    const struct pack_choose choose = {
        .dir = c->packages_dir,
        .kind = sandbox_is_javascript(language_of(c->options, item->path)) ? PACK_NPM : PACK_PIP,
        .asked = asked,
        .asked_count = c->options->packages.count,
    };
    for (size_t i = 0; i < choose.asked_count; i++)
        asked[i] = slice_str(c->options->packages.items[i]);
    return pack_choose(&choose, &item->packages, err);
}

static int find_packages(struct code_run *c, struct err *err) {
    char home[CLI_PATH_MAX];
    if (!c->options->packages.count)
        return 0;
    if (cli_home(home, err) < 0)
        return -1;
    snprintf(c->packages_dir, sizeof(c->packages_dir), "%s/code/packages", home);
    return 0;
}

/* Before anything runs: afterwards what the code has written would be lost. */
static int check_workspace(const struct code_run_options *o, struct err *err) {
    cleanup_fd int dir = o->workspace ? open(o->workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    return o->workspace && dir < 0 ? err_set(err, "--workspace %s: %s", o->workspace, strerror(errno)) : 0;
}

static int read_all(struct code_run *c, const struct cli_rest *rest, struct err *err) {
    for (size_t i = 0; i < rest->operand_count; i++) {
        struct code_run_item *item = &c->items[c->count++];
        *item = (struct code_run_item){.all = c, .path = rest->operands[i], .status = CLI_FAILED};
        buf_init(&item->code, SANDBOX_CODE_MAX);
        buf_init(&item->packages, PACK_MANIFEST_MAX);
        buf_init(&item->report, CODE_RUN_OUTPUT_MAX);
        if (read_code(item->path, &item->code, err) != 0 || choose_packages(c, item, err) != 0)
            return -1;
    }
    return 0;
}

static int code_run_run(const void *options, const struct cli_rest *rest) {
    cleanup_free struct code_run *c = mem_zalloc(sizeof(*c));
    c->options = options;
    struct err err = {""};
    int status = CLI_OK;
    enum cli_exit failed = CLI_FAILED;
    struct spawn *spawn = NULL;
    if (check_workspace(c->options, &err) != 0 || find_packages(c, &err) != 0 || read_all(c, rest, &err) != 0)
        status = cli_fail(CLI_USAGE, &err);
    else if (!(spawn = spawn_start(&err)) || run_all(c, spawn, &failed, &err) != 0)
        status = cli_fail(failed, &err);
    for (size_t i = 0; i < c->count; i++) {
        struct code_run_item *item = &c->items[i];
        const int printed = item->report.len ? cli_print(&item->report) : CLI_OK;
        if (status == CLI_OK)
            status = printed != CLI_OK ? printed : item->status;
        buf_free(&item->code);
        buf_free(&item->packages);
        buf_free(&item->report);
    }
    return status;
}

static const struct cli_example code_run_examples[] = {
    {"sallyport code run script.py", "run a file; what it prints is printed, `result` last"},
    {"echo 'result = 6 * 7' | sallyport code run --json -", "the whole outcome as JSON"},
    {"sallyport code run --profile files --workspace ./data report.py", "with files to work on"},
    {"echo 'SELECT region, sum(amount) FROM sales GROUP BY 1' | sallyport code run -l sql --workspace ./data "
     "-",
     "a query over sales.csv"},
    {"sallyport code run --package pandas report.py", "with a package that `code packages add` installed"},
    {"sallyport code run --network api.github.com:443 fetch.py", "it may connect to one host"},
    {0},
};

const struct cli_command cli_code_run = {
    .name = "code run",
    .summary = "run code in the sandbox",
    .detail =
        "The code runs in a process of its own without network (but for what --network lists), without the "
        "host's files and with "
        "limits on memory, "
        "time, processes and output. Python hands back the value of the variable `result`; JavaScript "
        "and TypeScript "
        "what they return, or the value of the last line. SQL runs over CSV, JSON and SQLite files of the "
        "workspace and prints tables. bash runs programs of the system too, whatever the profile. Several "
        "files run side by side, each in a "
        "sandbox of its own; their outcomes are printed in order, with --json one a line.\n\n"
        "Exit status: 0 when the code ended well, 1 when it failed or was ended, 4 when it could not "
        "be run here.",
    .options = code_run_rows,
    .options_size = sizeof(struct code_run_options),
    .operands = "FILE|-...",
    .operands_min = 1,
    .operands_max = CODE_RUN_FILES_MAX,
    .examples = code_run_examples,
    .run = code_run_run,
};
