/* A login at a server that requires OAuth: its tokens, stored encrypted in the home and refreshed in time.
 * They belong to the gate; agents' credentials are never used for this. A login belongs to a URL and is
 * never sent to another one. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "upstream/secret.h"

struct up_core;
struct up_fetch;
struct up_fetch_answer;

struct up_login { /* texts in the arena; empty when absent */
    struct arena arena;
    struct slice url;    /* of the MCP server */
    struct slice issuer; /* the issuer of the tokens; credentials are sent to no other */
    struct slice token_url;
    struct slice client_id;
    struct slice client_secret;
    struct slice auth_method; /* none, client_secret_basic, client_secret_post */
    struct slice resource;
    struct slice scope;
    struct slice access_token;
    struct slice refresh_token;
    uint64_t expires_ms; /* of the access token, wall clock; 0: unknown */
};

/* When there is none: -1 and *ret_absent. The arena is always initialised. */
int up_login_load(const char *home, const char *url, struct up_login *ret_login, bool *ret_absent,
                  struct err *err);
int up_login_save(const char *home, const struct up_login *login, struct err *err);
int up_login_remove(const char *home, const char *url, struct err *err);

/* name=value with percent-encoding, preceded by & unless it is the first. */
void up_form_put(struct buf *out, const char *name, struct slice value);
/* POSTs the form (grant_type and so on) to the token endpoint, with the client's own authentication added. */
struct up_fetch *up_login_ask(struct up_core *core, const struct up_login *login, struct buf *form,
                              void (*done)(void *owner, const struct up_fetch_answer *answer), void *owner,
                              struct err *err);
/* Copies the tokens of the answer into the login; -1 with the server's error. */
int up_login_take(struct up_login *login, const struct up_fetch_answer *answer, uint64_t now_ms,
                  struct err *err);

/* `Authorization: Bearer …` from the login for the server's URL, when there is one. `home` outlives it. */
struct up_secret *up_login_secret(struct up_server *server, const char *home);
