/* Redacts what servers send to clients. */
#include "privacy/redact.h"

#include "base/log.h"
#include "base/mem.h"
#include "call/answer.h"
#include "privacy/limits.h"
#include "privacy/privacy.h"
#include "server/task_owner.h"

static enum filter_result redact_node(struct session *s, const struct filter_options *opt,
                                      const struct tape *t, uint32_t node, struct splice *text,
                                      struct arena *a, struct filter_report *report) {
    struct vault *v = privacy_vault(s);
    struct filter_edits edits = {0};
    if (!v)
        return FILTER_FAILED;
    const enum filter_result result = filter_json_edits(vault_scope(v), opt, t, node, a, &edits, report);
    vault_flush(v);
    if (result == FILTER_CHANGED && !splice_merge(text, edits.at, edits.count))
        return FILTER_FAILED;
    return result;
}

/* The requestState of a question goes back to the server, so it must not change. */
static bool is_question(const struct tape *t, uint32_t body) {
    if (!tape_is(t, body, TAPE_OBJECT))
        return false;
    const uint32_t type = tape_get_str(t, body, "resultType");
    return type && tape_eq(t, type, SLICE("input_required")) && tape_get_str(t, body, "requestState");
}

static enum filter_result redact_question(struct session *s, const struct filter_options *opt,
                                          const struct tape *t, uint32_t body, struct splice *text,
                                          struct arena *a, struct filter_report *report) {
    enum filter_result worst = FILTER_SAME;
    TAPE_FOR_MEMBER(t, body, key) {
        if (tape_eq(t, key, SLICE("requestState")))
            continue;
        const enum filter_result result = redact_node(s, opt, t, key + 1, text, a, report);
        worst = result > worst ? result : worst;
    }
    return worst;
}

/* Identifiers of the protocol, which clients compare: not redacted. */
static bool is_protocol(const struct tape *t, uint32_t key) {
    static const char *const names[] = {"_meta",  "progressToken", "requestId", "uri",
                                        "taskId", "cursor",        "level",     "requestedSchema"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (tape_eq(t, key, slice_str(names[i])))
            return true;
    return false;
}

/* Redacts the members of `node` that people and models read, not those of the protocol. False: withhold
 * it. */
static bool redact_members(struct session *s, struct server *server, const struct tape *t, uint32_t node,
                           struct splice *text) {
    struct filter_options opt;
    struct filter_report report = {0};
    enum filter_result worst = FILTER_SAME;
    if (privacy_off(s, server))
        return true;
    privacy_modes(s, server, (struct slice){0}, &opt);
    if (!filter_wanted(&opt))
        return true;
    TAPE_FOR_MEMBER(t, node, key) {
        if (is_protocol(t, key))
            continue;
        const enum filter_result result = redact_node(s, &opt, t, key + 1, text, text->arena, &report);
        worst = result > worst ? result : worst;
    }
    privacy_note(s, &report);
    if (worst < FILTER_BLOCKED)
        return true;
    s->core->privacy->counts.blocked++;
    log_server(LOG_INFO, server->up.name, "server `%s`: a message with personal data or secrets was withheld",
               server->up.name);
    return false;
}

bool redact_message(struct session *s, struct server *server, const struct msg *m, struct splice *text) {
    if (!m->rpc.params || !tape_is(&m->tape, m->rpc.params, TAPE_OBJECT))
        return true;
    return redact_members(s, server, &m->tape, m->rpc.params, text);
}

bool redact_params(struct session *s, struct server *server, struct slice *params, struct arena *a) {
    struct tape t;
    struct splice text;
    struct buf out;
    if (!s->core->privacy)
        return true;
    tape_init(&t);
    buf_init(&out, MSG_BYTES_MAX);
    splice_init(&text, *params, a);
    const bool fine = tape_parse(&t, *params, NULL) == TAPE_OK && tape_is(&t, 0, TAPE_OBJECT) &&
                      redact_members(s, server, &t, 0, &text) && splice_write(&text, &out);
    if (fine && text.count)
        *params = arena_dup(a, buf_slice(&out));
    tape_free(&t);
    buf_free(&out);
    return fine;
}

/* EMAIL 2, SECRET 1: for people and for the log. */
struct slice redact_summary(struct call *c) {
    const struct privacy *pii = c->session->core->privacy;
    const struct filter_report *r = c->pii;
    cleanup_buf struct buf out;
    const char *name;
    buf_init(&out, PRIVACY_SUMMARY_MAX);
    for (unsigned i = 0; r && pii && (name = privacy_kind_name(pii, i)); i++)
        if (r->counts[i])
            buf_printf(&out, "%s%s %u", out.len ? ", " : "", name, r->counts[i]);
    return arena_dup(&c->arena, buf_slice(&out));
}

/* The call was made and counts; only its result is withheld. */
static void withhold(struct call *c) {
    call_deny_as(
        c, POLICY_BY_RULE, SLICE("pii"),
        arena_printf(&c->arena, "The result was withheld: it contains %.*s", SLICE_FMT(redact_summary(c))));
    answer_withheld(c, "result_blocked");
}

/* Lists are not redacted: clients send the names in them back. */
static bool is_result(const struct call *c) {
    return c->kind == CALL_TOOLS_CALL || (c->kind == CALL_OTHER && !slice_ends(c->method, SLICE("/list")) &&
                                          !slice_is(c->method, "server/discover"));
}

/* The model must not see values that the gate has restored: the answer to such a call is scanned for their
 * kinds even where the server's mode allows them. Only a rule about results can allow them. */
static void keep_restored(const struct call *c, struct slice tool, struct filter_options *opt) {
    const uint64_t kinds =
        c->restored_kinds ? c->restored_kinds & ~privacy_shown(c->session, c->server, tool) : 0;
    for (size_t k = 0; kinds && k <= FILTER_MODE_CUSTOM; k++)
        if (kinds >> k & 1 && (opt->modes[k] == FILTER_OFF || opt->modes[k] == FILTER_REPORT))
            opt->modes[k] = FILTER_TOKENIZE;
}

/* The tool that produced the answer: of a call, or of the call that became a task. */
static struct slice tool_of(const struct call *c) {
    if (c->kind == CALL_TOOLS_CALL)
        return c->name;
    const bool about_task = c->subject && strcmp(c->subject, "taskId") == 0;
    return about_task ? task_owner_tool(c->session, c->server, c->name) : (struct slice){0};
}

static enum filter_result redact_response(struct call *c, struct splice *text, struct filter_report *report) {
    struct session *s = c->session;
    const struct slice tool = tool_of(c);
    const struct tool *known = tool.len ? tool_find(&c->server->tools, tool) : NULL;
    const struct msg *m = c->response;
    struct filter_options opt;
    privacy_modes(s, c->server, tool, &opt);
    keep_restored(c, tool, &opt);
    opt.preserve |= known && known->formats;
    if (!filter_wanted(&opt))
        return FILTER_SAME;
    const enum filter_result result =
        is_question(&m->tape, m->rpc.body)
            ? redact_question(s, &opt, &m->tape, m->rpc.body, text, &c->arena, report)
            : redact_node(s, &opt, &m->tape, m->rpc.body, text, &c->arena, report);
    privacy_note(s, report);
    s->core->privacy->counts.blocked += result == FILTER_BLOCKED;
    return result;
}

/* Other passes have rewritten whole strings of the answer: the rewritten text is scanned instead. */
static enum filter_result redact_rewritten(struct call *c, struct splice *text,
                                           struct filter_report *report) {
    struct msg *m = call_reread(c, text);
    if (!m || !m->rpc.body)
        return FILTER_FAILED;
    call_replace_response(c, m);
    answer_set_response(c, c->http_status);
    return redact_response(c, c->answer, report);
}

/* A list is not redacted; but the server's own values in it may be sent back to it. */
static void remember_list(struct call *c) {
    const uint64_t judged = privacy_judged(c->session, c->server);
    struct vault *v = judged ? privacy_vault(c->session) : NULL;
    struct filter_options opt = {
        .depth = PII_DEPTH_MAX, .remember = true, .origin = privacy_origin(c->server)};
    struct filter_report *report = arena_new(&c->arena, struct filter_report);
    struct filter_edits edits = {0};
    if (!v)
        return;
    for (size_t k = 0; k <= FILTER_MODE_CUSTOM; k++)
        opt.modes[k] = judged >> k & 1 ? FILTER_REPORT : FILTER_OFF;
    filter_json_edits(vault_scope(v), &opt, &c->response->tape, c->response->rpc.body, &c->arena, &edits,
                      report);
    vault_flush(v);
}

enum call_next redact_filter(struct call *c) {
    const struct msg *m = c->response;
    struct splice *text = c->answer;
    if (!c->session->core->privacy || !m->rpc.body || !c->server)
        return CALL_NEXT;
    if (m->rpc.kind == RPC_RESULT && !is_result(c)) {
        remember_list(c);
        return CALL_NEXT;
    }
    if (!c->restored_kinds && privacy_off(c->session, c->server))
        return CALL_NEXT;
    struct filter_report *report = arena_new(&c->arena, struct filter_report);
    /* one edit is the id */
    const enum filter_result result =
        text->count > 1 ? redact_rewritten(c, text, report) : redact_response(c, text, report);
    if (report->found)
        c->pii = report;
    if (result == FILTER_BLOCKED) {
        withhold(c);
    } else if (result == FILTER_FAILED) {
        call_set_outcome(c, "result_blocked");
        answer_error(c, RPC_INTERNAL, 502, "the server's answer could not be scanned for secrets");
    }
    return CALL_NEXT;
}

bool redact_stored(struct call *c) {
    if (c->pii && !vault_stored(&c->session->core->privacy->vaults, c))
        return false;
    if (c->token_clash) {
        c->token_clash = false;
        call_set_outcome(c, "result_blocked");
        answer_error(c, RPC_INTERNAL, 502, "a new token stands for another value at another gate");
    }
    return true;
}

struct slice redact_arguments(struct session *s, struct server *server, const struct tape *t, uint32_t args,
                              struct arena *a) {
    struct filter_options opt = {.depth = PII_DEPTH_MAX, .origin = privacy_origin(server)};
    struct filter_report report = {0};
    struct splice text;
    const struct slice raw = tape_raw(t, args);
    struct vault *v = privacy_vault(s);
    struct filter_edits edits = {0};
    if (!v)
        return (struct slice){0};
    filter_options_set(&opt, FILTER_TOKENIZE);
    const enum filter_result result = filter_json_edits(vault_scope(v), &opt, t, args, a, &edits, &report);
    vault_flush(v);
    if (result == FILTER_SAME)
        return raw;
    if (result != FILTER_CHANGED)
        return (struct slice){0};
    const uint32_t from = (uint32_t)(raw.ptr - t->src.ptr);
    splice_init(&text, slice_of(t->src.ptr, from + raw.len), a);
    cleanup_buf struct buf out;
    buf_init(&out, FILTER_OUT_MAX);
    if (!splice_replace(&text, 0, from, (struct slice){0}) || !splice_merge(&text, edits.at, edits.count) ||
        !splice_write(&text, &out))
        return (struct slice){0};
    return arena_dup(a, buf_slice(&out));
}
