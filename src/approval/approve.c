#include "approval/approve.h"

#include "approval/limits.h"
#include "approval/prompt.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sha.h"
#include "call/answer.h"
#include "call/client_ask.h"
#include "call/principal.h"
#include "channel/channel.h"
#include "channel/tools.h"
#include "io/work.h"
#include "policy/policy.h"
#include "record/record.h"
#include "server/server.h"
#include "wire/emit.h"

#define STATE_MARK "spa1."             /* prefix of our own requestState */
#define INPUT_KEY "sallyport_approval" /* key of our question among those of the server */

/* A request for an approval on its way to the store. It owns its texts: the call may end before the disk
 * has answered. */
struct ask_work {
    struct io_work work;
    struct call *call; /* NULL: the call has ended */
    struct approvals *ap;
    struct arena arena;
    bool opens;                     /* nothing is requested; only creates the database */
    struct state_decision decision; /* decision of the person at the client; made first */
    enum state_decide decided;
    struct state_approval after; /* of the decision */
    bool asks;                   /* `want` is requested, unless `continued` is covered */
    struct slice continued;      /* digest of the continuation; empty: this call is not one */
    struct state_approval want, found;
    enum state_ask answer;
    struct err err;
};

/* A store operation that belongs to no call. */
struct errand {
    struct io_work work;
    struct approvals *ap;
    struct arena arena;
    void (*run)(struct errand *w, struct state_approvals *store);
    void (*done)(struct errand *w); /* on the loop; may be NULL */
    struct slice id, digest;
    uint64_t now_ms;
    struct slice *ids;            /* of a check: the approvals that calls wait for */
    bool *over;                   /* one is decided, or no longer exists */
    struct state_approval *ended; /* of a sweep */
    size_t count, pending;
    struct err err;
};

struct call_approval {
    struct ask_work *asking;     /* while the store works on it */
    struct ask_work *asked;      /* the store's answer, until it is read */
    struct state_approval found; /* texts in the call's arena */
    struct slice
        digest;   /* digest of the call; the approval that was found may be bound to a continuation of it */
    bool waiting; /* in the list */
    bool late;    /* it has expired */
    bool unanswered;          /* the client was asked and gave no decision */
    bool must_ask;            /* ask the client in the next turn */
    uint64_t ask;             /* id of our question at the client; 0: none */
    struct slice question;    /* its params */
    uint64_t progress_count;  /* progress notifications so far */
    uint64_t progress_due_ms; /* when the next one is due */
};

/* ---- how a person is reached ---- */

enum way { WAY_RETRY, WAY_HOLD, WAY_ASK, WAY_INPUT, WAY_NONE };

static bool takes_input(const struct call *c) {
    return c->kind == CALL_TOOLS_CALL || slice_is(c->method, "prompts/get") ||
           slice_is(c->method, "resources/read");
}

static enum way choose_way(const struct call *c) {
    const struct approvals *ap = c->session->core->approvals;
    if (ap->settings.mode == APPROVE_HOLD)
        return WAY_HOLD;
    /* If the policy names approvers, the user of the client is not known to be one. */
    if (ap->settings.mode == APPROVE_RETRY || c->verdict.approver_count > 0)
        return WAY_RETRY;
    bool person = ap->settings.persons || c->session->principal->roles & PRINCIPAL_PERSON;
    bool may = person && !(c->approval && c->approval->unanswered);
    if (may && c->modern && takes_input(c) && approve_prompt_supported(c))
        return WAY_INPUT;
    if (may && !c->modern && c->sink && approve_prompt_supported(c))
        return WAY_ASK;
    return ap->settings.mode == APPROVE_ELICIT ? WAY_NONE : WAY_RETRY;
}

/* ---- the call as the store knows it ---- */

/* The policy's reason, and the descriptions of tokens in the arguments. */
static struct slice request_text(struct call *c) {
    return c->stands_for.len
               ? arena_printf(&c->arena, "%.*s (%.*s)", SLICE_FMT(c->verdict.text), SLICE_FMT(c->stands_for))
               : c->verdict.text;
}

static struct state_approval describe(struct call *c) {
    const struct approvals *ap = c->session->core->approvals;
    uint64_t now = clock_wall_ms();
    CHECK(c->args_hash.len); /* otherwise it would approve any arguments */
    uint64_t lasts =
        c->verdict.approval_timeout_ms ? c->verdict.approval_timeout_ms : ap->settings.timeout_ms;
    struct state_approval want = {
        .call = {.identity = slice_str(c->session->principal->id),
                 .server = c->server ? slice_str(c->server->up.name) : (struct slice){0},
                 .tool = c->kind == CALL_TOOLS_CALL ? c->name : c->method,
                 .args_hash = c->args_hash,
                 .fingerprint = c->fingerprint,
                 .policy_hash = slice_str(policy_hash(c->policy))},
        .session = slice_str(c->session->name),
        .args = call_shown_args(c) ? tape_raw(&call_shown(c)->tape, call_shown_args(c)) : SLICE("{}"),
        .rule = c->verdict.rule,
        .policy = policy_name(c->policy),
        .text = request_text(c),
        .approvers = approve_prompt_approvers(&c->verdict, &c->arena),
        .created_ms = now,
        .expires_ms = now + (lasts < STATE_APPROVAL_TIMEOUT_MAX_MS ? lasts : STATE_APPROVAL_TIMEOUT_MAX_MS),
    };
    char *hex = arena_alloc(&c->arena, STATE_DIGEST_LEN);
    state_approval_digest(&want.call, hex);
    want.digest = slice_of(hex, STATE_DIGEST_LEN);
    return want;
}

/* The definition is part of the approval: it must be known. False: the call waits for it. */
static bool load_definition(struct call *c) {
    if (c->kind != CALL_TOOLS_CALL || c->fingerprint.len || !c->server)
        return true;
    struct channel *ch = channel_for(c->session, c->server, c);
    if (!ch || !tools_ready(ch, c))
        return false;
    const struct tool *tool = tool_find(&ch->server->tools, c->name);
    if (tool)
        call_set_definition(c, tool->fingerprint, c->class);
    return true;
}

/* ---- texts for the agent ---- */

/* -32003 with all data that a retry needs. */
static enum call_next refuse_pending(struct call *c) {
    const struct state_approval *r = &c->approval->found;
    struct slice text = policy_verdict_text(c->policy, &c->verdict, &c->arena);
    struct slice data = approve_prompt_pending(r, c->session->core->console, &c->arena);
    answer_error_data(c, RPC_APPROVAL_REQUIRED, text.ptr, data);
    call_set_denied(c, true);
    return CALL_FAIL;
}

static enum call_next refuse(struct call *c, struct slice text) {
    call_deny_as(c, POLICY_BY_APPROVAL, c->verdict.rule, text);
    return answer_deny(c);
}

/* ---- the store, on its thread ---- */

static struct state_approvals *thread_store(struct approvals *ap, struct err *err) {
    return ap->asks || state_approvals_open(ap->home, &ap->asks, err) == 0 ? ap->asks : NULL;
}

static void run_errand(struct io_work *work) {
    struct errand *w = container_of(work, struct errand, work);
    struct state_approvals *store = thread_store(w->ap, &w->err);
    if (store)
        w->run(w, store);
}

static void on_errand(struct io_work *work) {
    struct errand *w = container_of(work, struct errand, work);
    if (w->err.text[0])
        log_error("approvals: %s", w->err.text);
    if (w->done)
        w->done(w);
    arena_free(&w->arena);
    free(w);
}

static struct errand *errand_new(struct approvals *ap,
                                 void (*run)(struct errand *w, struct state_approvals *store),
                                 void (*done)(struct errand *w)) {
    struct errand *w = mem_zalloc(sizeof(*w));
    w->work = (struct io_work){.run = run_errand, .done = on_errand};
    arena_init(&w->arena);
    w->ap = ap;
    w->run = run;
    w->done = done;
    w->now_ms = clock_wall_ms();
    return w;
}

static void errand_start(struct errand *w) { io_work_add(w->ap->core->up.loop, &w->work); }

static void run_extend(struct errand *w, struct state_approvals *store) {
    state_approvals_extend(store, w->id, w->digest, &w->err);
}

static void run_outdate(struct errand *w, struct state_approvals *store) {
    state_approvals_outdate(store, w->digest, w->now_ms, &w->err);
}

static void run_notified(struct errand *w, struct state_approvals *store) {
    state_approvals_notified(store, w->id, w->now_ms);
}

void approve_set_notified(struct core *core, struct slice id) {
    struct errand *w = errand_new(core->approvals, run_notified, NULL);
    w->id = arena_dup(&w->arena, id);
    errand_start(w);
}

static void run_check(struct errand *w, struct state_approvals *store) {
    for (size_t i = 0; i < w->count; i++) {
        struct state_approval found;
        int rc = state_approvals_get(store, w->ids[i], w->now_ms, &w->arena, &found, &w->err);
        w->over[i] = rc == 0 || (rc > 0 && found.status != STATE_APPROVAL_PENDING);
    }
}

/* ---- seals of the modern era ---- */

static struct slice sealed_text(struct call *c, struct slice id, struct slice digest) {
    return arena_printf(&c->arena, "%.*s|%.*s", SLICE_FMT(id), SLICE_FMT(digest));
}

static enum call_next ask_by_input(struct call *c) {
    const struct state_approval *r = &c->approval->found;
    char seal[STATE_DIGEST_LEN];
    state_approvals_seal(c->session->core->approvals->store, "requestState", sealed_text(c, r->id, r->digest),
                         seal);
    struct slice params = approve_prompt_question(r, c->modern, &c->arena);
    if (!params.len)
        return refuse_pending(c);
    struct slice text = arena_printf(
        &c->arena,
        "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{"
        "\"" INPUT_KEY
        "\":{\"method\":\"elicitation/create\",\"params\":%.*s}},\"requestState\":\"" STATE_MARK
        "%.*s.%.*s\"}}",
        SLICE_FMT(c->id_raw), SLICE_FMT(params), SLICE_FMT(r->id), STATE_DIGEST_LEN, seal);
    answer_set(c, text);
    call_set_denied(c, true);
    return CALL_FAIL;
}

/* Our state in this request, or empty. */
static struct slice own_state(struct call *c) {
    const struct msg *m = c->request;
    if (!c->modern || !takes_input(c) || !m->rpc.params)
        return (struct slice){0};
    uint32_t node = tape_get_str(&m->tape, m->rpc.params, "requestState");
    if (!node || !tape_is(&m->tape, node, TAPE_STRING))
        return (struct slice){0};
    struct slice state = tape_text(&m->tape, node, &c->arena);
    return slice_starts(state, SLICE(STATE_MARK)) ? state : (struct slice){0};
}

/* ---- a call that continues after a question of its server ---- */

/* A digest of the call and the server's state; different for every other call. */
static struct slice continued_digest(struct call *c, struct slice digest, struct slice state) {
    struct slice text =
        arena_printf(&c->arena, "%.*s continues with %.*s", SLICE_FMT(digest), SLICE_FMT(state));
    char *hex = arena_alloc(&c->arena, SHA_HEX);
    sha_256_hex(text, hex);
    return slice_of(hex, SHA_HEX);
}

void approve_extend(struct call *c, struct slice state) {
    const struct call_approval *ca = c->approval;
    if (!ca || ca->found.status != STATE_APPROVAL_USED)
        return;
    struct errand *w = errand_new(c->session->core->approvals, run_extend, NULL);
    w->id = arena_dup(&w->arena, ca->found.id);
    w->digest = arena_dup(&w->arena, continued_digest(c, ca->digest, state));
    errand_start(w); /* stored before the client's next request */
}

/* Does the call bring answers to questions of its server? Then the digest of that continuation, else
 * empty. */
static struct slice continues(struct call *c, struct slice digest) {
    const struct msg *m = c->request;
    uint32_t params = c->modern && takes_input(c) ? m->rpc.params : 0;
    uint32_t state = params ? tape_get_str(&m->tape, params, "requestState") : 0;
    if (!params || own_state(c).len || (!state && !tape_get_str(&m->tape, params, "inputResponses")))
        return (struct slice){0};
    return continued_digest(c, digest,
                            state && tape_is(&m->tape, state, TAPE_STRING)
                                ? tape_text(&m->tape, state, &c->arena)
                                : (struct slice){0});
}

/* ---- answers ---- */

struct asking {                            /* a request of a call to the store */
    const struct state_decision *decision; /* NULL: none */
    const struct state_approval *want;     /* NULL: nothing */
    struct slice continued;
};
static enum call_next ask_store(struct call *c, const struct asking *what);

static struct state_decision client_decision(struct call *c, struct slice id, bool approve) {
    return (struct state_decision){
        .id = id,
        .approve = approve,
        .decider = arena_printf(&c->arena, "elicitation:%s", c->session->principal->id),
        .now_ms = clock_wall_ms(),
    };
}

/* A modern client repeats the call with its user's answer, which becomes a decision. False: the state is
 * not ours for this call. */
static bool take_input(struct call *c, struct slice digest, struct state_decision *ret_decision) {
    struct approvals *ap = c->session->core->approvals;
    const struct msg *m = c->request;
    struct slice state = own_state(c), id;
    if (!state.len)
        return true;
    state = slice_from(state, strlen(STATE_MARK));
    slice_cut(&state, '.', &id);
    if (!state_approvals_sealed(ap->store, "requestState", sealed_text(c, id, digest), state))
        return false;
    enum approve_answer answer =
        approve_prompt_read(&m->tape, tape_path(&m->tape, m->rpc.params, "inputResponses", INPUT_KEY, NULL));
    if (answer == APPROVE_ANSWER_NONE) {
        c->approval = c->approval ? c->approval : arena_new(&c->arena, struct call_approval);
        c->approval->unanswered = true;
    } else if (ap->settings.mode == APPROVE_AUTO || ap->settings.mode == APPROVE_ELICIT) {
        *ret_decision = client_decision(c, id, answer == APPROVE_ANSWER_APPROVE);
    }
    return true;
}

static void on_answered(struct call *c, uint64_t ask, struct msg *m) {
    (void)ask;
    c->approval->ask = 0;
    enum approve_answer answer =
        m && m->rpc.kind == RPC_RESULT ? approve_prompt_read(&m->tape, m->rpc.body) : APPROVE_ANSWER_NONE;
    list_remove(&c->wait);
    if (answer != APPROVE_ANSWER_NONE) {
        const struct state_decision d =
            client_decision(c, c->approval->found.id, answer == APPROVE_ANSWER_APPROVE);
        ask_store(c, &(struct asking){.decision = &d});
        return;
    }
    c->approval->unanswered = true;
    call_resume(c);
}

bool approve_has_state(struct call *c) { return own_state(c).len > 0; }

bool approve_strip(struct call *c, struct splice *text) {
    const struct msg *m = c->request;
    if (!own_state(c).len)
        return true;
    return splice_drop_members(text, &m->tape, m->rpc.params,
                               (const char *const[]){"inputResponses", "requestState", NULL});
}

/* ---- waiting ---- */

static void on_tick(struct io_timer *timer);

static enum call_next wait_here(struct call *c) {
    struct approvals *ap = c->session->core->approvals;
    call_settle(c, UINT64_MAX); /* no reservation is held while a person is asked */
    c->approval->waiting = true;
    list_push(&ap->waiting, &c->wait);
    /* Messages to the client are sent from the timer: its front may free the call while sending. */
    io_timer_arm(ap->core->up.loop, &ap->timer, 0, on_tick);
    return CALL_WAIT;
}

static void send_progress(struct call *c, uint64_t now) {
    struct call_approval *a = c->approval;
    if (!c->token_raw.len || !c->sink || a->ask || now < a->progress_due_ms)
        return;
    a->progress_due_ms = now + APPROVE_PROGRESS_MS;
    struct slice text = arena_printf(
        &c->arena,
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%.*s,"
        "\"progress\":%llu,\"message\":\"waiting for approval %.*s\"}}",
        SLICE_FMT(c->token_raw), (unsigned long long)++a->progress_count, SLICE_FMT(a->found.id));
    struct session_out out = {.text = answer_text(c, text)};
    c->sink->ops->event(c->sink, &out);
}

/* Has the approval of this call changed? */
static bool check_call(struct call *c, const struct errand *w, uint64_t now) {
    struct call_approval *a = c->approval;
    a->late = a->found.expires_ms <= now;
    bool over = false;
    for (size_t i = 0; i < w->count; i++)
        over |= w->over[i] && slice_eq(w->ids[i], a->found.id);
    return a->late || over;
}

static void put_question(struct call *c) {
    struct call_approval *a = c->approval;
    a->must_ask = false;
    if (client_ask(c, SLICE("elicitation/create"), a->question, on_answered, &a->ask))
        return;
    a->unanswered = true;
    list_remove(&c->wait);
    call_resume(c);
}

/* Resuming one call may end it and others: only one is handled at a time. */
static void check_all(struct approvals *ap, const struct errand *w) {
    uint64_t now = clock_wall_ms();
    struct list round, *n;
    list_init(&round);
    while ((n = list_pop(&ap->waiting)))
        list_push(&round, n);
    while ((n = list_pop(&round))) {
        struct call *c = container_of(n, struct call, wait);
        if (check_call(c, w, now)) {
            call_resume(c);
            continue;
        }
        list_push(&ap->waiting, n);
        if (c->approval->must_ask)
            put_question(c);
        else
            send_progress(c, io_now_ms(ap->core->up.loop));
    }
}

static void on_checked(struct errand *w) {
    struct approvals *ap = w->ap;
    ap->looking = false;
    check_all(ap, w);
    if (!list_empty(&ap->waiting))
        io_timer_arm(ap->core->up.loop, &ap->timer, APPROVE_CHECK_MS, on_tick);
}

/* Queries the store on its thread; the result is handled when it arrives. */
static void start_check(struct approvals *ap) {
    struct errand *w = errand_new(ap, run_check, on_checked);
    size_t room = 0;
    LIST_FOR (n, &ap->waiting) {
        room++;
    }
    w->ids = arena_array(&w->arena, struct slice, room);
    w->over = arena_array(&w->arena, bool, room);
    LIST_FOR (n, &ap->waiting) {
        w->ids[w->count++] = arena_dup(&w->arena, container_of(n, struct call, wait)->approval->found.id);
    }
    ap->looking = true;
    errand_start(w);
}

static void on_tick(struct io_timer *timer) {
    struct approvals *ap = container_of(timer, struct approvals, timer);
    if (!ap->looking)
        start_check(ap);
}

void approve_wake(struct core *core) {
    if (core->approvals && !list_empty(&core->approvals->waiting))
        start_check(core->approvals);
}

void approve_outdate(struct core *core, struct slice policy_hash) {
    struct approvals *ap = core->approvals;
    if (!ap || !ap->store)
        return;
    struct errand *w = errand_new(ap, run_outdate, NULL);
    w->digest = arena_dup(&w->arena, policy_hash);
    errand_start(w);
    approve_wake(core);
}

static void ask_free(struct ask_work *w) {
    if (!w)
        return;
    arena_free(&w->arena);
    free(w);
}

void approve_end(struct call *c) {
    if (c->approval && c->approval->asking)
        c->approval->asking->call = NULL;
    if (c->approval) {
        ask_free(c->approval->asked);
        c->approval->asking = c->approval->asked = NULL;
    }
    if (!c->approval || !c->approval->ask)
        return;
    client_ask_forget(c->session, c->approval->ask);
    c->approval->ask = 0;
}

/* ---- the step ---- */

static enum call_next ask_by_request(struct call *c) {
    c->approval->question = approve_prompt_question(&c->approval->found, c->modern, &c->arena);
    c->approval->must_ask = true;
    return c->approval->question.len ? wait_here(c) : refuse_pending(c);
}

static enum call_next reach(struct call *c) {
    switch (choose_way(c)) {
    case WAY_INPUT:
        return ask_by_input(c);
    case WAY_ASK:
        return ask_by_request(c);
    case WAY_HOLD:
        return wait_here(c);
    case WAY_NONE:
        return refuse(c, SLICE("This call needs approval, and no person at its client gave it"));
    case WAY_RETRY:
        break;
    }
    return refuse_pending(c);
}

static struct slice denial(struct call *c) {
    const struct state_approval *r = &c->approval->found;
    return arena_printf(&c->arena, "A person denied this call%s%.*s", r->note.len ? ": " : "",
                        SLICE_FMT(r->note));
}

static enum call_next granted(struct call *c) {
    const struct state_approval *r = &c->approval->found;
    approval_record(c->session->core->audit, "approval_used", r, r->call.identity);
    struct policy_verdict verdict = c->verdict;
    verdict.text =
        arena_printf(&c->arena, "approved by %.*s as %.*s", SLICE_FMT(r->decider), SLICE_FMT(r->id));
    call_set_verdict(c, &verdict);
    call_add_flow(c, c->tags);
    return CALL_NEXT;
}

static enum call_next fault(struct call *c, const struct err *err) {
    struct log_field about[RECORD_ABOUT];
    log_about(LOG_ERROR, record_about(c, about), RECORD_ABOUT, "%s", err->text);
    struct policy_verdict verdict = c->verdict;
    policy_refuse_fault(&verdict);
    call_set_verdict(c, &verdict);
    return answer_deny(c);
}

/* The call was resumed: has it expired, or must it be judged again? */
static enum call_next woken(struct call *c) {
    c->approval->waiting = false;
    bool asked_only = c->approval->unanswered && !c->approval->late;
    approve_end(c);
    if (c->approval->late)
        return refuse(c, SLICE("No approver decided on this call in time"));
    if (principal_session_fault(c->session))
        return refuse(c, SLICE("The identity behind this call is no longer valid"));
    if (asked_only)
        return reach(c);
    call_set_policy(c, server_policy(c->session, c->server)); /* the policy may have changed */
    return CALL_JUDGE_AGAIN;
}

/* Copies all texts of an approval to another arena. */
static struct state_approval copy_approval(const struct state_approval *from, struct arena *a) {
    struct state_approval to = *from;
    state_approval_keep(&to, a);
    return to;
}

/* On the thread, with a connection of its own. */
static void run_ask(struct io_work *work) {
    struct ask_work *w = container_of(work, struct ask_work, work);
    struct state_approvals *store = thread_store(w->ap, &w->err);
    w->answer = STATE_ASK_FAULT;
    if (!store || w->opens)
        return;
    if (w->decision.id.len) {
        w->decided = state_approvals_decide(store, &w->decision, &w->arena, &w->after, &w->err);
        if (w->decided != STATE_DECIDE_FAULT)
            w->err = (struct err){0};
    }
    if (!w->asks)
        return;
    int goes_on = w->continued.len ? state_approvals_continue(store, w->continued, w->want.created_ms,
                                                              &w->arena, &w->found, &w->err)
                                   : 0;
    if (goes_on == 0)
        w->answer = state_approvals_ask(store, &w->want, &w->arena, &w->found, &w->err);
    else if (goes_on > 0)
        w->answer = STATE_ASK_GRANTED;
}

static void on_asked(struct io_work *work) {
    struct ask_work *w = container_of(work, struct ask_work, work);
    struct call *c = w->call;
    if (w->decision.id.len && w->decided == STATE_DECIDED)
        approval_record(w->ap->core->audit, w->decision.approve ? "approval_approved" : "approval_denied",
                        &w->after, w->decision.decider);
    else if (w->decision.id.len && w->decided == STATE_DECIDE_FAULT)
        log_error("approvals: %s", w->err.text);
    if (w->opens) /* a failed open is tried again at the next use, and reported then */
        w->ap->made = true;
    if (!c) { /* an approval that the call used stays used */
        ask_free(w);
        return;
    }
    c->approval->asking = NULL;
    c->approval->asked = w->asks ? w : NULL;
    if (!w->asks)
        ask_free(w);
    call_resume(c);
}

/* Does nothing but open the store. */
static enum call_next ask_store(struct call *c, const struct asking *what) {
    struct ask_work *w = mem_zalloc(sizeof(*w));
    c->approval = c->approval ? c->approval : arena_new(&c->arena, struct call_approval);
    arena_init(&w->arena);
    w->work = (struct io_work){.run = run_ask, .done = on_asked};
    w->call = c;
    w->ap = c->session->core->approvals;
    w->opens = !what->want && !what->decision;
    w->asks = what->want != NULL;
    if (what->want)
        w->want = copy_approval(what->want, &w->arena);
    if (what->decision) {
        w->decision = *what->decision;
        w->decision.id = arena_dup(&w->arena, what->decision->id);
        w->decision.decider = arena_dup(&w->arena, what->decision->decider);
    }
    w->continued = what->continued.len ? arena_dup(&w->arena, what->continued) : (struct slice){0};
    c->approval->asking = w;
    io_work_add(c->session->core->up.loop, &w->work);
    return CALL_WAIT;
}

static void log_request(const struct call *c) {
    struct log_field about[RECORD_ABOUT];
    log_about(LOG_INFO, record_about(c, about), RECORD_ABOUT,
              "%.*s %.*s needs approval: sallyport approvals show %.*s", SLICE_FMT(c->method),
              SLICE_FMT(c->name), SLICE_FMT(c->approval->found.id));
}

static enum call_next answered(struct call *c) {
    struct approvals *ap = c->session->core->approvals;
    struct ask_work *w = c->approval->asked;
    const enum state_ask answer = w->answer;
    const struct err err = w->err;
    if (answer != STATE_ASK_FULL && answer != STATE_ASK_FAULT)
        c->approval->found = copy_approval(&w->found, &c->arena);
    c->approval->asked = NULL;
    ask_free(w);
    switch (answer) {
    case STATE_ASK_GRANTED:
        return granted(c);
    case STATE_ASK_DENIED:
        return refuse(c, denial(c));
    case STATE_ASK_NEW:
        approval_record(c->session->core->audit, "approval_requested", &c->approval->found,
                        c->approval->found.call.identity);
        log_request(c);
        if (ap->requested)
            ap->requested(ap->ctx, &c->approval->found);
        return reach(c);
    case STATE_ASK_JOINED:
        return reach(c);
    case STATE_ASK_FULL:
        return refuse(c, SLICE("Too many calls wait for approval already"));
    case STATE_ASK_FAULT:
        break;
    }
    return fault(c, &err);
}

enum call_next approve_step(struct call *c) {
    if (c->verdict.outcome != POLICY_APPROVE)
        return CALL_NEXT;
    if (c->approval && c->approval->asked)
        return answered(c);
    if (c->approval && c->approval->waiting)
        return woken(c);
    struct err err = {0};
    struct approvals *ap = c->session->core->approvals;
    if (!ap || !c->id_raw.len)
        return refuse(c, SLICE("This call needs approval, and its client cannot ask for it"));
    if (!ap->store && !ap->made)
        return ask_store(c, &(struct asking){0});
    if (!approve_store(c->session->core, &err))
        return fault(c, &err);
    if (!load_definition(c))
        return CALL_WAIT;
    if (choose_way(c) == WAY_NONE)
        return reach(c);
    struct state_approval want = describe(c);
    struct state_decision decision = {0};
    if (!take_input(c, want.digest, &decision)) {
        answer_error(c, RPC_INVALID_PARAMS, 400, "requestState does not belong to this call");
        return CALL_FAIL;
    }
    c->approval = c->approval ? c->approval : arena_new(&c->arena, struct call_approval);
    c->approval->digest = want.digest;
    return ask_store(c, &(struct asking){.decision = decision.id.len ? &decision : NULL,
                                         .want = &want,
                                         .continued = continues(c, want.digest)});
}

/* ---- opening and closing ---- */

static void collect_over(void *ctx, const struct state_approval *r) {
    struct errand *w = ctx;
    if (w->count < STATE_APPROVALS_PENDING_MAX)
        w->ended[w->count++] = copy_approval(r, &w->arena);
}

static void run_sweep(struct errand *w, struct state_approvals *store) {
    w->ended = arena_array(&w->arena, struct state_approval, STATE_APPROVALS_PENDING_MAX);
    state_approvals_sweep(store, w->now_ms, collect_over, w, &w->err);
    w->pending = state_approvals_pending(store, w->now_ms);
}

static void on_swept(struct errand *w) {
    for (size_t i = 0; i < w->count; i++)
        approval_record(w->ap->core->audit, "approval_expired", &w->ended[i], SLICE("gate"));
    w->ap->pending = w->pending;
}

static void on_sweep(struct io_timer *timer) {
    struct approvals *ap = container_of(timer, struct approvals, sweeps);
    errand_start(errand_new(ap, run_sweep, on_swept));
    io_timer_arm(ap->core->up.loop, timer, APPROVE_SWEEP_MS, on_sweep);
}

size_t approve_pending(const struct core *core) {
    const struct approvals *ap = core->approvals;
    if (!ap || !ap->store)
        return 0;
    return state_approvals_is_remote(ap->store) ? ap->pending
                                                : state_approvals_pending(ap->store, clock_wall_ms());
}

void approve_init(struct core *core, const char *home, const struct approve_settings *settings) {
    struct approvals *ap = mem_zalloc(sizeof(*ap));
    *ap = (struct approvals){.core = core, .home = home};
    list_init(&ap->waiting);
    core->approvals = ap;
    approve_set(core, settings);
}

void approve_set(struct core *core, const struct approve_settings *settings) {
    core->approvals->settings = *settings;
    if (!settings->timeout_ms)
        core->approvals->settings.timeout_ms = STATE_APPROVAL_TIMEOUT_MS;
}

struct state_approvals *approve_store(struct core *core, struct err *err) {
    struct approvals *ap = core->approvals;
    if (ap->store || state_approvals_open(ap->home, &ap->store, err) < 0)
        return ap->store;
    io_timer_arm(core->up.loop, &ap->sweeps, 0, on_sweep);
    return ap->store;
}

void approve_free(struct core *core) {
    struct approvals *ap = core->approvals;
    if (!ap)
        return;
    io_timer_stop(core->up.loop, &ap->timer);
    io_timer_stop(core->up.loop, &ap->sweeps);
    io_work_finish(core->up.loop);
    state_approvals_close(ap->asks);
    state_approvals_close(ap->store);
    free(ap);
    core->approvals = NULL;
}
