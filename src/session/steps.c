/* The walk of one call: its steps, and the passes of FILTER, in the order in which they run. A front receives
 * and parses a message (RECV, PARSE); from then on it stands in exactly one of the steps below. A denied or
 * failed call skips to SETTLE, so that what it holds is given back and what happened is recorded before
 * anything is answered. Calls made from inside the gate enter at IDENTIFY like every other call. */
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
    [STEP_IDENTIFY] = {"identify", identify_step}, /* who asks, and which method */
    [STEP_ROUTE] = {"route", route_step},          /* what it is about, and which server it goes to */
    [STEP_RESTORE] = {"restore",
                      restore_step}, /* tokens in its arguments become values, so that they are judged */
    [STEP_DECIDE] = {"decide", judge_step_decide},    /* the policy's verdict */
    [STEP_RESERVE] = {"reserve", judge_step_reserve}, /* its limits: all of them or none */
    [STEP_APPROVE] = {"approve", approve_step},       /* a person's, where the policy asks for one */
    [STEP_NOTE] = {"note", record_step_note},        /* the decision goes on record before anything is done */
    [STEP_FORWARD] = {"forward", forward_step},      /* to the server, as soon as a channel is ready */
    [STEP_AWAIT] = {"await", await_step},            /* its answer */
    [STEP_FILTER] = {"filter", step_filter},         /* what of the answer the client may see */
    [STEP_SETTLE] = {"settle", judge_step_settle},   /* what its limits held is kept or given back */
    [STEP_RECORD] = {"record", record_step_outcome}, /* the result goes on record */
    [STEP_REPLY] = {"reply", step_reply},            /* to the client */
};

/* Passes of FILTER. Each returns CALL_NEXT to go on; anything else ends the step. */
static const struct {
    enum call_next (*run)(struct call *c);
    bool results_only; /* an error skips it */
} passes[] = {
    /* First what replaces the response: nothing else may see one that the client does not get. */
    {adapt_retry},            /* a refusal that is met by sending the call once more */
    {task_answer},            /* a task of the other era */
    {results_begin},          /* the answer, under the client's own id */
    {results_reconsider_era}, /* initialize was refused by a modern server */
    {adapt_answer},           /* translated to the client's era */
    {input_filter},           /* questions of the server that may not be asked */
    {rename_filter},          /* names of many servers */
    /* Then what the gate learns from it, before anything is taken out. */
    {results_learn, true},            /* the server's description; what the client has subscribed to */
    {results_keep_private, true},     /* no cache may serve it to other principals */
    {judge_filter_size, true},        /* a result that is too large is withheld */
    {results_initialized, true},      /* what was agreed holds for the session */
    {clean_filter_description, true}, /* poisoned instructions */
    {clean_filter_skills, true},      /* skills that are poisoned, or not as accepted */
    {clean_filter_result, true},      /* poisoned content */
    {judge_filter_shadow_size, true}, /* a cap in shadow mode is noted */
    /* Personal data last: it must see the output of the other passes. Errors may contain some, too. */
    {redact_filter},
    /* Lists are not redacted: clients send the names in them back. */
    {results_filter_tools, true}, /* tools that the client may not see */
    {results_subscription, true}, /* the client's own id of its subscription */
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
    /* A notification, or the gate has answered. */
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
