/* The kill switch: stop-all, stop, stop-grant, resume. A stop applies to every gate of the home
 * immediately. */
#include "state/stops.h"

#include "audit/audit.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/gates.h"
#include "state/grants.h"
#include "wire/emit.h"

struct stops_options {
    const char *reason;
    bool cancel;
    bool json;
};

static const struct cli_option stop_rows[] = {
    {CLI_TEXT(struct stops_options, reason), .name = "reason", .argument = "TEXT",
     .help = "why; agents read it in the refusal"},
    {CLI_SWITCH(struct stops_options, cancel), .name = "cancel", .help = "cancel calls in flight, too"},
    {CLI_SWITCH(struct stops_options, json), .name = "json", .help = "print JSON"},
    {0},
};
static const struct cli_option resume_rows[] = {
    {CLI_SWITCH(struct stops_options, json), .name = "json", .help = "print JSON"}, {0}};

static void stops_cleanup(struct state_stops **s) { state_stops_close(*s); }
#define cleanup_stops __attribute__((cleanup(stops_cleanup)))

/* Reports a stop that could not be recorded; the stop is in force. */
static void record(const char *event, const struct state_stop *stop, struct slice who) {
    struct err err = {0};
    cleanup_arena struct arena a;
    arena_init(&a);
    struct audit_action action = {
        .name = slice_str(event),
        .identity = who,
        .text = arena_printf(&a, "%s%s%.*s", state_stop_scope_name(stop->scope), stop->reason.len ? ": " : "",
                             SLICE_FMT(stop->reason)),
        .server = stop->scope == STATE_STOP_SERVER ? stop->name : (struct slice){0},
        .grant = stop->scope == STATE_STOP_GRANT ? stop->name : (struct slice){0},
    };
    if (cli_home_record(&action, &err) < 0)
        cli_fail(CLI_FAILED, &err);
}

/* The stops in force, after those that `resume` has ended. */
static int print_stops(struct state_stops *s, struct slice resumed, bool json) {
    cleanup_buf struct buf out;
    buf_init(&out, CLI_TEXT_MAX);
    struct emit e;
    emit_init(&e, &out);
    if (!json)
        buf_put_slice(&out, resumed);
    if (json)
        emit_array(&e);
    for (size_t i = 0; i < state_stops_count(s); i++) {
        const struct state_stop *stop = state_stops_at(s, i);
        if (json)
            state_stop_json(&e, stop);
        else
            buf_printf(&out, "stopped: %s%s%.*s, by %.*s%s%.*s\n", state_stop_scope_name(stop->scope),
                       stop->name.len ? " " : "", SLICE_FMT(stop->name), SLICE_FMT(stop->by),
                       stop->reason.len ? ": " : "", SLICE_FMT(stop->reason));
    }
    if (json)
        emit_array_end(&e);
    else if (!state_stops_count(s) && !resumed.len)
        buf_put_str(&out, "nothing is stopped");
    if (out.len && out.ptr[out.len - 1] != '\n')
        buf_put_char(&out, '\n');
    return cli_print(&out);
}

static int open_stops(char home[CLI_PATH_MAX], struct state_stops **ret_stops, struct err *err) {
    return cli_home(home, err) < 0 ? -1 : state_stops_open(home, ret_stops, err);
}

/* ---- names without a server or grant ---- */

struct wanted_server {
    struct slice name;
    bool any, found; /* any: a gate runs */
};

static void look_for_server(void *ctx, const struct tape *page) {
    struct wanted_server *w = ctx;
    cleanup_arena struct arena a;
    arena_init(&a);
    uint32_t servers = tape_get_str(page, 0, "servers");
    w->any = true;
    if (!servers || !tape_is(page, servers, TAPE_ARRAY))
        return;
    TAPE_FOR_ELEM(page, servers, i) {
        uint32_t name = tape_is(page, i, TAPE_OBJECT) ? tape_get_str(page, i, "name") : 0;
        w->found |= name && slice_eq(tape_text(page, name, &a), w->name);
    }
}

static bool has_grant(const char *home, struct slice name) {
    struct state_grants *grants = NULL;
    struct err ignored;
    bool has = state_grants_open(home, true, &grants, &ignored) < 0 || state_grants_by_name(grants, name);
    state_grants_close(grants);
    return has;
}

/* The stop is in force anyway: a server or a grant may get this name later. */
static void warn_unknown(const char *home, const struct state_stop *stop) {
    struct wanted_server w = {.name = stop->name};
    if (stop->scope == STATE_STOP_SERVER)
        cli_gates_each(home, look_for_server, &w);
    if (w.any && !w.found)
        log_warn(
            "no gate that runs here has a server `%.*s`: is the name right? `sallyport status` lists them",
            SLICE_FMT(stop->name));
    if (stop->scope == STATE_STOP_GRANT && !has_grant(home, stop->name))
        log_warn("there is no grant `%.*s`: is the name right? `sallyport grants list` shows them",
                 SLICE_FMT(stop->name));
}

static int stop_what(const struct stops_options *opt, enum state_stop_scope scope, const char *name) {
    char home[CLI_PATH_MAX];
    struct err err = {0};
    cleanup_stops struct state_stops *s = NULL;
    cleanup_arena struct arena a;
    arena_init(&a);
    struct state_stop want = {.scope = scope,
                              .name = slice_str(name),
                              .reason = slice_str(opt->reason ? opt->reason : ""),
                              .by = cli_home_user(&a),
                              .at_ms = clock_wall_ms(),
                              .cancel = opt->cancel};
    if (open_stops(home, &s, &err) < 0 || state_stops_put(s, &want, NULL, &err) < 0)
        return cli_fail(CLI_FAILED, &err);
    record("stopped", &want, want.by);
    warn_unknown(home, &want);
    return print_stops(s, (struct slice){0}, opt->json);
}

static int stop_all_run(const void *options, const struct cli_rest *rest) {
    (void)rest;
    return stop_what(options, STATE_STOP_ALL, "");
}

static int stop_run(const void *options, const struct cli_rest *rest) {
    return stop_what(options, STATE_STOP_SERVER, rest->operands[0]);
}

static int stop_grant_run(const void *options, const struct cli_rest *rest) {
    return stop_what(options, STATE_STOP_GRANT, rest->operands[0]);
}

/* Everything, or what has this name. */
static int resume_run(const void *options, const struct cli_rest *rest) {
    const struct stops_options *opt = options;
    char home[CLI_PATH_MAX];
    struct err err = {0};
    cleanup_stops struct state_stops *s = NULL;
    cleanup_arena struct arena a;
    arena_init(&a);
    if (open_stops(home, &s, &err) < 0)
        return cli_fail(CLI_FAILED, &err);
    cleanup_buf struct buf resumed;
    buf_init(&resumed, CLI_TEXT_MAX);
    for (size_t i = state_stops_count(s); i-- > 0;) {
        struct state_stop stop = *state_stops_at(s, i);
        if (rest->operand_count && !slice_is(stop.name, rest->operands[0]))
            continue;
        stop.name = arena_dup(&a, stop.name);
        stop.reason = arena_dup(&a, stop.reason);
        if (state_stops_remove(s, stop.id, &err) < 0)
            return cli_fail(CLI_FAILED, &err);
        record("resumed", &stop, cli_home_user(&a));
        buf_printf(&resumed, "resumed: %s%s%.*s\n", state_stop_scope_name(stop.scope),
                   stop.name.len ? " " : "", SLICE_FMT(stop.name));
    }
    if (rest->operand_count && !resumed.len) {
        err_set(&err, "`%s` is not stopped", rest->operands[0]);
        return cli_fail(CLI_NO, &err);
    }
    return print_stops(s, buf_slice(&resumed), opt->json);
}

static const struct cli_example stop_all_examples[] = {
    {"sallyport stop-all --reason \"looking into odd payments\" --cancel",
     "refuse everything, and cancel calls in flight"},
    {0}};

const struct cli_command cli_stop_all = {
    .name = "stop-all",
    .summary = "refuse every call immediately, at every gate of this home",
    .detail = "Stays in force until `sallyport resume`, also after restarts. The audit log records who "
              "stopped it and why.",
    .options = stop_rows,
    .options_size = sizeof(struct stops_options),
    .examples = stop_all_examples,
    .run = stop_all_run,
};
static const struct cli_example stop_examples[] = {
    {"sallyport stop stripe --reason \"odd payments\"",
     "agents cannot reach this server until `sallyport resume stripe`"},
    {0}};
static const struct cli_example stop_grant_examples[] = {
    {"sallyport stop-grant ci --cancel", "pause one agent, and cancel its calls in flight"}, {0}};
static const struct cli_example resume_examples[] = {
    {"sallyport resume", "everything passes again as the policies say"},
    {"sallyport resume stripe", "only what was stopped under this name"},
    {0}};

const struct cli_command cli_stop = {
    .name = "stop",
    .summary = "refuse every call to one server",
    .options = stop_rows,
    .options_size = sizeof(struct stops_options),
    .operands = "SERVER",
    .operands_min = 1,
    .operands_max = 1,
    .examples = stop_examples,
    .run = stop_run,
};
const struct cli_command cli_stop_grant = {
    .name = "stop-grant",
    .summary = "refuse every call under one grant",
    .options = stop_rows,
    .options_size = sizeof(struct stops_options),
    .operands = "NAME",
    .operands_min = 1,
    .operands_max = 1,
    .examples = stop_grant_examples,
    .run = stop_grant_run,
};
const struct cli_command cli_resume = {
    .name = "resume",
    .summary = "allow calls again: all, or those of one stopped server or grant",
    .options = resume_rows,
    .options_size = sizeof(struct stops_options),
    .operands = "[NAME]",
    .operands_max = 1,
    .examples = resume_examples,
    .run = resume_run,
};
