#include "era/input.h"

#include "approval/approve.h"
#include "base/mem.h"
#include "base/rand.h"
#include "call/answer.h"
#include "call/client_ask.h"
#include "channel/await.h"
#include "channel/channel.h"
#include "decision/reverse.h"
#include "era/limits.h"
#include "mcp/translate.h"
#include "privacy/redact.h"
#include "wire/emit.h"

struct question {
    struct slice key;    /* raw */
    struct slice answer; /* raw; empty before */
    uint64_t ask;        /* the id that the client gets; 0 when it was not asked */
    bool elicits;
};

/* A task repeats a question until it has processed the answer. */
struct answered {
    struct answered *next;
    struct slice key; /* raw */
};

struct call_input {
    uint32_t count;
    struct answered *answered;
    size_t question_count;
    size_t open;
    struct slice state; /* raw, or empty */
    struct question questions[INPUT_QUESTIONS_MAX];
};

static bool of_task(const struct call *c) {
    return slice_is(c->method, "tasks/result") || slice_is(c->method, "tasks/get");
}

/* An answer with questions; for a task, one that waits for answers. */
static bool asks(const struct call *c, uint32_t *ret_requests) {
    const struct msg *m = c->response;
    *ret_requests = 0;
    if (m->rpc.kind != RPC_RESULT || !tape_is(&m->tape, m->rpc.body, TAPE_OBJECT))
        return false;
    uint32_t type = tape_get_str(&m->tape, m->rpc.body, of_task(c) ? "status" : "resultType");
    *ret_requests = tape_get_str(&m->tape, m->rpc.body, "inputRequests");
    return type && tape_eq(&m->tape, type, SLICE("input_required"));
}

static bool was_sent(const struct call *c, struct slice key) {
    for (const struct answered *t = c->input ? c->input->answered : NULL; t; t = t->next)
        if (slice_eq(t->key, key))
            return true;
    return false;
}

bool input_continue(const struct call *c) {
    const struct msg *m = c->response;
    uint32_t requests;
    if (!asks(c, &requests) || !requests || !tape_is(&m->tape, requests, TAPE_OBJECT))
        return false;
    TAPE_FOR_MEMBER(&m->tape, requests, key) {
        if (!was_sent(c, tape_raw(&m->tape, key)))
            return true;
    }
    return false;
}

static uint32_t read_question(const struct tape *t, uint32_t node, struct arena *a, struct slice *ret_method,
                              uint32_t *ret_params) {
    uint32_t method = tape_is(t, node, TAPE_OBJECT) ? tape_get_str(t, node, "method") : 0;
    *ret_params = method ? tape_get_str(t, node, "params") : 0;
    if (!method || !tape_is(t, method, TAPE_STRING) || (*ret_params && !tape_is(t, *ret_params, TAPE_OBJECT)))
        return 0;
    *ret_method = tape_text(t, method, a);
    return translate_ask_bit(*ret_method, t, *ret_params);
}

static const char *judge_questions(struct call *c, uint32_t requests) {
    const struct msg *m = c->response;
    if (!tape_is(&m->tape, requests, TAPE_OBJECT))
        return "inputRequests is not an object";
    TAPE_FOR_MEMBER(&m->tape, requests, key) {
        struct slice method;
        uint32_t params;
        if (!read_question(&m->tape, key + 1, &c->arena, &method, &params))
            return "The server asks for something that clients do not know";
        const char *why = reverse_judge_request(c->channel, method, &m->tape, params, &c->arena);
        if (why)
            return why;
    }
    return NULL;
}

enum call_next input_filter(struct call *c) {
    const struct msg *m = c->response;
    uint32_t requests;
    if (!c->modern || c->cross_era || !(translate_may_ask(c->method) || of_task(c)) || !asks(c, &requests))
        return CALL_NEXT;
    const char *why = requests ? judge_questions(c, requests) : NULL;
    if (!why) {
        uint32_t state = tape_get_str(&m->tape, m->rpc.body, "requestState");
        bool text = state && tape_is(&m->tape, state, TAPE_STRING);
        approve_extend(c, text ? tape_text(&m->tape, state, &c->arena) : (struct slice){0});
        return CALL_NEXT;
    }
    call_deny_as(c, POLICY_BY_RULE, c->verdict.rule, slice_str(why));
    answer_withheld(c, "denied");
    return CALL_FAIL;
}

/* ---- a legacy client ---- */

static void on_answered(struct call *c, uint64_t ask, struct msg *m);

static enum call_next fail(struct call *c, int code, const char *why) {
    return answer_refuse(c, code, 0, why);
}

static void settle(struct call_input *r, struct question *q, struct slice answer) {
    q->answer = answer;
    q->ask = 0;
    r->open--;
}

static const char *ask_one(struct call *c, struct question *q, uint32_t node) {
    const struct tape *t = &c->response->tape;
    struct slice method;
    uint32_t params, bit = read_question(t, node, &c->arena, &method, &params);
    if (!bit)
        return "the server asks for something that clients do not know";
    if (!(c->session->client_bits & bit))
        return "the server asks for something that the client has not declared";
    q->elicits = bit & (TRANSLATE_FORM | TRANSLATE_URL);
    const char *denied = reverse_judge_request(c->channel, method, t, params, &c->arena);
    if (denied && !q->elicits)
        return denied;
    char name[24];
    rand_token(name, sizeof(name) - 1);
    struct slice text = params ? translate_ask(t, params, name, &c->arena) : SLICE("{}");
    if (!denied && !redact_params(c->session, c->server, &text, &c->arena)) {
        denied = "the server's question contains data that the client must not see";
        if (!q->elicits)
            return denied;
    }
    if (denied)
        settle(c->input, q, SLICE("{\"action\":\"decline\"}"));
    else if (!client_ask(c, method, text, on_answered, &q->ask))
        return "the client cannot be asked";
    return NULL;
}

static struct question *add_question(struct call *c, struct slice key) {
    struct call_input *r = c->input;
    struct question *q = &r->questions[r->question_count++];
    *q = (struct question){.key = arena_dup(&c->arena, key)};
    struct answered *t = arena_new(&c->arena, struct answered);
    *t = (struct answered){.next = r->answered, .key = q->key};
    r->answered = t;
    r->open++;
    return q;
}

enum call_next input_start(struct call *c) {
    const struct msg *m = c->response;
    uint32_t requests;
    if (!asks(c, &requests))
        return CALL_NEXT;
    struct call_input *r = c->input ? c->input : arena_new(&c->arena, struct call_input);
    c->input = r;
    uint32_t state = tape_get_str(&m->tape, m->rpc.body, "requestState");
    bool bad = requests && (!tape_is(&m->tape, requests, TAPE_OBJECT) ||
                            tape_node(&m->tape, requests)->count > INPUT_QUESTIONS_MAX);
    if ((!translate_may_ask(c->method) && !of_task(c)) || bad || (!requests && !state))
        return fail(c, RPC_INTERNAL, "the server's questions cannot be read");
    if (++r->count > INPUT_ROUNDS_MAX)
        return fail(c, RPC_INTERNAL, "the server asked for input too many times");
    r->state = state ? arena_dup(&c->arena, tape_raw(&m->tape, state)) : (struct slice){0};
    r->question_count = 0;
    r->open = 0;
    if (requests) {
        TAPE_FOR_MEMBER(&m->tape, requests, key) {
            if (of_task(c) && was_sent(c, tape_raw(&m->tape, key)))
                continue;
            struct question *q = add_question(c, tape_raw(&m->tape, key));
            const char *why = ask_one(c, q, key + 1);
            if (why)
                return fail(c, RPC_INVALID_REQUEST, why);
        }
    }
    return r->open ? CALL_WAIT_RESEND : CALL_RESEND;
}

static void on_answered(struct call *c, uint64_t ask, struct msg *m) {
    struct call_input *r = c->input;
    await_touch(c);
    for (size_t i = 0; i < r->question_count; i++) {
        struct question *q = &r->questions[i];
        if (q->ask != ask)
            continue;
        if (m && m->rpc.kind == RPC_RESULT)
            settle(r, q, arena_dup(&c->arena, tape_raw(&m->tape, m->rpc.body)));
        else if (q->elicits)
            settle(r, q, SLICE("{\"action\":\"cancel\"}"));
        else {
            q->ask = 0;
            answer_fail(c, "the client refused what the server asked for");
            return;
        }
    }
    if (!r->open)
        call_resume(c);
}

struct slice input_members(const struct call *c) {
    const struct call_input *r = c->input;
    if (!r || !r->count)
        return (struct slice){0};
    struct arena *a = (struct arena *)(uintptr_t)&c->arena;
    struct buf out;
    buf_init(&out, MSG_BYTES_MAX);
    if (r->question_count) {
        buf_put_str(&out, "\"inputResponses\":{");
        for (size_t i = 0; i < r->question_count; i++) {
            buf_put_str(&out, i ? "," : "");
            buf_put_slice(&out, r->questions[i].key);
            buf_put_char(&out, ':');
            buf_put_slice(&out, r->questions[i].answer);
        }
        buf_put_char(&out, '}');
    }
    if (r->state.len)
        buf_printf(&out, "%s\"requestState\":%.*s", out.len ? "," : "", SLICE_FMT(r->state));
    struct slice text = arena_dup(a, buf_slice(&out));
    buf_free(&out);
    return text;
}

void input_forget(struct call *c) {
    for (size_t i = 0; c->input && i < c->input->question_count; i++)
        if (c->input->questions[i].ask)
            client_ask_forget(c->session, c->input->questions[i].ask);
}
