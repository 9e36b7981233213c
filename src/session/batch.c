#include "session/batch.h"

#include "base/mem.h"
#include "call/answer.h"
#include "record/record.h"
#include "session/limits.h"
#include "session/session.h"
#include "upstream/era.h"

#include <string.h>

struct part {
    struct call_sink sink;
    struct session_batch *batch;
    struct slice id; /* raw; of a request */
    struct msg *msg; /* until it is started; NULL for an element that is not a message */
};

struct session_batch {
    struct session *session;
    struct call_sink *sink; /* NULL when the client has gone */
    bool starting;
    struct arena arena; /* ids */
    size_t requests;
    size_t open;        /* elements without an answer so far */
    struct buf answers; /* "[" and the answers so far, in the order in which they came */
    size_t count;
    struct part parts[];
};

static const struct call_sink_ops part_ops;

bool batch_is(struct slice text) { return slice_starts(slice_trim(text), SLICE("[")); }

bool batch_wants_answer(const struct session_batch *b) { return b->requests || b->answers.len; }

/* ---- reading ---- */

static void batch_free(struct session_batch *b) {
    for (size_t i = 0; i < b->count; i++)
        msg_unref(b->parts[i].msg);
    buf_free(&b->answers);
    arena_free(&b->arena);
    free(b);
}

static void put_answer(struct session_batch *b, struct slice text) {
    buf_put_char(&b->answers, b->answers.len ? ',' : '[');
    buf_put_slice(&b->answers, text);
}

static bool claims_newer_era(const struct msg *m) {
    return m->rpc.params && tape_path(&m->tape, m->rpc.params, "_meta", UP_META_VERSION, NULL);
}

/* Answers to two requests with the same id could not be distinguished. */
static bool id_is_taken(const struct session_batch *b, const struct msg *m, struct arena *a) {
    struct slice key = call_id_key(&m->tape, m->rpc.id, a);
    for (size_t i = 0; i < b->count; i++) {
        const struct msg *other = b->parts[i].msg;
        if (other && other->rpc.kind == RPC_REQUEST &&
            slice_eq(key, call_id_key(&other->tape, other->rpc.id, a)))
            return true;
    }
    return false;
}

static const char *read_part(struct session_batch *b, struct block *block, struct slice bytes,
                             struct arena *a) {
    const char *why = NULL;
    struct msg_refusal refusal;
    struct msg *m = msg_admit(&b->session->core->up.msgs, block, bytes, a, &refusal);
    struct part *part = &b->parts[b->count];
    *part = (struct part){.sink = {.ops = &part_ops}, .batch = b};
    if (!m) {
        record_refusal(b->session->core, &(struct refusal){.kind = REFUSAL_MALFORMED,
                                                           .who = b->session->principal,
                                                           .session = b->session,
                                                           .server = b->session->only,
                                                           .why = slice_str(refusal.why)});
        put_answer(b, answer_error_text(a, refusal.id, refusal.code, refusal.why));
        return NULL;
    }
    if (claims_newer_era(m))
        why = "the revision that a message of this batch names has no batches";
    else if (m->rpc.kind == RPC_REQUEST && tape_eq(&m->tape, m->rpc.method, SLICE("initialize")))
        why = "initialize cannot be part of a batch";
    else if (m->rpc.kind == RPC_REQUEST && id_is_taken(b, m, a))
        why = "two requests of this batch have the same id";
    part->msg = m;
    if (m->rpc.kind == RPC_REQUEST) {
        part->id = arena_dup(&b->arena, tape_raw(&m->tape, m->rpc.id));
        b->requests++;
    }
    b->count++;
    return why;
}

static const char *read_all(struct session_batch *b, struct block *block, const struct tape *t) {
    const char *why = NULL;
    cleanup_arena struct arena a;
    arena_init(&a);
    TAPE_FOR_ELEM(t, 0, i) {
        if (!why)
            why = read_part(b, block, tape_raw(t, i), &a);
    }
    return why;
}

struct session_batch *batch_read(struct session *s, struct block *block, struct slice bytes, int *ret_code,
                                 const char **ret_why) {
    struct session_batch *b = NULL;
    cleanup_tape struct tape t;
    tape_init(&t);
    enum tape_fault fault = tape_parse(&t, bytes, NULL);
    *ret_code =
        fault == TAPE_OK || fault == TAPE_DUPLICATE || fault == TAPE_DEPTH ? RPC_INVALID_REQUEST : RPC_PARSE;
    *ret_why = NULL;
    if (!s->version[0] || strcmp(s->version, RPC_NO_BATCHES_SINCE) >= 0) {
        *ret_why = "batches are not supported";
        *ret_code = RPC_INVALID_REQUEST;
    } else if (fault != TAPE_OK) {
        *ret_why = tape_fault_text(fault);
    } else if (t.has_nul) {
        *ret_why = "U+0000 in a string";
    } else if (!tape_node(&t, 0)->count || tape_node(&t, 0)->count > BATCH_MAX) {
        *ret_why = tape_node(&t, 0)->count ? "too many messages in a batch" : "a batch must not be empty";
    } else {
        size_t count = tape_node(&t, 0)->count;
        b = mem_zalloc(sizeof(*b) + count * sizeof(struct part));
        b->session = s;
        arena_init(&b->arena);
        buf_init(&b->answers, BATCH_BYTES_MAX + BATCH_MAX * BATCH_ERROR_MAX);
        *ret_why = read_all(b, block, &t);
    }
    if (b && *ret_why) {
        batch_free(b);
        b = NULL;
    }
    return b;
}

/* ---- running ---- */

static void finish(struct session_batch *b) {
    struct call_sink *sink = b->sink;
    if (sink && b->answers.len) {
        cleanup_arena struct arena a;
        arena_init(&a);
        buf_put_char(&b->answers, ']');
        struct splice text;
        splice_init(&text, buf_slice(&b->answers), &a);
        struct session_out out = {.text = &text};
        sink->ops->reply(sink, &out);
    } else if (sink) {
        sink->ops->none(sink);
    }
    batch_free(b);
}

void batch_run(struct session_batch *b, struct call_sink *sink) {
    b->sink = sink;
    b->open = b->requests;
    b->starting = true;
    for (size_t i = 0; i < b->count; i++) {
        struct part *part = &b->parts[i];
        struct msg *m = steal(part->msg);
        session_receive(b->session, m, m->rpc.kind == RPC_REQUEST ? &part->sink : NULL);
        msg_unref(m);
    }
    b->starting = false;
    if (!b->open)
        finish(b);
}

static void part_over(struct session_batch *b) {
    b->open--;
    if (!b->open && !b->starting)
        finish(b);
}

static void part_reply(struct call_sink *sink, const struct session_out *out) {
    struct session_batch *b = container_of(sink, struct part, sink)->batch;
    if (out->msg)
        msg_flatten(out->msg); /* the array may have to fit on one line */
    if (b->answers.len + splice_len(out->text) <= BATCH_BYTES_MAX) {
        buf_put_char(&b->answers, b->answers.len ? ',' : '[');
        splice_write(out->text, &b->answers);
    } else {
        cleanup_arena struct arena a;
        arena_init(&a);
        put_answer(b, answer_error_text(&a, container_of(sink, struct part, sink)->id, RPC_INTERNAL,
                                        "the answers of this batch are too large together"));
    }
    part_over(b);
}

static void part_event(struct call_sink *sink, const struct session_out *out) {
    struct session_batch *b = container_of(sink, struct part, sink)->batch;
    if (b->sink)
        b->sink->ops->event(b->sink, out);
}

static void part_streaming(struct call_sink *sink, int64_t retry_ms, bool left) {
    (void)sink, (void)retry_ms, (void)left; /* the other calls of the batch continue */
}

static void part_none(struct call_sink *sink) { part_over(container_of(sink, struct part, sink)->batch); }

static const struct call_sink_ops part_ops = {
    .reply = part_reply, .event = part_event, .streaming = part_streaming, .none = part_none};

void batch_orphan(struct session_batch *b) {
    b->sink = NULL;
    for (size_t i = 0; i < b->count; i++) {
        struct call *call = b->parts[i].sink.call;
        if (!call)
            continue;
        call_orphan(call);
        b->open--;
    }
    if (!b->starting)
        batch_free(b);
}

void batch_pause(struct session_batch *b, bool on) {
    for (size_t i = 0; i < b->count; i++)
        if (b->parts[i].sink.call)
            call_pause(b->parts[i].sink.call, on);
}
