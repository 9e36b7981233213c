/* sallyport code run: one piece of code in a sandbox, from the command line. */
#include "base/clock.h"
#include "base/mem.h"
#include "cli/command.h"
#include "code/limits.h"
#include "code/sandbox.h"
#include "wire/emit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define CODE_RUN_OUTPUT_MAX (64u << 20)

struct code_run_options {
    int language;
    int profile;
    uint64_t timeout_ms;
    uint64_t memory_mb;
    uint64_t min_tier;
    const char *workspace;
    bool json;
};

static const char *const languages[] = {"auto", "python", "javascript", "typescript", NULL};
static const char *const profiles[] = {"pure", "files", "proc", NULL};

static const struct cli_option code_run_rows[] = {
    {CLI_CHOICE(struct code_run_options, language), .name = "language", .letter = 'l', .choices = languages,
     .fallback = "auto", .help = "which language it is; auto goes by the file's name, else python"},
    {CLI_CHOICE(struct code_run_options, profile), .name = "profile", .choices = profiles, .fallback = "pure",
     .help = "what it may do: compute only; also files beneath its workspace; also programs"},
    {CLI_DURATION(struct code_run_options, timeout_ms), .name = "timeout", .argument = "S", .fallback = "30s",
     .help = "end it after this time"},
    {CLI_NUMBER(struct code_run_options, memory_mb), .name = "memory", .argument = "MB", .fallback = "500",
     .min = 1, .max = SANDBOX_MEMORY_MB_MAX, .help = "memory it may take"},
    {CLI_TEXT(struct code_run_options, workspace), .name = "workspace", .argument = "DIR",
     .help = "copy this directory's files in and, afterwards, back (not with profile pure)"},
    {CLI_NUMBER(struct code_run_options, min_tier), .name = "min-tier", .argument = "N", .fallback = "2",
     .min = 1, .max = 3, .help = "refuse to run where confinement is weaker (see doctor)"},
    {CLI_SWITCH(struct code_run_options, json), .name = "json", .help = "print the whole outcome as JSON"},
    {0},
};

struct code_run {
    const struct code_run_options *options;
    struct io_loop loop;
    struct buf report;
    int status;
    bool ended;
};

/* ---- the outcome ---- */

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

static void emit_text(struct emit *e, const char *key, struct slice text) {
    if (!text.len)
        return;
    emit_key(e, key);
    emit_str(e, text);
}

static void write_json(struct code_run *c, const struct sandbox_outcome *o) {
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
    if (o->copy_error)
        emit_text(&e, "workspace", slice_str(o->copy_error));
    emit_object_end(&e);
    buf_put_char(&c->report, '\n');
}

static void write_plain(struct code_run *c, const struct sandbox_outcome *o) {
    buf_put_slice(&c->report, o->out);
    if (o->err.len)
        fwrite(o->err.ptr, 1, o->err.len, stderr);
    if (o->traceback.len)
        fwrite(o->traceback.ptr, 1, o->traceback.len, stderr);
    if (o->exit != SANDBOX_OK) {
        struct err err;
        err_set(&err, "%s: %.*s", sandbox_exit_name(o->exit), SLICE_FMT(o->error));
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
    struct code_run *c = owner;
    if (c->options->json)
        write_json(c, o);
    else
        write_plain(c, o);
    c->status = o->exit == SANDBOX_OK ? CLI_OK : o->exit == SANDBOX_REFUSED ? CLI_FAILED : CLI_NO;
    c->ended = true;
    io_loop_stop(&c->loop);
}

static void on_call(struct sandbox_run *run, void *owner, uint32_t id, struct slice server, struct slice tool,
                    struct slice args) {
    (void)owner, (void)args, (void)server, (void)tool;
    sandbox_answer_error(run, id, SLICE("there are no tools here: `sallyport code run` is only the sandbox"));
}

static const struct sandbox_handlers handlers = {.call = on_call, .done = on_done};

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
        return o->language == 1 ? SANDBOX_PYTHON : o->language == 2 ? SANDBOX_JAVASCRIPT : SANDBOX_TYPESCRIPT;
    if (slice_ends(name, SLICE(".ts")) || slice_ends(name, SLICE(".mts")))
        return SANDBOX_TYPESCRIPT;
    if (slice_ends(name, SLICE(".js")) || slice_ends(name, SLICE(".mjs")))
        return SANDBOX_JAVASCRIPT;
    return SANDBOX_PYTHON;
}

static int run_code(struct code_run *c, struct spawn *spawn, const char *path, struct slice code,
                    struct err *err) {
    const struct code_run_options *o = c->options;
    const enum sandbox_language language = language_of(o, path);
    const struct sandbox_config config = {.min_tier = (int)o->min_tier,
                                          .warm = 1,
                                          .memory_mb_max = (uint32_t)o->memory_mb,
                                          .profile = (enum sandbox_profile)o->profile,
                                          .languages = 1u << language};
    const struct sandbox_request request = {.language = language,
                                            .profile = (enum sandbox_profile)o->profile,
                                            .code = code,
                                            .memory_mb = (uint32_t)o->memory_mb,
                                            .timeout_ms = (uint32_t)o->timeout_ms,
                                            .workspace = o->workspace};
    struct sandbox *sandbox = NULL;
    io_loop_init(&c->loop);
    if (spawn_attach(spawn, &c->loop, err) == 0 &&
        sandbox_open(&c->loop, spawn, &config, NULL, NULL, &sandbox, err) == 0) {
        if (sandbox_start(sandbox, &request, &handlers, c, err))
            io_loop_run(&c->loop);
        else
            c->status = CLI_USAGE;
    }
    sandbox_close(sandbox);
    spawn_stop(spawn);
    io_loop_free(&c->loop);
    return c->ended ? 0 : -1;
}

static int code_run_run(const void *options, const struct cli_rest *rest) {
    struct code_run c = {.options = options, .status = CLI_FAILED};
    struct err err = {""};
    cleanup_buf struct buf code;
    buf_init(&code, SANDBOX_CODE_MAX);
    buf_init(&c.report, CODE_RUN_OUTPUT_MAX);
    if (read_code(rest->operands[0], &code, &err) != 0)
        return cli_fail(CLI_USAGE, &err);
    struct spawn *spawn = spawn_start(&err);
    if (!spawn)
        return cli_fail(CLI_FAILED, &err);
    int status = run_code(&c, spawn, rest->operands[0], buf_slice(&code), &err) == 0
                     ? c.status
                     : cli_fail(c.status, &err);
    if (c.report.len && cli_print(&c.report) != CLI_OK)
        status = CLI_FAILED;
    buf_free(&c.report);
    return status;
}

static const struct cli_example code_run_examples[] = {
    {"sallyport code run script.py", "run a file; what it prints is printed, `result` last"},
    {"echo 'result = 6 * 7' | sallyport code run --json -", "the whole outcome as JSON"},
    {"sallyport code run --profile files --workspace ./data report.py", "with files to work on"},
    {0},
};

const struct cli_command cli_code_run = {
    .name = "code run",
    .summary = "run code in the sandbox",
    .detail = "The code runs in a process of its own without network, without the host's files and with "
              "limits on memory, "
              "time, processes and output. Python hands back the value of the variable `result`; JavaScript "
              "and TypeScript "
              "what they return, or the value of the last line.\n\n"
              "Exit status: 0 when the code ended well, 1 when it failed or was ended, 4 when it could not "
              "be run here.",
    .options = code_run_rows,
    .options_size = sizeof(struct code_run_options),
    .operands = "FILE|-",
    .operands_min = 1,
    .operands_max = 1,
    .examples = code_run_examples,
    .run = code_run_run,
};
