/* DECIDE, RESERVE and SETTLE: the policy's verdict and what its limits hold. */
#include "decision/judge.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sha.h"
#include "call/answer.h"
#include "call/principal.h"
#include "channel/channel.h"
#include "channel/tools.h"
#include "decision/files.h"
#include "decision/hold.h"
#include "decision/limits.h"
#include "decision/stop.h"
#include "guard/guard.h"
#include "privacy/privacy.h"
#include "privacy/sent.h"
#include "record/span.h"
#include "server/task_owner.h"
#include "wire/canon.h"

struct decisions {
    struct io_loop *loop;
    struct list hash_waiting; /* calls, until the end of the loop's turn */
    struct io_timer hash_timer;
    struct task_holds tasks;
    uint64_t losses; /* of the store of counters, that are logged */
};

void judge_init(struct core *core) {
    struct decisions *d = core->decisions = mem_zalloc(sizeof(*d));
    d->loop = core->up.loop;
    list_init(&d->hash_waiting);
    hold_init(&d->tasks);
}

void judge_free(struct core *core) {
    io_timer_stop(core->up.loop, &core->decisions->hash_timer);
    hold_free(&core->decisions->tasks);
    free(steal(core->decisions));
}

/* ---- for calls, and for messages that servers send on their own ---- */

/* Counters belong to a server, because several gates and servers share a home. Two kinds do not: those of
 * scope global, and those that `serve` counts for a grant, identity or session over all its servers. */
static struct slice key_of(const struct judge *j, const struct policy_limit *p) {
    const struct slice server = slice_str(j->server->up.name);
    if (p->all_servers || (j->core->many_servers && policy_dialect(j->policy) != POLICY_INTERCEPT))
        return p->key;
    char *key = arena_alloc(j->arena, server.len + 1 + p->key.len);
    memcpy(key, server.ptr, server.len);
    key[server.len] = '/';
    memcpy(key + server.len + 1, p->key.ptr, p->key.len);
    return slice_of(key, server.len + 1 + p->key.len);
}

struct slice judge_owner(const struct session *s) {
    return s->principal->kind == PRINCIPAL_LOCAL ? (struct slice){0} : slice_str(s->principal->id);
}

static struct state_limit limit_of(const struct judge *j, const struct policy_limit *p) {
    const struct slice key = key_of(j, p);
    return (struct state_limit){.kind = (enum state_kind)p->kind,
                                .leasable = p->whole_calls,
                                .shadow = p->shadow,
                                .fail = (enum state_fail)p->fail,
                                .key = key,
                                .scope_len = key.len - p->key.len + p->scope_len,
                                .window_ms = p->window_ms,
                                .max = p->max,
                                .refill = p->refill,
                                .amount = p->amount,
                                .owner = j->owner};
}

/* Counters that a verdict depends on, in a network store: unknown ones are collected, fetched together,
 * and the verdict is evaluated again. */
struct judge_fetch {
    struct state_fetch fetch;
    struct call *call;
    struct state_limit limits[STATE_FETCH_MAX];
    int64_t values[STATE_FETCH_MAX];
    size_t count;
    size_t known;
    bool failed;
};

static bool counter_known(struct judge_fetch *known, const struct state_limit *want, int64_t *ret_micro) {
    for (size_t i = 0; i < known->count; i++) {
        const struct state_limit *l = &known->limits[i];
        if (l->kind != want->kind || l->window_ms != want->window_ms || !slice_eq(l->key, want->key))
            continue;
        *ret_micro = i < known->known ? known->values[i] : 0;
        return i < known->known && !known->failed;
    }
    if (known->count < STATE_FETCH_MAX)
        known->limits[known->count++] = *want;
    return false;
}

bool judge_read_counter(void *ctx, const struct policy_limit *limit, int64_t *ret_micro) {
    const struct judge *j = ctx;
    struct state_limit want = limit_of(j, limit);
    if (j->fetched)
        return counter_known(j->fetched, &want, ret_micro);
    return state_read(j->core->state, &want, clock_wall_ms(), ret_micro) == STATE_GRANTED;
}

/* Every JSON-RPC error refunds such a limit, and a server may answer so for calls that it has executed. So
 * errors refund at most the maximum, counted beside the limit itself. */
static bool has_refund_counter(const struct policy_limit *limit, size_t limit_count) {
    return limit->refund == POLICY_REFUND_ERRORS && limit->kind != POLICY_CONCURRENT && limit->amount > 0 &&
           limit->max != POLICY_NO_MAX && limit_count <= JUDGE_REFUNDS_MAX;
}

enum state_step judge_reserve(const struct judge *j, const struct policy_verdict *v, uint64_t now_ms,
                              struct state_ticket *ticket, state_done_fn *done, void *ctx) {
    struct state_limit *limits = arena_array(j->arena, struct state_limit, 2 * v->limit_count);
    size_t count = v->limit_count;
    for (size_t i = 0; i < v->limit_count; i++) {
        limits[i] = limit_of(j, &v->limits[i]);
        if (!j->refunds || !has_refund_counter(&v->limits[i], v->limit_count))
            continue;
        struct state_limit *refunds = &limits[count++];
        *refunds = limits[i];
        refunds->key = arena_printf(j->arena, "%.*s/refunds", SLICE_FMT(limits[i].key));
        refunds->kind = limits[i].kind == STATE_FIXED ? STATE_FIXED : STATE_SLIDING;
        refunds->shadow = true; /* full: no more refunds */
    }
    hold_expire(&j->core->decisions->tasks, now_ms);
    return state_reserve(j->core->state, limits, count, now_ms, ticket, done, ctx);
}

/* The agent learns only that the check failed; the reason is logged for the operator. */
static void log_fault(const struct judge *j, const struct policy_verdict *v, const char *what) {
    struct state_health health;
    state_health(j->core->state, &health);
    const struct log_field about[] = {
        {"server", j->server ? slice_str(j->server->up.name) : (struct slice){0}}, {"rule", v->rule}};
    log_often_about(LOG_ERROR,
                    arena_printf(j->arena, "%s: the store of counters failed%s%s", what,
                                 health.fault[0] ? ": " : "", health.fault),
                    about, ARRAY_LEN(about));
}

/* A limit that refuses because writes were lost looks like one that is used up. */
static void log_losses(const struct judge *j) {
    struct decisions *d = j->core->decisions;
    struct state_health health;
    if (!state_is_remote(j->core->state))
        return;
    state_health(j->core->state, &health);
    if (health.losses > d->losses)
        log_warn("the store of counters lost writes (a failover, a restart without its file, or evicted "
                 "keys): %slimited calls are refused until the windows that were open then are over",
                 health.has_marks ? "windows go on from their marks in PostgreSQL; without a mark, " : "");
    d->losses = health.losses;
}

void judge_reserved(const struct judge *j, const struct state_answer *answer, struct policy_verdict *v) {
    if (answer->degraded)
        log_fault(j, v, "a limit is counted in memory only");
    if (answer->result == STATE_FAULT) {
        log_fault(j, v, "refused what has a limit");
        policy_refuse_fault(v);
    } else if (answer->result == STATE_REFUSED) {
        log_losses(j);
        policy_refuse(&v->limits[answer->refused_index], answer->retry_after_ms, j->arena, v);
    } else {
        for (size_t i = 0; answer->shadow_refused && i < v->limit_count && i < 64; i++)
            if (answer->shadow_refused >> i & 1)
                policy_shadow(&v->limits[i], j->arena, v);
    }
}

static struct slice hash_text(const unsigned char sum[SHA_BYTES], struct arena *a) {
    char *hex = arena_alloc(a, SHA_HEX);
    hex_put(sum, SHA_BYTES, hex);
    return slice_of(hex, SHA_HEX);
}

struct slice judge_hash(struct core *core, const struct tape *t, uint32_t args, bool of_tool,
                        struct arena *a) {
    static const char *const not_arguments[] = {"_meta", "inputResponses", "requestState", NULL};
    unsigned char sum[SHA_BYTES];
    if (args)
        canon_hash(t, args, of_tool ? NULL : not_arguments, a, &core->scratch, sum);
    else
        sha_256(&SLICE("{}"), 1, sum);
    return hash_text(sum, a);
}

/* ---- the hash of the arguments ---- */

static void hash_one(struct call *c) {
    unsigned char sum[SHA_BYTES];
    sha_256(c->args_text.parts, c->args_text.count, sum);
    c->args_hash = hash_text(sum, &c->arena);
}

static void hash_two(struct call *a, struct call *b) {
    unsigned char sums[2][SHA_BYTES];
    sha_256_two((struct sha_text[]){a->args_text, b->args_text}, sums);
    a->args_hash = hash_text(sums[0], &a->arena);
    b->args_hash = hash_text(sums[1], &b->arena);
}

/* A hashed call continues before the next one is hashed: its bytes are still in the cache. */
static void on_turn_over(struct io_timer *timer) {
    struct decisions *d = container_of(timer, struct decisions, hash_timer);
    struct list ready, *n, *other;
    list_init(&ready);
    while ((n = list_pop(&d->hash_waiting))) {
        list_push(&ready, n);
        if ((other = list_pop(&d->hash_waiting))) {
            list_push(&ready, other);
            hash_two(container_of(n, struct call, wait), container_of(other, struct call, wait));
        } else {
            hash_one(container_of(n, struct call, wait));
        }
        while ((n = list_pop(&ready)))
            call_resume(container_of(n, struct call, wait));
        io_loop_pace(d->loop, IO_LARGE_BYTES);
    }
}

/* The hash of the client's own text: it reveals nothing about a value behind a token, and a token names one
 * value in its scope. Long arguments are hashed in pairs at the end of the loop's turn. Not where messages
 * arrive on one pipe and the client can be paused: the next message would overtake this one. */
static bool hash_arguments(struct call *c) {
    struct core *core = c->session->core;
    if (c->args_hash.len || core->audit_hash_needed)
        return true;
    bool of_tool = c->kind == CALL_TOOLS_CALL;
    const struct tape *t = &call_shown(c)->tape;
    uint32_t args = call_shown_args(c);
    if (!of_tool || !sha_pairs() || !args || c->session->front->hold ||
        !canon_parts(t, args, &c->arena, &core->scratch, &c->args_text)) {
        c->args_hash = judge_hash(core, t, args, of_tool, &c->arena);
        return true;
    }
    struct decisions *d = core->decisions;
    if (list_empty(&d->hash_waiting))
        io_timer_soon(d->loop, &d->hash_timer, on_turn_over);
    list_push(&d->hash_waiting, &c->wait);
    return false;
}

/* ---- the verdict ---- */

static struct judge judge_of(struct call *c) {
    return (struct judge){.core = c->session->core,
                          .policy = c->policy,
                          .server = c->server,
                          .arena = &c->arena,
                          .refunds = true,
                          .owner = judge_owner(c->session),
                          .fetched = c->fetched};
}

static void on_fetched(struct state_fetch *fetch, enum state_result result) {
    struct judge_fetch *known = container_of(fetch, struct judge_fetch, fetch);
    known->failed |= result != STATE_GRANTED;
    call_resume(known->call);
}

/* False: the call waits for counters that the verdict needs. */
static bool counters_there(struct call *c) {
    struct judge_fetch *known = c->fetched;
    if (!known || known->failed || known->count == known->known) {
        c->fetched = NULL;
        return true;
    }
    size_t first = known->known;
    known->known = known->count;
    known->fetch = (struct state_fetch){.values = known->values + first, .done = on_fetched};
    if (state_fetch(c->session->core->state, known->limits + first, known->count - first, c->judged_ms,
                    &known->fetch) == STATE_WAIT)
        return false;
    known->failed = known->fetch.result != STATE_GRANTED;
    return counters_there(c);
}

/* Denied with the text for a hidden tool, so that the caller does not learn whether it exists. */
static enum call_next deny_ungranted(struct call *c) {
    c->verdict = (struct policy_verdict){
        .outcome = POLICY_DENY,
        .reason = POLICY_BY_HIDE,
        .rule = SLICE("(grant)"),
        .text = arena_printf(&c->arena, "Tool \"%.*s\" is hidden by policy", SLICE_FMT(c->name)),
    };
    return answer_deny(c);
}

/* A grant that is limited to some tools does not allow anything else of a server. */
static bool reads_beside_tools(struct slice method) {
    return slice_starts(method, SLICE("resources/")) || slice_starts(method, SLICE("prompts/")) ||
           slice_starts(method, SLICE("skills/")) || slice_starts(method, SLICE("completion/"));
}

static enum call_next deny_beside_tools(struct call *c) {
    c->verdict = (struct policy_verdict){
        .outcome = POLICY_DENY,
        .reason = POLICY_BY_METHOD,
        .rule = SLICE("(grant)"),
        .text = SLICE(
            "This grant is for certain tools; resources, prompts, skills and completion are not among them"),
    };
    return answer_deny(c);
}

/* Rules about classes, flows and schemas, and pins, need the server's definition: it is requested first. A
 * list of pinned tools is compared with the known definitions before it passes. The first use of a server's
 * skills counts as a use of its tools. */
static bool wants_definition(const struct call *c) {
    bool pinned = guard_pins(c->session->core, c->server);
    if (c->kind != CALL_TOOLS_CALL)
        return pinned && (c->kind == CALL_TOOLS_LIST || guard_is_skill_call(c));
    return pinned || policy_wants_traits(c->policy) ||
           policy_wants_schema(c->policy, c->name, &(struct policy_traits){0});
}

/* Checks that do not depend on the arguments. */
static bool refused_outright(struct call *c, enum call_next *ret_next) {
    const struct principal *p = c->session->principal;
    if (stop_refuses(c))
        *ret_next = answer_deny(c);
    else if (c->kind == CALL_TOOLS_CALL && !principal_may_call(p, slice_str(c->server->up.name), c->name))
        *ret_next = deny_ungranted(c);
    else if (p->tool_count && reads_beside_tools(c->method))
        *ret_next = deny_beside_tools(c);
    else
        return false;
    return true;
}

static struct policy_facts facts_of(struct call *c, const struct tool *tool,
                                    const struct policy_counters *counters) {
    const struct session *s = c->session;
    struct policy_facts facts = {
        .method = c->method,
        .direction = POLICY_TO_SERVER,
        .server = slice_str(c->server->up.name),
        .tool = c->kind == CALL_TOOLS_CALL ? c->name : (struct slice){0},
        .tape = &c->request->tape,
        .args = c->args,
        .grant = slice_str(s->principal->grant),
        .limits = slice_str(s->principal->limits),
        .identity = slice_str(s->principal->id),
        .more = s->principal->facts,
        .more_count = s->principal->fact_count,
        .session = slice_str(s->name),
        .flow = policy_has_flows(c->policy)
                    ? trail_labels(s->core, trail_of(s->core, s->principal->id), c->judged_ms)
                    : 0,
        .pii_closed = true,
        .args_hash = c->args_hash,
        .now_ms = c->judged_ms,
        .counters = counters,
        .files = &files_system,
    };
    if (policy_wants_detector(c->policy))
        facts.detector = sent_detector_of(c, &c->arena);
    if (policy_pii_kind(c->policy, 0).ptr)
        facts.pii = privacy_seen(s, &c->arena, &facts.pii_count);
    if (tool) {
        facts.traits = tool->traits;
        facts.schema = tool->schema;
        facts.schema_unreadable = tool->schema_unreadable;
    }
    return facts;
}

/* A tool that was never listed gets all flow labels: another policy, of this server or of the next, may have
 * rules about flows. */
static void note_flow(struct call *c, const struct tool *tool) {
    c->tags = c->kind != CALL_TOOLS_CALL ? 0 : tool ? tool->traits.tags : POLICY_FLOW_ALL;
    if (c->verdict.outcome == POLICY_ALLOW)
        call_add_flow(c, c->tags);
}

enum call_next judge_step_decide(struct call *c) {
    struct session *s = c->session;
    bool is_call = c->kind == CALL_TOOLS_CALL;
    enum call_next next;
    if (!hash_arguments(c))
        return CALL_WAIT;
    span_begin(c);
    if (!c->policy)
        call_set_policy(c, server_policy(s, c->server));
    if (refused_outright(c, &next))
        return next;
    if (wants_definition(c)) {
        struct channel *ch = channel_for(s, c->server, c);
        if (!ch || !tools_checked(ch, c))
            return CALL_WAIT;
    }
    const struct tool *tool = is_call ? tool_find(&c->server->tools, c->name) : NULL;
    /* The list may be replaced while this call waits, so a copy is kept. */
    if (tool)
        call_set_definition(c, tool->fingerprint, tool->traits.class);
    if (!c->fetched && state_is_remote(s->core->state)) {
        c->fetched = arena_new(&c->arena, struct judge_fetch);
        c->fetched->call = c;
    }
    struct judge j = judge_of(c);
    const struct policy_counters counters = {judge_read_counter, &j};
    c->judged_ms = clock_wall_ms();
    struct policy_facts facts = facts_of(c, tool, &counters);
    policy_decide(c->policy, &facts, &c->arena, NULL, &c->verdict);
    if (!counters_there(c))
        return CALL_WAIT;
    /* Classes and flows cannot be judged for a tool that the server does not list. */
    if (is_call && !tool && policy_wants_traits(c->policy) && c->verdict.outcome != POLICY_DENY) {
        policy_refuse_fault(&c->verdict);
        c->verdict.text = SLICE("The server does not list this tool, and the policy needs to know its class");
    }
    if ((is_call && guard_refuses(c, tool)) || c->verdict.outcome == POLICY_DENY)
        return answer_deny(c);
    if (c->verdict.outcome == POLICY_APPROVE && !c->args_hash.len)
        c->args_hash = judge_hash(s->core, &call_shown(c)->tape, call_shown_args(c), is_call, &c->arena);
    note_flow(c, tool);
    return CALL_NEXT;
}

/* ---- limits ---- */

static enum call_next reserved(struct call *c) {
    struct judge j = judge_of(c);
    judge_reserved(&j, &c->ticket.answer, &c->verdict);
    return c->verdict.outcome == POLICY_DENY ? answer_deny(c) : CALL_NEXT;
}

static void on_reserved(void *ctx, enum state_result result, size_t refused_index, uint64_t retry_after_ms) {
    struct call *c = ctx;
    c->ticket.answer.result = result;
    c->ticket.answer.refused_index = refused_index;
    c->ticket.answer.retry_after_ms = retry_after_ms;
    call_resume(c);
}

enum call_next judge_step_reserve(struct call *c) {
    if (!c->verdict.limit_count)
        return CALL_NEXT;
    if (c->reserving)
        return reserved(c);
    struct judge j = judge_of(c);
    call_set_reserving(c);
    enum state_step step = judge_reserve(&j, &c->verdict, c->judged_ms, &c->ticket, on_reserved, c);
    return step == STATE_WAIT ? CALL_WAIT : reserved(c);
}

static bool is_proven(const struct msg *m) {
    uint32_t node = tape_get_str(&m->tape, m->rpc.body, "code");
    int64_t code = 0;
    return node && tape_int(&m->tape, node, &code) &&
           (code == RPC_METHOD_NOT_FOUND || code == RPC_INVALID_PARAMS);
}

/* One bit for each limit that is given back, and for each counter of refunds that is not used. */
static uint64_t given_back(const struct call *c) {
    const struct policy_verdict *v = &c->verdict;
    bool failed = c->response && c->response->rpc.kind == RPC_ERROR;
    bool proven = failed && is_proven(c->response);
    uint64_t give_back = 0;
    size_t refunds = v->limit_count;
    for (size_t i = 0; i < v->limit_count && i < 64; i++) {
        const struct policy_limit *limit = &v->limits[i];
        bool gives = limit->refund == POLICY_REFUND_ERRORS ? failed && v->limit_count <= JUDGE_REFUNDS_MAX
                                                           : limit->refund == POLICY_REFUND_PROVEN && proven;
        if (has_refund_counter(limit, v->limit_count)) {
            gives = gives && !(c->ticket.answer.shadow_refused >> refunds & 1);
            give_back |= gives ? 0 : (uint64_t)1 << refunds;
            refunds++;
        }
        give_back |= (uint64_t)gives << i;
    }
    return give_back;
}

/* Kept when the server may have executed the call. One that was never sent was not executed; one that timed
 * out or was cancelled counts. */
enum call_next judge_step_settle(struct call *c) {
    if (c->fetched)
        state_unfetch(&c->fetched->fetch);
    const uint64_t give_back = c->sent ? given_back(c) : UINT64_MAX;
    hold_note(&c->session->core->decisions->tasks, c, give_back);
    call_settle(c, give_back);
    return CALL_NEXT;
}

/* ---- passes of FILTER: caps on the size of results ---- */

static struct slice too_large(struct call *c, uint64_t most) {
    return arena_printf(&c->arena, "The result has %zu bytes; the policy allows %llu", c->response->bytes.len,
                        (unsigned long long)most);
}

enum call_next judge_filter_size(struct call *c) {
    struct policy_verdict *v = &c->verdict;
    task_owner_limit(c, v);
    if (!v->result_bytes_max || c->response->bytes.len <= v->result_bytes_max)
        return CALL_NEXT;
    struct slice why = too_large(c, v->result_bytes_max);
    call_deny_as(c, POLICY_BY_RULE, SLICE("max_result_bytes"), why);
    call_add_finding(c, why);
    answer_withheld(c, "result_too_large");
    return CALL_FAIL;
}

enum call_next judge_filter_shadow_size(struct call *c) {
    uint64_t most = c->verdict.result_bytes_shadow;
    if (most && c->response->bytes.len > most)
        call_add_finding(c, arena_printf(&c->arena, "shadow: %.*s", SLICE_FMT(too_large(c, most))));
    return CALL_NEXT;
}
