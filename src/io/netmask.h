/* IP addresses as 16 bytes (IPv4 mapped into IPv6), and networks of them. */
#pragma once

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct sockaddr;

struct io_address {
    unsigned char bytes[16];
};

struct io_netmask {
    struct io_address network;
    uint8_t bits; /* of the 128 */
};

/* "192.0.2.7", "2001:db8::1"; also with a port behind it ("192.0.2.7:80", "[2001:db8::1]:80"), which is
 * ignored. */
bool io_address_parse(struct slice text, struct io_address *ret_address);
bool io_address_of(const struct sockaddr *addr, struct io_address *ret_address);
struct io_address io_address_v4(const unsigned char four[4]);
/* "10.0.0.0/8", "fd00::/8", or one address. Bits behind the mask must be zero. */
bool io_netmask_parse(struct slice text, struct io_netmask *ret_mask);
bool io_netmask_has(const struct io_netmask *mask, const struct io_address *address);
/* The part of an address that identifies one client, for counting: 4 bytes of IPv4, 8 of IPv6. */
struct slice io_address_network(const struct io_address *address);
