/* Hosts of URLs, for rules against server-side request forgery. The parser is stricter than any HTTP client:
 * input that two clients could read differently (backslashes, userinfo, tabs, percent-encoded hosts) is
 * refused, and every IPv4 notation is normalized before it is compared. */
#include "wire/host.h"

#include "wire/limits.h"

#include <arpa/inet.h>

#define LABEL_MAX_BYTES 63
#define NAME_MAX_BYTES 253

/* One part of an IPv4 address as inet_aton reads it: decimal, 0octal or 0xhex. */
static bool number_part(struct slice part, uint64_t *ret) {
    unsigned base = 10;
    if (part.len >= 2 && part.ptr[0] == '0' && (part.ptr[1] | 0x20) == 'x') {
        base = 16;
        part = slice_from(part, 2);
        if (part.len == 0) {
            *ret = 0;
            return true;
        }
    } else if (part.len >= 2 && part.ptr[0] == '0') {
        base = 8;
        part = slice_from(part, 1);
    }
    uint64_t value = 0;
    if (part.len == 0 || part.len > 32)
        return false;
    for (size_t i = 0; i < part.len; i++) {
        char c = part.ptr[i];
        unsigned digit = c >= '0' && c <= '9'                     ? (unsigned)(c - '0')
                         : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (unsigned)((c | 0x20) - 'a') + 10
                                                                  : 99;
        if (digit >= base)
            return false;
        value = value * base + digit;
        if (value > UINT32_MAX)
            return false;
    }
    *ret = value;
    return true;
}

enum v4 { V4_NO, V4_YES, V4_BAD };

/* A host whose last label is a number is an IPv4 address or nothing (as the URL standard has it). */
static enum v4 read_v4(struct slice host, uint32_t *ret_address) {
    uint64_t parts[4];
    size_t count = 0;
    struct slice rest = host, part, last = {0};
    bool more = true;
    if (host.len && host.ptr[host.len - 1] == '.')
        rest.len--;
    struct slice whole = rest;
    while (more) {
        more = slice_cut(&rest, '.', &part);
        last = part;
    }
    uint64_t value;
    bool digits_only = last.len > 0;
    for (size_t i = 0; i < last.len; i++)
        digits_only &= last.ptr[i] >= '0' && last.ptr[i] <= '9';
    if (!digits_only && !(last.len >= 2 && last.ptr[0] == '0' && (last.ptr[1] | 0x20) == 'x'))
        return V4_NO;
    for (rest = whole, more = true; more;) {
        more = slice_cut(&rest, '.', &part);
        if (count == 4 || !number_part(part, &value))
            return V4_BAD;
        parts[count++] = value;
    }
    uint64_t address = 0;
    for (size_t i = 0; i + 1 < count; i++) {
        if (parts[i] > 255)
            return V4_BAD;
        address |= parts[i] << (24 - 8 * i);
    }
    if (count > 1 && parts[count - 1] >> (8 * (5 - count)))
        return V4_BAD;
    *ret_address = (uint32_t)(address | parts[count - 1]);
    return V4_YES;
}

struct range4 {
    uint32_t base;
    int bits;
};

static bool v4_is_private(uint32_t address) {
    static const struct range4 ranges[] = {
        {0x00000000, 8},  {0x0a000000, 8},  {0x64400000, 10}, {0x7f000000, 8},  {0xa9fe0000, 16},
        {0xac100000, 12}, {0xc0000000, 24}, {0xc0000200, 24}, {0xc0586300, 24}, {0xc0a80000, 16},
        {0xc6120000, 15}, {0xc6336400, 24}, {0xcb007100, 24}, {0xe0000000, 4},  {0xf0000000, 4},
        {0xa83f8110, 32}, /* 168.63.129.16: Azure's metadata, a public address */
    };
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        if (((uint64_t)address ^ ranges[i].base) >> (32 - ranges[i].bits) == 0)
            return true;
    return false;
}

static uint32_t be32(const unsigned char *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Only global unicast (2000::/3) is public, except blocks that embed another address or are reserved. */
static bool v6_is_private(const unsigned char *b) {
    static const unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    static const unsigned char nat64[12] = {0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0};
    if (memcmp(b, mapped, 12) == 0 || memcmp(b, nat64, 12) == 0)
        return v4_is_private(be32(b + 12));
    if ((b[0] & 0xe0) != 0x20)
        return true;
    if (b[0] == 0x20 && b[1] == 0x02) /* 6to4 carries an IPv4 address */
        return v4_is_private(be32(b + 2));
    bool teredo_or_orchid = b[0] == 0x20 && b[1] == 0x01 && b[2] < 0x02;
    bool documentation = (b[0] == 0x20 && b[1] == 0x01 && b[2] == 0x0d && b[3] == 0xb8) ||
                         (b[0] == 0x3f && b[1] == 0xff && b[2] < 0x10);
    bool isatap = (b[8] & 0xfc) == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe;
    return teredo_or_orchid || documentation || (isatap && v4_is_private(be32(b + 12)));
}

bool host_address_is_private(const unsigned char address[16]) { return v6_is_private(address); }

struct slice host_inner_v4(struct slice host, struct arena *a) {
    static const unsigned char heads[][12] = {
        {0}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, {0, 0x64, 0xff, 0x9b}};
    unsigned char b[16];
    if (slice_find(host, ':') < 0 || inet_pton(AF_INET6, arena_dup(a, host).ptr, b) != 1)
        return (struct slice){0};
    const unsigned char *v4 = b[0] == 0x20 && b[1] == 0x02 ? b + 2 : NULL; /* 6to4 */
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        if (memcmp(b, heads[i], sizeof(heads[i])) == 0)
            v4 = b + 12;
    return v4 ? arena_printf(a, "%u.%u.%u.%u", v4[0], v4[1], v4[2], v4[3]) : (struct slice){0};
}

static bool name_is_private(struct slice host) {
    /* The last entries are public names of cloud metadata services. */
    static const char *const names[] = {"localhost",
                                        "localtest.me",
                                        "lvh.me",
                                        "localho.st",
                                        "vcap.me",
                                        "lacolhost.com",
                                        "fritz.box",
                                        "localh.st",
                                        "localhost.direct",
                                        "fuf.me",
                                        "smackaho.st",
                                        "spoofed.burpcollaborator.net",
                                        "bugbounty.dod.network",
                                        "metadata.goog",
                                        "metadata.nic.scw",
                                        "metadata.tencentyun.com",
                                        "metadata.packet.net",
                                        "metadata.platformequinix.com",
                                        "api.metadata.cloud.ibm.com",
                                        NULL};
    static const char *const ends[] = {
        ".localhost", ".local", ".internal", ".localdomain", ".home.arpa", ".lan", ".intranet", ".intra",
        ".corp", ".home", ".svc", ".default", ".private", ".consul", ".docker", ".fritz.box", ".arpa",
        /* names that are never public (RFC 6761, RFC 7686) */
        ".test", ".invalid", ".onion",
        /* public names that resolve to the address in their name, or to the
         * loop-back */
        ".nip.io", ".sslip.io", ".xip.io", ".localtest.me", ".lvh.me", ".xip.name", ".traefik.me",
        ".backname.io", ".rbndr.us", ".1u.ms", ".localho.st", ".vcap.me", ".lacolhost.com", ".local.gd",
        ".localh.st", ".localhost.direct", ".fuf.me", ".smackaho.st", ".local-ip.co", ".local-ip.sh",
        ".plex.direct", ".rebind.network", ".rebind.it",
        /* names inside of private networks of providers */
        ".ts.net", ".internal.cloudapp.net", ".oraclevcn.com", ".vpce.amazonaws.com", NULL};
    for (size_t i = 0; names[i]; i++)
        if (slice_is(host, names[i]))
            return true;
    for (size_t i = 0; ends[i]; i++)
        if (slice_ends(host, slice_str(ends[i])))
            return true;
    return slice_find(host, '.') < 0;
}

static bool name_is_plain(struct slice host) {
    if (host.len == 0 || host.len > NAME_MAX_BYTES)
        return false;
    struct slice rest = host, label;
    bool more = true;
    while (more) {
        more = slice_cut(&rest, '.', &label);
        if (label.len == 0 || label.len > LABEL_MAX_BYTES || label.ptr[0] == '-' ||
            label.ptr[label.len - 1] == '-')
            return false;
        for (size_t i = 0; i < label.len; i++) {
            char c = label.ptr[i];
            if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'))
                return false;
        }
    }
    return true;
}

/* Splits scheme, authority and rest; returns the authority. */
static enum host_fault cut_authority(struct slice url, struct slice *ret_authority) {
    if (url.len > HOST_URL_MAX)
        return HOST_SYNTAX;
    for (size_t i = 0; i < url.len; i++) {
        unsigned char c = (unsigned char)url.ptr[i];
        if (c <= 0x20 || c == 0x7f || c == '\\')
            return HOST_SYNTAX;
    }
    ptrdiff_t colon = slice_find(url, ':');
    if (colon <= 0)
        return HOST_SYNTAX;
    struct slice scheme = slice_upto(url, (size_t)colon);
    if (!slice_eq_nocase(scheme, SLICE("http")) && !slice_eq_nocase(scheme, SLICE("https")))
        return HOST_SCHEME;
    struct slice rest = slice_from(url, (size_t)colon + 1);
    if (!slice_starts(rest, SLICE("//")))
        return HOST_SYNTAX;
    rest = slice_from(rest, 2);
    size_t end = 0;
    while (end < rest.len && rest.ptr[end] != '/' && rest.ptr[end] != '?' && rest.ptr[end] != '#')
        end++;
    *ret_authority = slice_upto(rest, end);
    if (slice_find(*ret_authority, '@') >= 0)
        return HOST_USERINFO;
    /* http://a.org#@b.org/: some clients connected to the host after the @ (CVE-2016-8624) */
    if (slice_starts(slice_from(rest, end), SLICE("#@")))
        return HOST_USERINFO;
    return end ? HOST_OK : HOST_SYNTAX;
}

static bool port_is_plain(struct slice port) {
    uint64_t value;
    return port.len == 0 || (slice_to_u64(port, &value) && value <= 65535);
}

static enum host_fault read_v6(struct slice authority, struct arena *a, struct slice *ret_host) {
    ptrdiff_t close = slice_find(authority, ']');
    if (close < 0)
        return HOST_SYNTAX;
    struct slice rest = slice_from(authority, (size_t)close + 1);
    if (rest.len && (rest.ptr[0] != ':' || !port_is_plain(slice_from(rest, 1))))
        return HOST_SYNTAX;
    struct slice inside = arena_dup(a, slice_of(authority.ptr + 1, (size_t)close - 1));
    unsigned char bytes[16];
    if (inet_pton(AF_INET6, inside.ptr, bytes) != 1)
        return HOST_SYNTAX; /* zone identifiers end up here too */
    char *text = arena_alloc(a, INET6_ADDRSTRLEN);
    if (!inet_ntop(AF_INET6, bytes, text, INET6_ADDRSTRLEN))
        return HOST_SYNTAX;
    *ret_host = slice_str(text);
    return v6_is_private(bytes) ? HOST_PRIVATE : HOST_OK;
}

enum host_fault host_of_url(struct slice url, struct arena *a, struct slice *ret_host, bool *ret_is_ip) {
    struct slice authority, host;
    *ret_host = (struct slice){0};
    *ret_is_ip = false;
    enum host_fault fault = cut_authority(url, &authority);
    if (fault != HOST_OK)
        return fault;
    if (authority.ptr[0] == '[') {
        *ret_is_ip = true;
        return read_v6(authority, a, ret_host);
    }
    struct slice port = authority;
    slice_cut(&port, ':', &host);
    if (!port_is_plain(port))
        return HOST_SYNTAX;
    char *lower = arena_alloc(a, host.len + 1);
    for (size_t i = 0; i < host.len; i++)
        lower[i] = (char)(host.ptr[i] >= 'A' && host.ptr[i] <= 'Z' ? host.ptr[i] | 0x20 : host.ptr[i]);
    host.ptr = lower;
    if (host.len && host.ptr[host.len - 1] == '.')
        host.len--;
    if (!name_is_plain(host))
        return HOST_SYNTAX;
    uint32_t address = 0;
    switch (read_v4(host, &address)) {
    case V4_BAD:
        return HOST_SYNTAX;
    case V4_YES:
        *ret_is_ip = true;
        *ret_host = arena_printf(a, "%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255,
                                 address & 255);
        return v4_is_private(address) ? HOST_PRIVATE : HOST_OK;
    case V4_NO:
        break;
    }
    *ret_host = host;
    return name_is_private(host) ? HOST_PRIVATE : HOST_OK;
}

bool host_is_pattern(struct slice pattern, struct arena *a) {
    struct slice host, name = slice_starts(pattern, SLICE("*.")) ? slice_from(pattern, 2) : pattern;
    bool is_ip;
    if (slice_is(pattern, "*"))
        return true;
    bool v6 = slice_find(name, ':') >= 0; /* an address must be in normalized form to match */
    struct slice url = arena_printf(a, "http://%s%.*s%s", v6 ? "[" : "", SLICE_FMT(name), v6 ? "]" : "");
    enum host_fault found = host_of_url(url, a, &host, &is_ip);
    return (found == HOST_OK || found == HOST_PRIVATE) && slice_eq_nocase(host, name) &&
           !(is_ip && name.len < pattern.len);
}

bool host_matches(struct slice host, struct slice pattern) {
    if (slice_is(pattern, "*"))
        return true;
    if (slice_starts(pattern, SLICE("*."))) {
        struct slice end = slice_from(pattern, 1);
        return host.len > end.len && slice_eq_nocase(slice_from(host, host.len - end.len), end);
    }
    return slice_eq_nocase(host, pattern);
}
