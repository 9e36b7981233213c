/* Who is asking. Every request over HTTP is brought to a principal before anything else looks at it:
 *
 *   Authorization: Bearer sp_…      a grant of this home
 *   Authorization: Bearer TOKEN     the gate's one token (--token-file)
 *   nothing                         only where the gate was told to be open, on the loop-back
 *
 * What was shown is consumed here: no server behind the gate ever sees it. */
#pragma once

#include "base/err.h"
#include "base/slice.h"

struct front;
struct front_auth;
struct front_conn;
struct http_head;
struct principal;

struct front_auth_config {
    const char *home;       /* whose grants count; NULL: none */
    const char *token_file; /* one token for everybody, or NULL */
    bool open;              /* nobody is asked for anything */
};

/* What a connection showed last: clients show the same with every request. */
struct front_memo {
    char *shown; /* the Authorization header */
    size_t len;
    uint64_t generation; /* of the grants at that time */
    struct principal *principal;
};
void front_memo_clear(struct front_memo *memo);

int front_auth_new(struct front *f, const struct front_auth_config *config, struct err *err);
void front_auth_free(struct front *f); /* after the sessions are closed; half-made is fine */

/* Sets c->principal, or answers (401, 403, 503) and returns false. */
bool front_authenticate(struct front_conn *c, const struct http_head *head);
/* May the principal use the server of this endpoint? Else answers 403. */
bool front_may_enter(struct front_conn *c);
/* "local:USER": whoever started this program. */
struct principal *front_local_user(void);
