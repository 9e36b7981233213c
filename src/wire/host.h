/* Hosts, as rules against server-side request forgery compare them. */
#pragma once

#include "base/arena.h"
#include "base/slice.h"

enum host_fault {
    HOST_OK,
    HOST_SYNTAX, /* not an absolute http(s) URL that every parser reads alike */
    HOST_SCHEME,
    HOST_USERINFO,
    HOST_PRIVATE, /* an address or name that leads inside */
};
/* Host of an http or https URL, lower case, without a trailing dot, IPv6 without brackets; IPv4 in any
 * notation comes out as a dotted quad. */
enum host_fault host_of_url(struct slice url, struct arena *a, struct slice *ret_host, bool *ret_is_ip);
/* `example.com` exact, `*.example.com` any depth below it, `*` any public host. */
bool host_matches(struct slice host, struct slice pattern);
/* Whether a host could ever match it: a name, an address, `*.` and a name, or `*`. */
bool host_is_pattern(struct slice pattern, struct arena *a);
/* Does an address lead inside: loop-back, private, link-local, metadata, reserved? 16 bytes, IPv4 mapped. */
bool host_address_is_private(const unsigned char address[16]);
