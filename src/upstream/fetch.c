#include "upstream/fetch.h"

#include "base/mem.h"
#include "io/net.h"
#include "upstream/exchange.h"
#include "upstream/head.h"
#include "upstream/link.h"
#include "wire/mask.h"

struct up_fetch {
    struct up_server server; /* of this one request */
    struct exchange x;
    char *url;
    char *name; /* for error messages */
    size_t body_max;
    char *challenge, *location;
    void (*done)(void *owner, const struct up_fetch_answer *answer);
    void *owner;
};

bool up_url_is_safe(struct slice url) {
    struct http_url at;
    const char *why;
    if (url.len > UP_URL_MAX || http_parse_url(url, &at, &why) < 0)
        return false;
    char host[HTTP_HOST_MAX + 1];
    if (at.host.len > HTTP_HOST_MAX)
        return false;
    memcpy(host, at.host.ptr, at.host.len);
    host[at.host.len] = '\0';
    return at.tls || io_is_loopback(host);
}

static void fetch_free(struct up_fetch *f) {
    up_exchange_drop(&f->x);
    up_server_close(&f->server, NULL);
    free(f->url);
    free(f->name);
    free(f->challenge);
    free(f->location);
    free(f);
}

static void fetch_answer(struct up_fetch *f, const struct up_fetch_answer *answer) {
    f->done(f->owner, answer);
    fetch_free(f);
}

static struct up_fetch *fetch_of(struct exchange *x) { return container_of(x, struct up_fetch, x); }

static enum exchange_want on_head(struct exchange *x, const struct http_head *h) {
    struct up_fetch *f = fetch_of(x);
    struct slice challenge = http_value_of(h, SLICE("www-authenticate"));
    struct slice location = http_value_of(h, SLICE("location"));
    f->challenge = mem_dup(challenge.len ? challenge.ptr : "", challenge.len);
    f->location = mem_dup(location.len ? location.ptr : "", location.len);
    x->body_max = f->body_max;
    return EXCHANGE_BODY;
}

static void on_done(struct exchange *x, struct block *b, struct slice body) {
    (void)b;
    struct up_fetch *f = fetch_of(x);
    fetch_answer(f, &(struct up_fetch_answer){.status = x->status,
                                              .body = body,
                                              .challenge = slice_str(f->challenge),
                                              .location = slice_str(f->location)});
}

static void on_failed(struct exchange *x, const struct exchange_fault *fault) {
    fetch_answer(fetch_of(x), &(struct up_fetch_answer){.why = fault->why});
}

static const struct exchange_ops fetch_ops = {.head = on_head, .done = on_done, .failed = on_failed};

static bool put_head(struct up_fetch *f, const struct up_fetch_request *r, const struct splice *body,
                     struct buf *out) {
    up_head_start(out, &f->server, r->method == HTTP_POST ? "POST" : "GET", f->server.at.target);
    if (!up_head_line(out, "Accept", slice_str(r->accept ? r->accept : "application/json")) ||
        (r->content_type && !up_head_line(out, "Content-Type", slice_str(r->content_type))) ||
        !up_head_lines_ok(r->headers))
        return false;
    buf_put_slice(out, r->headers);
    return up_head_end(out, &f->server, r->method == HTTP_POST ? body : NULL) && !out->full;
}

struct up_fetch *up_fetch(struct up_core *core, const struct up_fetch_request *r,
                          void (*done)(void *owner, const struct up_fetch_answer *answer), void *owner,
                          struct err *err) {
    if (!up_url_is_safe(slice_str(r->url))) {
        cleanup_arena struct arena shown;
        arena_init(&shown);
        err_set(err, "`%.*s` is not an https URL (http is allowed on this machine only)",
                SLICE_FMT(mask_url(slice_str(r->url), &shown)));
        return NULL;
    }
    struct up_fetch *f = mem_zalloc(sizeof(*f));
    f->url = mem_dup(r->url, strlen(r->url));
    f->body_max = r->body_max ? r->body_max : UP_FETCH_BYTES_MAX;
    f->done = done;
    f->owner = owner;
    up_server_init(&f->server, core);
    struct arena a;
    arena_init(&a);
    struct splice body;
    splice_init(&body, r->body, &a);
    struct buf *head = up_head_scratch(&f->server);
    bool fine = up_server_set_url(&f->server, f->url, err) == 0;
    if (fine && !put_head(f, r, &body, head)) {
        fine = false;
        err_set(err, "the request to `%s` has forbidden bytes or is too long", f->url);
    }
    if (fine) {
        f->name = mem_dup(f->server.at.authority.ptr, f->server.at.authority.len);
        f->server.name = f->name;
        struct exchange_request x = {
            .method = r->method,
            .own = buf_slice(head),
            .body = r->method == HTTP_POST ? &body : NULL,
            .limit_ms = r->limit_ms ? r->limit_ms : UP_FETCH_MS,
        };
        up_exchange_start(&f->x, &f->server, &fetch_ops, &x);
    } else {
        fetch_free(f);
        f = NULL;
    }
    arena_free(&a);
    return f;
}

void up_fetch_cancel(struct up_fetch *f) {
    if (f)
        fetch_free(f);
}
