/* What people and their tools see of a running gate: /metrics, the admin API under /api/v1 and the console
 * under /ui/. It is handed to the HTTP front as a site (session/web.h). */
#pragma once

#include "session/session.h"
#include "session/web.h"

struct admin;

struct admin_config {
    struct core *core;
    const char *home;            /* outlives it */
    const char *callback_secret; /* its holders may decide approvals by callback; NULL: callbacks are off */
};

struct admin *admin_new(const struct admin_config *config);
void admin_set_secret(struct admin *a, const char *callback_secret);
/* An identity provider at which people sign in. */
struct admin_provider {
    const char *issuer;
    const char *client_id;
    const char *client_secret; /* NULL: a public client */
    const char *const *scopes; /* none: the usual */
    size_t scope_count;
    uint64_t session_ms; /* 0: the default */
    bool sign_out;       /* there, too */
};
/* These instead of those before; texts are copied. They send people back to `origin`. */
void admin_set_providers(struct admin *a, const char *origin, const struct admin_provider *items,
                         size_t count);
void admin_free(struct admin *a); /* after the front is closed; NULL is fine */
const struct web_site *admin_site(struct admin *a);
/* The OpenAPI document, made from the table of routes. */
void admin_openapi(struct buf *out);
