/* The operators' view of a running gate: /metrics, the admin API under /api/v1 and the console under /ui/.
 * The HTTP front serves it as a site (session/web.h). */
#pragma once

#include "session/session.h"
#include "session/web.h"

struct admin;

struct admin_config {
    struct core *core;
    const char *home;            /* must outlive the site */
    const char *callback_secret; /* signs callbacks that decide approvals; NULL: callbacks are off */
};

struct admin *admin_new(const struct admin_config *config);
void admin_set_secret(struct admin *a, const char *callback_secret);
/* An identity provider for sign-in to the console. */
struct admin_provider {
    const char *issuer;
    const char *client_id;
    const char *client_secret; /* NULL: a public client */
    const char *const *scopes; /* none: the default scopes */
    size_t scope_count;
    uint64_t session_ms; /* 0: the default */
    bool sign_out;       /* signs out at the provider, too */
};
/* Replaces the providers; texts are copied. Users return to `origin` after they have signed in. */
void admin_set_providers(struct admin *a, const char *origin, const struct admin_provider *items,
                         size_t count);
void admin_free(struct admin *a); /* after the front is closed; NULL is fine */
const struct web_site *admin_site(struct admin *a);
/* The OpenAPI document, generated from the table of routes. */
void admin_openapi(struct buf *out);
