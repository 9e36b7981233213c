#include "io/netmask.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static const unsigned char v4_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

struct io_address io_address_v4(const unsigned char four[4]) {
    struct io_address a;
    memcpy(a.bytes, v4_prefix, sizeof(v4_prefix));
    memcpy(a.bytes + sizeof(v4_prefix), four, 4);
    return a;
}

static bool is_v4(const struct io_address *a) { return memcmp(a->bytes, v4_prefix, sizeof(v4_prefix)) == 0; }

static bool parse_bare(struct slice text, struct io_address *ret_address) {
    char copy[INET6_ADDRSTRLEN];
    unsigned char four[4];
    if (!text.len || text.len >= sizeof(copy) || memchr(text.ptr, 0, text.len))
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    if (inet_pton(AF_INET, copy, four) == 1) {
        *ret_address = io_address_v4(four);
        return true;
    }
    return inet_pton(AF_INET6, copy, ret_address->bytes) == 1;
}

bool io_address_parse(struct slice text, struct io_address *ret_address) {
    if (text.len && text.ptr[0] == '[') {
        ptrdiff_t close = slice_find(text, ']');
        struct slice behind = close > 0 ? slice_from(text, (size_t)close + 1) : (struct slice){0};
        return close > 0 && (!behind.len || behind.ptr[0] == ':') &&
               parse_bare(slice_of(text.ptr + 1, (size_t)close - 1), ret_address);
    }
    struct slice rest = text, first;
    if (slice_cut(&rest, ':', &first) && slice_find(rest, ':') < 0) /* one colon: a port */
        return parse_bare(first, ret_address) && is_v4(ret_address);
    return parse_bare(text, ret_address);
}

bool io_address_of(const struct sockaddr *addr, struct io_address *ret_address) {
    if (addr->sa_family == AF_INET)
        *ret_address = io_address_v4((const unsigned char *)&((const struct sockaddr_in *)addr)->sin_addr);
    else if (addr->sa_family == AF_INET6)
        memcpy(ret_address->bytes, &((const struct sockaddr_in6 *)addr)->sin6_addr, 16);
    else
        return false;
    return true;
}

bool io_netmask_has(const struct io_netmask *mask, const struct io_address *address) {
    const unsigned full_bytes = mask->bits / 8, rest = mask->bits % 8;
    const unsigned char edge = rest ? (unsigned char)(0xff << (8 - rest)) : 0;
    return memcmp(mask->network.bytes, address->bytes, full_bytes) == 0 &&
           (!rest || (mask->network.bytes[full_bytes] & edge) == (address->bytes[full_bytes] & edge));
}

bool io_netmask_parse(struct slice text, struct io_netmask *ret_mask) {
    struct slice rest = text, address;
    const bool masked = slice_cut(&rest, '/', &address);
    uint64_t bits = 0;
    if (!parse_bare(address, &ret_mask->network))
        return false;
    const uint64_t most = is_v4(&ret_mask->network) && slice_find(address, ':') < 0 ? 32 : 128;
    if (masked && (!slice_to_u64(rest, &bits) || bits > most))
        return false;
    ret_mask->bits = (uint8_t)((masked ? bits : most) + (128 - most));
    struct io_netmask alone = *ret_mask;
    for (unsigned i = ret_mask->bits; i < 128; i++)
        alone.network.bytes[i / 8] &= (unsigned char)~(0x80u >> (i % 8));
    return memcmp(alone.network.bytes, ret_mask->network.bytes, 16) == 0;
}

struct slice io_address_network(const struct io_address *address) {
    return is_v4(address) ? slice_of((const char *)address->bytes + 12, 4)
                          : slice_of((const char *)address->bytes, 8);
}
