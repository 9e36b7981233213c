#include "admin/admin.h"

#include "admin/api.h"
#include "base/clock.h"
#include "base/mem.h"
#include "state/grants.h"

#include <stdarg.h>
#include <stdio.h>

#define API SLICE("/api/v1/")

static void call_end(struct api_call *c) {
    buf_free(&c->out);
    tape_free(&c->body);
    arena_free(&c->arena);
}

/* "/a/{x}/b" against "/a/1/b": *ret_arg is "1". */
static bool path_fits(const char *pattern, struct slice path, struct slice *ret_arg) {
    const char *open = strchr(pattern, '{');
    if (!open)
        return slice_is(path, pattern);
    const char *close = strchr(open, '}') + 1;
    struct slice before = slice_of(pattern, (size_t)(open - pattern)), after = slice_str(close);
    if (path.len <= before.len + after.len || !slice_starts(path, before) || !slice_ends(path, after))
        return false;
    *ret_arg = slice_of(path.ptr + before.len, path.len - before.len - after.len);
    return slice_find(*ret_arg, '/') < 0;
}

/* The route, or NULL; *ret_known when the path exists for another method. */
static const struct api_route *find_route(const struct http_head *head, struct slice *ret_arg,
                                          bool *ret_known) {
    *ret_known = false;
    for (const struct api_route *r = api_routes; r->path; r++) {
        if (!path_fits(r->path, head->path, ret_arg))
            continue;
        *ret_known = true;
        if (r->method == head->method)
            return r;
    }
    return NULL;
}

/* Whoever may use an open gate may look at it, no more: agents are among them, and who could make grants or
 * decide could approve its own calls. */
static bool may(const struct principal *who, uint32_t roles) {
    uint32_t has = who ? who->roles : 0;
    if (who && who->kind == PRINCIPAL_LOCAL)
        has |= PRINCIPAL_VIEWER | PRINCIPAL_POLICY_MANAGER;
    return !roles || (has & (roles | PRINCIPAL_ADMIN));
}

static bool read_body(struct api_call *c, const struct api_route *route) {
    const struct web_request *r = c->request;
    if (!route->body || (!r->body.len && route->method == HTTP_POST && strcmp(route->body, "Note") == 0))
        return true;
    if (r->body.len > ADMIN_BODY_MAX)
        return api_error(c, 413, "at most %u bytes", ADMIN_BODY_MAX), false;
    if (!http_media_is(http_value(r->head, HTTP_FIELD_TYPE), SLICE("application/json")))
        return api_error(c, 415, "Content-Type must be application/json"), false;
    enum tape_fault fault = tape_parse(&c->body, r->body, NULL);
    if (fault != TAPE_OK)
        return api_error(c, 400, "%s", tape_fault_text(fault)), false;
    if (!tape_is(&c->body, 0, TAPE_OBJECT))
        return api_error(c, 400, "the body must be an object"), false;
    return true;
}

static void serve_api(struct admin *a, const struct web_request *r) {
    struct api_call c = {.admin = a, .request = r};
    arena_init(&c.arena);
    tape_init(&c.body);
    buf_init(&c.out, ADMIN_OUT_MAX);
    emit_init(&c.e, &c.out);
    bool known;
    const struct api_route *route = find_route(r->head, &c.arg, &known);
    if (!route)
        api_error(&c, known ? 405 : 404, known ? "method not allowed" : "Not found");
    else if (!may(r->who, route->roles))
        api_error(&c, 403, "this needs another role");
    else if (read_body(&c, route))
        route->serve(&c);
    call_end(&c);
}

/* ---- the site ---- */

static void serve_metrics(struct admin *a, const struct web_request *r) {
    cleanup_buf struct buf out;
    buf_init(&out, ADMIN_OUT_MAX);
    api_write_metrics(a, &out);
    r->reply->ops->answer(r->reply, 200, "text/plain; version=0.0.4; charset=utf-8",
                          SLICE("Cache-Control: no-store\r\n"), buf_slice(&out));
}

static enum web_need site_need(void *ctx, const struct http_head *head) {
    (void)ctx;
    if (slice_is(head->path, "/metrics"))
        return WEB_LOCAL;
    if (page_has(head->path))
        return WEB_NOTHING;
    if (!slice_starts(head->path, API))
        return WEB_NOT_MINE;
    struct slice arg;
    bool known;
    const struct api_route *route = find_route(head, &arg, &known);
    return route && !route->roles ? WEB_NOTHING : WEB_PRINCIPAL;
}

static void site_serve(void *ctx, const struct web_request *r) {
    struct admin *a = ctx;
    bool reads = r->head->method == HTTP_GET || r->head->method == HTTP_HEAD;
    bool page = page_has(r->head->path);
    if (!page && !slice_is(r->head->path, "/metrics"))
        serve_api(a, r);
    else if (page && reads)
        page_serve(r);
    else if (reads)
        serve_metrics(a, r);
    else
        r->reply->ops->answer(r->reply, 405, NULL, SLICE("Allow: GET, HEAD\r\n"), (struct slice){0});
}

struct admin *admin_new(const struct admin_config *config) {
    struct admin *a = mem_zalloc(sizeof(*a));
    *a = (struct admin){.core = config->core,
                        .home = config->home,
                        .started_ms = clock_wall_ms(),
                        .site = {.need = site_need, .serve = site_serve, .ctx = a}};
    list_init(&a->jobs);
    list_init(&a->streams);
    admin_set_secret(a, config->callback_secret);
    return a;
}

void admin_set_secret(struct admin *a, const char *callback_secret) {
    free(a->callback_secret);
    a->callback_secret = callback_secret ? mem_dup(callback_secret, strlen(callback_secret)) : NULL;
}

void admin_free(struct admin *a) {
    if (!a)
        return;
    api_audit_free(a);
    state_grants_close(a->grants);
    free(a->callback_secret);
    free(a);
}

const struct web_site *admin_site(struct admin *a) { return &a->site; }
