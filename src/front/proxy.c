/* Reverse proxies and load balancers in front of the gate. Only those that the settings list are trusted
 * (`trusted_proxies`): what X-Forwarded-For, X-Forwarded-Proto and the PROXY protocol v2 say is
 * unverified, because any client can send it.
 *
 *   client ─▶ proxy ─▶ gate      the address that counts is the last one in X-Forwarded-For that is no proxy
 */
#include "base/hex.h"
#include "base/mem.h"
#include "front/front.h"
#include "front/peers.h"
#include "front/settings.h"
#include "front/share.h"
#include "io/conn.h"

#define V2_HEAD 16 /* signature, command, family, length */
#define V2_TLV_SSL 0x20
#define V2_TLV_HEAD 3
#define V2_SSL_CLIENT 1 /* bit: the client connected over TLS */

static const struct slice v2_signature = SLICE("\r\n\r\n\0\r\nQUIT\n");

/* ---- the settings ---- */

void front_public_set(struct front *f, const struct settings *s) {
    struct front_public *p = &f->public;
    struct http_url at;
    const char *why;
    p->proxies = mem_zalloc((s->trusted_proxies.count + 1) * sizeof(*p->proxies));
    for (size_t i = 0; i < s->trusted_proxies.count; i++)
        if (io_netmask_parse(slice_str(s->trusted_proxies.items[i]), &p->proxies[p->proxy_count]))
            p->proxy_count++;
    if (!s->public_url || http_parse_url(slice_str(s->public_url), &at, &why) < 0)
        return;
    p->https = at.tls;
    p->host = at.authority;
    p->origin = slice_str(s->public_url);
    if (slice_ends(p->origin, SLICE("/")))
        p->origin.len--;
}

void front_public_free(struct front *f) {
    free(f->public.proxies);
    f->public = (struct front_public){0};
}

bool front_is_public_host(const struct front *f, struct slice host) {
    const struct front_public *p = &f->public;
    const struct slice usual = p->https ? SLICE(":443") : SLICE(":80");
    if (!p->host.len)
        return false;
    return slice_eq_nocase(host, p->host) ||
           (slice_ends(host, usual) && slice_eq_nocase(slice_upto(host, host.len - usual.len), p->host));
}

static bool is_trusted(const struct front *f, const struct io_address *address) {
    for (size_t i = 0; i < f->public.proxy_count; i++)
        if (io_netmask_has(&f->public.proxies[i], address))
            return true;
    return false;
}

/* ---- connections ---- */

void front_proxy_enter(struct front_conn *c) {
    c->has_client = io_conn_address(c->io, &c->client);
    c->trusted = c->expect_proxy_v2 = c->has_client && is_trusted(c->front, &c->client);
    if (c->trusted)
        c->has_client = false; /* the proxy itself is not a client */
}

static uint16_t be16(const char *p) { return (uint16_t)((unsigned char)p[0] << 8 | (unsigned char)p[1]); }

/* Did the client use TLS to the proxy? False also when the proxy does not report it. */
static bool says_tls(const char *at, const char *end) {
    while (end - at >= V2_TLV_HEAD) {
        const char *value = at + V2_TLV_HEAD;
        const size_t len = be16(at + 1);
        if ((size_t)(end - value) < len)
            return false;
        if (at[0] == V2_TLV_SSL && len >= 1)
            return value[0] & V2_SSL_CLIENT;
        at = value + len;
    }
    return false;
}

static bool take_v2(struct front_conn *c, const char *ptr, size_t len) {
    const unsigned char command = (unsigned char)ptr[12], family = (unsigned char)ptr[13] >> 4;
    const size_t addresses = family == 1 ? 12 : family == 2 ? 36 : 0;
    const char *body = ptr + V2_HEAD;
    if (command == 0x20)
        return true; /* LOCAL: the proxy's own health check */
    if (command != 0x21 || len < V2_HEAD + addresses)
        return false;
    if (!addresses)
        return true; /* the client has no address */
    if (family == 1)
        c->v2_client = io_address_v4((const unsigned char *)body);
    else
        memcpy(c->v2_client.bytes, body, sizeof(c->v2_client.bytes));
    c->v2 = true;
    c->v2_secure = says_tls(body + addresses, ptr + len);
    return true;
}

ptrdiff_t front_proxy_v2(struct front_conn *c, const char *ptr, size_t len) {
    const size_t compared = len < v2_signature.len ? len : v2_signature.len;
    if (memcmp(ptr, v2_signature.ptr, compared) != 0)
        return 0;
    const size_t all = len >= V2_HEAD ? V2_HEAD + (size_t)be16(ptr + 14) : V2_HEAD;
    if (all > FRONT_PROXY_HEAD_MAX)
        return -2;
    if (len < all)
        return -1;
    return take_v2(c, ptr, all) ? (ptrdiff_t)all : -2;
}

/* ---- requests ---- */

/* The last address that is not one of our proxies, over all lines of the header. */
static bool forwarded_for(const struct front *f, const struct http_head *head,
                          struct io_address *ret_client) {
    bool found = false;
    for (size_t i = head->count; i-- > 0 && !found;) {
        if (!slice_eq_nocase(head->headers[i].name, SLICE("X-Forwarded-For")))
            continue;
        struct slice rest = head->headers[i].value;
        while (rest.len && !found) {
            size_t at = rest.len;
            while (at && rest.ptr[at - 1] != ',')
                at--;
            if (!io_address_parse(slice_trim(slice_from(rest, at)), ret_client))
                return false; /* addresses before it cannot be trusted */
            found = !is_trusted(f, ret_client);
            rest = slice_upto(rest, at ? at - 1 : 0);
        }
    }
    return found;
}

/* The value set by the nearest proxy, which is the last one. */
static struct slice last_of(const struct http_head *head, struct slice name) {
    struct slice value = {0}, one;
    for (size_t i = 0; i < head->count; i++)
        if (slice_eq_nocase(head->headers[i].name, name))
            value = head->headers[i].value;
    while (slice_cut(&value, ',', &one))
        ;
    return slice_trim(one);
}

/* Reads what the forwarding process determined about its client: address, TLS, whether it is local. */
static void peer_request(struct front_conn *c, const struct http_head *head) {
    struct slice rest = http_value_of(head, SLICE(FRONT_FORWARDED)), client, secure;
    slice_cut(&rest, ' ', &client);
    slice_cut(&rest, ' ', &secure);
    c->has_client = hex_get(client, c->client.bytes, sizeof(c->client.bytes));
    c->secure = slice_is(secure, "1");
    c->forwarded = !slice_is(rest, "0");
}

void front_proxy_request(struct front_conn *c, const struct http_head *head) {
    struct front *f = c->front;
    if (c->peer) {
        peer_request(c, head);
        return;
    }
    c->public_host = f->public.host.len && front_is_public_host(f, http_value(head, HTTP_FIELD_HOST));
    c->secure = c->public_host && f->public.https;
    c->forwarded = false;
    if (!c->trusted)
        return;
    struct slice proto = last_of(head, SLICE("X-Forwarded-Proto"));
    c->has_client = forwarded_for(f, head, &c->client);
    if (!c->has_client && c->v2) {
        c->client = c->v2_client;
        c->has_client = true;
    }
    c->forwarded = c->has_client || proto.len;
    c->secure |= slice_eq_nocase(proto, SLICE("https")) || c->v2_secure;
    if (!c->known)
        front_share_enter(c);
}

bool front_is_local(const struct front_conn *c) {
    return c->front->loopback && !c->forwarded && !c->public_host;
}
