/* Pages beside MCP. The HTTP front and the admin room, which serves such pages, stand on one floor and do
 * not know each other; this is what passes between them.
 *
 *   front ── site->need(path) ──▶ may anybody see it? ── site->serve(request) ──▶ reply->ops
 */
#pragma once

#include "call/principal.h"
#include "wire/http.h"

enum web_need {
    WEB_NOT_MINE,
    WEB_NOTHING,   /* open, or with a proof of its own */
    WEB_LOCAL,     /* open on the loop-back; elsewhere as below */
    WEB_PRINCIPAL, /* an authenticated principal */
    WEB_CONSOLE,   /* the same; who is signed in to the console counts, too */
};

/* The cookie of somebody who is signed in. Ports of one host share their cookies: each gate has its own name.
 */
#define WEB_COOKIE "sallyport_%u"
/* Goes with every request of the console that changes something: no form and no other origin can send it. */
#define WEB_CONSOLE_HEADER "Sallyport-Console"
#define WEB_COOKIE_NAME_MAX 24

struct web_reply {
    const struct web_reply_ops *ops;
};

struct web_reply_ops {
    /* The whole answer. `headers` are complete lines. */
    void (*answer)(struct web_reply *r, int status, const char *type, struct slice headers,
                   struct slice body);
    /* The answer comes later; `gone` is told when the client leaves before, and then nothing may be said. */
    void (*later)(struct web_reply *r, void *owner, void (*gone)(void *owner));
    /* An event stream, after `later`: its head, events, its end. False: the client did not keep up and was
     * let go; `gone` has been called. */
    void (*stream)(struct web_reply *r);
    bool (*event)(struct web_reply *r, struct slice type, struct slice id, struct slice data);
    void (*end)(struct web_reply *r);
};

struct web_request {
    const struct http_head *head;
    struct slice body;
    struct principal *who; /* NULL when authentication is not required */
    struct slice cookie;   /* by which it is known, or empty */
    uint16_t port;         /* where it came in */
    bool secure;           /* over TLS */
    struct web_reply *reply;
};

struct web_site {
    enum web_need (*need)(void *ctx, const struct http_head *head);
    void (*serve)(void *ctx, const struct web_request *r);
    void *ctx;
};
