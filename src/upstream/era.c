#include "upstream/era.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/openssl.h"
#include "state/eras.h"
#include "state/limits.h"
#include "upstream/bearer.h"
#include "upstream/exchange.h"
#include "upstream/head.h"
#include "upstream/reply.h"
#include "upstream/secret.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct up_era_probe {
    struct exchange x;
    struct up_server *server;
    bool again;   /* server/discover has been repeated */
    bool looking; /* the GET is under way */
    bool renewed; /* a retry with other credentials has been made */
    bool moving;  /* the answer is a redirect that is followed */
    bool moved;   /* one has been followed */
    struct up_wait secrets;
    struct buf discover;
    int get_status;
};

static const struct exchange_ops probe_ops;

/* ---- cached knowledge ---- */

bool up_era_fresh(const struct up_server *s, bool legacy) {
    const struct up_era *e = &s->era;
    if (e->pinned)
        return true;
    if (e->modern == UP_UNKNOWN || io_now_ms(s->core->loop) >= e->until_ms)
        return false;
    return !legacy || e->modern == UP_NO || e->legacy != UP_UNKNOWN;
}

/* Two commands are the same when their arguments and their directory are. */
static bool home_key(const struct up_server *s, unsigned char ret_key[STATE_ERA_KEY]) {
    char here[PATH_MAX] = "";
    const char *cwd = s->cwd ? s->cwd : getcwd(here, sizeof(here));
    EVP_MD_CTX *ctx = s->argv && s->home ? EVP_MD_CTX_new() : NULL;
    bool ok = ctx && cwd && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1 &&
              EVP_DigestUpdate(ctx, cwd, strlen(cwd) + 1) == 1;
    for (size_t i = 0; ok && s->argv[i]; i++)
        ok = EVP_DigestUpdate(ctx, s->argv[i], strlen(s->argv[i]) + 1) == 1;
    ok = ok && EVP_DigestFinal_ex(ctx, ret_key, NULL) == 1;
    EVP_MD_CTX_free(ctx);
    return ok;
}

static void home_note(const struct up_server *s, bool legacy) {
    unsigned char key[STATE_ERA_KEY];
    if (home_key(s, key))
        state_eras_note(s->home, key, legacy, clock_wall_ms());
}

void up_era_note(struct up_server *s, enum up_answer modern, enum up_answer legacy) {
    if (s->era.pinned)
        return;
    s->era.modern = modern;
    s->era.recalled = false;
    if (legacy != UP_UNKNOWN || modern == UP_NO)
        s->era.legacy = modern == UP_NO ? UP_YES : legacy;
    /* A server that was upgraded to the modern era still accepts the legacy one: ask again soon.
     */
    uint64_t legacy_ms = s->argv ? STATE_ERA_MS : UP_ERA_LEGACY_MS;
    s->era.until_ms = io_now_ms(s->core->loop) + (modern == UP_YES ? UP_ERA_MODERN_MS : legacy_ms);
    home_note(s, modern == UP_NO);
}

void up_era_recall(struct up_server *s) {
    unsigned char key[STATE_ERA_KEY];
    uint64_t until_ms, now_ms = clock_wall_ms();
    if (!home_key(s, key) || !state_eras_legacy(s->home, key, now_ms, &until_ms))
        return;
    s->era.modern = UP_NO;
    s->era.legacy = UP_YES;
    s->era.recalled = true;
    s->era.until_ms = io_now_ms(s->core->loop) + (until_ms - now_ms);
}

bool up_era_forget(struct up_server *s) {
    if (!s->era.recalled)
        return false;
    s->era.modern = s->era.legacy = UP_UNKNOWN;
    s->era.recalled = false;
    home_note(s, false);
    return true;
}

void up_era_note_discover(struct up_server *s, struct slice result) {
    if (result.len > UP_DISCOVER_MAX)
        return;
    free(s->era.discover);
    s->era.discover = mem_dup(result.ptr, result.len);
}

/* ---- the verdict ---- */

static bool has_modern(const struct tape *t, uint32_t versions) {
    TAPE_FOR_ELEM(t, versions, i) {
        if (tape_eq(t, i, SLICE(UP_MODERN_VERSION)))
            return true;
    }
    return false;
}

bool up_era_offers(const struct tape *t, uint32_t error) {
    uint32_t data = tape_get_str(t, error, "data");
    uint32_t supported = data && tape_is(t, data, TAPE_OBJECT) ? tape_get_str(t, data, "supported") : 0;
    return !supported || !tape_is(t, supported, TAPE_ARRAY) || has_modern(t, supported);
}

static enum up_answer judge_error(const struct tape *t, const struct rpc *rpc, bool *ret_again) {
    uint32_t code = tape_get_str(t, rpc->body, "code");
    int64_t value = 0;
    if (!code || !tape_int(t, code, &value))
        return UP_NO;
    if (value == RPC_HEADER_MISMATCH || value == RPC_CAPABILITY_MISSING)
        return UP_YES;
    if (value != RPC_VERSION_UNSUPPORTED)
        return UP_NO;
    *ret_again = up_era_offers(t, rpc->body);
    return *ret_again ? UP_YES : UP_NO;
}

/* Statuses about credentials, the network or a temporary condition: they say nothing about the era. */
static bool is_no_evidence(int status) {
    return status >= 500 || (status >= 300 && status < 400) || status == 401 || status == 403 ||
           status == 407 || status == 408 || status == 425 || status == 429;
}

enum up_answer up_era_judge(int status, const struct tape *t, const struct rpc *rpc, bool *ret_again) {
    *ret_again = false;
    if (is_no_evidence(status))
        return UP_UNKNOWN;
    if (rpc && rpc->kind == RPC_ERROR)
        return judge_error(t, rpc, ret_again);
    if (!rpc || rpc->kind != RPC_RESULT)
        return UP_NO;
    uint32_t versions = tape_get_str(t, rpc->body, "supportedVersions");
    return versions && tape_is(t, versions, TAPE_ARRAY) && has_modern(t, versions) ? UP_YES : UP_NO;
}

/* ---- probing over HTTP ---- */

static void send_discover(struct up_era_probe *p) {
    static const char body[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{"
                               "\"_meta\":" UP_META_OWN "}}";
    struct up_server *s = p->server;
    struct buf *head = up_head_scratch(s);
    struct arena a;
    struct splice text;
    arena_init(&a);
    splice_init(&text, SLICE(body), &a);
    up_head_start(head, s, "POST", s->at.target);
    buf_put_str(head, "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
                      "MCP-Protocol-Version: " UP_MODERN_VERSION "\r\nMcp-Method: server/discover\r\n");
    up_head_end(head, s, &text);
    struct exchange_request r = {.method = HTTP_POST,
                                 .own = buf_slice(head),
                                 .body = &text,
                                 .limit_ms = UP_ERA_ASK_MS,
                                 .limit_stream = true};
    up_exchange_start(&p->x, s, &probe_ops, &r);
    arena_free(&a);
}

/* A server with sessions reports a missing one; a server without sessions does not support GET. */
static void send_get(struct up_era_probe *p) {
    struct up_server *s = p->server;
    struct buf *head = up_head_scratch(s);
    p->looking = true;
    up_head_start(head, s, "GET", s->at.target);
    buf_put_str(head, "Accept: text/event-stream\r\n");
    up_head_end(head, s, NULL);
    struct exchange_request r = {.method = HTTP_GET, .own = buf_slice(head), .limit_ms = UP_ERA_ASK_MS};
    up_exchange_start(&p->x, s, &probe_ops, &r);
}

static void probe_free(struct up_era_probe *p) {
    up_exchange_drop(&p->x);
    up_secrets_unwait(&p->secrets);
    buf_free(&p->discover);
    p->server->era.probe = NULL;
    free(p);
}

static void probe_over(struct up_era_probe *p, const char *why) {
    struct up_server *s = p->server;
    probe_free(p);
    struct list due, *n;
    list_init(&due);
    while ((n = list_pop(&s->era.waiters)))
        list_push(&due, n);
    while ((n = list_pop(&due))) {
        struct up_era_wait *w = container_of(n, struct up_era_wait, node);
        w->why = why;
        w->done(w);
    }
}

static void on_secrets(struct up_wait *w, const char *fault) {
    struct up_era_probe *p = container_of(w, struct up_era_probe, secrets);
    if (fault)
        probe_over(p, fault);
    else
        send_discover(p);
}

static bool wants_legacy(const struct up_server *s) {
    LIST_FOR (n, &s->era.waiters)
        if (container_of(n, struct up_era_wait, node)->legacy)
            return true;
    return false;
}

static void take_answer(struct up_era_probe *p, struct slice body) {
    struct up_server *s = p->server;
    struct tape t;
    struct rpc rpc;
    const char *why = NULL;
    bool again = false;
    int status = p->x.status;
    if (p->moving) {
        p->moving = false;
        send_discover(p);
        return;
    }
    tape_init(&t);
    bool read = tape_parse(&t, body, NULL) == TAPE_OK && rpc_read(&t, &rpc, &why) == 0;
    enum up_answer modern = up_era_judge(status, &t, read ? &rpc : NULL, &again);
    if (modern == UP_YES && read && rpc.kind == RPC_RESULT)
        up_era_note_discover(s, tape_raw(&t, rpc.body));
    tape_free(&t);
    if (again && !p->again) {
        p->again = true;
        send_discover(p);
        return;
    }
    if (status == 401 && !p->renewed && up_secrets_renew(s)) {
        p->renewed = true;
        up_secrets_wait(s, &p->secrets);
        return;
    }
    if (modern == UP_UNKNOWN) {
        char text[UP_WHY_MAX];
        up_refusal_text(s, status, NULL, body, text);
        probe_over(p, text);
        return;
    }
    up_era_note(s, modern, UP_UNKNOWN);
    if (modern == UP_YES && wants_legacy(s))
        send_get(p);
    else
        probe_over(p, NULL);
}

static struct up_era_probe *probe_of(struct exchange *x) { return container_of(x, struct up_era_probe, x); }

static enum exchange_want probe_head(struct exchange *x, const struct http_head *h) {
    struct up_era_probe *p = probe_of(x);
    if (p->looking) {
        p->get_status = h->status;
        x->refusal = "not wanted"; /* and with it the stream, if it is one */
        return EXCHANGE_REFUSE;
    }
    up_challenge_note(p->server, h);
    if (!p->moved)
        p->moving = p->moved = up_head_moved(p->server, h->status, http_value_of(h, SLICE("location")));
    x->body_max = UP_ERROR_BODY_MAX;
    if (h->status == 200 && http_media_is(http_value(h, HTTP_FIELD_TYPE), SLICE("text/event-stream")))
        return EXCHANGE_EVENTS;
    return h->body == HTTP_BODY_NONE ? EXCHANGE_SKIP : EXCHANGE_BODY;
}

static bool probe_event(struct exchange *x, struct block *b, const struct sse_event *e) {
    (void)b;
    struct up_era_probe *p = probe_of(x);
    if (!e->data.len || !slice_is(e->type, "message"))
        return true;
    buf_reset(&p->discover);
    buf_put_slice(&p->discover, e->data);
    up_exchange_drop(x);
    take_answer(p, buf_slice(&p->discover));
    return false;
}

static void probe_done(struct exchange *x, struct block *b, struct slice body) {
    (void)b;
    take_answer(probe_of(x), body);
}

static void probe_failed(struct exchange *x, const struct exchange_fault *fault) {
    struct up_era_probe *p = probe_of(x);
    if (p->looking) {
        bool session_required = p->get_status == 400 || p->get_status == 404;
        up_era_note(p->server, UP_YES, session_required ? UP_YES : UP_NO);
        probe_over(p, NULL);
    } else if (fault->stale && !p->again) {
        p->again = true;
        send_discover(p);
    } else {
        probe_over(p, fault->why);
    }
}

static const struct exchange_ops probe_ops = {
    .head = probe_head, .event = probe_event, .done = probe_done, .failed = probe_failed};

void up_era_ask(struct up_server *s, struct up_era_wait *w) {
    list_push(&s->era.waiters, &w->node);
    if (s->era.probe)
        return;
    struct up_era_probe *p = mem_zalloc(sizeof(*p));
    p->server = s;
    buf_init(&p->discover, UP_ERROR_BODY_MAX);
    p->secrets.done = on_secrets;
    s->era.probe = p;
    if (up_secrets_ready(s))
        send_discover(p);
    else
        up_secrets_wait(s, &p->secrets);
}

void up_era_stop_waiting(struct up_era_wait *w) { list_remove(&w->node); }

void up_era_free(struct up_server *s) {
    if (s->era.probe)
        probe_free(s->era.probe);
    free(s->era.discover);
    s->era.discover = NULL;
}
