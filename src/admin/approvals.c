/* Approvals at the API, and the signed callback that responds to a webhook. */
#include "admin/api.h"
#include "approval/approve.h"
#include "base/openssl.h"
#include "server/server.h"

/* Responds with an error and returns false if approvals are not available. */
static bool has_store(struct api_call *c) {
    if (c->admin->core->approvals)
        return true;
    return api_error(c, 503, "the store of approvals is not available"), false;
}

/* The store is available now, so the gate can expire old requests. */
static void follow_store(struct api_call *c) {
    struct err err = {0};
    approve_store(c->admin->core, &err);
}

/* Includes what only a running gate knows. */
static void put_approval(struct api_call *c, const struct state_approval *r) {
    struct core *core = c->admin->core;
    struct state_approval shown = *r;
    struct server *server = server_find(core, r->call.server);
    struct policy_traits traits = server ? api_tool_traits(server, r->call.tool) : (struct policy_traits){0};
    shown.stale = approval_stale(core, r);
    if (traits.class)
        shown.class = slice_str(api_class_name(traits.class));
    if (core->console)
        shown.url = arena_printf(&c->arena, "%s/approvals/%.*s", core->console, SLICE_FMT(r->id));
    state_approval_json(&c->e, &shown);
}

struct listing {
    struct state_approval_filter filter;
    struct api_page page;
    struct state_approval *items;
    size_t count;
};

static bool list_one(void *ctx, const struct state_approval *r) {
    struct listing *l = ctx;
    if (!l->items)
        l->items = arena_array(l->page.arena, struct state_approval, l->page.left);
    if (api_page_takes(&l->page, r->id)) {
        l->items[l->count] = *r;
        state_approval_keep(&l->items[l->count++], l->page.arena);
    }
    return !l->page.more;
}

static void run_list(struct api_call *c) {
    struct listing *l = c->what;
    struct state_approvals *store = api_store_approvals(c);
    l->page.arena = &c->arena;
    if (store)
        api_store_failed(c, 503,
                         state_approvals_list(store, &l->filter, c->now_ms, list_one, l, &c->err) < 0);
}

static void on_list(struct api_call *c) {
    const struct listing *l = c->what;
    follow_store(c);
    for (size_t i = 0; i < l->count; i++)
        put_approval(c, &l->items[i]);
    api_page_answer(c, &l->page);
}

void api_approvals(struct api_call *c) {
    struct listing *l = c->what = arena_new(&c->arena, struct listing);
    struct slice status = api_query_text(c, "status");
    enum state_approval_status one;
    l->filter.identity = api_query_text(c, "identity");
    if (status.len && state_approval_status_from(status, &one) < 0) {
        api_error(c, 400, "unknown status `%.*s`", SLICE_FMT(status));
        return;
    }
    l->filter.statuses = status.len ? 1u << one : 0;
    l->filter.limit = STATE_APPROVALS_ALL;
    if (has_store(c) && api_page_open(c, 100, &l->page))
        api_store(c, run_list, on_list);
}

static void run_get(struct api_call *c) {
    struct state_approval *found = c->what;
    struct state_approvals *store = api_store_approvals(c);
    if (!store)
        return;
    int rc = state_approvals_get(store, c->arg, c->now_ms, &c->arena, found, &c->err);
    if (rc == 0)
        err_set(&c->err, "no such approval");
    if (api_store_failed(c, rc < 0 ? 503 : 404, rc <= 0))
        return;
    char code[STATE_APPROVAL_CODE_LEN + 1];
    if (found->status == STATE_APPROVAL_PENDING &&
        c->request->who->roles & (PRINCIPAL_ADMIN | PRINCIPAL_APPROVER)) {
        state_approvals_code(store, found->id, code);
        found->code = arena_dup(&c->arena, slice_str(code));
    }
}

static void on_get(struct api_call *c) {
    follow_store(c);
    put_approval(c, c->what);
    api_answer(c, 200);
}

void api_approval(struct api_call *c) {
    c->what = arena_new(&c->arena, struct state_approval);
    if (has_store(c))
        api_store(c, run_get, on_get);
}

/* ---- decisions ---- */

enum verb { VERB_APPROVE, VERB_DENY, VERB_EXPIRE };

static int status_of(enum state_decide answer) {
    switch (answer) {
    case STATE_DECIDED:
        return 200;
    case STATE_DECIDE_UNKNOWN:
        return 404;
    case STATE_DECIDE_OVER:
        return 409;
    case STATE_DECIDE_SELF:
    case STATE_DECIDE_OTHERS:
        return 403;
    case STATE_DECIDE_FAULT:
        break;
    }
    return 503;
}

struct deciding {
    enum verb verb;
    struct state_decision d;
    struct slice by; /* in a callback: the approver's name */
    bool known;
    struct state_approval found, after;
    enum state_decide answer;
};

static void run_decide(struct api_call *c) {
    struct deciding *w = c->what;
    struct state_approvals *store = api_store_approvals(c);
    if (!store)
        return;
    w->d.now_ms = c->now_ms;
    w->answer = w->verb == VERB_EXPIRE ? state_approvals_expire(store, &w->d, &c->arena, &w->after, &c->err)
                                       : state_approvals_decide(store, &w->d, &c->arena, &w->after, &c->err);
}

static void on_decided(struct api_call *c) {
    static const char *const events[] = {"approval_approved", "approval_denied", "approval_expired"};
    const struct deciding *w = c->what;
    follow_store(c);
    if (w->answer != STATE_DECIDED) {
        approval_refusal(w->answer, w->d.id, &w->after, &c->err);
        api_error(c, status_of(w->answer), "%s", c->err.text);
        return;
    }
    approval_record(c->admin->core->audit, events[w->verb], &w->after, w->d.decider);
    put_approval(c, &w->after);
    api_answer(c, 200);
    approve_wake(c->admin->core);
}

static void run_find(struct api_call *c) {
    struct deciding *w = c->what;
    struct state_approvals *store = api_store_approvals(c);
    if (store)
        w->known = state_approvals_get(store, w->d.id, c->now_ms, &c->arena, &w->found, NULL) > 0;
}

/* Refuses to approve a request that no call can match any more: the approval would have no effect. */
static void on_found(struct api_call *c) {
    const struct deciding *w = c->what;
    struct slice why = {0};
    if (w->known && w->verb == VERB_APPROVE)
        why = approval_stale(c->admin->core, &w->found);
    if (w->known && w->by.len && slice_eq(w->found.call.identity, w->by))
        api_error(c, 403, "the requester cannot decide on their own request");
    else if (why.len)
        api_error(c, 409, "stale: %.*s An approval would have no effect; the agent must ask again",
                  SLICE_FMT(why));
    else
        api_store(c, run_decide, on_decided);
}

static void decide(struct api_call *c, enum verb verb, struct slice id, struct slice decider,
                   struct slice by) {
    struct deciding *w = c->what = arena_new(&c->arena, struct deciding);
    uint64_t for_s;
    if (!has_store(c) || !api_member_number(c, "for_seconds", STATE_REPEAT_MS_MAX / 1000, 0, &for_s))
        return;
    *w = (struct deciding){.verb = verb,
                           .by = by,
                           .d = {.id = id,
                                 .approve = verb == VERB_APPROVE,
                                 .decider = arena_dup(&c->arena, decider),
                                 .note = api_member(c, "note"),
                                 .for_ms = for_s * 1000,
                                 .any_args = api_member_flag(c, "any_arguments")}};
    if (verb == VERB_APPROVE || by.len)
        api_store(c, run_find, on_found);
    else
        api_store(c, run_decide, on_decided);
}

static void decide_as_principal(struct api_call *c, enum verb verb) {
    decide(c, verb, c->arg, slice_str(c->request->who->id), (struct slice){0});
}

void api_approve(struct api_call *c) { decide_as_principal(c, VERB_APPROVE); }
void api_deny(struct api_call *c) { decide_as_principal(c, VERB_DENY); }
void api_expire(struct api_call *c) { decide_as_principal(c, VERB_EXPIRE); }

/* ---- the callback ---- */

/* Signed with the webhook's secret, and recent. */
static bool signature_ok(struct api_call *c) {
    const struct http_head *head = c->request->head;
    const char *secret = c->admin->callback_secret;
    struct slice stamp = http_value_of(head, SLICE(APPROVAL_STAMP_HEADER));
    struct slice shown = http_value_of(head, SLICE(APPROVAL_SIGNATURE_HEADER));
    uint64_t at_s, now = c->now_ms;
    if (!secret || !slice_to_u64(stamp, &at_s) || at_s > UINT64_MAX / 1000)
        return false;
    uint64_t at = at_s * 1000, apart = at > now ? at - now : now - at;
    char want[APPROVAL_SIGNATURE_TEXT];
    approval_sign(slice_str(secret), stamp, c->request->body, want);
    return apart <= ADMIN_CALLBACK_SKEW_MS && shown.len == sizeof(want) - 1 &&
           CRYPTO_memcmp(shown.ptr, want, sizeof(want) - 1) == 0;
}

/* Replay is harmless: a decided approval is not decided again. */
void api_callback(struct api_call *c) {
    if (!signature_ok(c)) {
        api_error(c, 401, "the signature is missing, wrong or too old");
        return;
    }
    struct slice id = api_member(c, "approval_id"), decision = api_member(c, "decision");
    struct slice by = api_member(c, "by");
    if (!id.len || !by.len || (!slice_is(decision, "approve") && !slice_is(decision, "deny"))) {
        api_error(c, 400, "approval_id, by and decision (approve or deny) are required");
        return;
    }
    decide(c, slice_is(decision, "approve") ? VERB_APPROVE : VERB_DENY, id,
           arena_printf(&c->arena, "webhook:%.*s", SLICE_FMT(by)), by);
}
