/* Authentication. Every request over HTTP gets a principal before anything else reads it:
 *
 *   Authorization: Bearer sp_…      a grant of this home
 *   Authorization: Bearer TOKEN     the gate's one token (--token-file)
 *   Authorization: Bearer eyJ…      a token of an identity provider
 *   a client certificate            of an authority that the gate was told
 *   nothing                         only where the gate was told to be open, on the loop-back
 *
 * What was shown is consumed here: no server behind the gate ever sees it. */
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
    const char *token_file;          /* one token for all clients, or NULL */
    bool open;                       /* authentication is off */
    const struct settings *settings; /* issuers and rules; NULL: none. Outlives their use. */
};

struct front_memo;
void front_memo_clear(struct front_memo *memo);

/* Is authentication off? */
bool front_auth_is_open(const struct front *f);
int front_auth_new(struct front *f, const struct front_auth_config *config, struct err *err);
/* Other issuers or rules: clients authenticated by the old ones must authenticate again. */
void front_auth_apply(struct front *f, const struct settings *settings);
void front_auth_free(struct front *f); /* after the sessions are closed; half-made is fine */

enum front_answer {
    FRONT_IN,       /* authenticated: c->principal */
    FRONT_ANSWERED, /* refused: 401, 403, 503 */
    FRONT_WAITS,    /* for keys: the request comes again */
};
enum front_answer front_authenticate(struct front_conn *c, const struct http_head *head, struct block *b,
                                     struct slice body);
/* The same for a request that is not processed yet, or refused anyway: sends no answer and does not wait.
 * False: *ret_verdict is what to answer. */
struct front_verdict {
    int status;
    const char *error; /* of RFC 6750, or NULL */
    const char *message;
    bool wait;
};
bool front_recognise(struct front_conn *c, const struct http_head *head, struct front_verdict *ret_verdict);
/* May the principal use the server of this endpoint? Else answers 403. */
bool front_may_enter(struct front_conn *c);
/* "local:USER": the user who started this program. */
struct principal *front_local_user(void);

/* ---- challenge.c: the gate as an OAuth resource server ---- */

void front_challenge(struct front_conn *c, const struct front_verdict *verdict);
/* The URL of the requested endpoint, as clients know it; empty when it is not configured. */
struct slice front_challenge_resource(struct front_conn *c, struct arena *a);
/* GET /.well-known/oauth-protected-resource… */
void front_challenge_metadata(struct front_conn *c, const struct http_head *head);
/* The settings in use, or NULL. */
const struct settings *front_auth_settings(const struct front *f);
