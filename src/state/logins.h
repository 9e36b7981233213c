/* Sign-ins to the console, and one-time sign-in links. They lie in logins.sqlite of the
 * home, or in its PostgreSQL, so they outlive the gate and hold at every gate of it; of a cookie or a link
 * only its SHA-256 is kept.
 *
 *   a token ──▶ POST /session ──▶ row ◀── a cookie with every request
 *   sallyport ui ──▶ row (once) ──▶ link ──▶ POST /session/link ──▶ row
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "state/limits.h"

#define STATE_LOGIN_CHARS 43 /* of 6 bits each */
#define STATE_LOGIN_TEXT (STATE_LOGIN_CHARS + 1)

enum state_login_kind {
    STATE_LOGIN_GRANT = 1, /* holds as long as the grant does, as it was */
    STATE_LOGIN_TOKEN = 2, /* signed by an identity provider; judged anew each time */
    STATE_LOGIN_USER = 3,  /* a user of this machine who can write to the home */
    STATE_LOGIN_ID = 4,    /* an ID token of an identity provider; judged anew each time but for its end */
};

struct state_login {
    enum state_login_kind kind;
    struct slice name;      /* the grant's; "cli:USER" */
    uint64_t grant_version; /* see struct state_grant */
    struct slice token;     /* of an identity provider, as it was shown */
    uint32_t roles;         /* of a user: enum state_role */
    uint64_t expires_ms;
};

struct state_logins;

/* The home exists. */
int state_logins_open(const char *home, struct state_logins **ret_logins, struct err *err);
void state_logins_close(struct state_logins *l); /* NULL is fine */

/* For STATE_LOGIN_MS at most, or until login->expires_ms where that is sooner. The cookie's text is shown
 * this once. */
int state_logins_create(struct state_logins *l, const struct state_login *login, uint64_t now_ms,
                        char ret_cookie[STATE_LOGIN_TEXT], struct err *err);
/* 1 and *ret_login, its texts in the arena; 0 when there is none that holds, or -1. */
int state_logins_find(struct state_logins *l, struct slice cookie, uint64_t now_ms, struct arena *a,
                      struct state_login *ret_login, struct err *err);
int state_logins_end(struct state_logins *l, struct slice cookie, struct err *err);

/* A link for a user of this machine, good once and for STATE_LINK_MS. */
int state_logins_link(struct state_logins *l, struct slice user, uint32_t roles, uint64_t now_ms,
                      char ret_code[STATE_LOGIN_TEXT], struct err *err);
/* 1: the link was good, and the user is signed in by the cookie; 0: it was not; -1. */
int state_logins_redeem(struct state_logins *l, struct slice code, uint64_t now_ms,
                        char ret_cookie[STATE_LOGIN_TEXT], struct err *err);
