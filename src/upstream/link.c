#include "upstream/link.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/openssl.h"
#include "upstream/pool.h"
#include "upstream/secret.h"
#include "wire/mask.h"
#include "wire/mend.h"

#include <signal.h>
#include <stdio.h>

void up_server_init(struct up_server *s, struct up_core *core) {
    *s = (struct up_server){.core = core};
    list_init(&s->idle_conns);
    list_init(&s->busy_conns);
    list_init(&s->conn_waiters);
    list_init(&s->secrets);
    list_init(&s->secret_waiters);
    list_init(&s->era.waiters);
}

int up_server_set_url(struct up_server *s, const char *url, struct err *err) {
    const char *why;
    if (strlen(url) > UP_URL_MAX)
        return err_set(err, "upstream URL is longer than %d bytes", UP_URL_MAX);
    if (http_parse_url(slice_str(url), &s->at, &why) < 0) {
        cleanup_arena struct arena a;
        arena_init(&a);
        return err_set(err, "upstream `%.*s`: %s", SLICE_FMT(mask_url(slice_str(url), &a)), why);
    }
    s->url = url;
    if (s->at.tls)
        openssl_load(true);
    struct slice path = s->at.target;
    slice_cut(&path, '?', &path);
    /* By convention this is the path of the older transport; trying it first saves a failing request. */
    s->use_sse = slice_ends(s->at.target, SLICE("/sse"));
    return 0;
}

void up_server_close(struct up_server *s, void (*unused)(struct up_server *s)) {
    up_era_free(s);
    up_pool_close(s);
    up_secrets_free(s);
    up_noise_end(&s->noise, s->core->loop);
    up_noise_end(&s->junk, s->core->loop);
    buf_free(&s->post_head);
    buf_free(&s->scratch);
    free(s->slashed);
    s->unused = unused;
    if (!s->link_count && unused)
        unused(s);
}

struct link *link_open(struct up_server *server, const struct link_events *events, void *owner) {
    struct link *l = server->transport ? server->transport()
                     : server->builtin ? link_builtin_new()
                     : server->argv    ? link_child_new()
                     : server->use_sse ? link_sse_new()
                                       : link_http_new();
    l->magic = LINK_MAGIC;
    l->server = server;
    server->link_count++;
    l->events = events;
    l->owner = owner;
    slots_init(&l->reqs);
    l->ops->start(l);
    return l;
}

void link_count_process(struct link *l, struct slice owner) {
    struct up_core *core = l->server->core;
    l->process = portion_take(&core->processes, owner, true, 0);
    core->process_count++;
}

bool link_begin(struct link *l, struct link_req *req, void *call) {
    uint64_t id = slots_add(&l->reqs, req);
    if (!id)
        return false;
    *req = (struct link_req){.id = id, .link = l, .call = call};
    return true;
}

bool link_send(struct link *l, const struct link_out *out, struct link_req *req) {
    CHECK_MAGIC(l, LINK_MAGIC);
    if (req)
        req->opens = out->opens;
    return l->is_up && l->ops->send(l, out, req);
}

static void link_forget(struct link_req *req) {
    slots_remove(&req->link->reqs, req->id);
    req->id = 0;
}

void link_end(struct link_req *req) {
    if (!req->id)
        return;
    struct link *l = req->link;
    link_forget(req);
    l->ops->abandon(l, req);
}

void link_move(struct link_req *from, struct link_req *to, void *call) {
    *to = *from;
    to->call = call;
    slots_set(&to->link->reqs, to->id, to);
    from->id = 0;
}

struct link_req *link_find(struct link *l, uint64_t id) {
    return slots_get(&l->reqs, id);
}

bool link_finish(struct link *l) {
    if (!l || l->closed || !l->ops->finish)
        return false;
    l->ops->finish(l);
    return true;
}

bool link_signal(struct link *l, int signal) {
    if (!l || l->closed || !l->ops->signal)
        return false;
    l->ops->signal(l, signal);
    return true;
}

void link_give_up(struct link *l, const char *why) {
    CHECK_MAGIC(l, LINK_MAGIC);
    if (link_signal(l, SIGKILL))
        l->server->ended_count++;
    l->is_up = false;
    link_fail_all(l, why);
    if (!l->closed)
        l->events->down(l->owner, why, LINK_FAILED);
}

void link_close(struct link *l) {
    if (!l || l->closed)
        return;
    CHECK_MAGIC(l, LINK_MAGIC);
    l->closed = true;
    l->is_up = false;
    l->owner = NULL;
    uint32_t at = 0;
    struct link_req *req;
    while ((req = slots_next(&l->reqs, &at)))
        link_end(req);
    l->ops->close(l);
}

void link_free_base(struct link *l) {
    struct up_server *server = l->server;
    if (l->process) {
        portion_give(l->process);
        server->core->process_count--;
    }
    slots_free(&l->reqs);
    l->magic = 0;
    free(l);
    if (--server->link_count == 0 && server->unused)
        server->unused(server);
}

void link_fail_req(struct link_req *req, const char *why, bool retry) {
    if (!req->id)
        return;
    struct link *l = req->link;
    link_forget(req);
    l->events->failed(req->call, why, retry);
}

void link_fail_all(struct link *l, const char *why) {
    uint32_t at = 0;
    struct link_req *req;
    while (!l->closed && (req = slots_next(&l->reqs, &at)))
        link_fail_req(req, why, false);
}

static void noise(struct link *l, const char *what, struct slice text) {
    l->events->noise(l->owner, what, slice_upto(text, UP_ERROR_TEXT_MAX));
}

static void malformed(struct link *l, const char *why, struct slice text) {
    l->events->malformed(l->owner, why, slice_upto(text, UP_ERROR_TEXT_MAX));
}

/* initialize was answered: the negotiated values are sent with every later request. */
static void version_note(struct link *l, const struct msg *m) {
    uint32_t node = m->rpc.kind == RPC_RESULT && tape_is(&m->tape, m->rpc.body, TAPE_OBJECT)
                        ? tape_get_str(&m->tape, m->rpc.body, "protocolVersion")
                        : 0;
    if (!node || !tape_is(&m->tape, node, TAPE_STRING))
        return;
    cleanup_arena struct arena a;
    arena_init(&a);
    struct slice text = tape_text(&m->tape, node, &a);
    if (text.len < sizeof(l->version) && http_value_ok(text))
        snprintf(l->version, sizeof(l->version), "%.*s", SLICE_FMT(text));
}

/* Our ids are integers. Some servers send them back as strings, which common clients accept. */
static struct link_req *find_answered(struct link *l, struct slice id_raw) {
    uint64_t id;
    if (id_raw.len > 2 && id_raw.ptr[0] == '"')
        id_raw = slice_of(id_raw.ptr + 1, id_raw.len - 2);
    return slice_to_u64(id_raw, &id) && id ? link_find(l, id) : NULL;
}

static void received_response(struct link *l, struct msg *m, struct link_req *from) {
    /* An error without an id can only belong to the request on whose stream it came. */
    struct link_req *req = m->rpc.id ? find_answered(l, tape_raw(&m->tape, m->rpc.id)) : from;
    if (!req) {
        noise(l, "response to no request under way", m->bytes);
        return;
    }
    if (req->opens)
        version_note(l, m);
    if (req == from)
        link_forget(req);
    else
        link_end(req); /* answered on another stream: its own is not needed any more */
    l->events->answer(req->call, m);
}

/* The caller of an answer that cannot be read would wait for its time-out. */
static void refuse_answer(struct link *l, struct slice bytes, const char *what, struct arena *a) {
    struct slice id;
    struct link_req *req = rpc_find_answered(mend_mark(bytes), a, &id) ? find_answered(l, id) : NULL;
    if (!req)
        return;
    link_end(req); /* its own stream is not needed any more */
    l->events->failed(
        req->call,
        arena_printf(a, "server `%s` sent an answer that cannot be read: %s", l->server->name, what).ptr,
        false);
}

static struct msg *read_message(struct link *l, struct block *b, struct slice bytes, int http_status) {
    int code;
    const char *why;
    struct slice id;
    cleanup_arena struct arena a;
    l->received++;
    arena_init(&a);
    struct msg *m = msg_read(&l->server->core->msgs, b, bytes, &a, &code, &why, &id);
    if (m && m->is_mended)
        noise(l, "replaced what is no Unicode by U+FFFD",
              arena_printf(&a, "in a message of %zu bytes", m->bytes.len));
    if (m) {
        m->http_status = http_status;
        return m;
    }
    malformed(l, why, bytes);
    refuse_answer(l, bytes, why, &a);
    return NULL;
}

static void received_message(struct link *l, struct msg *m, struct link_req *from) {
    if (m->rpc.kind == RPC_RESULT || m->rpc.kind == RPC_ERROR)
        received_response(l, m, from);
    else
        l->events->message(l->owner, from ? from->call : NULL, m);
}

/* Several messages in one array, as revisions with batches allow. Messages that belong to a request are
 * handled before its answer, in any order in the array. */
static void received_batch(struct link *l, struct block *b, struct slice bytes, struct link_req *from,
                           int http_status) {
    struct msg *parts[UP_BATCH_MAX];
    size_t count = 0;
    const uint64_t from_id = from ? from->id : 0;
    cleanup_tape struct tape t;
    tape_init(&t);
    enum tape_fault fault = tape_parse(&t, bytes, NULL);
    if (fault != TAPE_OK || !l->version[0] || strcmp(l->version, RPC_NO_BATCHES_SINCE) >= 0 ||
        !tape_node(&t, 0)->count || tape_node(&t, 0)->count > UP_BATCH_MAX) {
        malformed(
            l, fault != TAPE_OK ? tape_fault_text(fault) : "a batch that is empty, too long or not supported",
            bytes);
        return;
    }
    TAPE_FOR_ELEM(&t, 0, i) {
        if (l->closed)
            break;
        struct msg *m = read_message(l, b, tape_raw(&t, i), http_status);
        if (m)
            parts[count++] = m;
    }
    for (int answers = 0; answers < 2; answers++) {
        for (size_t i = 0; i < count && !l->closed; i++) {
            bool is_answer = parts[i]->rpc.kind == RPC_RESULT || parts[i]->rpc.kind == RPC_ERROR;
            from = from_id ? link_find(l, from_id) : NULL; /* it may have ended meanwhile */
            if (is_answer == (answers == 1) && (from || !from_id))
                received_message(l, parts[i], from);
        }
    }
    for (size_t i = 0; i < count; i++)
        msg_unref(parts[i]);
}

void link_received(struct link *l, struct block *b, struct slice bytes, struct link_req *from,
                   int http_status) {
    if (slice_starts(slice_trim(bytes), SLICE("["))) {
        received_batch(l, b, bytes, from, http_status);
        return;
    }
    struct msg *m = read_message(l, b, bytes, http_status);
    if (m)
        received_message(l, m, from);
    msg_unref(m);
}
