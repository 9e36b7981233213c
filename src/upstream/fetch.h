/* One HTTP request of the gate itself and its complete answer: keys of an issuer, metadata, tokens,
 * webhooks. Redirects and proxies are not followed. It may contain secrets, so plain HTTP is allowed on
 * the loop-back only. */
#pragma once

#include "base/err.h"
#include "upstream/server.h"

struct up_fetch;

struct up_fetch_request {
    enum http_method method; /* GET or POST */
    const char *url;
    const char *accept;       /* NULL: application/json */
    const char *content_type; /* of the body */
    struct slice headers;     /* complete lines, each with CRLF */
    struct slice body;
    uint64_t limit_ms; /* 0: UP_FETCH_MS */
    size_t body_max;   /* 0: UP_FETCH_BYTES_MAX */
};

struct up_fetch_answer {
    int status; /* 0: there was no response, `why` has the reason */
    const char *why;
    struct slice body;
    struct slice challenge; /* the WWW-Authenticate header */
    struct slice location;  /* of a redirect, which is not followed */
};

/* May the gate send a secret there? Only https, or http to this machine. */
bool up_url_is_safe(struct slice url);

/* The answer comes once, later, never inside; the request's texts may be freed after the call. NULL with
 * err when the request is invalid. */
struct up_fetch *up_fetch(struct up_core *core, const struct up_fetch_request *request,
                          void (*done)(void *owner, const struct up_fetch_answer *answer), void *owner,
                          struct err *err);
void up_fetch_cancel(struct up_fetch *f); /* NULL is fine */
