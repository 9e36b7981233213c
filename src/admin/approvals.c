/* Approvals at the API, and the signed callback that answers a webhook. */
#include "admin/api.h"
#include "approval/approve.h"
#include "base/clock.h"
#include "base/openssl.h"
#include "server/server.h"

/* Answers when there is none. */
static struct state_approvals *store_of(struct api_call *c) {
    struct err err = {0};
    struct state_approvals *store = NULL;
    if (c->admin->core->approvals)
        store = approve_store(c->admin->core, &err);
    if (!store)
        api_error(c, 503, "approvals cannot be reached: %s", err.text);
    return store;
}

/* With what only a running gate knows. */
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

static bool put_one(void *ctx, const struct state_approval *r) {
    put_approval(ctx, r);
    return true;
}

void api_approvals(struct api_call *c) {
    struct state_approval_filter filter = {.identity = api_query_text(c, "identity")};
    struct slice status = api_query_text(c, "status");
    enum state_approval_status one;
    if (status.len && state_approval_status_from(status, &one) < 0) {
        api_error(c, 400, "no status `%.*s`", SLICE_FMT(status));
        return;
    }
    filter.statuses = status.len ? 1u << one : 0;
    if (!api_query_number(c, "limit", STATE_APPROVALS_LIST_MAX, 100, &filter.limit))
        return;
    struct state_approvals *store = store_of(c);
    struct err err = {0};
    if (!store)
        return;
    emit_array(&c->e);
    if (state_approvals_list(store, &filter, clock_wall_ms(), put_one, c, &err) < 0) {
        api_error(c, 503, "%s", err.text);
        return;
    }
    emit_array_end(&c->e);
    api_answer(c, 200);
}

void api_approval(struct api_call *c) {
    struct state_approvals *store = store_of(c);
    struct state_approval found;
    struct err err = {0};
    if (!store)
        return;
    int rc = state_approvals_get(store, c->arg, clock_wall_ms(), &c->arena, &found, &err);
    if (rc <= 0) {
        api_error(c, rc < 0 ? 503 : 404, "%s", rc < 0 ? err.text : "no such approval");
        return;
    }
    char code[STATE_APPROVAL_CODE_LEN + 1];
    if (found.status == STATE_APPROVAL_PENDING &&
        c->request->who->roles & (PRINCIPAL_ADMIN | PRINCIPAL_APPROVER)) {
        state_approvals_code(store, found.id, code);
        found.code = slice_str(code);
    }
    put_approval(c, &found);
    api_answer(c, 200);
}

/* ---- deciding ---- */

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

/* An approval of what can no longer match would only look like one. */
static bool is_stale(struct api_call *c, struct state_approvals *store, struct slice id) {
    struct state_approval found;
    struct slice why = {0};
    if (state_approvals_get(store, id, clock_wall_ms(), &c->arena, &found, NULL) > 0)
        why = approval_stale(c->admin->core, &found);
    if (why.len)
        api_error(c, 409, "stale: %.*s An approval would have no effect; the agent must ask again",
                  SLICE_FMT(why));
    return why.len;
}

static void decide(struct api_call *c, enum verb verb, struct slice id, struct slice decider,
                   struct slice note) {
    static const char *const events[] = {"approval_approved", "approval_denied", "approval_expired"};
    struct state_approvals *store = store_of(c);
    struct err err = {0};
    uint64_t for_s;
    if (!store || !api_member_number(c, "for_seconds", STATE_REPEAT_MS_MAX / 1000, 0, &for_s))
        return;
    if (verb == VERB_APPROVE && is_stale(c, store, id))
        return;
    struct state_decision d = {.id = id,
                               .approve = verb == VERB_APPROVE,
                               .decider = decider,
                               .note = note,
                               .now_ms = clock_wall_ms(),
                               .for_ms = for_s * 1000,
                               .any_args = api_member_flag(c, "any_arguments")};
    struct state_approval after;
    enum state_decide answer = verb == VERB_EXPIRE
                                   ? state_approvals_expire(store, &d, &c->arena, &after, &err)
                                   : state_approvals_decide(store, &d, &c->arena, &after, &err);
    if (answer != STATE_DECIDED) {
        approval_refusal(answer, id, &after, &err);
        api_error(c, status_of(answer), "%s", err.text);
        return;
    }
    approval_record(c->admin->core->audit, events[verb], &after, decider);
    put_approval(c, &after);
    api_answer(c, 200);
    approve_wake(c->admin->core);
}

static void decide_as_principal(struct api_call *c, enum verb verb) {
    decide(c, verb, c->arg, slice_str(c->request->who->id), api_member(c, "note"));
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
    uint64_t at_s, now = clock_wall_ms();
    if (!secret || !slice_to_u64(stamp, &at_s) || at_s > UINT64_MAX / 1000)
        return false;
    uint64_t at = at_s * 1000, apart = at > now ? at - now : now - at;
    char want[APPROVAL_SIGNATURE_TEXT];
    approval_sign(slice_str(secret), stamp, c->request->body, want);
    return apart <= ADMIN_CALLBACK_SKEW_MS && shown.len == sizeof(want) - 1 &&
           CRYPTO_memcmp(shown.ptr, want, sizeof(want) - 1) == 0;
}

/* Good once by its nature: an approval that has been decided is not decided again. */
void api_callback(struct api_call *c) {
    if (!signature_ok(c)) {
        api_error(c, 401, "the signature is missing, wrong or too old");
        return;
    }
    struct slice id = api_member(c, "approval_id"), decision = api_member(c, "decision");
    struct slice by = api_member(c, "by");
    if (!id.len || !by.len || (!slice_is(decision, "approve") && !slice_is(decision, "deny"))) {
        api_error(c, 400, "approval_id, by and decision (approve or deny) are needed");
        return;
    }
    struct state_approvals *store = store_of(c);
    struct state_approval found;
    if (!store)
        return;
    if (state_approvals_get(store, id, clock_wall_ms(), &c->arena, &found, NULL) > 0 &&
        slice_eq(found.call.identity, by)) {
        api_error(c, 403, "the requester cannot decide");
        return;
    }
    decide(c, slice_is(decision, "approve") ? VERB_APPROVE : VERB_DENY, id,
           arena_printf(&c->arena, "webhook:%.*s", SLICE_FMT(by)), api_member(c, "note"));
}
