/* Authentication. Every request over HTTP gets a principal before anything else reads it:
 *
 *   Authorization: Bearer sp_…      a grant of this home
 *   Authorization: Bearer TOKEN     the gate's one token (--token-file)
 *   Authorization: Bearer eyJ…      a token of an identity provider
 *   a client certificate            of a configured authority
 *   nothing                         only with --no-auth, on the loopback
 *
 * Credentials are consumed here: they are never forwarded to a server. */
#pragma once

#include "base/err.h"
#include "base/slice.h"

struct arena;
struct block;
struct front;
struct front_auth;
struct front_conn;
struct http_head;
struct principal;
struct server;
struct settings;

struct front_auth_config {
    const char *home;                /* whose grants are valid; NULL: none */
    const char *token_file;          /* the one token that all clients use, or NULL */
    bool open;                       /* authentication is off */
    const struct settings *settings; /* issuers and rules, or NULL; must outlive the front */
};

struct front_memo;
void front_memo_clear(struct front_memo *memo);

/* Is authentication off? */
bool front_auth_is_open(const struct front *f);
int front_auth_new(struct front *f, const struct front_auth_config *config, struct err *err);
/* Replaces issuers and rules. Clients authenticated by the old ones must authenticate again. */
void front_auth_apply(struct front *f, const struct settings *settings);
void front_auth_free(struct front *f); /* after the sessions are closed; accepts a partly built struct */

enum front_answer {
    FRONT_IN,       /* authenticated: c->principal is set */
    FRONT_ANSWERED, /* refused: 401, 403, 503 */
    FRONT_WAITS,    /* waits for keys or a store: the request is processed again */
};
enum front_answer front_authenticate(struct front_conn *c, const struct http_head *head, struct block *b,
                                     struct slice body);
/* The same for a request that is not processed yet, or will be refused anyway. Sends no response and does
 * not wait. Returns false with *ret_verdict set to the response. */
struct front_verdict {
    int status;
    const char *error; /* the error code of RFC 6750, or NULL */
    const char *message;
    bool wait;
    struct slice cookie; /* wait: for the answer about it; empty: for keys */
};
bool front_recognise(struct front_conn *c, const struct http_head *head, struct front_verdict *ret_verdict);
/* Returns true if the principal may use the server of this endpoint. Otherwise responds with 403. */
bool front_may_enter(struct front_conn *c);
/* "local:USER", the user who started this program. */
struct principal *front_local_user(void);

/* ---- challenge.c: the gate as an OAuth resource server ---- */

void front_challenge(struct front_conn *c, const struct front_verdict *verdict);
/* The URL of the requested endpoint as clients know it; empty if none is configured. */
struct slice front_challenge_resource(struct front_conn *c, struct arena *a);
/* GET /.well-known/oauth-protected-resource… */
void front_challenge_metadata(struct front_conn *c, const struct http_head *head);
/* The settings in use, or NULL. */
const struct settings *front_auth_settings(const struct front *f);
