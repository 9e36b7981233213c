/* Requests and notifications that servers send on their own are judged, counted and recorded like a call. A
 * request to the client counts as soon as it is sent, whatever the answer: the client, or a person, was
 * interrupted. */

#include "decision/reverse.h"
#include "base/clock.h"
#include "base/log.h"
#include "call/principal.h"
#include "channel/channel.h"
#include "decision/files.h"
#include "decision/judge.h"
#include "decision/stop.h"
#include "record/record.h"
#include "server/server.h"

/* One message on its way to the client. */
struct reverse {
    struct channel *ch;
    struct policy *policy;
    struct policy_facts facts;
    struct policy_verdict verdict;
    struct state_ticket ticket;
    struct arena *arena;
};

/* Nothing can wait here, so a store that would answer later counts as failed. */
static void reverse_reserve(struct reverse *r, const struct judge *j) {
    struct state_ticket *ticket = &r->ticket;
    if (judge_reserve(j, &r->verdict, r->facts.now_ms, ticket, NULL, NULL) == STATE_WAIT) {
        state_settle(ticket, STATE_ROLLBACK);
        ticket->answer.result = STATE_FAULT;
    }
    judge_reserved(j, &ticket->answer, &r->verdict);
}

static void reverse_decide(struct reverse *r, struct slice method, const struct tape *t, uint32_t params) {
    struct session *s = r->ch->session;
    const struct principal *who = s->principal;
    r->policy = server_policy(s, r->ch->server);
    struct judge j = {.core = s->core,
                      .policy = r->policy,
                      .server = r->ch->server,
                      .arena = r->arena,
                      .owner = judge_owner(s)};
    const struct policy_counters counters = {judge_read_counter, &j};
    r->facts = (struct policy_facts){
        .method = method,
        .direction = POLICY_TO_CLIENT,
        .server = slice_str(r->ch->server->up.name),
        .tape = t,
        .args = params,
        .grant = slice_str(who->grant),
        .limits = slice_str(who->limits),
        .identity = slice_str(who->id),
        .more = who->facts,
        .more_count = who->fact_count,
        .session = slice_str(s->name),
        .now_ms = clock_wall_ms(),
        .counters = &counters,
        .files = &files_system,
    };
    policy_decide(r->policy, &r->facts, r->arena, NULL, &r->verdict);
    stop_judge(s->core, r->ch->server, who, r->arena, &r->verdict);
    r->facts.counters = NULL;
    if (r->verdict.outcome == POLICY_ALLOW && r->verdict.limit_count)
        reverse_reserve(r, &j);
}

static bool reverse_record(struct reverse *r) {
    struct session *s = r->ch->session;
    const struct policy_verdict *v = &r->verdict;
    if (!s->core->audit)
        return true;
    struct audit_decision d = {
        .call = audit_next_call(s->core->audit),
        .identity = slice_str(s->principal->id),
        .grant = slice_str(s->principal->grant),
        .session = slice_str(s->name),
        .server = r->facts.server,
        .method = r->facts.method,
        .verdict = slice_str(policy_outcome_name(v->outcome)),
        .reason = slice_str(policy_reason_name(v->reason)),
        .rule = v->rule,
        .pointer = v->pointer,
        .policy = policy_name(r->policy),
        .policy_hash = slice_of(policy_hash(r->policy), 64),
        .policy_version = policy_version(r->policy),
        .text = v->text,
        .shadow = record_shadows(v, r->arena),
        .args_mode = s->core->audit_args,
        .args_hash = s->core->audit_hash_needed
                         ? (struct slice){0}
                         : judge_hash(s->core, r->facts.tape, r->facts.args, false, r->arena),
    };
    d.args = record_arguments(s, r->ch->server, r->facts.tape, r->facts.args, r->arena);
    return audit_put_decision(s->core->audit, &d, NULL) == AUDIT_OK;
}

static void log_reverse(enum log_level level, const struct reverse *r, struct slice method) {
    const struct log_field about[] = {{"identity", slice_str(r->ch->session->principal->id)},
                                      {"server", slice_str(r->ch->server->up.name)},
                                      {"rule", r->verdict.rule}};
    log_about(level, about, ARRAY_LEN(about), "denied %.*s of server `%s`", SLICE_FMT(method),
              r->ch->server->up.name);
}

const char *reverse_judge_request(struct channel *ch, struct slice method, const struct tape *t,
                                  uint32_t params, struct arena *a) {
    struct reverse r = {.ch = ch, .arena = a};
    reverse_decide(&r, method, t, params);
    bool recorded = reverse_record(&r);
    state_settle(&r.ticket, recorded ? STATE_KEEP : STATE_ROLLBACK);
    if (!recorded)
        return "the audit log cannot take this request";
    if (r.verdict.outcome == POLICY_ALLOW)
        return NULL;
    log_reverse(LOG_INFO, &r, method);
    return policy_verdict_text(r.policy, &r.verdict, a).ptr;
}

/* Notifications can be frequent (progress): only those that a rule denies, or would deny in shadow mode, are
 * recorded. */
bool reverse_may_deliver(struct channel *ch, struct slice method, const struct msg *m, struct arena *a) {
    struct reverse r = {.ch = ch, .arena = a};
    reverse_decide(&r, method, &m->tape, m->rpc.params);
    bool passes = r.verdict.outcome == POLICY_ALLOW;
    if (!passes || r.verdict.shadow_count)
        passes = reverse_record(&r) && passes;
    state_settle(&r.ticket, passes ? STATE_KEEP : STATE_ROLLBACK);
    if (!passes)
        log_reverse(LOG_DEBUG, &r, method);
    return passes;
}
