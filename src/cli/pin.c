/* pin list, pin diff, pin accept: the accepted definitions of sallyport.lock. */
#include "cli/ask.h"

#include "base/glyph.h"
#include "base/log.h"
#include "base/mem.h"
#include "guard/pins_shared.h"
#include "io/file.h"
#include "risk/lockfile.h"
#include "wire/emit.h"

#include <unistd.h>

struct pin_options {
    struct cli_ask_options ask;
    const char *lock;
    bool json, fleet;
};

#define ROW_LOCK                                                                                             \
    {                                                                                                        \
        CLI_TEXT(struct pin_options, lock), .name = "lock", .argument = "FILE", .fallback = RISK_LOCK_NAME,  \
                                            .help = "the lock file"                                          \
    }
#define ROW_FLEET                                                                                            \
    {                                                                                                        \
        CLI_SWITCH(struct pin_options, fleet), .name = "fleet",                                              \
                                               .help = "the pins that all gates share, instead of a file"    \
    }
#define ROW_JSON                                                                                             \
    { CLI_SWITCH(struct pin_options, json), .name = "json", .help = "print JSON" }

static const struct cli_option list_rows[] = {ROW_LOCK, ROW_FLEET, ROW_JSON, {0}};
static const struct cli_option diff_rows[] = {
    CLI_ASK_ROWS(struct pin_options), ROW_LOCK, ROW_FLEET, ROW_JSON, {0}};
static const struct cli_option accept_rows[] = {CLI_ASK_ROWS(struct pin_options), ROW_LOCK, ROW_FLEET, {0}};

/* ---- where they are ---- */

static enum cli_exit fleet_home(char ret_home[CLI_PATH_MAX], struct err *err) {
    bool shared = false;
    if (cli_home(ret_home, err) < 0 || state_pins_are_shared(ret_home, &shared, err) < 0)
        return CLI_CONFIG;
    if (!shared)
        err_set(err, "`%s` belongs to no fleet: it has no file `database`", ret_home);
    return shared ? CLI_OK : CLI_CONFIG;
}

static enum cli_exit read_fleet(struct risk_lock **ret_lock, struct err *err) {
    char home[CLI_PATH_MAX];
    struct state_pins *store = NULL;
    struct state_pins_copy *copy = NULL;
    enum cli_exit status = fleet_home(home, err);
    if (status != CLI_OK)
        return status;
    if (state_pins_open(home, &store, err) < 0 || !(copy = state_pins_load(store, err)) ||
        pins_shared_lock(copy, ret_lock, err) < 0)
        status = CLI_FAILED;
    state_pins_copy_free(copy);
    state_pins_close(store);
    return status;
}

static enum cli_exit read_pins(const struct pin_options *opt, struct risk_lock **ret_lock, struct err *err) {
    if (opt->fleet)
        return read_fleet(ret_lock, err);
    return cli_lock_read(opt->lock, ret_lock, err) < 0 ? CLI_CONFIG : CLI_OK;
}

/* ---- list ---- */

struct listing {
    struct buf *out;
    struct emit *e; /* NULL: lines for people */
    struct arena *a;
};

static void list_one(void *ctx, const struct risk_pinned *p) {
    struct listing *l = ctx;
    if (!l->e) {
        struct slice server = glyph_printable(p->server, 80, l->a),
                     name = glyph_printable(p->name, RISK_TOOL_NAME_MAX, l->a),
                     what = p->kind == RISK_PIN_TOOL ? p->cls : SLICE("skill");
        buf_printf(l->out, "%.*s  %.*s  %.*s  %.19s\n", SLICE_FMT(server), SLICE_FMT(name), SLICE_FMT(what),
                   p->fingerprint.ptr);
        return;
    }
    emit_object(l->e);
    emit_key(l->e, "server");
    emit_str(l->e, p->server);
    emit_key(l->e, risk_pin_kind_name(p->kind));
    emit_str(l->e, p->name);
    if (p->kind == RISK_PIN_TOOL) {
        emit_key(l->e, "class");
        emit_str(l->e, p->cls);
    }
    emit_key(l->e, "fingerprint");
    emit_str(l->e, p->fingerprint);
    emit_object_end(l->e);
}

static int pin_list_run(const void *options, const struct cli_rest *rest) {
    const struct pin_options *opt = options;
    (void)rest;
    struct err err = {0};
    cleanup_lock struct risk_lock *lock = NULL;
    enum cli_exit status = CLI_CONFIG;
    if (!opt->fleet && access(opt->lock, F_OK) != 0)
        err_set(&err, "there is no `%s`; `sallyport pin accept` makes one", opt->lock);
    else
        status = read_pins(opt, &lock, &err);
    if (status != CLI_OK)
        return cli_fail(status, &err);
    cleanup_arena struct arena a;
    arena_init(&a);
    cleanup_buf struct buf out;
    buf_init(&out, RISK_LOCK_BYTES_MAX);
    struct emit e;
    emit_init(&e, &out);
    struct listing l = {&out, opt->json ? &e : NULL, &a};
    if (opt->json)
        emit_array(&e);
    risk_lock_each(lock, &a, list_one, &l);
    if (opt->json) {
        emit_array_end(&e);
        buf_put_char(&out, '\n');
    }
    return out.len ? cli_print(&out) : CLI_OK;
}

/* ---- diff ---- */

struct comparison {
    const struct risk_lock *lock;
    struct cli_toollist *list;
    struct buf *out;
    struct emit *e; /* NULL: text */
    bool named;     /* several servers: print their names */
    size_t differences;
};

static void put_difference(struct comparison *c, const char *kind, const char *state, struct slice name,
                           struct slice detail) {
    c->differences++;
    if (!c->e) {
        struct slice server = glyph_printable(c->list->server, RISK_TOOL_NAME_MAX, &c->list->arena),
                     shown = glyph_printable(name, RISK_TOOL_NAME_MAX, &c->list->arena);
        buf_printf(c->out, "%s: %.*s%s%.*s\n", state, c->named ? (int)server.len : 0, server.ptr,
                   c->named ? " " : "", SLICE_FMT(shown));
        struct slice line;
        bool more = detail.len > 0;
        while (more && detail.len) {
            more = slice_cut(&detail, '\n', &line);
            buf_printf(c->out, "  %.*s\n", SLICE_FMT(line));
        }
        return;
    }
    emit_object(c->e);
    emit_key(c->e, "server");
    emit_str(c->e, c->list->server);
    emit_key(c->e, kind);
    emit_str(c->e, name);
    emit_key(c->e, "state");
    emit_cstr(c->e, state);
    emit_key(c->e, "diff");
    emit_str(c->e, detail);
    emit_object_end(c->e);
}

static void compare_one(void *ctx, const struct risk_difference *d) {
    put_difference(ctx, risk_pin_kind_name(d->kind), d->state, d->name, d->diff);
}

static void compare_server(struct comparison *c, struct cli_asked *asked) {
    c->list = &asked->list;
    struct risk_server_facts facts;
    cli_asked_facts(asked, &facts);
    struct slice reason;
    if (!risk_lock_same_start(c->lock, &facts, &c->list->arena, &reason))
        put_difference(c, "tool", "started otherwise", c->list->server, reason);
    struct risk_lists lists = cli_asked_lists(asked);
    risk_lock_compare(c->lock, c->list->server, &lists, &c->list->arena, compare_one, c);
}

/* CLI_OK, or CLI_FAILED after a message about every server that gave no list. */
static int print_unlisted(const struct cli_asking *asking) {
    int status = CLI_OK;
    for (size_t i = 0; i < asking->count; i++)
        if (!asking->asked[i].listed)
            status = CLI_FAILED; /* the reason was already printed */
    return status;
}

static int pin_diff_run(const void *options, const struct cli_rest *rest) {
    const struct pin_options *opt = options;
    struct err err = {0};
    cleanup_lock struct risk_lock *lock = NULL;
    cleanup_asking struct cli_asking asking;
    cli_asking_init(&asking);
    enum cli_exit status_read = read_pins(opt, &lock, &err);
    if (status_read != CLI_OK)
        return cli_fail(status_read, &err);
    enum cli_exit asked = cli_ask(&asking, &opt->ask, rest, &err);
    if (asked != CLI_OK)
        return cli_fail(asked, &err);
    cleanup_buf struct buf out;
    buf_init(&out, RISK_LOCK_BYTES_MAX);
    struct emit e;
    emit_init(&e, &out);
    struct comparison c = {.lock = lock, .out = &out, .e = opt->json ? &e : NULL, .named = asking.count > 1};
    if (opt->json)
        emit_array(&e);
    for (size_t i = 0; i < asking.count; i++)
        if (asking.asked[i].listed)
            compare_server(&c, &asking.asked[i]);
    if (opt->json) {
        emit_array_end(&e);
        buf_put_char(&out, '\n');
    }
    int status = out.len ? cli_print(&out) : CLI_OK;
    if (!status)
        status = c.differences ? CLI_NO : print_unlisted(&asking);
    return status;
}

/* ---- accept ---- */

static void read_who(struct cli_asked *asked, struct risk_server_facts *ret_who) {
    cli_asked_facts(asked, ret_who);
    if (asked->server->supply.unpinned)
        log_warn("%.*s: `%s %.*s` has no version: whatever was published last will run",
                 SLICE_FMT(ret_who->name), asked->server->supply.runner,
                 SLICE_FMT(asked->server->supply.package));
}

static int accept_for_fleet(const struct cli_asking *asking, const struct slice *only, struct err *err) {
    char home[CLI_PATH_MAX];
    enum cli_exit status = fleet_home(home, err);
    for (size_t i = 0; status == CLI_OK && i < asking->count; i++) {
        struct cli_asked *asked = &asking->asked[i];
        struct state_pins_copy *copy = NULL;
        struct risk_server_facts who;
        if (!asked->listed)
            continue;
        read_who(asked, &who);
        struct risk_lists lists = cli_asked_lists(asked);
        if (pins_shared_put(home, &who, &lists, only, false, &asked->list.arena, &copy, err) < 0)
            status = CLI_FAILED;
        state_pins_copy_free(copy);
    }
    return status == CLI_OK ? print_unlisted(asking) : cli_fail(status, err);
}

/* The lock with one more server in its current state. */
static int accept_one(struct risk_lock **lock, struct cli_asked *asked, const struct slice *only,
                      struct buf *out, struct err *err) {
    struct risk_server_facts who;
    read_who(asked, &who);
    buf_reset(out);
    struct risk_lists lists = cli_asked_lists(asked);
    if (risk_lock_accept(*lock, &who, &lists, only, &asked->list.arena, out, err))
        return -1;
    struct risk_lock *fresh = NULL;
    if (risk_lock_load(buf_slice(out), &fresh, err))
        return -1;
    risk_lock_free(*lock);
    *lock = fresh;
    return 0;
}

static void put_accepted(struct cli_asked *asked, const char *lock, struct slice only, struct buf *out) {
    if (!asked->listed)
        return;
    struct risk_server_facts who;
    cli_asked_facts(asked, &who);
    if (only.len) {
        buf_printf(out, "accepted in %s: %.*s of %.*s\n", lock, SLICE_FMT(only), SLICE_FMT(who.name));
        return;
    }
    const unsigned tools = asked->list.tape.nodes[asked->list.tools].count;
    buf_printf(out, "accepted in %s: %.*s, %u tool%s\n", lock, SLICE_FMT(who.name), tools,
               tools == 1 ? "" : "s");
}

static int pin_accept_run(const void *options, const struct cli_rest *rest) {
    const struct pin_options *opt = options;
    struct err err = {0};
    cleanup_lock struct risk_lock *lock = NULL;
    cleanup_asking struct cli_asking asking;
    cli_asking_init(&asking);
    enum cli_exit asked = cli_ask(&asking, &opt->ask, rest, &err);
    if (asked != CLI_OK)
        return cli_fail(asked, &err);
    struct slice only = rest->operand_count ? slice_str(rest->operands[0]) : (struct slice){0};
    if (only.len && asking.many) {
        err_set(&err, "a tool can be named for one server only, not with --mcp-config");
        return cli_fail(CLI_USAGE, &err);
    }
    if (opt->fleet)
        return accept_for_fleet(&asking, only.len ? &only : NULL, &err);
    cleanup_fd int guard = io_file_guard(opt->lock); /* a gate may be writing its first use of a server */
    if (guard < 0) {
        err_set(&err, "the directory of `%s` cannot be locked", opt->lock);
        return cli_fail(CLI_FAILED, &err);
    }
    if (cli_lock_read(opt->lock, &lock, &err))
        return cli_fail(CLI_CONFIG, &err);
    cleanup_buf struct buf out;
    buf_init(&out, RISK_LOCK_BYTES_MAX);
    for (size_t i = 0; i < asking.count; i++)
        if (asking.asked[i].listed &&
            accept_one(&lock, &asking.asked[i], only.len ? &only : NULL, &out, &err))
            return cli_fail(CLI_CONFIG, &err);
    if (out.len && io_file_write(opt->lock, buf_slice(&out), &err))
        return cli_fail(CLI_FAILED, &err);
    buf_reset(&out);
    for (size_t i = 0; i < asking.count; i++)
        put_accepted(&asking.asked[i], opt->lock, only, &out);
    const int status = out.len ? cli_print(&out) : CLI_OK;
    return status != CLI_OK ? status : print_unlisted(&asking);
}

static const struct cli_example list_examples[] = {
    {"sallyport pin list", "what a gate beside this lock would serve"},
    {0},
};

const struct cli_command cli_pin_list = {
    .name = "pin list",
    .summary = "list the accepted tools and skills of every server",
    .options = list_rows,
    .options_size = sizeof(struct pin_options),
    .examples = list_examples,
    .run = pin_list_run,
};

static const char *const diff_synopses[] = {
    "pin diff [options] -- CMD ARG...",
    "pin diff [options] --upstream URL",
    "pin diff [options] --mcp-config FILE",
    "pin diff [options] --tools-json FILE",
    NULL,
};

static const char *const accept_synopses[] = {
    "pin accept [options] [TOOL|SKILL] -- CMD ARG...",
    "pin accept [options] [TOOL|SKILL] --upstream URL",
    "pin accept [options] --mcp-config FILE",
    "pin accept [options] [TOOL|SKILL] --tools-json FILE",
    NULL,
};

static const struct cli_example accept_examples[] = {
    {"sallyport pin accept --mcp-config .mcp.json", "all servers of a client as they are now"},
    {"sallyport pin accept read_file -- npx -y some-server@1.2.3", "one tool, the others as they were"},
    {0},
};

static const struct cli_example diff_examples[] = {
    {"sallyport pin diff --mcp-config .mcp.json", "what is new at the servers of a client"},
    {"sallyport pin diff -- npx -y some-server@1.2.4", "would the next version be served?"},
    {0},
};

const struct cli_command cli_pin_diff = {
    .name = "pin diff",
    .summary = "show what changed since a server's tools and skills were accepted",
    .detail = "Asks the server, or all servers of a configuration, and compares with the lock. Exit status 1 "
              "when a tool or skill is new, changed or missing, or when the server is started differently.",
    .synopses = diff_synopses,
    .options = diff_rows,
    .options_size = sizeof(struct pin_options),
    .takes_command = true,
    .examples = diff_examples,
    .run = pin_diff_run,
};

const struct cli_command cli_pin_accept = {
    .name = "pin accept",
    .summary = "accept a server's tools and skills as they are now, or one of them",
    .detail = "Writes the definitions, how the server is started and the hash of its program to the lock. A "
              "gate that runs with this lock takes the change over at once. A skill is named by its URI.",
    .synopses = accept_synopses,
    .options = accept_rows,
    .options_size = sizeof(struct pin_options),
    .takes_command = true,
    .examples = accept_examples,
    .operands = "[TOOL|SKILL]",
    .operands_max = 1,
    .run = pin_accept_run,
};
