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
void admin_free(struct admin *a); /* after the front is closed; NULL is fine */
const struct web_site *admin_site(struct admin *a);
/* The OpenAPI document, made from the table of routes. */
void admin_openapi(struct buf *out);
