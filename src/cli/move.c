/* allow, limit, approve-first, deny, hide: moves one tool on the board of its server's policy. The file is
 * edited in place with its comments, the diff is shown, and the previous version is kept. */
#include "policy/board.h"

#include "audit/audit.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sha.h"
#include "cli/command.h"
#include "cli/linediff.h"
#include "front/settings.h"
#include "io/file.h"
#include "policy/limits.h"
#include "policy/policy.h"
#include "state/versions.h"
#include "wire/emit.h"

#include <stdlib.h>
#include <unistd.h>

struct move_options {
    const char *config;
    const char *policy;
    const char *rate;
    bool dry_run;
    bool json;
};

#define ROWS_COMMON                                                                                          \
    {CLI_TEXT(struct move_options, config), .name = "config", .argument = "FILE",                            \
     .help = "the settings that name the server's policy; ./sallyport.yaml by default"},                     \
        {CLI_TEXT(struct move_options, policy), .name = "policy", .letter = 'c', .argument = "POLICY",       \
         .help = "the policy file itself; SERVER is then only recorded"},                                    \
        {CLI_SWITCH(struct move_options, dry_run), .name = "dry-run", .help = "show the difference only"},   \
        {CLI_SWITCH(struct move_options, json), .name = "json", .help = "print JSON"}, {                     \
        0                                                                                                    \
    }

static const struct cli_option move_rows[] = {ROWS_COMMON};
static const struct cli_option limit_rows[] = {{CLI_TEXT(struct move_options, rate), .name = "rate",
                                                .argument = "N/WINDOW", .fallback = "10/minute",
                                                .help = "calls per minute, hour or day"},
                                               ROWS_COMMON};

struct move {
    const struct move_options *opt;
    enum policy_column to;
    const char *server, *tool;
    struct arena arena;
    const char *path; /* of the policy */
    struct slice before, after;
    struct slice other; /* the pattern that keeps the tool out of the column, or empty */
};

/* ---- which file ---- */

static int find_policy(struct move *m, struct err *err) {
    char path[CLI_PATH_MAX];
    struct settings *s = NULL;
    const char *found = m->opt->policy;
    if (!found) {
        cli_home_settings(m->opt->config, path);
        if (settings_load(path, NULL, 0, &s, err) < 0)
            return err_wrap(err, "the settings name the server's policy; name it with -c POLICY instead");
        const struct settings_server *one = NULL;
        for (size_t i = 0; i < s->server_count; i++)
            if (strcmp(s->servers[i].name, m->server) == 0 || strcmp(s->servers[i].title, m->server) == 0)
                one = &s->servers[i];
        bool code = strcmp(m->server, "code") == 0;
        if (!one && !code)
            err_set(err, "`%s` has no server `%s`", path, m->server);
        else
            found = one && one->policy ? one->policy : code && s->code.policy ? s->code.policy : s->policy;
        if ((one || code) && !found)
            err_set(err, "server `%s` has no policy: name one with `policy:` in `%s`", m->server, path);
    }
    if (found) { /* the target of a link: replacing the link itself would leave the file unchanged */
        cleanup_free char *real = realpath(found, NULL);
        m->path = arena_dup(&m->arena, slice_str(real ? real : found)).ptr;
    }
    settings_free(s);
    return found ? 0 : -1;
}

/* ---- writing ---- */

static int keep_version(const char *home, const struct move *m, struct slice note, struct err *err) {
    struct state_versions *versions = NULL;
    cleanup_arena struct arena a;
    arena_init(&a);
    uint64_t now = clock_wall_ms();
    struct slice path = slice_str(m->path);
    int rc = io_make_dir(home, err) < 0 || state_versions_open(home, &versions, err) < 0 ||
                     state_versions_add(versions, path, m->before, SLICE("before the command line"),
                                        (struct slice){0}, now, err) < 0 ||
                     state_versions_add(versions, path, m->after, cli_home_user(&a), note, now, err) < 0
                 ? -1
                 : 0;
    state_versions_close(versions);
    return rc;
}

/* Reports a change that could not be recorded; the change is in force. */
static void record(const char *home, const struct move *m, struct slice note) {
    struct err err = {0};
    struct audit *audit = NULL;
    cleanup_arena struct arena a;
    arena_init(&a);
    char hash[SHA_HEX];
    sha_256_hex(m->after, hash);
    const struct audit_action action = {.name = SLICE("policy_saved"),
                                        .identity = cli_home_user(&a),
                                        .server = slice_str(m->server),
                                        .policy = slice_str(m->path),
                                        .policy_hash = slice_of(hash, SHA_HEX),
                                        .text = note};
    if (audit_open(&(struct audit_config){.home = home}, &audit, &err) < 0 ||
        audit_put_action(audit, &action) != AUDIT_OK || audit_flush(audit, &err) < 0) {
        err_wrap(&err, "not in the audit log");
        cli_fail(CLI_FAILED, &err);
    }
    audit_close(audit);
}

static int save(struct move *m, struct err *err) {
    char home[CLI_PATH_MAX];
    struct slice note = arena_printf(&m->arena, "%s %s %s", policy_column_name(m->to), m->server, m->tool);
    if (cli_home(home, err) < 0 || keep_version(home, m, note, err) < 0 ||
        io_file_replace(m->path, m->after, 0600, err) < 0)
        return -1;
    record(home, m, note);
    return 0;
}

static int print(const struct move *m, bool saved) {
    cleanup_buf struct buf out, diff;
    buf_init(&out, 4 * POLICY_BYTES_MAX);
    buf_init(&diff, 4 * POLICY_BYTES_MAX);
    cli_linediff(m->path, m->before, m->after, cli_colour(STDOUT_FILENO) && !m->opt->json, &diff);
    if (!m->opt->json) {
        buf_put_slice(&out, buf_slice(&diff));
        if (!diff.len)
            buf_printf(&out, "%s: nothing to change\n", m->path);
        return cli_print(&out);
    }
    struct emit e;
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "policy");
    emit_cstr(&e, m->path);
    emit_key(&e, "changed");
    emit_bool(&e, diff.len > 0);
    emit_key(&e, "saved");
    emit_bool(&e, saved);
    emit_key(&e, "diff");
    emit_str(&e, buf_slice(&diff));
    if (m->other.len) {
        emit_key(&e, "stricter");
        emit_str(&e, m->other);
    }
    emit_object_end(&e);
    buf_put_char(&out, '\n');
    return cli_print(&out);
}

static int move_locked(struct move *m, struct err *err) {
    cleanup_buf struct buf before, after;
    buf_init(&before, POLICY_BYTES_MAX);
    buf_init(&after, POLICY_BYTES_MAX);
    cleanup_fd int guard = io_file_guard(m->path);
    if (guard < 0)
        return err_set(err, "the directory of `%s` cannot be locked", m->path);
    if (io_file_read(m->path, &before, NULL, err) < 0)
        return -1;
    if (policy_board_move(buf_slice(&before), slice_str(m->tool), m->to,
                          slice_str(m->opt->rate ? m->opt->rate : ""), &after, err) < 0)
        return err_wrap(err, "%s", m->path);
    m->before = arena_dup(&m->arena, buf_slice(&before));
    m->after = arena_dup(&m->arena, buf_slice(&after));
    m->other = policy_board_other(m->after, slice_str(m->tool), m->to, &m->arena);
    if (m->opt->dry_run || slice_eq(m->before, m->after))
        return 0;
    return save(m, err);
}

static int move(const void *options, const struct cli_rest *rest, enum policy_column to) {
    struct err err = {0};
    struct move m = {.opt = options, .to = to, .server = rest->operands[0], .tool = rest->operands[1]};
    arena_init(&m.arena);
    int status = CLI_OK;
    if (find_policy(&m, &err) < 0 || move_locked(&m, &err) < 0)
        status = cli_fail(CLI_CONFIG, &err);
    else
        status = print(&m, !m.opt->dry_run && !slice_eq(m.before, m.after));
    if (status == CLI_OK && m.other.len)
        log_warn("`%.*s` in the policy is stricter and still applies to `%s`", SLICE_FMT(m.other), m.tool);
    arena_free(&m.arena);
    return status;
}

static int allow_run(const void *options, const struct cli_rest *rest) {
    return move(options, rest, POLICY_COLUMN_ALLOW);
}
static int limit_run(const void *options, const struct cli_rest *rest) {
    return move(options, rest, POLICY_COLUMN_LIMIT);
}
static int approve_run(const void *options, const struct cli_rest *rest) {
    return move(options, rest, POLICY_COLUMN_APPROVE);
}
static int deny_run(const void *options, const struct cli_rest *rest) {
    return move(options, rest, POLICY_COLUMN_DENY);
}
static int hide_run(const void *options, const struct cli_rest *rest) {
    return move(options, rest, POLICY_COLUMN_HIDE);
}

#define DETAIL                                                                                               \
    "Edits the policy of the server in place, keeps its comments and prints the difference. A gate that "    \
    "runs applies the change at once. The previous version is kept: the console shows and restores it. "     \
    "Rules about arguments stay as they are."

static const struct cli_example allow_examples[] = {
    {"sallyport allow files read_file", "read_file of the server files passes"},
    {"sallyport allow files read_file --dry-run", "show what would change"},
    {0},
};
static const struct cli_example limit_examples[] = {
    {"sallyport limit github create_issue --rate 5/hour", "at most five calls an hour"}, {0}};
static const struct cli_example approve_examples[] = {
    {"sallyport approve-first stripe create_refund", "a person approves each call"}, {0}};
static const struct cli_example deny_examples[] = {{"sallyport deny files delete_file", "never"}, {0}};
static const struct cli_example hide_examples[] = {
    {"sallyport hide github delete_repository", "agents do not see it"}, {0}};

#define MOVE_COMMAND(symbol, word, text, rows, example, function)                                            \
    const struct cli_command symbol = {.name = word,                                                         \
                                       .summary = text,                                                      \
                                       .detail = DETAIL,                                                     \
                                       .options = rows,                                                      \
                                       .options_size = sizeof(struct move_options),                          \
                                       .operands = "SERVER TOOL",                                            \
                                       .operands_min = 2,                                                    \
                                       .operands_max = 2,                                                    \
                                       .examples = example,                                                  \
                                       .run = function}

MOVE_COMMAND(cli_allow, "allow", "allow a tool in its server's policy", move_rows, allow_examples, allow_run);
MOVE_COMMAND(cli_limit, "limit", "limit how often a tool may be called", limit_rows, limit_examples,
             limit_run);
MOVE_COMMAND(cli_approve_first, "approve-first", "have a person approve each call of a tool", move_rows,
             approve_examples, approve_run);
MOVE_COMMAND(cli_deny, "deny", "deny a tool in its server's policy", move_rows, deny_examples, deny_run);
MOVE_COMMAND(cli_hide, "hide", "hide a tool from agents", move_rows, hide_examples, hide_run);
