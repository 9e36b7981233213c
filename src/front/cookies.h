/* Who is signed in to the console, by the cookie of a request. The store may be slow, or gone: it is asked on
 * a thread, the request waits for the answer, and an answer is good for FRONT_COOKIE_FRESH_MS. Of a
 * sign-out in this home the answer is void at once.
 *
 *   request ── front_cookies_find ──▶ fresh: go on
 *                                 └─▶ asked: front_cookies_wait ──▶ thread ──▶ the request comes again
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"

struct front_conn;
struct front_cookies;
struct io_loop;
struct state_login;

enum front_cookie {
    FRONT_COOKIE_NONE,   /* it belongs to no login */
    FRONT_COOKIE_GOOD,   /* *ret_login, until the loop runs again */
    FRONT_COOKIE_ASKED,  /* not known yet; *ret_login is the last answer, or NULL */
    FRONT_COOKIE_FAILED, /* the store does not answer */
};

int front_cookies_open(struct io_loop *loop, const char *home, struct front_cookies **ret_cookies,
                       struct err *err);
void front_cookies_close(struct front_cookies *k); /* no connection is left; NULL is fine */

/* Asks the store where the answer is not known, or too old. A connection that has waited gets the answer that
 * it waited for, however long that took. */
enum front_cookie front_cookies_find(struct front_cookies *k, const struct front_conn *c, struct slice cookie,
                                     const struct state_login **ret_login);
/* After FRONT_COOKIE_ASKED: the request, kept by front_conn_hold, is processed again when the answer is
 * there. */
void front_cookies_wait(struct front_cookies *k, struct front_conn *c, struct slice cookie);
