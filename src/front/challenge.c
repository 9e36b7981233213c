/* The response to a request that fails to authenticate, and the metadata that says how to authenticate:
 * the gate is an OAuth 2.1 resource server (RFC 6750, RFC 9728). */
#include "call/answer.h"
#include "front/auth.h"
#include "front/front.h"
#include "front/settings.h"
#include "wire/emit.h"

#define METADATA_PATH "/.well-known/oauth-protected-resource"

static bool has_issuers(const struct front *f) {
    const struct settings *s = front_auth_settings(f);
    return s && s->auth.issuer_count > 0;
}

/* As configured, or as in the client's Host header. */
static struct slice origin_of(struct front_conn *c, struct arena *a) {
    const struct settings *s = front_auth_settings(c->front);
    if (s && s->auth.resource) {
        struct slice url = slice_str(s->auth.resource);
        return slice_ends(url, SLICE("/")) ? slice_upto(url, url.len - 1) : url;
    }
    return arena_printf(a, "%s://%.*s", c->front->tls || c->secure ? "https" : "http",
                        SLICE_FMT(http_value(&c->front->head, HTTP_FIELD_HOST)));
}

/* A token can name the gate only by a configured name. */
struct slice front_challenge_resource(struct front_conn *c, struct arena *a) {
    const struct settings *s = front_auth_settings(c->front);
    if (!s || !s->auth.resource)
        return (struct slice){0};
    return arena_printf(a, "%.*s%.*s", SLICE_FMT(origin_of(c, a)), SLICE_FMT(c->front->head.path));
}

/* All scopes that some issuer's tokens must have, separated by spaces. */
static struct slice scopes_of(const struct settings *s, struct arena *a) {
    struct slice all = {0};
    for (size_t i = 0; i < s->auth.issuer_count; i++)
        for (size_t k = 0; k < s->auth.issuers[i].scopes.count; k++)
            all = arena_printf(a, "%.*s%s%s", SLICE_FMT(all), all.len ? " " : "",
                               s->auth.issuers[i].scopes.items[k]);
    return all;
}

static bool is_endpoint(struct slice path) {
    return slice_is(path, "/mcp") || slice_starts(path, SLICE("/mcp/")) || slice_is(path, "/sse");
}

static struct slice challenge_line(struct front_conn *c, const struct front_verdict *v, struct arena *a) {
    struct slice line = SLICE("WWW-Authenticate: Bearer");
    const char *between = " ";
    if (v->error) {
        line = arena_printf(a, "%.*s error=\"%s\", error_description=\"%s\"", SLICE_FMT(line), v->error,
                            v->message);
        between = ", ";
    }
    if (has_issuers(c->front)) {
        struct slice scopes = scopes_of(front_auth_settings(c->front), a);
        struct slice path = is_endpoint(c->front->head.path) ? c->front->head.path : (struct slice){0};
        line = arena_printf(a, "%.*s%sresource_metadata=\"%.*s" METADATA_PATH "%.*s\"", SLICE_FMT(line),
                            between, SLICE_FMT(origin_of(c, a)), SLICE_FMT(path));
        if (scopes.len)
            line = arena_printf(a, "%.*s, scope=\"%.*s\"", SLICE_FMT(line), SLICE_FMT(scopes));
    }
    return arena_printf(a, "%.*s\r\n", SLICE_FMT(line));
}

void front_challenge(struct front_conn *c, const struct front_verdict *v) {
    struct arena *a = &c->front->scratch;
    bool challenge = v->status == 401 || v->error;
    if (c->console) {
        front_answer_fault(c, v->status, challenge ? challenge_line(c, v, a) : (struct slice){0}, v->message);
        return;
    }
    front_answer(c, v->status, "application/json", challenge ? challenge_line(c, v, a) : (struct slice){0},
                 answer_error_text(a, (struct slice){0}, -32000, v->message));
}

void front_challenge_metadata(struct front_conn *c, const struct http_head *head) {
    struct arena *a = &c->front->scratch;
    const struct settings *s = front_auth_settings(c->front);
    struct slice path = slice_from(head->path, sizeof(METADATA_PATH) - 1);
    bool ours =
        !path.len || slice_is(path, "/mcp") || slice_starts(path, SLICE("/mcp/")) || slice_is(path, "/sse");
    if (!has_issuers(c->front) || !ours || head->method != HTTP_GET) {
        front_answer(c, 404, "application/json", (struct slice){0}, SLICE("{\"error\":\"Not found\"}"));
        return;
    }
    cleanup_buf struct buf out;
    buf_init(&out, 65536);
    struct emit e;
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "resource");
    emit_str(&e, arena_printf(a, "%.*s%.*s", SLICE_FMT(origin_of(c, a)),
                              SLICE_FMT(path.len ? path : SLICE("/mcp"))));
    emit_key(&e, "resource_name");
    emit_cstr(&e, "Sallyport");
    emit_key(&e, "authorization_servers");
    emit_array(&e);
    for (size_t i = 0; i < s->auth.issuer_count; i++)
        emit_cstr(&e, s->auth.issuers[i].issuer);
    emit_array_end(&e);
    emit_key(&e, "bearer_methods_supported");
    emit_raw(&e, SLICE("[\"header\"]"));
    struct slice rest = scopes_of(s, a), scope;
    if (rest.len) {
        emit_key(&e, "scopes_supported");
        emit_array(&e);
        while (rest.len) {
            slice_cut(&rest, ' ', &scope);
            emit_str(&e, scope);
        }
        emit_array_end(&e);
    }
    emit_object_end(&e);
    front_answer(c, 200, "application/json", SLICE("Cache-Control: max-age=3600\r\n"), buf_slice(&out));
}
