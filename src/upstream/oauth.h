/* How a person logs the gate in at a server that wants OAuth 2.1, step by step:
 *
 *   the server's 401 ─▶ resource metadata (RFC 9728) ─▶ authorization server's metadata (RFC 8414, OpenID)
 *     ─▶ a client id: given, the URL of a document about it, or by registration (RFC 7591)
 *     ─▶ the URL that a person opens, with PKCE S256, state and resource (RFC 8707)
 *     ─▶ the code comes back, to a port on the loop-back or by hand; issuer checked (RFC 9207) ─▶ tokens
 *
 * Everything that a server sends here is checked before use, and none of it is ever executed: the URL is
 * shown to the person, no program is started with it. */
#pragma once

#include "upstream/login.h"

struct up_oauth;

struct up_oauth_request {
    const char *url;           /* of the MCP server */
    const char *client_id;     /* NULL: register one */
    const char *client_secret; /* NULL: a public client */
    const char
        *client_metadata;      /* URL of a client ID metadata document, for servers that take one; or NULL */
    const char *const *scopes; /* none: what the server asks for */
    size_t scope_count;
    bool by_hand;  /* no listener: up_oauth_paste gets what the browser ended at */
    uint16_t port; /* to listen on; 0: a free one */
};

struct up_oauth_events {
    /* The URL that the person must open. */
    void (*open)(void *owner, const char *url);
    /* The end: the login, to be saved, or the error. */
    void (*done)(void *owner, const struct up_login *login, const char *fault);
};

/* `done` comes once, later. */
struct up_oauth *up_oauth_start(struct up_core *core, const struct up_oauth_request *request,
                                const struct up_oauth_events *events, void *owner);
/* The URL that the browser was sent to. */
void up_oauth_paste(struct up_oauth *o, struct slice url);
void up_oauth_free(struct up_oauth *o); /* NULL is fine */

/* ---- pure parts ---- */
/* Is that resource the server at this URL, or a parent path on the same origin? */
bool up_resource_covers(struct slice resource, struct slice url);
