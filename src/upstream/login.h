/* A login at a server that wants OAuth: the tokens it gave us, kept sealed in the home, refreshed in time.
 * They are the gate's own; what an agent shows to the gate has nothing to do with them. A login belongs to a
 * URL: at any other it is never shown. */
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

/* -1 also when there is none: *ret_absent. The arena is initialised in any case. */
int up_login_load(const char *home, const char *url, struct up_login *ret_login, bool *ret_absent,
                  struct err *err);
int up_login_save(const char *home, const struct up_login *login, struct err *err);
int up_login_remove(const char *home, const char *url, struct err *err);

/* name=value with percent-encoding, & in front unless it is the first. */
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
