#include "egress/egress_head.h"

#include "wire/host.h"

/* The request line: exactly three words with one space between them. */
static bool cut_line(struct slice line, struct slice *ret_method, struct slice *ret_target, int *ret_minor) {
    struct slice rest = line, version;
    if (!slice_cut(&rest, ' ', ret_method) || !slice_cut(&rest, ' ', ret_target))
        return false;
    version = rest;
    *ret_minor = slice_is(version, "HTTP/1.1") ? 1 : 0;
    return ret_method->len && ret_method->len <= HTTP_METHOD_MAX && http_token_ok(*ret_method) &&
           ret_target->len && (*ret_minor || slice_is(version, "HTTP/1.0"));
}

/* The port of host:port; 0 when there is none. */
static uint16_t port_of(struct slice authority) {
    size_t at = authority.len;
    uint64_t number;
    while (at && authority.ptr[at - 1] != ':' && authority.ptr[at - 1] != ']')
        at--;
    if (!at || authority.ptr[at - 1] != ':' || !slice_to_u64(slice_from(authority, at), &number) ||
        number > 65535)
        return 0;
    return (uint16_t)number;
}

static bool read_host(struct slice url, struct arena *a, struct egress_head *ret_head) {
    const enum host_fault found = host_of_url(url, a, &ret_head->host, &ret_head->is_ip);
    return found == HOST_OK || found == HOST_PRIVATE;
}

/* CONNECT host:port */
static const char *read_authority(struct slice target, struct arena *a, struct egress_head *ret_head) {
    for (size_t i = 0; i < target.len; i++)
        if (strchr("/?#@", target.ptr[i]))
            return "CONNECT takes HOST:PORT";
    ret_head->port = port_of(target);
    if (!ret_head->port || !read_host(arena_printf(a, "http://%.*s/", SLICE_FMT(target)), a, ret_head))
        return "CONNECT takes HOST:PORT";
    return NULL;
}

/* GET http://host/path */
static const char *read_url(struct slice target, struct arena *a, struct egress_head *ret_head) {
    struct http_url url;
    const char *why;
    if (http_parse_url(target, &url, &why) != 0 || !read_host(target, a, ret_head))
        return "a proxy takes absolute http:// URLs, and CONNECT";
    if (url.tls)
        return "https:// takes CONNECT";
    ret_head->port = url.port;
    ret_head->target = url.target;
    return url.port ? NULL : "port 0";
}

int egress_head_read(struct slice in, struct arena *a, struct egress_head *ret_head, const char **ret_why) {
    const char *end = in.len ? memmem(in.ptr, in.len, "\r\n\r\n", 4) : NULL;
    const size_t len = end ? (size_t)(end - in.ptr) + 4 : in.len;
    *ret_why = "the head is too large";
    if (len > HTTP_HEAD_MAX)
        return -431;
    if (!end)
        return 0;
    const char *line_end = memmem(in.ptr, len, "\r\n", 2);
    const struct slice line = slice_of(in.ptr, (size_t)(line_end - in.ptr));
    struct slice method, target;
    int minor;
    memset(ret_head, 0, sizeof(*ret_head));
    *ret_why = "not a request for a proxy";
    if (!cut_line(line, &method, &target, &minor))
        return -400;
    ret_head->connect = slice_is(method, "CONNECT");
    target = arena_dup(a, target);
    *ret_why = ret_head->connect ? read_authority(target, a, ret_head) : read_url(target, a, ret_head);
    if (*ret_why)
        return -400;
    /* The rest is parsed like any other head. */
    const struct slice rest = slice_of(line_end, len - line.len);
    const struct slice own = ret_head->connect
                                 ? arena_printf(a, "OPTIONS * HTTP/1.%d%.*s", minor, SLICE_FMT(rest))
                                 : arena_printf(a, "%.*s %.*s HTTP/1.%d%.*s", SLICE_FMT(method),
                                                SLICE_FMT(ret_head->target), minor, SLICE_FMT(rest));
    const int got = http_parse_request(own, &ret_head->http, ret_why);
    if (got <= 0 || (size_t)got != own.len) {
        *ret_why = got < 0 ? *ret_why : "the head is malformed";
        return got < 0 ? got : -400;
    }
    *ret_why = "CONNECT has no body";
    return ret_head->connect && ret_head->http.body != HTTP_BODY_NONE ? -400 : (int)len;
}

/* Headers that are for the proxy only. */
static bool is_hop(struct slice name) {
    static const char *const names[] = {"connection", "keep-alive", "te", "trailer", "upgrade", NULL};
    for (size_t i = 0; names[i]; i++)
        if (slice_eq_nocase(name, slice_str(names[i])))
            return true;
    return name.len > 6 && slice_eq_nocase(slice_upto(name, 6), SLICE("proxy-"));
}

static bool is_added(struct slice name, const struct slice *added, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct slice rest = added[i], own;
        slice_cut(&rest, ':', &own);
        if (slice_eq_nocase(name, own))
            return true;
    }
    return false;
}

static void put_field(const struct http_header *f, struct buf *out) {
    buf_put_slice(out, f->name);
    buf_put_str(out, ": ");
    buf_put_slice(out, f->value);
    buf_put_str(out, "\r\n");
}

void egress_head_write(const struct http_head *h, struct slice target, struct slice authority,
                       const struct slice *added, size_t added_count, struct buf *out) {
    buf_printf(out, "%.*s %.*s HTTP/1.1\r\nHost: %.*s\r\n", SLICE_FMT(h->method_text), SLICE_FMT(target),
               SLICE_FMT(authority));
    for (size_t i = 0; i < h->count; i++)
        if (!is_hop(h->headers[i].name) && !slice_eq_nocase(h->headers[i].name, SLICE("host")) &&
            !is_added(h->headers[i].name, added, added_count))
            put_field(&h->headers[i], out);
    for (size_t i = 0; i < added_count; i++) {
        buf_put_slice(out, added[i]);
        buf_put_str(out, "\r\n");
    }
    buf_put_str(out, "Connection: close\r\n\r\n");
}

void egress_head_write_answer(const struct http_head *h, struct buf *out) {
    buf_printf(out, "HTTP/1.1 %d %.*s\r\n", h->status, SLICE_FMT(h->reason));
    for (size_t i = 0; i < h->count; i++)
        if (!is_hop(h->headers[i].name))
            put_field(&h->headers[i], out);
    buf_put_str(out, h->status < 200 ? "\r\n" : "Connection: close\r\n\r\n");
}

struct slice egress_head_authority(struct slice host, uint16_t port, uint16_t usual, struct arena *a) {
    const bool six = slice_find(host, ':') >= 0;
    const struct slice name = six ? arena_printf(a, "[%.*s]", SLICE_FMT(host)) : host;
    return port == usual ? name : arena_printf(a, "%.*s:%u", SLICE_FMT(name), port);
}
