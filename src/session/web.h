/* Pages beside MCP: the interface between the HTTP front and the admin room, which serves them. Both
 * rooms are on the same layer and do not include each other.
 *
 *   front ── site->need(path) ──▶ may the client see it? ── site->serve(request) ──▶ reply->ops
 */
#pragma once

#include "call/principal.h"
#include "wire/http.h"

enum web_need {
    WEB_NOT_MINE,
    WEB_NOTHING,   /* open, or the handler authenticates */
    WEB_LOCAL,     /* open on the loop-back interface; elsewhere as below */
    WEB_PRINCIPAL, /* an authenticated principal */
    WEB_CONSOLE,   /* the same, or a user signed in to the console */
};

/* The console's session cookie. Ports of one host share cookies, so each gate uses its own name. */
#define WEB_COOKIE "sallyport_%u"
/* A header of every console request that changes something. It prevents CSRF: no form and no other origin can
 * send it. */
#define WEB_CONSOLE_HEADER "Sallyport-Console"
#define WEB_COOKIE_NAME_MAX 24
/* Entries of a page of a list that all processes of the gate answer together, unless the query says more. */
#define WEB_PAGE_ROWS 100

struct web_reply {
    const struct web_reply_ops *ops;
};

struct web_reply_ops {
    /* The whole answer. `headers` are complete lines. */
    void (*answer)(struct web_reply *r, int status, const char *type, struct slice headers,
                   struct slice body);
    /* The answer comes later. `gone` is called when the client disconnects first; after that nothing may be
     * sent. */
    void (*later)(struct web_reply *r, void *owner, void (*gone)(void *owner));
    /* An event stream, after `later`: its head, events, its end. False: the client was too slow and was
     * disconnected; `gone` has been called. */
    void (*stream)(struct web_reply *r);
    bool (*event)(struct web_reply *r, struct slice type, struct slice id, struct slice data);
    void (*end)(struct web_reply *r);
};

struct web_request {
    const struct http_head *head;
    struct slice body;
    struct principal *who; /* NULL when authentication is not required */
    struct slice cookie;   /* its address, or empty */
    uint16_t port;         /* the listener that received it */
    bool secure;           /* over TLS */
    bool relayed;          /* another process of this gate answers it, and asks this one for its part */
    struct slice process;  /* the name of this one, where the gate has several; else empty */
    struct web_reply *reply;
};

struct web_site {
    enum web_need (*need)(void *ctx, const struct http_head *head);
    void (*serve)(void *ctx, const struct web_request *r);
    void *ctx;
};
