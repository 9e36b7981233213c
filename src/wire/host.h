/* Hosts, as rules against server-side request forgery compare them. */
#pragma once

#include "base/arena.h"
#include "base/slice.h"

enum host_fault {
    HOST_OK,
    HOST_SYNTAX, /* not an absolute http(s) URL that every parser reads the same way */
    HOST_SCHEME,
    HOST_USERINFO,
    HOST_PRIVATE, /* a private address or name */
};
/* Host of an http or https URL, lower case, without a trailing dot, IPv6 without brackets; IPv4 in any
 * notation comes out as a dotted quad. */
enum host_fault host_of_url(struct slice url, struct arena *a, struct slice *ret_host, bool *ret_is_ip);
/* The IPv4 address that an IPv6 address of host_of_url() contains, or an empty slice. */
struct slice host_inner_v4(struct slice host, struct arena *a);
/* `example.com` exact, `*.example.com` any depth below it, `*` any public host. */
bool host_matches(struct slice host, struct slice pattern);
/* Whether any host can match the pattern: a name, an address, `*.` and a name, or `*`. */
bool host_is_pattern(struct slice pattern, struct arena *a);
/* Is the address not public: loop-back, private, link-local, metadata, reserved? 16 bytes, IPv4 mapped. */
bool host_address_is_private(const unsigned char address[16]);
