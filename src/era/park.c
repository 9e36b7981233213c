#include "era/park.h"

#include "approval/approve.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sha.h"
#include "call/answer.h"
#include "call/principal.h"
#include "channel/channel.h"
#include "channel/choice.h"
#include "channel/outbox.h"
#include "decision/reverse.h"
#include "era/limits.h"
#include "era/question.h"
#include "era/request_state.h"
#include "mcp/translate.h"
#include "server/server.h"
#include "wire/emit.h"

#include <stdio.h>

struct park_question {
    struct server_question asked;
    bool sent_to_client;    /* the client's id of it */
    char hash[SHA_HEX + 1]; /* hash of method and params */
};

/* Earlier answers of the client; a node that repeats the call can send them again. */
struct park_answer {
    struct list node;
    char hash[SHA_HEX + 1];
    bool used;
    size_t len;
    char json[];
};

struct park_answers {
    struct list list;
};

struct park {
    struct own_request own;
    struct link_req req;
    uint64_t number;
    struct session *session;
    struct channel *ch; /* it counts as a user of the channel, unless a call does */
    struct call *call;  /* the call that it belongs to now, or NULL */
    struct io_timer timer;
    uint64_t since_ms; /* when it was parked */
    char subject[SHA_HEX + 1];
    uint32_t last;
    struct list questions;
    struct list answers;
    size_t answers_size;
    struct msg *response; /* messages that came while no call waited for it */
    char *failure;
};

/* All parked requests. */
struct parks {
    struct slots slots;
    uint64_t yielded[PARK_YIELDED_MAX]; /* numbers of requests that gave up their link; 0: free. The oldest is
                                           replaced. */
    uint32_t yielded_next;
};

void park_init(struct core *core) {
    core->parks = mem_zalloc(sizeof(*core->parks));
    slots_init(&core->parks->slots);
}

void park_free_all(struct core *core) {
    slots_free(&core->parks->slots);
    free(steal(core->parks));
}

static struct io_loop *park_loop(const struct park *p) { return p->session->core->up.loop; }

/* ---- life ---- */

static struct park_question *question_at(const struct list *n) {
    return container_of(n, struct park_question, asked.node);
}

static void question_free(struct park_question *q) {
    question_clear(&q->asked);
    free(q);
}

static void leave_channel(struct park *p) {
    struct channel *ch = p->ch;
    if (!ch)
        return;
    p->ch = NULL;
    if (ch->parked == p)
        ch->parked = NULL;
    channel_leave(ch);
}

static void park_free(struct park *p) {
    io_timer_stop(park_loop(p), &p->timer);
    slots_remove(&p->session->core->parks->slots, p->number);
    link_end(&p->req);
    while (!list_empty(&p->questions))
        question_free(question_at(p->questions.next));
    while (!list_empty(&p->answers)) {
        struct list *n = list_pop(&p->answers);
        free(container_of(n, struct park_answer, node));
    }
    msg_unref(p->response);
    free(p->failure);
    if (p->call)
        p->call->park = NULL;
    leave_channel(p);
    free(p);
}

void park_leave(struct call *c) {
    if (c->park)
        park_free(c->park);
}

void park_drop(const struct channel *ch) {
    struct slots *parks = &ch->session->core->parks->slots;
    uint32_t at = 0;
    struct park *p;
    while ((p = slots_next(parks, &at))) {
        if (p->ch == ch)
            park_free(p);
        else if (p->call && p->call->channel == ch)
            park_free(p);
    }
}

static void on_answer(struct own_request *own, struct msg *m) {
    struct park *p = container_of(own, struct park, own);
    p->response = msg_ref(m);
}

static void on_failed(struct own_request *own, const char *why) {
    struct park *p = container_of(own, struct park, own);
    p->failure = mem_dup(why, strlen(why));
}

static bool add_question(struct park *p, struct channel *ch, const struct msg *m, struct slice method);
static size_t question_count(const struct park *p);

/* A message of the server while the client is being asked: another question, or a message that cannot be
 * delivered. */
static void on_message(struct own_request *own, struct msg *m) {
    struct park *p = container_of(own, struct park, own);
    struct arena a;
    arena_init(&a);
    struct slice method = tape_text(&m->tape, m->rpc.method, &a);
    if (m->rpc.kind == RPC_REQUEST) {
        const char *why = reverse_judge_request(p->ch, method, &m->tape, m->rpc.params, &a);
        if (!why && question_count(p) >= INPUT_QUESTIONS_MAX)
            why = "too many questions";
        if (why || !translate_ask_bit(method, &m->tape, m->rpc.params))
            channel_refuse(p->ch, tape_raw(&m->tape, m->rpc.id), RPC_INVALID_REQUEST, why ? why : "unknown");
        else
            add_question(p, p->ch, m, method);
    }
    arena_free(&a);
}

static struct park *park_new(struct call *c) {
    struct core *core = c->session->core;
    if (core->parks->slots.used >= PARK_MAX)
        return NULL;
    struct park *p = mem_zalloc(sizeof(*p));
    p->own = (struct own_request){OWN_REQUEST_MAGIC, on_answer, on_failed, on_message};
    p->session = c->session;
    p->call = c;
    list_init(&p->questions);
    list_init(&p->answers);
    p->number = slots_add(&core->parks->slots, p);
    c->park = p;
    return p;
}

/* ---- identity of the call ---- */

static void hash_text(struct slice text, char hex[SHA_HEX + 1]) {
    sha_256_hex(text, hex);
    hex[SHA_HEX] = '\0';
}

/* A hash of method, server, name and arguments: a state is valid only for its own call. */
static void hash_subject(struct call *c, char hex[SHA_HEX + 1]) {
    const struct msg *m = c->request;
    uint32_t args = rpc_param(&m->tape, &m->rpc, "arguments");
    struct slice raw = args ? tape_raw(&m->tape, args) : (struct slice){0};
    struct slice text =
        arena_printf(&c->arena, "%.*s\n%s\n%.*s\n%.*s", SLICE_FMT(c->method), c->server->up.name,
                     SLICE_FMT(c->name), SLICE_FMT(c->args_hash.len ? c->args_hash : raw));
    hash_text(text, hex);
}

/* ---- asking ---- */

static struct slice state_text(struct park *p, struct arena *a) {
    struct core *core = p->session->core;
    struct buf out;
    struct emit e;
    char node[17];
    buf_init(&out, REQUEST_STATE_MAX);
    hex_str(core->node, sizeof(core->node), node);
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "node");
    emit_cstr(&e, node);
    emit_key(&e, "park");
    emit_int(&e, (int64_t)p->number);
    emit_key(&e, "until");
    emit_int(&e, (int64_t)(clock_wall_ms() + request_state_ms(core)));
    emit_key(&e, "for");
    emit_cstr(&e, p->subject);
    emit_key(&e, "asked");
    emit_object(&e);
    LIST_FOR (n, &p->questions) {
        struct park_question *q = question_at(n);
        char key[QUESTION_KEY_MAX];
        emit_key(&e, question_key(&q->asked, key).ptr);
        emit_cstr(&e, q->hash);
    }
    emit_object_end(&e);
    emit_key(&e, "answered");
    emit_array(&e);
    LIST_FOR (n, &p->answers) {
        struct park_answer *kept = container_of(n, struct park_answer, node);
        emit_array(&e);
        emit_cstr(&e, kept->hash);
        emit_raw(&e, slice_of(kept->json, kept->len));
        emit_array_end(&e);
    }
    emit_array_end(&e);
    emit_object_end(&e);
    struct slice sealed =
        out.full ? (struct slice){0}
                 : request_state_encrypt(core, slice_str(p->session->principal->id), buf_slice(&out), a);
    buf_free(&out);
    return sealed;
}

/* The answer to the call: the open questions. */
static struct slice questions_text(struct park *p, struct call *c, struct slice state) {
    struct buf out;
    struct emit e;
    buf_init(&out, MSG_BYTES_MAX);
    answer_emit(c, &e, &out);
    emit_key(&e, "resultType");
    emit_cstr(&e, "input_required");
    emit_key(&e, "inputRequests");
    emit_object(&e);
    LIST_FOR (n, &p->questions) {
        struct park_question *q = question_at(n);
        question_emit(&q->asked, &e);
        q->sent_to_client = true;
    }
    emit_object_end(&e);
    emit_key(&e, "requestState");
    emit_str(&e, state);
    if (c->channel->server_info.len) {
        emit_key(&e, "_meta");
        emit_object(&e);
        emit_key(&e, UP_META_SERVER);
        emit_raw(&e, c->channel->server_info);
        emit_object_end(&e);
    }
    emit_object_end(&e);
    emit_object_end(&e);
    struct slice text = out.full ? (struct slice){0} : arena_dup(&c->arena, buf_slice(&out));
    buf_free(&out);
    return text;
}

/* The client did not answer in time: cancels the server's request. */
static void on_expired(struct io_timer *timer) {
    struct park *p = container_of(timer, struct park, timer);
    struct channel *ch = p->ch;
    if (ch && ch->link && p->req.id)
        channel_cancel(ch, p->req.id, SLICE("no answer in time"));
    park_free(p);
}

static uint64_t parked_ms(const struct park *p) { return io_now_ms(park_loop(p)) - p->since_ms; }

/* The client may still answer: its next call is then repeated. */
static void on_yield(struct io_timer *timer) {
    struct park *p = container_of(timer, struct park, timer);
    struct parks *all = p->session->core->parks;
    struct channel *first = p->ch->first;
    if (list_empty(&first->waiting_exclusive)) { /* another request has made room */
        uint64_t keep = request_state_ms(p->session->core), past = parked_ms(p);
        io_timer_arm(park_loop(p), timer, keep > past ? keep - past : 0, on_expired);
        return;
    }
    all->yielded[all->yielded_next++ % PARK_YIELDED_MAX] = p->number;
    if (p->ch->link && p->req.id)
        channel_cancel(p->ch, p->req.id, SLICE("another call needs the link"));
    LIST_FOR (n, &p->questions)
        channel_refuse(p->ch, slice_str(question_at(n)->asked.server_id), RPC_INVALID_REQUEST,
                       "the call was cancelled");
    park_free(p); /* resumes the call that waited */
    park_yield(first);
}

void park_yield(struct channel *first) {
    struct park *oldest = NULL, *p;
    uint32_t at = 0;
    while ((p = slots_next(&first->session->core->parks->slots, &at)))
        if (p->ch && p->ch->first == first && p->ch->parked == p &&
            (!oldest || p->since_ms < oldest->since_ms))
            oldest = p;
    if (!oldest || list_empty(&first->waiting_exclusive))
        return;
    uint64_t past = parked_ms(oldest);
    io_timer_arm(park_loop(oldest), &oldest->timer, past < PARK_YIELD_MS ? PARK_YIELD_MS - past : 0,
                 on_yield);
}

/* Did that request give up its link? Says so once. */
static bool take_yielded(struct parks *all, uint64_t number) {
    for (uint32_t i = 0; i < PARK_YIELDED_MAX; i++) {
        if (all->yielded[i] != number)
            continue;
        all->yielded[i] = 0;
        return true;
    }
    return false;
}

/* All questions that the server asks together have arrived: the client gets them, and the request is
 * parked. */
static void on_gathered(struct io_timer *timer) {
    struct park *p = container_of(timer, struct park, timer);
    struct call *c = p->call;
    struct slice state = state_text(p, &c->arena);
    struct slice text = state.len ? questions_text(p, c, state) : state;
    if (!text.len || !c->sink) {
        answer_fail(c, "the server's questions are too large to be asked");
        return;
    }
    approve_extend(c, state);
    link_move(&c->req, &p->req, &p->own);
    p->ch = c->channel;
    p->ch->users++;
    if (p->ch->holder == c)
        p->ch->parked = p;
    p->call = NULL;
    c->park = NULL;
    p->since_ms = io_now_ms(park_loop(p));
    io_timer_arm(park_loop(p), &p->timer, request_state_ms(p->session->core), on_expired);
    park_yield(p->ch->first);
    answer_set(c, text);
    call_set_outcome(c, "input_required");
    call_conclude(c);
}

static void keep_answer(struct park *p, const char *hash, struct slice json) {
    if (p->answers_size + json.len > REQUEST_STATE_MAX / 2)
        return; /* another node will have to ask again */
    struct park_answer *kept = mem_zalloc(sizeof(*kept) + json.len);
    snprintf(kept->hash, sizeof(kept->hash), "%s", hash);
    kept->len = json.len;
    memcpy(kept->json, json.ptr, json.len);
    p->answers_size += json.len;
    list_push(&p->answers, &kept->node);
}

/* False: the client must not see its content, and the question was refused. */
static bool add_question(struct park *p, struct channel *ch, const struct msg *m, struct slice method) {
    cleanup_arena struct arena a;
    arena_init(&a);
    struct slice id = tape_raw(&m->tape, m->rpc.id);
    struct slice original, shown;
    if (!question_words(ch, &m->tape, m->rpc.params, &a, &original, &shown)) {
        channel_refuse(ch, id, RPC_INVALID_REQUEST,
                       "the question contains data that the client must not see");
        return false;
    }
    struct park_question *q = mem_zalloc(sizeof(*q));
    question_init(&q->asked, ++p->last, id, method, shown);
    /* a hash of the server's text: tokens may differ on another node */
    hash_text(arena_printf(&a, "%.*s\n%.*s", SLICE_FMT(method), SLICE_FMT(original)), q->hash);
    list_push(&p->questions, &q->asked.node);
    return true;
}

static size_t question_count(const struct park *p) {
    size_t n = 0;
    LIST_FOR (k, &p->questions)
        n++;
    return n;
}

/* The call of a question that came outside of any stream: the only one that can be asked. */
static struct call *only_asker(const struct channel *ch) {
    struct call *only = NULL;
    uint32_t at = 0;
    struct park *p;
    while ((p = slots_next(&ch->session->core->parks->slots, &at)))
        if (p->ch == ch)
            return NULL;
    LIST_FOR (n, &ch->session->calls) {
        struct call *c = container_of(n, struct call, node);
        if (c->channel != ch || !c->req.id || !translate_may_ask(c->method))
            continue;
        if (only)
            return NULL;
        only = c;
    }
    return only;
}

void park_ask(struct channel *ch, struct call *call, struct msg *m, struct slice method) {
    struct slice id = tape_raw(&m->tape, m->rpc.id);
    uint32_t bit = translate_ask_bit(method, &m->tape, m->rpc.params);
    if (!call && ch->parked) {
        if (bit && question_count(ch->parked) < INPUT_QUESTIONS_MAX)
            add_question(ch->parked, ch, m, method);
        else
            channel_refuse(ch, id, RPC_INVALID_REQUEST, "too many questions");
        return;
    }
    if (!call)
        call = only_asker(ch);
    if (!call || !call->sink || !call->req.id || !bit || !translate_may_ask(call->method)) {
        channel_refuse(ch, id, bit ? RPC_INVALID_REQUEST : RPC_METHOD_NOT_FOUND,
                       "no client can be asked here");
        return;
    }
    if (!(call->client_bits & bit)) {
        call->missing = bit;
        channel_refuse(ch, id, RPC_METHOD_NOT_FOUND, "the client has not declared that it can do this");
        return;
    }
    struct park *p = call->park ? call->park : park_new(call);
    if (!p || question_count(p) >= INPUT_QUESTIONS_MAX) {
        channel_refuse(ch, id, RPC_INTERNAL, "too many questions are open");
        return;
    }
    hash_subject(call, p->subject);
    if (!add_question(p, ch, m, method))
        return;
    struct park_question *q = question_at(p->questions.prev);
    if (call->answers) {
        LIST_FOR (n, &call->answers->list) {
            struct park_answer *kept = container_of(n, struct park_answer, node);
            if (kept->used || strcmp(kept->hash, q->hash) != 0)
                continue;
            kept->used = true;
            keep_answer(p, q->hash, slice_of(kept->json, kept->len)); /* for another node */
            question_answer(&q->asked, ch, slice_of(kept->json, kept->len));
            question_free(q);
            return;
        }
    }
    io_timer_arm(park_loop(p), &p->timer, PARK_GATHER_MS, on_gathered);
}

/* The elicitation of an error -32042, as a question; NULL when it may not be asked. */
static struct park_question *url_question(struct call *c, uint32_t node, uint32_t number, struct arena *a) {
    const struct tape *t = &c->response->tape;
    const struct slice method = SLICE("elicitation/create");
    if (!tape_is(t, node, TAPE_OBJECT) || translate_ask_bit(method, t, node) != TRANSLATE_URL ||
        reverse_judge_request(c->channel, method, t, node, a))
        return NULL;
    struct slice original, shown;
    if (!question_words(c->channel, t, node, a, &original, &shown))
        return NULL;
    struct park_question *q = mem_zalloc(sizeof(*q));
    question_init(&q->asked, number, SLICE("null"), method, shown);
    hash_text(arena_printf(a, "%.*s\n%.*s", SLICE_FMT(method), SLICE_FMT(original)), q->hash);
    return q;
}

bool park_urls(struct call *c) {
    const struct msg *m = c->response;
    uint32_t data = tape_get_str(&m->tape, m->rpc.body, "data");
    uint32_t list =
        data && tape_is(&m->tape, data, TAPE_OBJECT) ? tape_get_str(&m->tape, data, "elicitations") : 0;
    if (!list || !tape_is(&m->tape, list, TAPE_ARRAY) || !tape_node(&m->tape, list)->count ||
        tape_node(&m->tape, list)->count > INPUT_QUESTIONS_MAX)
        return false;
    /* Nothing is parked: the server has finished, and the client's next request is a new call. */
    struct park p = {.session = c->session};
    bool good = true;
    list_init(&p.questions);
    list_init(&p.answers);
    TAPE_FOR_ELEM(&m->tape, list, i) {
        struct park_question *q = good ? url_question(c, i, ++p.last, &c->arena) : NULL;
        good = q != NULL;
        if (q)
            list_push(&p.questions, &q->asked.node);
    }
    hash_subject(c, p.subject);
    struct slice state = good ? state_text(&p, &c->arena) : (struct slice){0};
    struct slice text = state.len ? questions_text(&p, c, state) : state;
    while (!list_empty(&p.questions))
        question_free(question_at(p.questions.next));
    if (!text.len)
        return false;
    answer_set(c, text);
    call_set_outcome(c, "input_required");
    return true;
}

void park_take_back(struct channel *ch, struct slice server_id) {
    uint32_t at = 0;
    struct park *p;
    while ((p = slots_next(&ch->session->core->parks->slots, &at))) {
        if (p->ch != ch && !(p->call && p->call->channel == ch))
            continue;
        LIST_FOR_SAFE (n, next, &p->questions) {
            struct park_question *q = question_at(n);
            if (slice_is(server_id, q->asked.server_id))
                question_free(q);
        }
        if (p->call && list_empty(&p->questions))
            io_timer_stop(park_loop(p), &p->timer);
    }
}

/* ---- the client's answers ---- */

static enum call_next refuse(struct call *c, const char *why) {
    return answer_refuse(c, RPC_INVALID_PARAMS, 0, why);
}

static uint32_t find_response(const struct msg *m, struct slice key) {
    uint32_t responses = tape_get_str(&m->tape, m->rpc.params, "inputResponses");
    uint32_t node =
        responses && tape_is(&m->tape, responses, TAPE_OBJECT) ? tape_get(&m->tape, responses, key) : 0;
    return node && tape_is(&m->tape, node, TAPE_OBJECT) ? node : 0;
}

/* Sends the answers to the server and attaches the request to this call; open questions are asked again. */
static enum call_next take_over(struct call *c, struct park *p) {
    struct channel *ch = p->ch;
    io_timer_stop(park_loop(p), &p->timer);
    channel_take_over(c, ch); /* with the place among its users */
    c->cross_era = true;
    call_set_sent(c, true);
    p->ch = NULL;
    if (ch->parked == p) {
        ch->parked = NULL;
        ch->holder = c;
        park_yield(ch->first); /* instead of this one */
    }
    p->call = c;
    c->park = p;
    if (p->failure)
        return answer_refuse(c, RPC_INTERNAL, 502, arena_dup(&c->arena, slice_str(p->failure)).ptr);
    if (p->response) {
        call_replace_response(c, steal(p->response));
        return CALL_NEXT;
    }
    if (!p->req.id)
        return refuse(c, "the call of this requestState has ended");
    link_move(&p->req, &c->req, c);
    bool open = false;
    LIST_FOR_SAFE (n, next, &p->questions) {
        struct park_question *q = question_at(n);
        char key[QUESTION_KEY_MAX];
        uint32_t node = q->sent_to_client ? find_response(c->request, question_key(&q->asked, key)) : 0;
        if (!node) {
            open = true;
            continue;
        }
        struct slice json = tape_raw(&c->request->tape, node);
        keep_answer(p, q->hash, json);
        question_answer(&q->asked, ch, json);
        question_free(q);
    }
    if (open)
        io_timer_arm(park_loop(p), &p->timer, 0, on_gathered);
    return CALL_NEXT;
}

static void keep_for_replay(struct call *c, struct slice hash, struct slice json) {
    struct park_answer *kept = arena_zalloc(&c->arena, sizeof(*kept) + json.len);
    snprintf(kept->hash, sizeof(kept->hash), "%.*s", SLICE_FMT(hash));
    kept->len = json.len;
    memcpy(kept->json, json.ptr, json.len);
    list_push(&c->answers->list, &kept->node);
}

/* Parked on another node, or before a restart: repeats the call and sends the earlier answers again. */
static void replay(struct call *c, const struct tape *t) {
    uint32_t asked = tape_get_str(t, 0, "asked"), answered = tape_get_str(t, 0, "answered");
    c->answers = arena_new(&c->arena, struct park_answers);
    list_init(&c->answers->list);
    TAPE_FOR_ELEM(t, answered, i) {
        if (tape_is(t, i, TAPE_ARRAY) && tape_node(t, i)->count == 2)
            keep_for_replay(c, tape_text(t, i + 1, &c->arena), tape_raw(t, tape_node(t, i + 1)->next));
    }
    TAPE_FOR_MEMBER(t, asked, key) {
        uint32_t node = find_response(c->request, tape_text(t, key, &c->arena));
        if (node)
            keep_for_replay(c, tape_text(t, key + 1, &c->arena), tape_raw(&c->request->tape, node));
    }
}

static bool is_this_node(const struct core *core, const struct tape *t, uint32_t node) {
    char text[17];
    hex_str(core->node, sizeof(core->node), text);
    return tape_eq(t, node, slice_str(text));
}

static bool resume(struct call *c, const struct tape *t, enum call_next *ret_next) {
    struct core *core = c->session->core;
    int64_t number, until;
    char subject[SHA_HEX + 1];
    hash_subject(c, subject);
    bool read =
        tape_int(t, tape_get_str(t, 0, "park"), &number) && tape_int(t, tape_get_str(t, 0, "until"), &until);
    if (!read || !tape_eq(t, tape_get_str(t, 0, "for"), slice_str(subject))) {
        *ret_next = refuse(c, "this requestState belongs to another call");
        return true;
    }
    if ((uint64_t)until < clock_wall_ms()) {
        *ret_next = refuse(c, "this requestState has expired");
        return true;
    }
    if (!is_this_node(core, t, tape_get_str(t, 0, "node")) || !number ||
        take_yielded(core->parks, (uint64_t)number)) {
        replay(c, t);
        return false;
    }
    struct park *p = slots_get(&core->parks->slots, (uint64_t)number);
    if (!p || p->session != c->session || p->call || !p->ch)
        *ret_next = refuse(c, "the call of this requestState has ended");
    else
        *ret_next = take_over(c, p);
    return true;
}

bool park_resume(struct call *c, enum call_next *ret_next) {
    const struct msg *m = c->request;
    if (c->answers || !m->rpc.params || !translate_may_ask(c->method))
        return false;
    struct slice sealed = tape_text_of(&m->tape, m->rpc.params, "requestState", &c->arena);
    if (!slice_starts(sealed, SLICE(REQUEST_STATE_MARK)))
        return false;
    channel_choice_read(c);
    struct slice text =
        request_state_decrypt(c->session->core, slice_str(c->session->principal->id), sealed, &c->arena);
    struct tape t;
    tape_init(&t);
    bool done = true;
    if (!text.len || tape_parse(&t, text, NULL) != TAPE_OK || !tape_is(&t, 0, TAPE_OBJECT))
        *ret_next = refuse(c, "this requestState was not made here");
    else
        done = resume(c, &t, ret_next);
    tape_free(&t);
    return done;
}

bool park_owner(const struct core *core, struct slice owner, const struct msg *m, struct arena *a,
                char ret_node[PARK_NODE]) {
    struct slice sealed = rpc_param_text(&m->tape, &m->rpc, "requestState", a);
    struct slice text = sealed.len ? request_state_decrypt(core, owner, sealed, a) : (struct slice){0};
    unsigned char ignored[(PARK_NODE - 1) / 2];
    cleanup_tape struct tape t;
    tape_init(&t);
    if (!text.len || tape_parse(&t, text, NULL) != TAPE_OK || !tape_is(&t, 0, TAPE_OBJECT))
        return false;
    struct slice name = tape_text_of(&t, 0, "node", a);
    if (!hex_get(name, ignored, sizeof(ignored)))
        return false;
    memcpy(ret_node, name.ptr, PARK_NODE - 1);
    ret_node[PARK_NODE - 1] = '\0';
    return true;
}
