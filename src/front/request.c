/* Common to every request: authentication and routing. */
#include "audit/audit.h"
#include "call/answer.h"
#include "front/auth.h"
#include "front/fanout.h"
#include "front/fleet.h"
#include "front/front.h"
#include "front/peers.h"
#include "front/share.h"
#include "record/record.h"
#include "session/messages.h"
#include "ship/ship.h"
#include "state/state.h"

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

static bool host_ok(struct front *f, struct slice host) {
    if (!f->loopback || front_is_public_host(f, host) ||
        (host.len && slice_eq(host, slice_of(f->host, f->host_len))))
        return true;
    if (!names_loopback(host))
        return false;
    f->host_len = host.len <= sizeof(f->host) ? host.len : 0;
    memcpy(f->host, host.ptr, f->host_len);
    return true;
}

/* A web page must not reach a gate on this machine through the browser, neither from another origin nor by
 * DNS rebinding. */
static bool host_and_origin_ok(const struct front_conn *c, const struct http_head *head) {
    struct front *f = c->front;
    if (c->from_node)
        return true; /* the forwarding gate has checked both against its own address */
    struct slice host = http_value(head, HTTP_FIELD_HOST);
    if (!host_ok(f, host))
        return false;
    if (!http_has(head, HTTP_FIELD_ORIGIN))
        return true;
    struct slice value = http_value(head, HTTP_FIELD_ORIGIN);
    if (f->public.origin.len && slice_eq_nocase(value, f->public.origin))
        return true;
    if (slice_starts(value, SLICE("http://")))
        value = slice_from(value, 7);
    else if (slice_starts(value, SLICE("https://")))
        value = slice_from(value, 8);
    else
        return false;
    return f->loopback ? names_loopback(value) : slice_eq_nocase(value, host);
}

void front_record_refusal(struct front_conn *c, const struct session *session, const char *why) {
    record_refusal(c->front->core, &(struct refusal){.kind = REFUSAL_MALFORMED,
                                                     .who = c->principal,
                                                     .session = session,
                                                     .server = c->only,
                                                     .why = slice_str(why)});
}

void front_refuse_message(struct front_conn *c, const struct session *session, int code, struct slice id_raw,
                          const char *why) {
    front_record_refusal(c, session, why);
    front_answer_error(c, 400, code, id_raw, why);
}

/* On the older transport clients do not read the response to a POST: answers arrive on the stream. */
static void refuse_on_stream(struct front_conn *c, struct call_sink *sink, const struct msg_refusal *r) {
    struct arena *a = &c->front->scratch;
    struct splice text;
    splice_init(&text, answer_error_text(a, r->id, r->code, r->why), a);
    front_answer(c, 202, "text/plain", (struct slice){0}, SLICE("Accepted"));
    sink->ops->reply(sink, &(struct session_out){.text = &text});
}

struct msg *front_read_message(struct front_conn *c, struct block *b, struct slice body,
                               struct slice session_id) {
    struct arena *a = &c->front->scratch;
    struct msg_refusal r;
    struct msg *m = msg_admit(&c->front->core->up.msgs, b, body, a, &r);
    if (m)
        return m;
    struct front_session *fs = session_id.len ? front_session_find(c, session_id) : NULL;
    front_record_refusal(c, fs ? fs->session : NULL, r.why);
    if (fs && messages_refuse_answer(fs->session, body, r.why))
        front_answer(c, 202, NULL, (struct slice){0}, (struct slice){0});
    else if (fs && fs->sse && r.id.len)
        refuse_on_stream(c, &fs->sse_sink, &r);
    else /* many clients end their session at any status but 200 */
        front_answer_error(c, r.is_readable ? 200 : 400, r.code, r.id, r.why);
    return NULL;
}

static bool is_json(const struct http_head *head) {
    struct slice coding = http_value(head, HTTP_FIELD_ENCODING);
    return http_media_is(http_value(head, HTTP_FIELD_TYPE), SLICE("application/json")) &&
           (!coding.len || slice_eq_nocase(coding, SLICE("identity")));
}

/* The target of a path. */
enum place {
    PLACE_NONE,
    PLACE_HEALTH,
    PLACE_READY,
    PLACE_MCP,
    PLACE_SSE,
    PLACE_MESSAGE,
    PLACE_SERVERS,
    PLACE_CALL,
    PLACE_TOOLS
};

static enum place find_endpoint(struct front_conn *c, struct slice rest, enum place place) {
    struct slice name;
    bool more = slice_cut(&rest, '/', &name);
    if (!name.len)
        return more ? PLACE_NONE : place;
    c->only = server_find(c->front->core, name);
    if (!c->only || (more && rest.len && !(place == PLACE_MCP && slice_is(rest, "tools"))))
        return PLACE_NONE;
    return more && rest.len ? PLACE_TOOLS : place;
}

static enum place find_place(struct front_conn *c, struct slice path) {
    static const struct {
        struct slice path;
        enum place place;
    } exact[] = {
        {SLICE("/healthz"), PLACE_HEALTH},  {SLICE("/readyz"), PLACE_READY},
        {SLICE("/mcp"), PLACE_MCP},         {SLICE("/sse"), PLACE_SSE},
        {SLICE("/message"), PLACE_MESSAGE}, {SLICE("/mcp/servers"), PLACE_SERVERS},
        {SLICE("/mcp/call"), PLACE_CALL},
    };
    c->only = c->front->only;
    for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++)
        if (slice_eq(path, exact[i].path))
            return exact[i].place;
    if (slice_starts(path, SLICE("/mcp/")))
        return find_endpoint(c, slice_from(path, 5), PLACE_MCP);
    if (slice_starts(path, SLICE("/sse/")))
        return find_endpoint(c, slice_from(path, 5), PLACE_SSE);
    if (slice_starts(path, SLICE("/message/")))
        return find_endpoint(c, slice_from(path, 9), PLACE_MESSAGE);
    return PLACE_NONE;
}

/* An unreachable database does not make the gate unready, because the log is also written locally. */
static void write_ship_status(struct ship *ship, struct buf *out) {
    struct ship_health health = {0};
    if (ship)
        ship_health(ship, &health);
    if (health.failed)
        buf_printf(out, "audit log: %llu records were not shipped: %s\n",
                   (unsigned long long)health.lag_records, health.fault);
}

static void answer_health(struct front_conn *c, const struct http_head *head, enum place place) {
    struct front *f = c->front;
    cleanup_buf struct buf text;
    buf_init(&text, MSG_BYTES_MAX);
    struct audit_health log = {0};
    if (place == PLACE_READY && f->core->audit)
        audit_health(f->core->audit, &log);
    struct state_health counters = {0};
    if (place == PLACE_READY && f->core->state && !state_is_remote(f->core->state))
        state_health(f->core->state, &counters);
    const bool refusing = (log.failed || log.held) && !log.passing;
    const bool leaves = f->draining || (place == PLACE_READY && f->not_ready);
    const bool local = front_is_local(c);
    buf_put_str(&text, leaves          ? "draining\n"
                       : refusing      ? "the audit log cannot be written\n"
                       : counters.down ? "limits cannot be counted\n"
                                       : "ok\n");
    if (log.failed && local)
        buf_printf(&text, "audit log: %s\n", log.fault);
    if (counters.down && local)
        buf_printf(&text, "limits: %s\n", counters.fault);
    if (place == PLACE_READY && local)
        write_ship_status(f->core->ship, &text);
    if (place == PLACE_READY && f->fleet && local)
        fleet_write_status(f->fleet, &text);
    const int status = leaves || refusing || counters.down ? 503 : 200;
    if (head->method != HTTP_GET && head->method != HTTP_HEAD)
        front_answer(c, 405, NULL, SLICE("Allow: GET, HEAD\r\n"), (struct slice){0});
    else if (head->method == HTTP_HEAD || place != PLACE_READY ||
             !front_fanout_ready(c, head, status, buf_slice(&text)))
        front_answer(c, status, "text/plain", (struct slice){0}, buf_slice(&text));
}

static void answer_plain(struct front_conn *c, const struct http_head *head, enum place place,
                         struct slice body) {
    bool call = place == PLACE_CALL;
    if (head->method != (call ? HTTP_POST : HTTP_GET))
        front_answer(c, 405, NULL, call ? SLICE("Allow: POST\r\n") : SLICE("Allow: GET\r\n"),
                     (struct slice){0});
    else if (call)
        front_plain_call(c, body);
    else if (place == PLACE_SERVERS)
        front_plain_servers(c);
    else
        front_plain_tools(c);
}

/* Recorded only if the sender is already authenticated: unauthenticated requests are not logged. */
void front_refuse_large(struct front_conn *c, const struct http_head *head) {
    static const char why[] = "the message is too large";
    c->console = false;
    enum place place = find_place(c, head->path);
    bool message = place == PLACE_MCP || place == PLACE_MESSAGE || place == PLACE_CALL;
    struct front_verdict verdict;
    if (message && host_and_origin_ok(c, head) && front_recognise(c, head, &verdict))
        front_record_refusal(c, NULL, why);
    front_answer_error(c, 413, RPC_INVALID_REQUEST, (struct slice){0}, why);
}

/* Clients of these paths do not use JSON-RPC. */
static bool is_page(struct slice path) {
    return slice_is(path, "/") || slice_starts(path, SLICE("/ui")) || slice_starts(path, SLICE("/api/"));
}

bool front_admit_body(struct front_conn *c, const struct http_head *head, size_t len) {
    struct front_verdict verdict = {.status = 413, .message = "the message is too large"};
    find_place(c, head->path);
    c->console = is_page(head->path);
    c->cookie = (struct slice){0};
    if (host_and_origin_ok(c, head) && front_recognise(c, head, &verdict))
        return front_share_claim(c);
    if (len <= FRONT_STRANGER_BODY_MAX)
        return true;
    if (verdict.wait)
        verdict = (struct front_verdict){.status = 503,
                                         .message = verdict.cookie.len
                                                        ? "the sign-in is being looked up; try again"
                                                        : "the issuer's keys are being fetched; try again"};
    front_challenge(c, &verdict);
    return false;
}

void front_request(struct front_conn *c, struct http_head *head, struct block *b, struct slice body) {
    struct front *f = c->front;
    enum place place = find_place(c, head->path);
    bool takes_json = place == PLACE_MCP || place == PLACE_MESSAGE || place == PLACE_CALL;
    c->console = false;
    if (!host_and_origin_ok(c, head) && is_page(head->path)) {
        front_answer_fault(c, 403, (struct slice){0}, "Host or Origin is not allowed here");
    } else if (!host_and_origin_ok(c, head)) {
        front_answer_error(c, 403, RPC_INVALID_REQUEST, (struct slice){0},
                           "Host or Origin is not allowed here");
    } else if (place == PLACE_HEALTH || place == PLACE_READY) {
        answer_health(c, head, place);
    } else if (slice_starts(head->path, SLICE("/.well-known/oauth-protected-resource"))) {
        front_challenge_metadata(c, head);
    } else if (front_web(c, head, b, body)) {
        return;
    } else if (front_authenticate(c, head, b, body) != FRONT_IN || !front_may_enter(c) ||
               !front_share_claim(c)) {
        return; /* answered, or answered later */
    } else if (f->draining && f->leaving &&
               c->peer) { /* its session ends now; another process accepts new ones */
        front_answer_error(c, 404, -32001, (struct slice){0}, "session not found; initialize again");
    } else if (f->draining) {
        front_answer_error(c, 503, RPC_INTERNAL, (struct slice){0}, "the gate is shutting down; try again");
    } else if (head->method == HTTP_POST && takes_json && !is_json(head)) {
        front_answer_error(c, 415, -32000, (struct slice){0},
                           "Content-Type must be application/json, without compression");
    } else if ((place == PLACE_MCP || place == PLACE_MESSAGE) && front_peers_route(c, head, b, body)) {
        return; /* another process has the session */
    } else if (place == PLACE_MCP) {
        front_mcp(c, head, b, body);
    } else if (place == PLACE_SSE) {
        front_sse_open(c, head);
    } else if (place == PLACE_MESSAGE) {
        front_sse_post(c, head, b, body);
    } else if (place != PLACE_NONE) {
        answer_plain(c, head, place, body);
    } else {
        front_answer(c, 404, "application/json", (struct slice){0}, SLICE("{\"error\":\"Not found\"}"));
    }
}
