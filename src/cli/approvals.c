/* Calls that wait for a person: list, show, approve, deny, expire. A decision applies to every running
 * gate of this home as soon as the command returns. */
#include "state/approvals.h"

#include "approval/approval.h"
#include "base/clock.h"
#include "base/glyph.h"
#include "base/mem.h"
#include "base/rand.h"
#include "cli/command.h"
#include "cli/gates.h"
#include "io/file.h"
#include "state/grants.h"
#include "wire/emit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define APPROVALS_OUT_MAX (512u << 20) /* a full listing with the longest arguments, every byte escaped */
#define CONFIRM_CHARS 4                /* that a person types at the terminal */
#define STALE_CHECKS 30                /* before an approval is called stale */
#define STALE_CHECK_US 100000
#define SHORT_ID_MIN 4    /* characters behind ap_ that name an approval */
#define SHORT_ID_SHOWN 8  /* of them in a listing for people */
#define LIST_TEXT_MAX 200 /* bytes of one text in a listing for people */

struct approvals_options {
    int status;
    const char *note;
    const char *code;
    const char *token_file;
    uint64_t limit;
    uint64_t for_ms;
    bool any_arguments;
    bool json;
};

enum { SHOW_OPEN = STATE_APPROVAL_STATUSES, SHOW_ALL };
static const char *const status_choices[] = {[STATE_APPROVAL_PENDING] = "pending",
                                             [STATE_APPROVAL_APPROVED] = "approved",
                                             [STATE_APPROVAL_DENIED] = "denied",
                                             [STATE_APPROVAL_EXPIRED] = "expired",
                                             [STATE_APPROVAL_USED] = "used",
                                             [SHOW_OPEN] = "open",
                                             [SHOW_ALL] = "all",
                                             NULL};

#define ROW_JSON                                                                                             \
    { CLI_SWITCH(struct approvals_options, json), .name = "json", .help = "print JSON" }

static const struct cli_option list_rows[] = {
    {CLI_CHOICE(struct approvals_options, status), .name = "status", .choices = status_choices,
     .fallback = "open", .help = "which ones; open are those that wait, or are approved and not used yet"},
    {CLI_NUMBER(struct approvals_options, limit), .name = "limit", .argument = "N", .fallback = "100",
     .min = 1, .max = STATE_APPROVALS_LIST_MAX, .help = "at most so many, the newest"},
    ROW_JSON,
    {0},
};
static const struct cli_option show_rows[] = {ROW_JSON, {0}};
#define ROW_NOTE                                                                                             \
    {                                                                                                        \
        CLI_TEXT(struct approvals_options, note), .name = "note", .argument = "TEXT", .fallback = "",        \
                                                  .help = "why; the agent of a denied call reads it"         \
    }

static const struct cli_option approve_rows[] = {
    {CLI_TEXT(struct approvals_options, code), .name = "code", .argument = "CODE",
     .help = "the code that the console shows beside the request"},
    {CLI_TEXT(struct approvals_options, token_file), .name = "token-file", .argument = "FILE",
     .help = "holds the token of a grant with the role approver; the decision is made in its name"},
    {CLI_DURATION(struct approvals_options, for_ms), .name = "for", .argument = "TIME",
     .help = "allow the same call again for this time, at most 8h"},
    {CLI_SWITCH(struct approvals_options, any_arguments), .name = "any-arguments",
     .help = "with --for: whatever the arguments of the tool are"},
    ROW_NOTE,
    ROW_JSON,
    {0},
};
static const struct cli_option decide_rows[] = {
    ROW_NOTE,
    ROW_JSON,
    {0},
};

/* ---- shared ---- */

static void approvals_cleanup(struct state_approvals **s) { state_approvals_close(*s); }
#define cleanup_approvals __attribute__((cleanup(approvals_cleanup)))

static int open_store(struct state_approvals **ret_store, struct err *err) {
    char home[CLI_PATH_MAX];
    return cli_home(home, err) < 0 ? -1 : state_approvals_open(home, ret_store, err);
}

/* Names and arguments come from agents: invisible characters are escaped, and control characters do not
 * reach the terminal. */
static void put_plain(struct buf *out, struct slice text, size_t max) {
    cleanup_arena struct arena a;
    arena_init(&a);
    buf_put_slice(out, glyph_printable(text, max, &a));
}

static void put_line(struct buf *out, const char *label, struct slice text) {
    if (!text.len)
        return;
    buf_printf(out, "%-12s", label);
    put_plain(out, text, STATE_APPROVAL_ARGS_MAX);
    buf_put_char(out, '\n');
}

static void put_time(struct buf *out, const char *label, uint64_t ms) {
    char text[CLOCK_TEXT_MAX];
    if (!ms)
        return;
    clock_local_text(ms, text);
    put_line(out, label, slice_str(text));
}

static void put_full(struct buf *out, const struct state_approval *r) {
    put_line(out, "id", r->id);
    put_line(out, "status", slice_str(state_approval_status_name(r->status)));
    put_line(out, "identity", r->call.identity);
    put_line(out, "server", r->call.server);
    put_line(out, "tool", r->call.tool);
    put_line(out, r->args_cut ? "args (cut)" : "arguments", r->args);
    put_line(out, "text", r->text);
    put_line(out, "rule", r->rule);
    put_line(out, "policy", r->policy);
    if (!slice_is(r->approvers, "[]"))
        put_line(out, "approvers", r->approvers);
    put_time(out, "created", r->created_ms);
    put_time(out, "expires", r->expires_ms);
    put_time(out, "decided", r->decided_ms);
    put_line(out, "decided by", r->decider);
    put_line(out, "note", r->note);
    put_time(out, "used", r->used_ms);
    put_time(out, "repeats till", r->repeat_ms);
    put_line(out, "stale", r->stale);
    put_line(out, "digest", r->digest);
}

static int print_one(const struct state_approval *r, bool json) {
    cleanup_buf struct buf out;
    buf_init(&out, APPROVALS_OUT_MAX);
    struct emit e;
    emit_init(&e, &out);
    if (json) {
        state_approval_json(&e, r);
        buf_put_char(&out, '\n');
    } else {
        put_full(&out, r);
    }
    return cli_print(&out);
}

/* ---- is the approval still valid? ---- */

struct in_force {
    struct slice hash;
    size_t gates; /* gates that list their policies */
    bool found;
};

static void find_policy(void *ctx, const struct tape *page) {
    struct in_force *f = ctx;
    uint32_t list = tape_get_str(page, 0, "policies");
    if (!list || !tape_is(page, list, TAPE_ARRAY))
        return;
    f->gates++;
    TAPE_FOR_ELEM(page, list, i)
    f->found = f->found || tape_eq(page, i, f->hash);
}

/* Gates run here, and none has the policy that the call was judged by: no call will match. */
static bool is_stale(const struct state_approval *r) {
    char home[CLI_PATH_MAX];
    struct in_force f = {.hash = r->call.policy_hash};
    bool open = r->status == STATE_APPROVAL_PENDING || r->status == STATE_APPROVAL_APPROVED || r->repeat_ms;
    if (!open || cli_home(home, NULL) < 0)
        return false;
    cli_gates_each(home, find_policy, &f);
    return f.gates && !f.found;
}

static struct state_approval with_stale(const struct state_approval *r) {
    struct state_approval shown = *r;
    if (is_stale(r))
        shown.stale = SLICE("The policy has changed since.");
    return shown;
}

/* A gate updates its page every few seconds: an apparently stale one is checked again. */
static int refuse_stale(struct state_approvals *s, struct slice id, struct arena *a, struct err *err) {
    struct state_approval found;
    if (state_approvals_get(s, id, clock_wall_ms(), a, &found, NULL) <= 0)
        return 0; /* the error of the decision says so */
    for (int left = STALE_CHECKS; is_stale(&found); left--) {
        if (left == 0)
            return err_set(err,
                           "`%.*s` is stale: the policy has changed since, so an approval would have no "
                           "effect; the agent must ask again",
                           SLICE_FMT(id));
        usleep(STALE_CHECK_US);
    }
    return 0;
}

/* ---- list, show ---- */

struct listing {
    struct buf out;
    struct emit e;
    bool json;
    size_t count;
};

static bool list_one(void *ctx, const struct state_approval *one) {
    struct listing *l = ctx;
    struct state_approval shown = with_stale(one), *r = &shown;
    l->count++;
    if (l->json) {
        state_approval_json(&l->e, r);
        return true;
    }
    char until[CLOCK_TEXT_MAX];
    clock_local_text(r->expires_ms, until);
    struct slice id = slice_upto(r->id, sizeof(STATE_APPROVAL_ID_PREFIX) - 1 + SHORT_ID_SHOWN);
    buf_printf(&l->out, "%.*s  %-8s  until %s  ", SLICE_FMT(id),
               r->stale.len ? "stale" : state_approval_status_name(r->status), until);
    put_plain(&l->out, r->call.identity, LIST_TEXT_MAX);
    buf_put_str(&l->out, "  ");
    put_plain(&l->out, r->call.server, LIST_TEXT_MAX);
    buf_put_char(&l->out, '/');
    put_plain(&l->out, r->call.tool, LIST_TEXT_MAX);
    buf_put_str(&l->out, "  ");
    put_plain(&l->out, r->args, LIST_TEXT_MAX);
    buf_put_char(&l->out, '\n');
    return true;
}

static bool put_id(void *ctx, const struct state_approval *one) {
    buf_printf(ctx, "%.*s\n", SLICE_FMT(one->id));
    return true;
}

void cli_approvals_ids(struct buf *out) {
    struct err err;
    cleanup_approvals struct state_approvals *s = NULL;
    const struct state_approval_filter filter = {
        .limit = CLI_COMPLETED_MAX, .statuses = 1u << STATE_APPROVAL_PENDING | 1u << STATE_APPROVAL_APPROVED};
    if (open_store(&s, &err) == 0)
        (void)state_approvals_list(s, &filter, clock_wall_ms(), put_id, out, &err);
}

static int list_run(const void *options, const struct cli_rest *rest) {
    const struct approvals_options *opt = options;
    struct err err = {0};
    cleanup_approvals struct state_approvals *s = NULL;
    (void)rest;
    if (open_store(&s, &err) < 0)
        return cli_fail(CLI_FAILED, &err);
    struct state_approval_filter filter = {
        .limit = opt->limit,
        .statuses = opt->status == SHOW_ALL    ? 0
                    : opt->status == SHOW_OPEN ? 1u << STATE_APPROVAL_PENDING | 1u << STATE_APPROVAL_APPROVED
                                               : 1u << opt->status,
    };
    struct listing l = {.json = opt->json};
    buf_init(&l.out, APPROVALS_OUT_MAX);
    emit_init(&l.e, &l.out);
    if (l.json)
        emit_array(&l.e);
    int rc = state_approvals_list(s, &filter, clock_wall_ms(), list_one, &l, &err);
    if (l.json)
        emit_array_end(&l.e);
    if (l.json || l.count == 0)
        buf_put_str(&l.out, l.json ? "\n" : "nothing waits for approval\n");
    int status = rc < 0 ? cli_fail(CLI_FAILED, &err) : cli_print(&l.out);
    buf_free(&l.out);
    return status;
}

/* ---- short ids ---- */

struct prefix {
    struct slice want; /* without ap_ */
    char id[STATE_APPROVAL_ID_TEXT];
    size_t count;
};

static struct slice bare_id(struct slice id) {
    return slice_starts(id, SLICE(STATE_APPROVAL_ID_PREFIX))
               ? slice_from(id, sizeof(STATE_APPROVAL_ID_PREFIX) - 1)
               : id;
}

static bool match_prefix(void *ctx, const struct state_approval *r) {
    struct prefix *p = ctx;
    if (slice_starts(bare_id(r->id), p->want) && p->count++ == 0)
        snprintf(p->id, sizeof(p->id), "%.*s", SLICE_FMT(r->id));
    return true;
}

/* A prefix of an id is enough if it is unique. A complete or unknown id is returned unchanged. */
static int full_id(struct state_approvals *s, const char *given, struct arena *a, struct slice *ret_id,
                   struct err *err) {
    struct prefix p = {.want = bare_id(slice_str(given))};
    const struct state_approval_filter all = {.limit = STATE_APPROVALS_LIST_MAX};
    *ret_id = slice_str(given);
    if (strlen(given) >= STATE_APPROVAL_ID_TEXT - 1)
        return 0;
    if (p.want.len < SHORT_ID_MIN)
        return err_set(err, "`%s`: give at least %d characters of the id after `ap_`", given, SHORT_ID_MIN);
    if (state_approvals_list(s, &all, clock_wall_ms(), match_prefix, &p, err) < 0)
        return -1;
    if (p.count > 1)
        return err_set(err, "`%s`: %zu ids begin so; give more of it", given, p.count);
    if (p.count == 1)
        *ret_id = arena_dup(a, slice_str(p.id));
    return 0;
}

static int show_run(const void *options, const struct cli_rest *rest) {
    const struct approvals_options *opt = options;
    struct err err = {0};
    cleanup_approvals struct state_approvals *s = NULL;
    cleanup_arena struct arena a;
    arena_init(&a);
    struct state_approval found;
    struct slice id;
    if (open_store(&s, &err) < 0)
        return cli_fail(CLI_FAILED, &err);
    if (full_id(s, rest->operands[0], &a, &id, &err) < 0)
        return cli_fail(CLI_NO, &err);
    int rc = state_approvals_get(s, id, clock_wall_ms(), &a, &found, &err);
    if (rc == 0)
        err_set(&err, "no approval `%s`", rest->operands[0]);
    if (rc <= 0)
        return cli_fail(rc < 0 ? CLI_FAILED : CLI_NO, &err);
    struct state_approval shown = with_stale(&found);
    return print_one(&shown, opt->json);
}

/* ---- the second factor of an approval ---- */

/* The agent that asked may be able to run this program as this user. It has no terminal, does not see the
 * console and cannot read an approver's token, so one of these three is required. */
static int by_token(const char *path, struct arena *a, struct slice *ret_decider, struct err *err) {
    char home[CLI_PATH_MAX];
    cleanup_buf struct buf text;
    struct state_grants *grants = NULL;
    buf_init(&text, STATE_TOKEN_TEXT + 2);
    if (io_file_read(path, &text, NULL, err) < 0)
        return err_wrap(err, "--token-file");
    if (cli_home(home, err) < 0 || state_grants_open(home, true, &grants, err) < 0)
        return -1;
    const struct state_grant *g =
        state_grants_by_token(grants, slice_trim(buf_slice(&text)), clock_wall_ms());
    const bool may = g && g->roles & (STATE_ROLE_ADMIN | STATE_ROLE_APPROVER);
    if (may)
        *ret_decider = arena_printf(a, "grant:%s", g->name);
    state_grants_close(grants);
    return may ? 0 : err_set(err, "--token-file `%s`: not the token of a grant with the role approver", path);
}

/* The person reads the call and types the code below it. */
static int by_terminal(struct state_approvals *s, struct slice id, struct err *err) {
    char word[CONFIRM_CHARS + 1], typed[CONFIRM_CHARS + 3] = "";
    cleanup_arena struct arena a;
    cleanup_buf struct buf out;
    struct state_approval found;
    arena_init(&a);
    buf_init(&out, APPROVALS_OUT_MAX);
    int rc = state_approvals_get(s, id, clock_wall_ms(), &a, &found, err);
    if (rc <= 0)
        return rc < 0 ? rc : err_set(err, "no approval `%.*s`", SLICE_FMT(id));
    put_full(&out, &found);
    rand_token(word, CONFIRM_CHARS);
    fprintf(stderr, "%.*s\nTo approve this call once, type %s: ", SLICE_FMT(buf_slice(&out)), word);
    if (!fgets(typed, sizeof(typed), stdin))
        typed[0] = '\0';
    return slice_is(slice_trim(slice_str(typed)), word) ? 0 : err_set(err, "not approved");
}

static int confirm(struct state_approvals *s, const struct approvals_options *opt, struct slice id,
                   struct arena *a, struct slice *ret_decider, struct err *err) {
    if (opt->token_file)
        return by_token(opt->token_file, a, ret_decider, err);
    if (opt->code)
        return state_approvals_code_fits(s, id, slice_str(opt->code))
                   ? 0
                   : err_set(err, "--code: this is not the code that the console shows for %.*s",
                             SLICE_FMT(id));
    if (isatty(STDIN_FILENO) && isatty(STDERR_FILENO))
        return by_terminal(s, id, err);
    return err_set(err, "approving needs a second factor: run it at a terminal, or give --code CODE as the "
                        "console shows it, or --token-file FILE with the token of an approver "
                        "(`sallyport grants create NAME --role approver`)");
}

/* ---- approve, deny, expire ---- */

enum verb { VERB_APPROVE, VERB_DENY, VERB_EXPIRE };

/* Reports a decision that could not be recorded; the decision is in force. */
static void record(enum verb verb, const struct state_approval *r) {
    static const char *const events[] = {"approval_approved", "approval_denied", "approval_expired"};
    char home[CLI_PATH_MAX];
    struct err err = {0};
    struct audit *audit = NULL;
    if (cli_home(home, &err) < 0 || audit_open(&(struct audit_config){.home = home}, &audit, &err) < 0 ||
        approval_record(audit, events[verb], r, r->decider) != AUDIT_OK || audit_flush(audit, &err) < 0) {
        err_wrap(&err, "not in the audit log");
        cli_fail(CLI_FAILED, &err);
    }
    audit_close(audit);
}

static int decide(enum verb verb, const struct approvals_options *opt, const struct cli_rest *rest) {
    struct err err = {0};
    cleanup_approvals struct state_approvals *s = NULL;
    cleanup_arena struct arena a;
    arena_init(&a);
    if (open_store(&s, &err) < 0)
        return cli_fail(CLI_FAILED, &err);
    struct slice id;
    if (full_id(s, rest->operands[0], &a, &id, &err) < 0)
        return cli_fail(CLI_NO, &err);
    struct state_decision d = {.id = id,
                               .approve = verb == VERB_APPROVE,
                               .decider = cli_home_user(&a),
                               .note = slice_str(opt->note),
                               .now_ms = clock_wall_ms(),
                               .for_ms = opt->for_ms,
                               .any_args = opt->any_arguments};
    if (opt->for_ms > STATE_REPEAT_MS_MAX || (opt->any_arguments && !opt->for_ms)) {
        err_set(&err, opt->for_ms ? "--for: at most 8h" : "--any-arguments needs --for");
        return cli_fail(CLI_USAGE, &err);
    }
    if (verb == VERB_APPROVE && refuse_stale(s, d.id, &a, &err) < 0)
        return cli_fail(CLI_NO, &err);
    if (verb == VERB_APPROVE && confirm(s, opt, d.id, &a, &d.decider, &err) < 0)
        return cli_fail(CLI_NO, &err);
    struct state_approval after;
    enum state_decide answer = verb == VERB_EXPIRE ? state_approvals_expire(s, &d, &a, &after, &err)
                                                   : state_approvals_decide(s, &d, &a, &after, &err);
    if (answer == STATE_DECIDED) {
        record(verb, &after);
        return print_one(&after, opt->json);
    }
    if (answer != STATE_DECIDE_FAULT)
        approval_refusal(answer, d.id, &after, &err);
    return cli_fail(answer == STATE_DECIDE_FAULT ? CLI_FAILED : CLI_NO, &err);
}

static int approve_run(const void *options, const struct cli_rest *rest) {
    return decide(VERB_APPROVE, options, rest);
}
static int deny_run(const void *options, const struct cli_rest *rest) {
    return decide(VERB_DENY, options, rest);
}
static int expire_run(const void *options, const struct cli_rest *rest) {
    return decide(VERB_EXPIRE, options, rest);
}

/* ---- the command rows ---- */

static const struct cli_example list_examples[] = {
    {"sallyport approvals list", "what waits for you"},
    {"sallyport approvals list --status all --json", "for a program, with what was decided"},
    {0},
};

const struct cli_command cli_approvals_list = {
    .name = "approvals list",
    .summary = "list calls that wait for a person",
    .options = list_rows,
    .options_size = sizeof(struct approvals_options),
    .examples = list_examples,
    .run = list_run,
};

static const struct cli_example show_examples[] = {
    {"sallyport approvals show ap_Zk3q", "the caller, the tool and the arguments of a pending call"},
    {0},
};

const struct cli_command cli_approvals_show = {
    .name = "approvals show",
    .summary = "show one request for approval, with the call's arguments",
    .options = show_rows,
    .options_size = sizeof(struct approvals_options),
    .operands = "ID",
    .operands_min = 1,
    .operands_max = 1,
    .examples = show_examples,
    .run = show_run,
};

static const struct cli_example approve_examples[] = {
    {"sallyport approvals approve ap_Zk3q", "at a terminal; the same call, made again, passes once"},
    {"sallyport approvals approve ap_Zk3q --code 5f0c11ae", "with the code from the console"},
    {"sallyport approvals approve ap_Zk3q --for 30m", "the same call passes for half an hour"},
    {0},
};

const struct cli_command cli_approvals_approve = {
    .name = "approvals approve",
    .summary = "approve a call, once or for a while",
    .detail = "The approval is good for exactly this call: this identity, server, tool and arguments, under "
              "this policy and this definition of the tool. It must be used before the request expires. Exit "
              "status 1 when it is not pending, or the policy names other approvers. An agent may run as the "
              "same user, so a second factor is asked for: at a terminal you type a word, elsewhere give "
              "--code or --token-file.",
    .options = approve_rows,
    .options_size = sizeof(struct approvals_options),
    .operands = "ID",
    .operands_min = 1,
    .operands_max = 1,
    .examples = approve_examples,
    .run = approve_run,
};

static const struct cli_example deny_examples[] = {
    {"sallyport approvals deny ap_Zk3q --note 'ask finance first'", "the agent reads the note"},
    {0},
};

const struct cli_command cli_approvals_deny = {
    .name = "approvals deny",
    .summary = "deny a call; the same call is denied again until the request expires",
    .options = decide_rows,
    .options_size = sizeof(struct approvals_options),
    .operands = "ID",
    .operands_min = 1,
    .operands_max = 1,
    .examples = deny_examples,
    .run = deny_run,
};

static const struct cli_example expire_examples[] = {
    {"sallyport approvals expire ap_Zk3q", "the request ends now"},
    {0},
};

const struct cli_command cli_approvals_expire = {
    .name = "approvals expire",
    .summary = "end a request, or an approval that was not used, before its time",
    .options = decide_rows,
    .options_size = sizeof(struct approvals_options),
    .operands = "ID",
    .operands_min = 1,
    .operands_max = 1,
    .examples = expire_examples,
    .run = expire_run,
};
