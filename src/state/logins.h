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
    STATE_LOGIN_GRANT = 1, /* valid as long as the grant is, at that version */
    STATE_LOGIN_TOKEN = 2, /* signed by an identity provider; verified again each time */
    STATE_LOGIN_USER = 3,  /* a user of this machine who can write to the home */
    STATE_LOGIN_ID =
        4, /* an ID token of an identity provider; verified again each time, except for its expiry */
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

/* Valid for STATE_LOGIN_MS, or until login->expires_ms if that is earlier. The cookie's text is shown only
 * once. */
int state_logins_create(struct state_logins *l, const struct state_login *login, uint64_t now_ms,
                        char ret_cookie[STATE_LOGIN_TEXT], struct err *err);
/* 1 and *ret_login, its texts in the arena; 0 if there is no valid one, or -1. */
int state_logins_find(struct state_logins *l, struct slice cookie, uint64_t now_ms, struct arena *a,
                      struct state_login *ret_login, struct err *err);
int state_logins_end(struct state_logins *l, struct slice cookie, struct err *err);
/* Raised by each sign-out in a process of this home: an answer from before may be wrong. For any thread. */
uint64_t state_logins_generation(const struct state_logins *l);

/* A link for a user of this machine, valid once and for STATE_LINK_MS. */
int state_logins_link(struct state_logins *l, struct slice user, uint32_t roles, uint64_t now_ms,
                      char ret_code[STATE_LOGIN_TEXT], struct err *err);
/* 1: the link was valid, and the user is signed in by the cookie; 0: it was not; -1. */
int state_logins_redeem(struct state_logins *l, struct slice code, uint64_t now_ms,
                        char ret_cookie[STATE_LOGIN_TEXT], struct err *err);
