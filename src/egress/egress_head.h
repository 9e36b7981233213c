/* Parses and writes heads for a proxy. Pure functions over bytes. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "wire/http.h"

struct egress_head {
    bool connect; /* a tunnel; else one plain request */
    struct slice host;
    bool is_ip;
    uint16_t port;
    struct slice target; /* of a plain request: path and query */
    struct http_head http;
};

/* >0: the head is whole, that many bytes. 0: more bytes are needed. <0: refuse with HTTP status -answer;
 * *ret_why names the fault. Slices point into the arena. */
int egress_head_read(struct slice in, struct arena *a, struct egress_head *ret_head, const char **ret_why);

/* Writes the request for the server: HTTP/1.1, `Connection: close`, without headers for proxies. An added
 * header ("Name: value") replaces those of its name. */
void egress_head_write(const struct http_head *h, struct slice target, struct slice authority,
                       const struct slice *added, size_t added_count, struct buf *out);
/* Writes the response for the code. */
void egress_head_write_answer(const struct http_head *h, struct buf *out);
/* host, and :port unless it is the usual one. */
struct slice egress_head_authority(struct slice host, uint16_t port, uint16_t usual, struct arena *a);
