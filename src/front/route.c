/* What is common to every request: who may ask, and where it goes. */
#include "front/front.h"

#include <arpa/inet.h>

/* The host part of "host:port" or "[v6]:port". */
static struct slice host_only(struct slice authority) {
    if (authority.len && authority.ptr[0] == '[') {
        ptrdiff_t close = slice_find(authority, ']');
        return close > 0 ? slice_of(authority.ptr + 1, (size_t)close - 1) : (struct slice){0};
    }
    struct slice host;
    slice_cut(&authority, ':', &host);
    return host;
}

static bool names_loopback(struct slice authority) {
    struct slice host = host_only(authority);
    char text[64];
    if (host.len == 0 || host.len >= sizeof(text))
        return false;
    memcpy(text, host.ptr, host.len);
    text[host.len] = '\0';
    return slice_eq_nocase(host, SLICE("localhost")) || io_is_loopback(text);
}

/* A page on the web must not reach a gate on this machine through the browser: neither by its own origin
 * nor by a name that was made to point here. */
static bool host_and_origin_ok(struct front *f, const struct http_head *head) {
    struct slice host = http_value(head, "Host");
    if (f->loopback && !names_loopback(host))
        return false;
    const struct http_header *origin = http_find(head, SLICE("Origin"));
    if (!origin)
        return true;
    struct slice value = origin->value;
    if (slice_starts(value, SLICE("http://")))
        value = slice_from(value, 7);
    else if (slice_starts(value, SLICE("https://")))
        value = slice_from(value, 8);
    else
        return false;
    return f->loopback ? names_loopback(value) : slice_eq_nocase(value, host);
}

struct msg *front_read_message(struct front_conn *c, struct block *b, struct slice body) {
    struct arena *a = &c->front->scratch;
    int code;
    const char *why;
    struct slice id;
    struct msg *m = msg_read(&c->front->core->up.msgs, b, body, a, &code, &why, &id);
    if (m && m->tape.has_nul) {
        msg_unref(m);
        m = NULL;
        code = RPC_PARSE;
        why = "U+0000 in a string";
        id = (struct slice){0};
    }
    if (!m)
        front_answer_error(c, 400, code, id, why);
    return m;
}

static bool is_json(const struct http_head *head) {
    struct slice coding = http_value(head, "Content-Encoding");
    return http_media_is(http_value(head, "Content-Type"), SLICE("application/json")) &&
           (!coding.len || slice_eq_nocase(coding, SLICE("identity")));
}

void front_request(struct front_conn *c, struct http_head *head, struct block *b, struct slice body) {
    struct front *f = c->front;
    struct slice path = head->path;
    bool health = slice_is(path, "/healthz") || slice_is(path, "/readyz");
    bool mcp = slice_is(path, "/mcp") || slice_is(path, "/mcp/");
    c->only = f->only;
    if (!host_and_origin_ok(f, head)) {
        front_answer_error(c, 403, RPC_INVALID_REQUEST, (struct slice){0},
                           "Host or Origin is not allowed here");
    } else if (health && (head->method == HTTP_GET || head->method == HTTP_HEAD)) {
        front_answer(c, f->draining ? 503 : 200, "text/plain", (struct slice){0},
                     f->draining ? SLICE("draining\n") : SLICE("ok\n"));
    } else if (slice_starts(path, SLICE("/.well-known/oauth-protected-resource"))) {
        front_resource_metadata(c, head);
    } else if (front_web(c, head, b, body)) {
        return;
    } else if (front_authenticate(c, head, b, body) != FRONT_IN || !front_may_enter(c)) {
        return; /* answered, or will be */
    } else if (f->draining) {
        front_answer_error(c, 503, RPC_INTERNAL, (struct slice){0}, "shutting down");
    } else if (head->method == HTTP_POST && (mcp || slice_is(path, "/message")) && !is_json(head)) {
        front_answer_error(c, 415, -32000, (struct slice){0},
                           "Content-Type must be application/json, and not compressed");
    } else if (mcp) {
        front_mcp(c, head, b, body);
    } else if (slice_is(path, "/sse")) {
        front_sse_open(c, head);
    } else if (slice_is(path, "/message")) {
        front_sse_post(c, head, b, body);
    } else {
        front_answer(c, 404, "application/json", (struct slice){0}, SLICE("{\"error\":\"Not found\"}"));
    }
}
