/* pin list, pin diff, pin accept: the accepted definitions of sallyport.lock. */
#include "cli/command.h"
#include "cli/toollist.h"

#include "base/mem.h"
#include "risk/glyph.h"
#include "risk/lock.h"
#include "wire/emit.h"

struct pin_options {
    const char *lock;
    const char *tools_json;
    const char *server;
    bool json;
};

#define ROW_LOCK                                                                                             \
    {                                                                                                        \
        CLI_TEXT(struct pin_options, lock), .name = "lock", .argument = "FILE",                              \
                                            .fallback = "sallyport.lock", .help = "the lock file"            \
    }
#define ROW_TOOLS                                                                                            \
    {                                                                                                        \
        CLI_TEXT(struct pin_options, tools_json),                                                            \
            .name = "tools-json", .argument = "FILE", .required = true,                                      \
            .help = "the server's tools/list result as it is now; - for stdin"                               \
    }
#define ROW_SERVER                                                                                           \
    {                                                                                                        \
        CLI_TEXT(struct pin_options, server),                                                                \
            .name = "server", .argument = "NAME",                                                            \
            .help = "what the lock calls the server; by default what the list says"                          \
    }
#define ROW_JSON                                                                                             \
    { CLI_SWITCH(struct pin_options, json), .name = "json", .help = "print JSON" }

static const struct cli_option list_rows[] = {ROW_LOCK, ROW_JSON, {0}};
static const struct cli_option diff_rows[] = {ROW_LOCK, ROW_TOOLS, ROW_SERVER, ROW_JSON, {0}};
static const struct cli_option accept_rows[] = {ROW_LOCK, ROW_TOOLS, ROW_SERVER, {0}};

static int load_lock(const char *path, bool may_be_missing, struct risk_lock **ret_lock, struct err *err) {
    cleanup_buf struct buf text;
    buf_init(&text, RISK_LOCK_BYTES_MAX);
    bool missing;
    if (cli_file_read(path, &text, &missing, err) && !(missing && may_be_missing))
        return -1;
    return risk_lock_load(missing ? (struct slice){0} : buf_slice(&text), ret_lock, err)
               ? err_wrap(err, "read `%s`", path)
               : 0;
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
        struct slice server = risk_printable(p->server, 80, l->a),
                     tool = risk_printable(p->tool, RISK_TOOL_NAME_MAX, l->a);
        buf_printf(l->out, "%.*s  %.*s  %.*s  %.19s\n", SLICE_FMT(server), SLICE_FMT(tool), SLICE_FMT(p->cls),
                   p->fingerprint.ptr);
        return;
    }
    emit_object(l->e);
    emit_key(l->e, "server");
    emit_str(l->e, p->server);
    emit_key(l->e, "tool");
    emit_str(l->e, p->tool);
    emit_key(l->e, "class");
    emit_str(l->e, p->cls);
    emit_key(l->e, "fingerprint");
    emit_str(l->e, p->fingerprint);
    emit_object_end(l->e);
}

static int pin_list_run(const void *options, const struct cli_rest *rest) {
    const struct pin_options *opt = options;
    (void)rest;
    struct err err = {0};
    cleanup_lock struct risk_lock *lock = NULL;
    if (load_lock(opt->lock, false, &lock, &err))
        return cli_fail(CLI_CONFIG, &err);
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
    struct slice server;
    struct buf *out;
    struct emit *e;
    size_t differences;
};

static void put_difference(struct comparison *c, const char *state, struct slice tool, struct slice detail) {
    c->differences++;
    if (!c->e) {
        struct slice shown = risk_printable(tool, RISK_TOOL_NAME_MAX, &c->list->arena);
        buf_printf(c->out, "%s: %.*s\n", state, SLICE_FMT(shown));
        struct slice line;
        bool more = detail.len > 0;
        while (more && detail.len) {
            more = slice_cut(&detail, '\n', &line);
            buf_printf(c->out, "  %.*s\n", SLICE_FMT(line));
        }
        return;
    }
    emit_object(c->e);
    emit_key(c->e, "tool");
    emit_str(c->e, tool);
    emit_key(c->e, "state");
    emit_cstr(c->e, state);
    emit_key(c->e, "diff");
    emit_str(c->e, detail);
    emit_object_end(c->e);
}

static void compare_tool(struct comparison *c, uint32_t tool) {
    struct tape *t = &c->list->tape;
    struct arena *a = &c->list->arena;
    struct risk_pin_verdict verdict;
    risk_lock_check(c->lock, c->server, t, tool, a, &verdict);
    if (verdict.pin == RISK_PIN_OK)
        return;
    uint32_t name = tape_is(t, tool, TAPE_OBJECT) ? tape_get_str(t, tool, "name") : 0;
    struct slice text = name && tape_is(t, name, TAPE_STRING) ? tape_text(t, name, a) : SLICE("?");
    cleanup_buf struct buf detail;
    buf_init(&detail, RISK_DEFINITION_BYTES_MAX);
    if (verdict.pin == RISK_PIN_CHANGED)
        risk_lock_diff(c->lock, c->server, t, tool, a, &detail);
    const char *state = verdict.pin == RISK_PIN_NEW       ? "new"
                        : verdict.pin == RISK_PIN_CHANGED ? "changed"
                                                          : "unreadable";
    put_difference(c, state, text, buf_slice(&detail));
}

static void compare_gone(void *ctx, struct slice name) {
    put_difference(ctx, "gone", name, (struct slice){0});
}

static int pin_diff_run(const void *options, const struct cli_rest *rest) {
    const struct pin_options *opt = options;
    (void)rest;
    struct err err = {0};
    cleanup_lock struct risk_lock *lock = NULL;
    cleanup_toollist struct cli_toollist list;
    cli_toollist_init(&list);
    if (load_lock(opt->lock, true, &lock, &err) || cli_toollist_read(&list, opt->tools_json, &err))
        return cli_fail(CLI_CONFIG, &err);
    cleanup_buf struct buf out;
    buf_init(&out, RISK_LOCK_BYTES_MAX);
    struct emit e;
    emit_init(&e, &out);
    struct comparison c = {.lock = lock,
                           .list = &list,
                           .server = opt->server ? slice_str(opt->server) : list.server,
                           .out = &out,
                           .e = opt->json ? &e : NULL};
    if (opt->json)
        emit_array(&e);
    TAPE_FOR_ELEM(&list.tape, list.tools, tool)
    compare_tool(&c, tool);
    risk_lock_gone(lock, c.server, &list.tape, list.tools, &list.arena, compare_gone, &c);
    if (opt->json) {
        emit_array_end(&e);
        buf_put_char(&out, '\n');
    }
    int status = out.len ? cli_print(&out) : CLI_OK;
    return status ? status : c.differences ? CLI_NO : CLI_OK;
}

/* ---- accept ---- */

static int pin_accept_run(const void *options, const struct cli_rest *rest) {
    const struct pin_options *opt = options;
    struct err err = {0};
    cleanup_lock struct risk_lock *lock = NULL;
    cleanup_toollist struct cli_toollist list;
    cli_toollist_init(&list);
    if (load_lock(opt->lock, true, &lock, &err) || cli_toollist_read(&list, opt->tools_json, &err))
        return cli_fail(CLI_CONFIG, &err);
    struct risk_server_facts who = {.name = opt->server ? slice_str(opt->server) : list.server,
                                    .package = list.package,
                                    .version = list.version};
    struct slice only = rest->operand_count ? slice_str(rest->operands[0]) : (struct slice){0};
    cleanup_buf struct buf out;
    buf_init(&out, RISK_LOCK_BYTES_MAX);
    if (risk_lock_accept(lock, &who, &list.tape, list.tools, rest->operand_count ? &only : NULL, &list.arena,
                         &out, &err))
        return cli_fail(CLI_CONFIG, &err);
    return cli_file_write(opt->lock, buf_slice(&out), &err) ? cli_fail(CLI_FAILED, &err) : CLI_OK;
}

const struct cli_command cli_pin_list = {
    .name = "pin list",
    .summary = "the accepted tools of every server",
    .options = list_rows,
    .options_size = sizeof(struct pin_options),
    .run = pin_list_run,
};

const struct cli_command cli_pin_diff = {
    .name = "pin diff",
    .summary = "what changed since a server's tools were accepted",
    .detail = "Exit status 1 when a tool is new, changed or gone.",
    .options = diff_rows,
    .options_size = sizeof(struct pin_options),
    .run = pin_diff_run,
};

const struct cli_command cli_pin_accept = {
    .name = "pin accept",
    .summary = "accept a server's tools as they are now, or one of them",
    .options = accept_rows,
    .options_size = sizeof(struct pin_options),
    .operands = "[TOOL]",
    .operands_max = 1,
    .run = pin_accept_run,
};
