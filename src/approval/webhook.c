#include "approval/webhook.h"

#include "approval/approve.h"
#include "approval/limits.h"
#include "base/clock.h"
#include "base/glyph.h"
#include "base/log.h"
#include "base/mem.h"
#include "upstream/fetch.h"
#include "wire/emit.h"

#include <stdio.h>

struct webhook {
    struct core *core;
    char *url;
    char *secret; /* NULL: unsigned, to Slack */
    bool slack;
    struct list queue;
    uint32_t count;
    uint32_t under_way;
};

struct delivery {
    struct webhook *hook;
    struct list node;
    struct io_timer timer;
    struct up_fetch *fetch;
    uint32_t tries;
    uint64_t expires_ms;
    char *id;
    char *body;
    size_t body_len;
};

static void on_due(struct io_timer *timer);

static void delivery_free(struct delivery *d) {
    io_timer_stop(d->hook->core->up.loop, &d->timer);
    if (d->fetch) {
        up_fetch_cancel(d->fetch);
        d->hook->under_way--;
    }
    list_remove(&d->node);
    d->hook->count--;
    free(d->id);
    free(d->body);
    free(d);
}

static void arm(struct delivery *d, uint64_t after_ms) {
    io_timer_arm(d->hook->core->up.loop, &d->timer, after_ms, on_due);
}

static void again(struct delivery *d, const char *why) {
    uint64_t pause = (uint64_t)WEBHOOK_RETRY_MS << (d->tries < 16 ? d->tries : 16);
    d->tries++;
    log_warn("webhook for %s: %s", d->id, why);
    arm(d, pause < WEBHOOK_RETRY_MAX_MS ? pause : WEBHOOK_RETRY_MAX_MS);
}

static void on_answer(void *owner, const struct up_fetch_answer *answer) {
    struct delivery *d = owner;
    d->fetch = NULL;
    d->hook->under_way--;
    if (answer->status >= 200 && answer->status < 300) {
        approve_set_notified(d->hook->core, slice_str(d->id));
        delivery_free(d);
        return;
    }
    char why[64];
    snprintf(why, sizeof(why), "the receiver answered %d", answer->status);
    again(d, answer->status ? why : answer->why);
}

/* Signed again for each attempt: a receiver may refuse an old timestamp. */
static void send_now(struct delivery *d) {
    struct webhook *w = d->hook;
    char stamp[24], sign[APPROVAL_SIGNATURE_TEXT], headers[256];
    struct slice body = slice_of(d->body, d->body_len);
    int n = snprintf(stamp, sizeof(stamp), "%llu", (unsigned long long)(clock_wall_ms() / 1000));
    if (w->secret)
        approval_sign(slice_str(w->secret), slice_of(stamp, (size_t)n), body, sign);
    n = w->secret
            ? snprintf(headers, sizeof(headers),
                       APPROVAL_STAMP_HEADER ": %s\r\n" APPROVAL_SIGNATURE_HEADER ": %s\r\n", stamp, sign)
            : 0;
    struct up_fetch_request request = {.method = HTTP_POST,
                                       .url = w->url,
                                       .content_type = "application/json",
                                       .headers = slice_of(headers, (size_t)n),
                                       .body = body,
                                       .limit_ms = WEBHOOK_MS};
    struct err err = {0};
    d->fetch = up_fetch(&w->core->up, &request, on_answer, d, &err);
    if (d->fetch)
        w->under_way++;
    else
        again(d, err.text);
}

static void on_due(struct io_timer *timer) {
    struct delivery *d = container_of(timer, struct delivery, timer);
    if (d->expires_ms <= clock_wall_ms()) {
        log_warn("webhook for %s: never delivered", d->id);
        delivery_free(d);
    } else if (d->hook->under_way >= WEBHOOK_AT_ONCE_MAX) {
        arm(d, WEBHOOK_RETRY_MS);
    } else {
        send_now(d);
    }
}

/* What a Slack channel shows. Names and arguments come from agents: < > & would be markup there. */
static void put_slack(struct emit *e, const struct state_approval *r, struct arena *a) {
    static const struct {
        char sign;
        const char *text;
    } escapes[] = {{'<', "&lt;"}, {'>', "&gt;"}, {'&', "&amp;"}};
    struct slice plain = glyph_printable(arena_printf(a, "%.*s wants to call %.*s of server %.*s with %.*s",
                                                      SLICE_FMT(r->call.identity), SLICE_FMT(r->call.tool),
                                                      SLICE_FMT(r->call.server), SLICE_FMT(r->args)),
                                         WEBHOOK_SLACK_MAX, a);
    cleanup_buf struct buf text;
    buf_init(&text, WEBHOOK_SLACK_MAX * 8);
    for (size_t i = 0; i < plain.len; i++) {
        size_t k = 0;
        while (k < ARRAY_LEN(escapes) && escapes[k].sign != plain.ptr[i])
            k++;
        if (k < ARRAY_LEN(escapes))
            buf_put_str(&text, escapes[k].text);
        else
            buf_put_char(&text, plain.ptr[i]);
    }
    if (r->url.len)
        buf_printf(&text, "\n<%.*s|Decide>", SLICE_FMT(r->url));
    emit_object(e);
    emit_key(e, "text");
    emit_str(e, buf_slice(&text));
    emit_object_end(e);
}

static void put_body(const struct webhook *w, struct emit *e, const struct state_approval *r) {
    cleanup_arena struct arena a;
    arena_init(&a);
    struct state_approval shown = *r;
    if (w->core->console)
        shown.url = arena_printf(&a, "%s/approvals/%.*s", w->core->console, SLICE_FMT(r->id));
    if (w->slack) {
        put_slack(e, &shown, &a);
        return;
    }
    emit_object(e);
    emit_key(e, "type");
    emit_cstr(e, "approval.requested");
    emit_key(e, "approval");
    state_approval_json(e, &shown);
    emit_object_end(e);
}

static void enqueue(void *ctx, const struct state_approval *r) {
    struct webhook *w = ctx;
    if (w->count >= STATE_APPROVALS_PENDING_MAX) {
        log_warn("webhook: too many notifications wait; %.*s is not sent", SLICE_FMT(r->id));
        return;
    }
    struct delivery *d = mem_zalloc(sizeof(*d));
    struct buf out;
    buf_init(&out, STATE_APPROVAL_ARGS_MAX * 8);
    struct emit e;
    emit_init(&e, &out);
    put_body(w, &e, r);
    *d = (struct delivery){.hook = w,
                           .expires_ms = r->expires_ms,
                           .id = mem_dup(r->id.ptr, r->id.len),
                           .body = mem_dup(out.ptr, out.len),
                           .body_len = out.len};
    buf_free(&out);
    list_push(&w->queue, &d->node);
    w->count++;
    arm(d, 0);
}

static bool enqueue_unsent(void *ctx, const struct state_approval *r) {
    if (!r->notified_ms)
        enqueue(ctx, r);
    return true;
}

int webhook_check(const struct webhook_config *config, struct err *err) {
    const char *url = config->url, *secret = config->secret;
    if (secret && strlen(secret) < WEBHOOK_SECRET_MIN)
        return err_set(err, "the secret of approvals must have at least %d characters", WEBHOOK_SECRET_MIN);
    if (!url)
        return 0;
    if (!secret && !config->slack)
        return err_set(err, "a webhook for approvals needs a secret: without it the receiver cannot "
                            "authenticate the message");
    if (!up_url_is_safe(slice_str(url)))
        return err_set(err, "webhook `%s`: only https, or http on this machine", url);
    return 0;
}

int webhook_start(struct core *core, const struct webhook_config *config, struct err *err) {
    const char *url = config->url, *secret = config->secret;
    if (webhook_check(config, err) < 0)
        return -1;
    webhook_stop(core);
    if (!url)
        return 0;
    struct state_approvals *store = approve_store(core, err);
    if (!store)
        return -1;
    struct webhook *w = mem_zalloc(sizeof(*w));
    *w = (struct webhook){.core = core,
                          .url = mem_dup(url, strlen(url)),
                          .secret = secret ? mem_dup(secret, strlen(secret)) : NULL,
                          .slack = config->slack};
    list_init(&w->queue);
    core->approvals->webhook = w;
    core->approvals->requested = enqueue;
    core->approvals->ctx = w;
    struct state_approval_filter waiting = {.statuses = 1u << STATE_APPROVAL_PENDING};
    return state_approvals_list(store, &waiting, clock_wall_ms(), enqueue_unsent, w, err);
}

void webhook_stop(struct core *core) {
    struct webhook *w = core->approvals ? core->approvals->webhook : NULL;
    if (!w)
        return;
    core->approvals->webhook = NULL;
    core->approvals->requested = NULL;
    LIST_FOR_SAFE (n, next, &w->queue) {
        delivery_free(container_of(n, struct delivery, node));
    }
    free(w->url);
    free(w->secret);
    free(w);
}
