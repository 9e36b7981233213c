/* The steps of one call, and the passes of FILTER, in the order in which they run. A front receives and
 * parses a message (RECV, PARSE); from then on the call is in exactly one of the steps below. A denied or
 * failed call skips to SETTLE, so that its reservations are released and the result is recorded before
 * anything is answered. Calls made inside the gate enter at IDENTIFY like every other call. */
#include "session/steps.h"

#include "approval/approve.h"
#include "base/mem.h"
#include "call/answer.h"
#include "channel/await.h"
#include "channel/channel.h"
#include "decision/judge.h"
#include "era/adapt.h"
#include "era/forward.h"
#include "era/input.h"
#include "era/listen.h"
#include "era/park.h"
#include "era/task.h"
#include "guard/clean.h"
#include "many/gather.h"
#include "many/rename.h"
#include "many/route.h"
#include "privacy/redact.h"
#include "privacy/restore.h"
#include "privacy/vault.h"
#include "record/record.h"
#include "session/identify.h"
#include "session/results.h"

static enum call_next step_filter(struct call *c);
static enum call_next step_reply(struct call *c);

enum {
    STEP_IDENTIFY,
    STEP_ROUTE,
    STEP_RESTORE,
    STEP_DECIDE,
    STEP_RESERVE,
    STEP_APPROVE,
    STEP_NOTE,
    STEP_FORWARD,
    STEP_AWAIT,
    STEP_FILTER,
    STEP_SETTLE,
    STEP_RECORD,
    STEP_REPLY,
    STEP_COUNT,
};

static const struct call_step steps[STEP_COUNT] = {
    [STEP_IDENTIFY] = {"identify", identify_step}, /* the principal and the method */
    [STEP_ROUTE] = {"route", route_step},          /* the subject of the message, and its server */
    [STEP_RESTORE] = {"restore",
                      restore_step}, /* tokens in arguments become values, so that the policy judges them */
    [STEP_DECIDE] = {"decide", judge_step_decide},    /* the policy's verdict */
    [STEP_RESERVE] = {"reserve", judge_step_reserve}, /* its limits: all or none */
    [STEP_APPROVE] = {"approve", approve_step},       /* a person's decision, if the policy requires one */
    [STEP_NOTE] = {"note", record_step_note},         /* records the decision before anything is sent */
    [STEP_FORWARD] = {"forward", forward_step},       /* to the server, once a channel is ready */
    [STEP_AWAIT] = {"await", await_step},             /* waits for its answer */
    [STEP_FILTER] = {"filter", step_filter},          /* edits the answer for the client */
    [STEP_SETTLE] = {"settle", judge_step_settle},    /* keeps or refunds its reservations */
    [STEP_RECORD] = {"record", record_step_outcome},  /* records the result */
    [STEP_REPLY] = {"reply", step_reply},             /* to the client */
};

/* Passes of FILTER. Each returns CALL_NEXT to go on; anything else ends the step. */
static const struct {
    enum call_next (*run)(struct call *c);
    bool results_only; /* skipped for errors */
} passes[] = {
    /* First the passes that replace the response: no other pass may see one that the client does not get. */
    {adapt_retry},            /* a refusal that is handled by a retry */
    {task_answer},            /* a task of the other era */
    {results_begin},          /* the answer, under the client's own id */
    {results_reconsider_era}, /* initialize was refused by a modern server */
    {adapt_answer},           /* translated to the client's era */
    {input_filter},           /* questions of the server that may not be asked */
    {rename_filter},          /* names of many servers */
    /* Then what the gate learns from it, before anything is removed. */
    {results_learn, true},            /* the server's description; the client's subscriptions */
    {results_keep_private, true},     /* no cache may serve it to other principals */
    {judge_filter_size, true},        /* withholds a result that is too large */
    {results_initialized, true},      /* stores the negotiated parameters for the session */
    {clean_filter_description, true}, /* poisoned instructions */
    {clean_filter_skills, true},      /* skills that are poisoned, or differ from their pins */
    {clean_filter_result, true},      /* poisoned content */
    {judge_filter_shadow_size, true}, /* notes a cap in shadow mode */
    /* Personal data last: it must see the output of the other passes. Errors may contain some, too. */
    {redact_filter},
    /* Lists are not redacted: clients send the names in them back. */
    {results_filter_tools, true}, /* removes tools that the client may not see */
    {results_subscription, true}, /* the client's own id in a subscription */
};

static void (*const ends[])(struct call *) = {
    gather_end,  approve_end,     input_forget, park_leave, listen_leave,
    vault_leave, channel_release, record_end,   NULL,
};

const struct call_walk steps_walk = {
    .steps = steps,
    .count = STEP_COUNT,
    .fail = STEP_SETTLE,
    .done = STEP_REPLY,
    .judge = STEP_DECIDE,
    .gather = STEP_AWAIT,
    .answered = STEP_FILTER,
    .resend = STEP_FORWARD,
    .ends = ends,
    .cancel = await_cancel,
    .pause = await_pause,
};

static enum call_next step_filter(struct call *c) {
    /* A notification, or an answer of the gate itself. */
    if (!c->response)
        return CALL_NEXT;
    for (size_t i = 0; i < ARRAY_LEN(passes); i++) {
        if (passes[i].results_only && c->response->rpc.kind != RPC_RESULT)
            continue;
        enum call_next next = passes[i].run(c);
        if (next != CALL_NEXT)
            return next;
    }
    return CALL_NEXT;
}

static enum call_next step_reply(struct call *c) {
    if (!redact_stored(c))
        return CALL_WAIT;
    call_reply(c);
    return CALL_NEXT;
}
