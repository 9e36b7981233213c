#include "admin/admin.h"

#include "admin/api.h"
#include "admin/page.h"
#include "audit/audit.h"
#include "base/clock.h"
#include "base/mem.h"
#include "call/principal.h"

#include <stdlib.h>

#define API SLICE("/api/v1/")

/* ---- routes ---- */

struct args {
    struct slice items[2];
    size_t count;
};

/* "/a/{x}/b" against "/a/1/b": the first argument is "1". */
static bool path_fits(const char *pattern, struct slice path, struct args *ret) {
    struct slice want = slice_str(pattern), one, have;
    *ret = (struct args){0};
    while (want.len || path.len) {
        if (!want.len || !path.len)
            return false;
        slice_cut(&want, '/', &one);
        slice_cut(&path, '/', &have);
        if (!one.len || one.ptr[0] != '{') {
            if (!slice_eq(one, have))
                return false;
        } else if (!have.len || ret->count == ARRAY_LEN(ret->items)) {
            return false;
        } else {
            ret->items[ret->count++] = have;
        }
    }
    return true;
}

/* The route, or NULL. *ret_methods are the methods that the path has. Paths without {…} are tried first. */
static const struct api_route *find_route(const struct http_head *head, struct args *ret_args,
                                          uint32_t *ret_methods) {
    const struct api_route *found = NULL;
    struct args args;
    enum http_method method = head->method == HTTP_HEAD ? HTTP_GET : head->method;
    *ret_methods = 0;
    for (const struct api_route *r = api_routes; r->path; r++) {
        if (!path_fits(r->path, head->path, &args))
            continue;
        *ret_methods |= 1u << r->method;
        if (r->method != method || (found && args.count))
            continue;
        found = r;
        *ret_args = args;
    }
    return found;
}

static const char *const method_names[] = {
    [HTTP_GET] = "GET",       [HTTP_POST] = "POST",   [HTTP_PUT] = "PUT",
    [HTTP_DELETE] = "DELETE", [HTTP_PATCH] = "PATCH", [HTTP_OTHER] = NULL};

static void answer_method(struct api_call *c, uint32_t methods) {
    struct slice line = SLICE("Allow: ");
    const char *between = "";
    for (int m = HTTP_GET; m < HTTP_OTHER; m++) {
        if (!(methods >> m & 1) || !method_names[m])
            continue;
        line = arena_printf(&c->arena, "%.*s%s%s", SLICE_FMT(line), between, method_names[m]);
        between = ", ";
    }
    c->more = arena_printf(&c->arena, "%.*s\r\n", SLICE_FMT(line));
    api_error(c, 405, "method not allowed");
}

/* %41 is A. Empty if it is malformed or contains a NUL. */
static struct slice decode(struct api_call *c, struct slice text) {
    char *to = arena_alloc(&c->arena, text.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        if (byte == '%') {
            char hex[3] = {i + 1 < text.len ? text.ptr[i + 1] : '\0',
                           i + 2 < text.len ? text.ptr[i + 2] : '\0', '\0'};
            char *end;
            byte = (unsigned char)strtoul(hex, &end, 16);
            if (end != hex + 2 || !byte)
                return (struct slice){0};
            i += 2;
        }
        to[len++] = (char)byte;
    }
    to[len] = '\0';
    return slice_of(to, len);
}

/* Without authentication a client may only read and test policies. Agents are among these clients, and one
 * that could create grants, decide approvals or write a policy could allow its own calls. */
static bool may(const struct principal *who, const struct api_route *route) {
    uint32_t has = who ? who->roles : 0;
    if (!route->roles)
        return true;
    if (who && who->kind == PRINCIPAL_LOCAL && !route->changes)
        has |= PRINCIPAL_VIEWER | PRINCIPAL_POLICY_MANAGER;
    return has & (route->roles | PRINCIPAL_ADMIN);
}

static bool read_body(struct api_call *c, const struct api_route *route) {
    const struct web_request *r = c->request;
    if (!route->body || (!r->body.len && route->body_optional))
        return true;
    if (r->body.len > ADMIN_BODY_MAX)
        return api_error(c, 413, "at most %u bytes", ADMIN_BODY_MAX), false;
    if (!http_media_is(http_value(r->head, HTTP_FIELD_TYPE), SLICE("application/json")))
        return api_error(c, 415, "Content-Type must be application/json"), false;
    /* A copy, because the request may outlive the connection's buffer. */
    enum tape_fault fault = tape_parse(&c->body, arena_dup(&c->arena, r->body), NULL);
    if (fault != TAPE_OK)
        return api_error(c, 400, "%s", tape_fault_text(fault)), false;
    if (!tape_is(&c->body, 0, TAPE_OBJECT))
        return api_error(c, 400, "the body must be an object"), false;
    return api_body_check(c);
}

static void serve_api(struct admin *a, const struct web_request *r) {
    struct api_call c;
    api_call_begin(&c, a, r);
    uint32_t methods;
    struct args args;
    const struct api_route *route = find_route(r->head, &args, &methods);
    c.route = route;
    if (route) {
        c.arg = decode(&c, args.items[0]);
        c.arg2 = decode(&c, args.items[1]);
    }
    if (!route && methods)
        answer_method(&c, methods);
    else if (!route || (args.count > 0 && !c.arg.len) || (args.count > 1 && !c.arg2.len))
        api_error(&c, 404, "Not found");
    else if (!may(r->who, route))
        api_error(&c, 403, "your role does not allow this");
    else if (api_params_check(&c) && read_body(&c, route))
        route->serve(&c);
    api_call_end(&c);
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
    struct args args;
    uint32_t methods;
    const struct api_route *route = find_route(head, &args, &methods);
    return route && !route->roles ? WEB_NOTHING : WEB_CONSOLE;
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
    list_init(&a->tallies);
    list_init(&a->desks);
    admin_set_secret(a, config->callback_secret);
    return a;
}

void admin_set_secret(struct admin *a, const char *callback_secret) {
    free(a->callback_secret);
    a->callback_secret = callback_secret ? mem_dup(callback_secret, strlen(callback_secret)) : NULL;
}

void admin_set_providers(struct admin *a, const char *origin, const struct admin_provider *items,
                         size_t count) {
    api_providers_set(a, origin, items, count);
}

void admin_free(struct admin *a) {
    if (!a)
        return;
    api_stores_close(a);
    api_audit_free(a);
    api_overview_free(a);
    api_desks_free(a);
    api_providers_free(a);
    free(a->callback_secret);
    free(a);
}

const struct web_site *admin_site(struct admin *a) { return &a->site; }
