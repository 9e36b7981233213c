/* Grants: the tokens with which agents and people authenticate. Every change applies to every running gate
 * of this home when the command returns. */
#include "state/grants.h"

#include "audit/audit.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/policy_file.h"
#include "policy/tick.h"
#include "policy/window.h"
#include "wire/emit.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define GRANTS_OUT_MAX (64u << 20)
#define GRANTS_ROLES_TEXT 128

struct grants_options {
    const char *label;
    const char *expires;
    struct cli_list servers;
    struct cli_list tools;
    const char *policy;
    const char *limits;
    struct cli_list roles;
    uint64_t grace_ms;
    bool all;
    bool json;
};

#define ROW_JSON                                                                                             \
    { CLI_SWITCH(struct grants_options, json), .name = "json", .help = "print JSON" }

static const struct cli_option create_rows[] = {
    {CLI_TEXT(struct grants_options, label), .name = "label", .argument = "TEXT", .fallback = "",
     .help = "what it is for, or who owns it"},
    {CLI_TEXT(struct grants_options, expires), .name = "expires", .argument = "TIME",
     .help = "when it ends: 30d, 12h, or a time like 2027-01-31T12:00:00Z; by default never"},
    {CLI_LIST(struct grants_options, servers), .name = "server", .argument = "GLOB",
     .help = "a server it may use; by default every one"},
    {CLI_LIST(struct grants_options, tools), .name = "tool", .argument = "GLOB",
     .help = "a tool it may see and call, as TOOL or SERVER__TOOL; by default every one"},
    {CLI_TEXT(struct grants_options, policy), .name = "policy", .argument = "FILE",
     .help =
         "its own policy; without one, its server's or the gate's counts, and without those nothing passes"},
    {CLI_TEXT(struct grants_options, limits), .name = "limits", .argument = "NAME", .fallback = "",
     .help = "grants with the same NAME share what limits of scope `grant` count"},
    {CLI_LIST(struct grants_options, roles), .name = "role", .argument = "ROLE",
     .values = "admin policy-manager approver viewer person",
     .help = "what it may do at the admin API: admin, policy-manager, approver, viewer; or person: a person "
             "uses its client, and their answers to approval questions count"},
    ROW_JSON,
    {0},
};
static const struct cli_option rotate_rows[] = {
    {CLI_DURATION(struct grants_options, grace_ms), .name = "grace", .argument = "TIME", .fallback = "0s",
     .help = "how long the old token stays valid"},
    ROW_JSON,
    {0},
};
static const struct cli_option list_rows[] = {
    {CLI_SWITCH(struct grants_options, all), .name = "all", .help = "also revoked and expired ones"},
    ROW_JSON,
    {0},
};
static const struct cli_option plain_rows[] = {ROW_JSON, {0}};

static void grants_cleanup(struct state_grants **g) { state_grants_close(*g); }
#define cleanup_grants __attribute__((cleanup(grants_cleanup)))

static int open_grants(bool read_only, struct state_grants **ret_grants, struct err *err) {
    char home[CLI_PATH_MAX];
    return cli_home(home, err) < 0 ? -1 : state_grants_open(home, read_only, ret_grants, err);
}

/* Reports a change that could not be recorded; the change is in force. */
static void record(const char *event, const char *name) {
    char home[CLI_PATH_MAX];
    struct err err = {0};
    struct audit *audit = NULL;
    if (cli_home(home, &err) < 0 || audit_open(&(struct audit_config){.home = home}, &audit, &err) < 0 ||
        audit_put_event(audit, slice_str(event), (struct slice){0}, (struct slice){0}, slice_str(name)) !=
            AUDIT_OK ||
        audit_flush(audit, &err) < 0) {
        err_wrap(&err, "not in the audit log");
        cli_fail(CLI_FAILED, &err);
    }
    audit_close(audit);
}

/* ---- printing ---- */

static void put_words(struct buf *out, const char *what, const char *const *items, size_t count) {
    for (size_t i = 0; i < count; i++)
        buf_printf(out, "%s%s", i ? ", " : what, items[i]);
    if (count)
        buf_put_char(out, '\n');
}

static void put_when(struct buf *out, const char *what, uint64_t ms) {
    char text[CLOCK_TEXT_MAX];
    if (!ms)
        return;
    clock_local_text(ms, text);
    buf_printf(out, "%s%s\n", what, text);
}

static void put_lines(struct buf *out, const struct state_grant *g, uint64_t now_ms) {
    buf_printf(out, "name     %s\nstate    %s\ntoken    %s…\n", g->name, state_grant_status(g, now_ms),
               g->hint);
    if (g->label[0])
        buf_printf(out, "label    %s\n", g->label);
    put_words(out, "servers  ", g->servers, g->server_count);
    put_words(out, "tools    ", g->tools, g->tool_count);
    if (g->policy[0])
        buf_printf(out, "policy   %s\n", g->policy);
    if (g->limits[0])
        buf_printf(out, "limits   %s\n", g->limits);
    for (size_t i = 0; state_role_name(i); i++)
        if (g->roles >> i & 1)
            buf_printf(out, "role     %s\n", state_role_name(i));
    put_when(out, "created  ", g->created_ms);
    put_when(out, "expires  ", g->expires_ms);
    put_when(out, "revoked  ", g->revoked_ms);
    put_when(out, "used     ", g->used_ms);
    put_when(out, "rotated  ", g->rotated_ms);
}

/* The token alone on stdout, so that it can go straight into a file or a variable. */
static int show_token(const struct grants_options *opt, const struct state_grant *g, const char *token) {
    cleanup_buf struct buf out;
    buf_init(&out, GRANTS_OUT_MAX);
    if (opt->json) {
        struct emit e;
        emit_init(&e, &out);
        state_grant_json(&e, g, token, clock_wall_ms());
    } else {
        fprintf(stderr, "grant `%s`: the token is shown this once\n", g->name);
        buf_put_str(&out, token);
    }
    buf_put_char(&out, '\n');
    return cli_print(&out);
}

/* ---- create ---- */

static int read_expiry(const char *text, uint64_t now_ms, uint64_t *ret_ms, struct err *err) {
    uint64_t ms;
    *ret_ms = 0;
    if (!text)
        return 0;
    bool duration = policy_duration_parse(slice_str(text), &ms);
    if (duration)
        ms += now_ms;
    if ((!duration && !policy_time_parse(slice_str(text), &ms)) || ms <= now_ms)
        return err_set(err, "--expires `%s`: write a future time like 2027-01-31T12:00:00Z, or 12h, 30d",
                       text);
    *ret_ms = ms;
    return 0;
}

static int read_roles(const struct cli_list *list, uint32_t *ret_roles, struct err *err) {
    for (size_t i = 0; i < list->count; i++) {
        uint32_t role = state_role_from(slice_str(list->items[i]));
        if (!role)
            return err_set(err, "--role `%s`: write admin, policy-manager, approver, viewer or person",
                           list->items[i]);
        *ret_roles |= role;
    }
    return 0;
}

/* A gate may run in another directory: it needs the absolute path. A policy that does not load would only
 * deny. */
static int read_policy(const char *path, char ret_real[PATH_MAX], struct err *err) {
    ret_real[0] = '\0';
    if (!path)
        return 0;
    if (!realpath(path, ret_real))
        return err_set(err, "--policy `%s`: %s", path, strerror(errno));
    cleanup_policy struct policy *policy = NULL;
    cleanup_problems struct policy_problems problems;
    policy_problems_init(&problems);
    if (cli_policy_load(path, &policy, &problems) < 0)
        return cli_policy_fault(path, &problems, err), err_wrap(err, "--policy");
    return 0;
}

static int create_run(const void *options, const struct cli_rest *rest) {
    const struct grants_options *opt = options;
    struct err err = {0};
    uint64_t now_ms = clock_wall_ms();
    char policy[PATH_MAX];
    struct state_grant grant = {
        .name = rest->operands[0],
        .label = opt->label,
        .policy = policy,
        .limits = opt->limits,
        .servers = opt->servers.items,
        .server_count = opt->servers.count,
        .tools = opt->tools.items,
        .tool_count = opt->tools.count,
    };
    if (read_expiry(opt->expires, now_ms, &grant.expires_ms, &err) < 0 ||
        read_roles(&opt->roles, &grant.roles, &err) < 0)
        return cli_fail(CLI_USAGE, &err);
    if (read_policy(opt->policy, policy, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
    cleanup_grants struct state_grants *grants = NULL;
    if (open_grants(false, &grants, &err) < 0)
        return cli_fail(CLI_FAILED, &err);
    char token[STATE_TOKEN_TEXT];
    if (state_grants_create(grants, &grant, now_ms, token, &err) < 0)
        return cli_fail(CLI_NO, &err);
    record("grant_created", grant.name);
    return show_token(opt, state_grants_by_name(grants, slice_str(grant.name)), token);
}

/* ---- rotate, revoke ---- */

static int rotate_run(const void *options, const struct cli_rest *rest) {
    const struct grants_options *opt = options;
    struct err err = {0};
    cleanup_grants struct state_grants *grants = NULL;
    if (open_grants(false, &grants, &err) < 0)
        return cli_fail(CLI_FAILED, &err);
    char token[STATE_TOKEN_TEXT];
    struct slice name = slice_str(rest->operands[0]);
    if (state_grants_rotate(grants, name, clock_wall_ms(), opt->grace_ms, token, &err) < 0)
        return cli_fail(CLI_NO, &err);
    record("grant_rotated", name.ptr);
    return show_token(opt, state_grants_by_name(grants, name), token);
}

static int print_one(const struct grants_options *opt, const struct state_grant *g) {
    cleanup_buf struct buf out;
    buf_init(&out, GRANTS_OUT_MAX);
    if (opt->json) {
        struct emit e;
        emit_init(&e, &out);
        state_grant_json(&e, g, NULL, clock_wall_ms());
        buf_put_char(&out, '\n');
    } else {
        put_lines(&out, g, clock_wall_ms());
    }
    return cli_print(&out);
}

static int revoke_run(const void *options, const struct cli_rest *rest) {
    const struct grants_options *opt = options;
    struct err err = {0};
    cleanup_grants struct state_grants *grants = NULL;
    if (open_grants(false, &grants, &err) < 0)
        return cli_fail(CLI_FAILED, &err);
    struct slice name = slice_str(rest->operands[0]);
    if (state_grants_revoke(grants, name, clock_wall_ms(), &err) < 0)
        return cli_fail(CLI_NO, &err);
    record("grant_revoked", name.ptr);
    return opt->json ? print_one(opt, state_grants_by_name(grants, name)) : CLI_OK;
}

/* ---- list, show ---- */

static int show_run(const void *options, const struct cli_rest *rest) {
    struct err err = {0};
    cleanup_grants struct state_grants *grants = NULL;
    if (open_grants(true, &grants, &err) < 0)
        return cli_fail(CLI_FAILED, &err);
    const struct state_grant *g = state_grants_by_name(grants, slice_str(rest->operands[0]));
    if (!g) {
        err_set(&err, "there is no grant `%s`", rest->operands[0]);
        return cli_fail(CLI_NO, &err);
    }
    return print_one(options, g);
}

static void put_roles(struct buf *out, const struct state_grant *g) {
    char roles[GRANTS_ROLES_TEXT] = "";
    for (size_t i = 0; state_role_name(i); i++) {
        size_t used = strlen(roles);
        if (g->roles >> i & 1)
            snprintf(roles + used, sizeof(roles) - used, "%s%s", used ? "," : "", state_role_name(i));
    }
    buf_printf(out, " %-14s", roles[0] ? roles : "-");
}

static void put_minute(struct buf *out, uint64_t ms, const char *without) {
    enum { TO_THE_MINUTE = sizeof("2026-01-02T03:04") - 1, ZONE_AT = sizeof("2026-01-02T03:04:05.678") - 1 };
    char text[CLOCK_TEXT_MAX];
    if (!ms) {
        buf_printf(out, " %-22s", without);
        return;
    }
    clock_local_text(ms, text);
    int pad = 22 - (int)TO_THE_MINUTE - (int)strlen(text + ZONE_AT);
    buf_printf(out, " %.*s%s%*s", (int)TO_THE_MINUTE, text, text + ZONE_AT, pad > 0 ? pad : 0, "");
}

static void put_row(struct buf *out, const struct state_grant *g, const char *state, bool first) {
    if (first)
        buf_printf(out, "%-20s %-8s %-14s %-22s %-22s %-12s %s\n", "NAME", "STATE", "ROLE", "EXPIRES",
                   "LAST USED", "TOKEN", "LABEL");
    buf_printf(out, "%-20s %-8s", g->name, state);
    put_roles(out, g);
    put_minute(out, g->expires_ms, "never");
    put_minute(out, g->used_ms, "never");
    buf_printf(out, " %s…%*s %s\n", g->hint, strlen(g->hint) < 11 ? (int)(11 - strlen(g->hint)) : 0, "",
               g->label);
}

void cli_grants_names(struct buf *out) {
    struct err err;
    cleanup_grants struct state_grants *grants = NULL;
    if (open_grants(true, &grants, &err) < 0)
        return;
    for (size_t i = 0; i < state_grants_count(grants); i++)
        if (strcmp(state_grant_status(state_grants_at(grants, i), clock_wall_ms()), "active") == 0)
            buf_printf(out, "%s\n", state_grants_at(grants, i)->name);
}

static int list_run(const void *options, const struct cli_rest *rest) {
    const struct grants_options *opt = options;
    (void)rest;
    struct err err = {0};
    cleanup_grants struct state_grants *grants = NULL;
    if (open_grants(true, &grants, &err) < 0)
        return cli_fail(CLI_FAILED, &err);
    cleanup_buf struct buf out;
    buf_init(&out, GRANTS_OUT_MAX);
    struct emit e;
    emit_init(&e, &out);
    uint64_t now_ms = clock_wall_ms();
    size_t shown = 0;
    if (opt->json)
        emit_array(&e);
    for (size_t i = 0; i < state_grants_count(grants); i++) {
        const struct state_grant *g = state_grants_at(grants, i);
        const char *state = state_grant_status(g, now_ms);
        if (!opt->all && strcmp(state, "active") != 0)
            continue;
        if (opt->json)
            state_grant_json(&e, g, NULL, now_ms);
        else
            put_row(&out, g, state, shown++ == 0);
    }
    if (!opt->json && !shown)
        log_info("%s; `sallyport grants create NAME` makes one",
                 opt->all || !state_grants_count(grants)
                     ? "no grants"
                     : "no valid grants (--all shows revoked and expired ones)");
    if (opt->json) {
        emit_array_end(&e);
        buf_put_char(&out, '\n');
    }
    return out.len ? cli_print(&out) : CLI_OK;
}

static const struct cli_example create_examples[] = {
    {"sallyport grants create ci --expires 30d --server files --tool 'read_*'",
     "a month, one server, some of its tools"},
    {"sallyport grants create anna --role approver", "a person who decides about approvals"},
    {0},
};

const struct cli_command cli_grants_create = {
    .name = "grants create",
    .summary = "create a grant and print its token",
    .detail = "The token is printed once; only its hash is kept. Give it to the agent as a bearer token.",
    .options = create_rows,
    .options_size = sizeof(struct grants_options),
    .operands = "NAME",
    .operands_min = 1,
    .operands_max = 1,
    .examples = create_examples,
    .run = create_run,
};

static const struct cli_example list_examples[] = {
    {"sallyport grants list --all", "also revoked and expired ones"},
    {0},
};

const struct cli_command cli_grants_list = {
    .name = "grants list",
    .summary = "list valid grants",
    .options = list_rows,
    .options_size = sizeof(struct grants_options),
    .examples = list_examples,
    .run = list_run,
};

static const struct cli_example show_examples[] = {
    {"sallyport grants show ci", "what it may do, and when it was last used"},
    {0},
};

const struct cli_command cli_grants_show = {
    .name = "grants show",
    .summary = "show one grant: what it may do, when it was used",
    .options = plain_rows,
    .options_size = sizeof(struct grants_options),
    .operands = "NAME",
    .operands_min = 1,
    .operands_max = 1,
    .examples = show_examples,
    .run = show_run,
};

static const struct cli_example rotate_examples[] = {
    {"sallyport grants rotate ci --grace 1h", "a new token; the old one stays valid for an hour"},
    {0},
};

const struct cli_command cli_grants_rotate = {
    .name = "grants rotate",
    .summary = "give a grant a new token and print it",
    .detail = "The old token is refused from now on, and sessions that it opened end, unless --grace says "
              "otherwise.",
    .options = rotate_rows,
    .options_size = sizeof(struct grants_options),
    .operands = "NAME",
    .operands_min = 1,
    .operands_max = 1,
    .examples = rotate_examples,
    .run = rotate_run,
};

static const struct cli_example revoke_examples[] = {
    {"sallyport grants revoke ci", "its token is refused from now on"},
    {0},
};

const struct cli_command cli_grants_revoke = {
    .name = "grants revoke",
    .summary = "end a grant and its open sessions immediately",
    .options = plain_rows,
    .options_size = sizeof(struct grants_options),
    .operands = "NAME",
    .operands_min = 1,
    .operands_max = 1,
    .examples = revoke_examples,
    .run = revoke_run,
};
