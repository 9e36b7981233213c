/* Ports and their connections.
 *
 *   HEAD ─▶ RESOLVE ─▶ JUDGE ─▶ DIAL ─▶ TUNNEL                      CONNECT
 *                                  └──▶ SEND ─▶ RELAY               a plain request
 *                                  └──▶ SECURE ─▶ INSIDE ─▶ SEND ─▶ RELAY   CONNECT to a host with headers to
 * add
 *
 * A stage that is refused answers and ends. Of a request's body no byte is forwarded beyond its end, so that
 * nothing behind it can be taken for another request. */
#include "egress/egress.h"

#include "base/check.h"
#include "base/mem.h"
#include "egress/egress_ca.h"
#include "egress/egress_head.h"
#include "egress/egress_rules.h"
#include "io/net.h"
#include "io/tls.h"
#include "wire/host.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LINK_MAGIC 0xe6e55004
#define HTTPS 443
#define HTTP 80

/* A host to whose requests the gate adds headers. */
struct secured {
    struct slice host;
    struct slice headers[EGRESS_INJECT_MAX];
    size_t count;
    struct io_tls_ctx *tls; /* with the gate's certificate for it */
};

struct egress {
    struct io_loop *loop;
    const char *list_name;
    struct arena arena;
    struct egress_rules rules;
    struct egress_ca *ca;
    struct secured *secured;
    size_t secured_count;
    struct io_tls_ctx *client_tls; /* NULL without a secured host */
    struct buf bundle;
    uint32_t open;
};

struct egress_port {
    struct egress *egress;
    const struct egress_ops *ops;
    void *owner;
    struct io_listener *listener;
    struct list links;
    uint32_t open, made;
};

enum stage {
    STAGE_HEAD,
    STAGE_RESOLVE,
    STAGE_JUDGE,
    STAGE_DIAL,
    STAGE_SECURE,
    STAGE_INSIDE,
    STAGE_TUNNEL,
    STAGE_SEND,
    STAGE_RELAY
};

struct link {
    uint32_t magic;
    enum stage stage;
    struct egress_port *port;
    struct list node;
    struct arena arena;
    struct io_conn *inside, *outside; /* the connections to the code and to the server */
    struct io_lookup *lookup;
    struct io_dial *dial;
    struct io_timer timer;
    struct egress_ask ask;
    struct egress_head head;
    const struct secured *secured;
    struct io_address addresses[EGRESS_ADDRESSES_MAX];
    size_t address_count, address_at;
    uint64_t body_left; /* of a request with a length */
    struct http_chunked chunked;
    bool body_done;
    bool answered; /* the head of the final answer was forwarded */
};

/* ---- the end of a connection ---- */

static void link_free(struct link *l) {
    struct egress_port *p = l->port;
    CHECK_MAGIC(l, LINK_MAGIC);
    io_timer_stop(p->egress->loop, &l->timer);
    io_resolve_cancel(l->lookup);
    io_dial_cancel(l->dial);
    if (l->stage == STAGE_JUDGE)
        p->ops->gone(p->owner, &l->ask);
    io_conn_close(l->inside);
    io_conn_close(l->outside);
    list_remove(&l->node);
    p->open--;
    p->egress->open--;
    arena_free(&l->arena);
    l->magic = 0;
    free(l);
}

/* Sends what is queued for the code, then closes. */
static void link_finish(struct link *l) {
    io_conn_finish(steal(l->inside));
    link_free(l);
}

/* HTTP libraries show little more than the reason of the status line. */
static void refuse(struct link *l, int status, struct slice why) {
    char reason[EGRESS_REASON_MAX];
    size_t len = 0;
    for (size_t i = 0; i < why.len && len < sizeof(reason); i++)
        reason[len++] = (char)(why.ptr[i] >= ' ' && why.ptr[i] < 127 ? why.ptr[i] : ' ');
    cleanup_buf struct buf out;
    buf_init(&out, 4096);
    buf_printf(&out,
               "HTTP/1.1 %d %.*s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\nConnection: "
               "close\r\n\r\n%.*s\n",
               status, (int)len, reason, len + 1, (int)len, reason);
    if (l->stage == STAGE_JUDGE)
        l->stage = STAGE_DIAL; /* it was answered */
    io_conn_put(l->inside, buf_slice(&out));
    link_finish(l);
}

static void on_timer(struct io_timer *timer) {
    struct link *l = container_of(timer, struct link, timer);
    if (l->stage == STAGE_HEAD || l->stage == STAGE_INSIDE || l->stage == STAGE_SECURE)
        link_free(l);
    else
        refuse(
            l, 504,
            arena_printf(&l->arena, "%.*s:%u did not answer in time", SLICE_FMT(l->ask.host), l->ask.port));
}

static void arm(struct link *l, uint64_t ms) { io_timer_arm(l->port->egress->loop, &l->timer, ms, on_timer); }

/* ---- bytes both ways ---- */

static void forward(struct io_conn *from, struct io_conn *to, struct block *b, const char *ptr, size_t len) {
    io_conn_put_ref(to, b, slice_of(ptr, len));
    if (io_conn_busy(to))
        io_conn_read(from, false);
}

/* A chunked body is written again without extensions and trailers. */
static size_t send_chunks(struct link *l, char *ptr, size_t len) {
    size_t used = 0, out = 0;
    const enum http_step step = http_chunked_decode(&l->chunked, ptr, len, ptr, &used, &out);
    if (step == HTTP_BAD)
        return SIZE_MAX;
    char head[32];
    const int head_len = snprintf(head, sizeof(head), "%zx\r\n", out);
    if (out) {
        io_conn_put(l->outside, slice_of(head, (size_t)head_len));
        io_conn_put(l->outside, slice_of(ptr, out));
        io_conn_put(l->outside, SLICE("\r\n"));
    }
    if (step == HTTP_DONE) {
        io_conn_put(l->outside, SLICE("0\r\n\r\n"));
        l->body_done = true;
    }
    return used;
}

/* Bytes after the end of the request are dropped. */
static size_t send_body(struct link *l, struct block *b, char *ptr, size_t len) {
    if (l->body_done)
        return len;
    if (l->head.http.body == HTTP_BODY_CHUNKED) {
        const size_t used = send_chunks(l, ptr, len);
        if (used == SIZE_MAX)
            link_free(l);
        else if (io_conn_busy(l->outside))
            io_conn_read(l->inside, false);
        return used == SIZE_MAX ? len : l->body_done ? len : used;
    }
    const size_t n = len < l->body_left ? len : (size_t)l->body_left;
    l->body_left -= n;
    l->body_done = l->body_left == 0;
    forward(l->inside, l->outside, b, ptr, n);
    return len;
}

/* The head of the server's answer; what follows it is forwarded unchanged until either side closes. */
static size_t take_answer(struct link *l, char *ptr, size_t len) {
    struct http_head head;
    const char *why;
    const int got = http_parse_response(slice_of(ptr, len), l->head.http.method, &head, &why);
    if (got == 0)
        return 0;
    if (got < 0) {
        refuse(l, 502,
               arena_printf(&l->arena, "%.*s sent an invalid answer: %s", SLICE_FMT(l->ask.host), why));
        return len;
    }
    cleanup_buf struct buf out;
    buf_init(&out, 2 * HTTP_HEAD_MAX);
    egress_head_write_answer(&head, &out);
    io_conn_put(l->inside, buf_slice(&out));
    l->answered = head.status >= 200;
    return (size_t)got;
}

static size_t on_outside(struct io_conn *c, void *owner, struct block *b, char *ptr, size_t len) {
    struct link *l = owner;
    size_t used = 0;
    if (l->stage != STAGE_TUNNEL && l->stage != STAGE_RELAY)
        return 0; /* of a server that sends the first byte */
    while (l->stage == STAGE_RELAY && !l->answered) {
        const size_t n = take_answer(l, ptr + used, len - used);
        if (c->closing || !n)
            return used;
        used += n;
    }
    forward(c, l->inside, b, ptr + used, len - used);
    return len;
}

static void on_outside_end(struct io_conn *c, void *owner, int status) {
    (void)c, (void)status;
    struct link *l = owner;
    if (l->stage == STAGE_RELAY && !l->answered)
        refuse(l, 502, arena_printf(&l->arena, "%.*s closed the connection", SLICE_FMT(l->ask.host)));
    else if (l->stage == STAGE_TUNNEL || l->stage == STAGE_RELAY)
        link_finish(l);
    else
        link_free(l);
}

static void on_outside_drained(struct io_conn *c, void *owner) {
    (void)c;
    struct link *l = owner;
    if (l->stage == STAGE_TUNNEL || l->stage == STAGE_RELAY) {
        io_conn_read(l->inside, true);
        io_conn_again(l->inside);
    }
}

static const struct io_handlers outside_handlers = {
    .data = on_outside, .end = on_outside_end, .drained = on_outside_drained};

/* ---- the server's end ---- */

static void begin_tunnel(struct link *l) {
    io_timer_stop(l->port->egress->loop, &l->timer);
    l->stage = STAGE_TUNNEL;
    io_conn_put(l->inside, SLICE("HTTP/1.1 200 Connection established\r\n\r\n"));
    io_conn_read(l->inside, true);
    io_conn_read(l->outside, true);
    io_conn_again(l->inside);
}

static void send_request(struct link *l, struct slice target, uint16_t usual) {
    const struct http_head *h = &l->head.http;
    cleanup_buf struct buf out;
    buf_init(&out, 4 * HTTP_HEAD_MAX);
    egress_head_write(h, target, egress_head_authority(l->ask.host, l->ask.port, usual, &l->arena),
                      l->secured ? l->secured->headers : NULL, l->secured ? l->secured->count : 0, &out);
    if (out.full) {
        refuse(l, 431, SLICE("the head is too large"));
        return;
    }
    io_timer_stop(l->port->egress->loop, &l->timer);
    l->stage = STAGE_RELAY;
    l->body_left = h->body == HTTP_BODY_LENGTH ? h->body_len : 0;
    l->body_done = h->body == HTTP_BODY_NONE || (h->body == HTTP_BODY_LENGTH && !h->body_len);
    http_chunked_init(&l->chunked);
    io_conn_put(l->outside, buf_slice(&out));
    io_conn_read(l->outside, true);
    io_conn_read(l->inside, true);
    io_conn_again(l->inside);
}

static void on_inside_secure(void *owner, int status, const char *why) {
    (void)why;
    struct link *l = owner;
    if (status != 0)
        link_free(l);
    else
        l->stage = STAGE_INSIDE;
}

/* The server's certificate is verified; next is the handshake with the code. */
static void on_outside_secure(void *owner, int status, const char *why) {
    struct link *l = owner;
    if (status != 0) {
        refuse(l, 502, arena_printf(&l->arena, "%.*s: %s", SLICE_FMT(l->ask.host), why));
        return;
    }
    arm(l, EGRESS_HEAD_MS);
    io_conn_put(l->inside, SLICE("HTTP/1.1 200 Connection established\r\n\r\n"));
    io_conn_flush(l->inside);
    if (io_conn_queued(l->inside)) { /* before TLS starts: it would be encrypted; the buffer of a new socket
                                        has room for it */
        link_free(l);
        return;
    }
    io_tls_start_server(l->inside, l->secured->tls, (struct slice){0}, on_inside_secure);
}

static void dial(struct link *l);

static void on_dialed(void *owner, struct io_conn *c, int status) {
    struct link *l = owner;
    l->dial = NULL;
    l->outside = c;
    if (status != 0 && ++l->address_at < l->address_count) {
        dial(l);
    } else if (status != 0) {
        refuse(
            l, 502,
            arena_printf(&l->arena, "%.*s:%u: %s", SLICE_FMT(l->ask.host), l->ask.port, uv_strerror(status)));
    } else if (l->secured) {
        l->stage = STAGE_SECURE;
        io_tls_start_client(c, l->port->egress->client_tls, arena_dup(&l->arena, l->ask.host).ptr,
                            on_outside_secure);
    } else if (l->head.connect) {
        begin_tunnel(l);
    } else {
        l->stage = STAGE_SEND;
        send_request(l, l->head.target, HTTP);
    }
}

static struct slice address_text(const struct io_address *address, struct arena *a) {
    char *text = arena_alloc(a, INET6_ADDRSTRLEN);
    const bool four = IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)address->bytes);
    if (!inet_ntop(four ? AF_INET : AF_INET6, address->bytes + (four ? 12 : 0), text, INET6_ADDRSTRLEN))
        *text = '\0';
    return slice_str(text);
}

static void dial(struct link *l) {
    const struct slice at = address_text(&l->addresses[l->address_at], &l->arena);
    l->stage = STAGE_DIAL;
    arm(l, EGRESS_DIAL_MS);
    l->dial = io_connect(l->port->egress->loop, at.ptr, l->ask.port, &outside_handlers, l, on_dialed);
}

/* ---- the verdict ---- */

void egress_answer(struct egress_ask *ask, bool allowed, struct slice why) {
    struct link *l = container_of(ask, struct link, ask);
    CHECK_MAGIC(l, LINK_MAGIC);
    CHECK(l->stage == STAGE_JUDGE);
    if (l->ask.refused.len)
        refuse(l, 403, l->ask.refused);
    else if (!allowed)
        refuse(l, 403, why.len ? why : SLICE("refused by policy"));
    else
        dial(l);
}

static void judge(struct link *l, struct slice refused) {
    io_timer_stop(l->port->egress->loop, &l->timer);
    l->stage = STAGE_JUDGE;
    l->ask.refused = refused;
    if (l->address_count)
        l->ask.address = address_text(&l->addresses[0], &l->arena);
    l->port->ops->judge(l->port->owner, &l->ask);
}

/* Keeps the addresses that are allowed. */
static void judge_addresses(struct link *l, const struct io_address *found, size_t count) {
    const struct egress_rules *rules = &l->port->egress->rules;
    for (size_t i = 0; i < count && l->address_count < EGRESS_ADDRESSES_MAX; i++)
        if (!host_address_is_private(found[i].bytes) ||
            egress_rules_have_address(rules, &found[i], l->ask.port))
            l->addresses[l->address_count++] = found[i];
    if (l->address_count) {
        judge(l, (struct slice){0});
        return;
    }
    const struct slice at = address_text(&found[0], &l->arena);
    judge(l, arena_printf(&l->arena,
                          "%.*s is the private address %.*s: the operator can allow it with %.*s in %s",
                          SLICE_FMT(l->ask.host), SLICE_FMT(at),
                          SLICE_FMT(egress_head_authority(at, l->ask.port, 0, &l->arena)),
                          l->port->egress->list_name));
}

static void on_resolved(void *owner, const struct io_address *found, size_t count, int status) {
    struct link *l = owner;
    l->lookup = NULL;
    if (status != 0)
        judge(l, arena_printf(&l->arena, "%.*s: %s", SLICE_FMT(l->ask.host), uv_strerror(status)));
    else
        judge_addresses(l, found, count);
}

/* A name that is not listed is not resolved, because DNS queries can carry data out. */
static void take_ask(struct link *l) {
    const struct egress *e = l->port->egress;
    struct io_address address;
    l->ask.host = l->head.host;
    l->ask.port = l->head.port;
    for (size_t i = 0; l->head.connect && i < e->secured_count; i++)
        if (slice_eq(e->secured[i].host, l->head.host))
            l->secured = &e->secured[i];
    const bool literal = l->head.is_ip && io_address_parse(l->head.host, &address);
    const bool listed = literal
                            ? egress_rules_have_address(&e->rules, &address, l->ask.port)
                            : !l->head.is_ip && egress_rules_have_name(&e->rules, l->head.host, l->ask.port);
    if (!listed) {
        const struct slice entry = egress_head_authority(l->ask.host, l->ask.port, 0, &l->arena);
        judge(l, arena_printf(&l->arena, "no network to %.*s: the operator can allow it in %s",
                              SLICE_FMT(entry), e->list_name));
    } else if (literal) {
        judge_addresses(l, &address, 1);
    } else {
        l->stage = STAGE_RESOLVE;
        arm(l, EGRESS_DIAL_MS);
        l->lookup = io_resolve(e->loop, arena_dup(&l->arena, l->ask.host).ptr, on_resolved, l);
    }
}

/* ---- the code's end ---- */

static size_t take_head(struct link *l, char *ptr, size_t len) {
    const char *why;
    const int got = egress_head_read(slice_of(ptr, len), &l->arena, &l->head, &why);
    if (got == 0)
        return 0;
    if (got > 0 && l->head.connect && (size_t)got < len)
        why = "bytes behind CONNECT";
    else if (got > 0)
        why = NULL;
    if (why) {
        refuse(l, got < 0 ? -got : 400, slice_str(why));
        return len;
    }
    io_conn_read(l->inside, false);
    take_ask(l);
    return (size_t)got;
}

/* The request inside TLS: only for the host of the connection. */
static size_t take_inside(struct link *l, char *ptr, size_t len) {
    const char *why;
    struct http_head *h = &l->head.http;
    const int got = http_parse_request(slice_of(ptr, len), h, &why);
    if (got == 0)
        return 0;
    if (got < 0) {
        refuse(l, -got, slice_str(why));
        return len;
    }
    struct slice host;
    bool is_ip;
    const struct slice url =
        arena_printf(&l->arena, "http://%.*s/", SLICE_FMT(http_value(h, HTTP_FIELD_HOST)));
    const enum host_fault found = host_of_url(url, &l->arena, &host, &is_ip);
    if ((found != HOST_OK && found != HOST_PRIVATE) || !slice_eq(host, l->ask.host)) {
        refuse(l, 421, SLICE("the Host header names another host than the connection"));
        return len;
    }
    l->stage = STAGE_SEND;
    send_request(l, h->target, HTTPS);
    return (size_t)got;
}

static size_t on_inside(struct io_conn *c, void *owner, struct block *b, char *ptr, size_t len) {
    struct link *l = owner;
    CHECK_MAGIC(l, LINK_MAGIC);
    switch (l->stage) {
    case STAGE_HEAD:
        return take_head(l, ptr, len);
    case STAGE_INSIDE:
        return take_inside(l, ptr, len);
    case STAGE_TUNNEL:
        forward(c, l->outside, b, ptr, len);
        return len;
    case STAGE_RELAY:
        return send_body(l, b, ptr, len);
    default:
        return 0; /* it waits */
    }
}

static void on_inside_end(struct io_conn *c, void *owner, int status) {
    (void)c, (void)status;
    struct link *l = owner;
    if (l->stage == STAGE_TUNNEL)
        io_conn_finish(steal(l->outside));
    link_free(l);
}

static void on_inside_drained(struct io_conn *c, void *owner) {
    (void)c;
    struct link *l = owner;
    if (l->stage == STAGE_TUNNEL || l->stage == STAGE_RELAY) {
        io_conn_read(l->outside, true);
        io_conn_again(l->outside);
    }
}

static const struct io_handlers inside_handlers = {
    .data = on_inside, .end = on_inside_end, .drained = on_inside_drained};

/* ---- ports ---- */

static void on_incoming(struct io_listener *listener, void *owner, int take_fd) {
    (void)listener;
    struct egress_port *p = owner;
    if (p->open >= EGRESS_PORT_OPEN_MAX || p->made >= EGRESS_PORT_LINKS_MAX ||
        p->egress->open >= EGRESS_OPEN_MAX) {
        close(take_fd);
        return;
    }
    struct link *l = mem_zalloc(sizeof(*l));
    l->magic = LINK_MAGIC;
    l->port = p;
    arena_init(&l->arena);
    list_push(&p->links, &l->node);
    p->open++;
    p->made++;
    p->egress->open++;
    l->inside = io_conn_socket(p->egress->loop, take_fd, &inside_handlers, l);
    if (!l->inside) {
        link_free(l);
        return;
    }
    arm(l, EGRESS_HEAD_MS);
    io_conn_read(l->inside, true);
}

struct egress_port *egress_listen(struct egress *e, int take_fd, const struct egress_ops *ops, void *owner) {
    struct egress_port *p = mem_zalloc(sizeof(*p));
    *p = (struct egress_port){.egress = e, .ops = ops, .owner = owner};
    list_init(&p->links);
    p->listener = io_listen_fd(e->loop, take_fd, on_incoming, p);
    return p;
}

void egress_port_close(struct egress_port *p) {
    if (!p)
        return;
    io_listener_close(p->listener);
    while (!list_empty(&p->links))
        link_free(container_of(p->links.next, struct link, node));
    free(p);
}

/* ---- opening ---- */

static struct secured *secured_of(struct egress *e, struct slice host) {
    for (size_t i = 0; i < e->secured_count; i++)
        if (slice_eq(e->secured[i].host, host))
            return &e->secured[i];
    struct secured *s = &e->secured[e->secured_count++];
    s->host = host;
    return s;
}

static int add_header(struct egress *e, struct slice text, struct err *err) {
    static const char *const framing[] = {"host", "connection", "content-length", "transfer-encoding",
                                          "expect"};
    struct slice header = text, host, value, name, canonical;
    bool is_ip;
    slice_cut(&header, '\n', &host);
    value = header;
    slice_cut(&value, ':', &name);
    const struct slice url = arena_printf(
        &e->arena, slice_find(host, ':') >= 0 ? "https://[%.*s]/" : "https://%.*s/", SLICE_FMT(host));
    const enum host_fault found = host_of_url(url, &e->arena, &canonical, &is_ip);
    if ((found != HOST_OK && found != HOST_PRIVATE) || !egress_rules_mention(&e->rules, canonical))
        return err_set(err, "`%.*s` is not in code.network.allow", SLICE_FMT(slice_upto(host, 128)));
    bool fine = http_token_ok(name) && http_value_ok(slice_trim(value)) && slice_trim(value).len;
    for (size_t i = 0; i < ARRAY_LEN(framing); i++)
        fine = fine && !slice_eq_nocase(name, slice_str(framing[i]));
    if (!fine)
        return err_set(err, "`%.*s` of %.*s cannot be added as a header", SLICE_FMT(slice_upto(name, 64)),
                       SLICE_FMT(slice_upto(host, 128)));
    struct secured *s = secured_of(e, canonical);
    s->headers[s->count++] = arena_dup(&e->arena, header);
    return 0;
}

static int secure_hosts(struct egress *e, struct err *err) {
    if (!e->secured_count)
        return 0;
    e->client_tls = io_tls_client_ctx(err);
    if (!e->client_tls || egress_ca_new(&e->ca, err) < 0 || egress_ca_write(e->ca, &e->bundle, err) < 0)
        return -1;
    for (size_t i = 0; i < e->secured_count; i++) {
        cleanup_buf struct buf cert, key;
        buf_init(&cert, EGRESS_PEM_MAX);
        buf_init(&key, EGRESS_PEM_MAX);
        if (egress_ca_issue(e->ca, e->secured[i].host, &cert, &key, err) < 0)
            return -1;
        e->secured[i].tls = io_tls_server_ctx_of(buf_slice(&cert), buf_slice(&key), err);
        if (!e->secured[i].tls)
            return -1;
    }
    return 0;
}

/* The certificates that the system trusts: the sandbox has none. */
static void read_bundle(struct egress *e) {
    const char *const places[] = {getenv("SSL_CERT_FILE"), "/etc/ssl/certs/ca-certificates.crt",
                                  "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                                  "/etc/ssl/cert.pem"};
    for (size_t i = 0; i < ARRAY_LEN(places) && !e->bundle.len; i++) {
        cleanup_fd int fd = places[i] ? open(places[i], O_RDONLY | O_CLOEXEC) : -1;
        char bytes[16384];
        for (ssize_t n; fd >= 0 && (n = read(fd, bytes, sizeof(bytes))) > 0;)
            buf_put(&e->bundle, bytes, (size_t)n);
    }
    buf_put_char(&e->bundle, '\n');
}

int egress_open(const struct egress_config *config, struct egress **ret_egress, struct err *err) {
    struct egress *e = mem_zalloc(sizeof(*e));
    int done = 0;
    e->loop = config->loop;
    e->list_name = config->list_name ? config->list_name : "code.network.allow";
    arena_init(&e->arena);
    buf_init(&e->bundle, EGRESS_BUNDLE_MAX);
    for (size_t i = 0; done == 0 && i < config->allow_count; i++)
        if ((done = egress_rules_add(&e->rules, slice_str(config->allow[i]), &e->arena, err)) < 0)
            err_wrap(err, "%s", e->list_name);
    if (done == 0 && config->inject_count > EGRESS_INJECT_MAX)
        done = err_set(err, "code.network.inject: more than %d headers", EGRESS_INJECT_MAX);
    if (done == 0 && config->inject_count)
        e->secured = mem_zalloc(config->inject_count * sizeof(*e->secured));
    for (size_t i = 0; done == 0 && i < config->inject_count; i++)
        if ((done = add_header(e, slice_str(config->inject[i]), err)) < 0)
            err_wrap(err, "code.network.inject");
    if (done == 0)
        read_bundle(e);
    if (done == 0)
        done = secure_hosts(e, err);
    if (done == 0 && e->bundle.full)
        done = err_set(err, "the system's certificates have more than %u bytes", EGRESS_BUNDLE_MAX);
    if (done < 0) {
        egress_close(e);
        return -1;
    }
    *ret_egress = e;
    return 0;
}

void egress_close(struct egress *e) {
    if (!e)
        return;
    for (size_t i = 0; i < e->secured_count; i++)
        io_tls_ctx_free(e->secured[i].tls);
    io_tls_ctx_free(e->client_tls);
    egress_ca_free(e->ca);
    free(e->secured);
    buf_free(&e->bundle);
    arena_free(&e->arena);
    free(e);
}

struct slice egress_bundle(const struct egress *e) {
    return buf_slice(&e->bundle);
}
