#include "front/cookies.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "front/front.h"
#include "io/work.h"
#include "state/logins.h"

#include <string.h>

struct front_cookies {
    struct io_loop *loop;
    struct state_logins *logins; /* of the thread, but for its generation */
    struct map known;            /* struct cookie by its text */
    struct list due;             /* connections whose answer is there */
    struct io_timer again;
};

struct answer {
    int found; /* 1, and the login; 0: none; -1: the store failed */
    struct arena arena;
    struct state_login login;
    uint64_t asked_ms; /* by the steady clock, before the store was asked */
    uint64_t generation;
};

struct cookie {
    struct front_cookies *owner;
    char text[STATE_LOGIN_TEXT];
    struct answer last; /* found is 0 before the first one */
    struct list waiting;
    bool asking;
    unsigned tries; /* answers that were out of date when they came */
    struct io_work work;
    struct answer next; /* of the thread while it is asked */
};

static void cookie_free(struct cookie *k) {
    map_remove(&k->owner->known, slice_of(k->text, STATE_LOGIN_CHARS));
    explicit_bzero(k->text, sizeof(k->text));
    arena_free(&k->last.arena);
    arena_free(&k->next.arena);
    free(k);
}

/* ---- asking the store ---- */

static void cookie_run(struct io_work *work) {
    struct cookie *k = container_of(work, struct cookie, work);
    struct answer *next = &k->next;
    next->found = state_logins_find(k->owner->logins, slice_of(k->text, STATE_LOGIN_CHARS), clock_wall_ms(),
                                    &next->arena, &next->login, NULL);
}

/* Later, because jobs may also be finished in the middle of a request. */
static void on_again(struct io_timer *timer) {
    struct front_cookies *k = container_of(timer, struct front_cookies, again);
    struct list now, *n;
    list_init(&now);
    while ((n = list_pop(&k->due)))
        list_push(&now, n);
    while ((n = list_pop(&now)))
        front_conn_release(container_of(n, struct front_conn, waiting));
}

static void cookie_done(struct io_work *work);

static void cookie_ask(struct cookie *k) {
    if (k->asking)
        return;
    k->asking = true;
    k->next.asked_ms = clock_mono_ms();
    k->next.generation = state_logins_generation(k->owner->logins);
    k->work = (struct io_work){.thread = IO_THREAD_ADMIN, .run = cookie_run, .done = cookie_done};
    io_work_add(k->owner->loop, &k->work);
}

/* A user signed out during the query: a request that came after that needs a newer answer. */
static bool is_outdated(const struct cookie *k) {
    return k->next.generation != state_logins_generation(k->owner->logins);
}

static void cookie_done(struct io_work *work) {
    struct cookie *k = container_of(work, struct cookie, work);
    struct front_cookies *owner = k->owner;
    const bool outdated = is_outdated(k);
    k->asking = false;
    if (outdated && k->tries++ < FRONT_COOKIE_TRIES_MAX) {
        arena_reset(&k->next.arena);
        cookie_ask(k);
        return;
    }
    arena_free(&k->last.arena);
    k->last = k->next;
    arena_init(&k->next.arena);
    if (outdated)
        k->last.found = -1;
    k->tries = 0;
    for (struct list *n; (n = list_pop(&k->waiting)); list_push(&owner->due, n))
        container_of(n, struct front_conn, waiting)->cookie_found = k->last.found;
    io_timer_arm(owner->loop, &owner->again, 0, on_again);
    if (k->last.found <= 0)
        cookie_free(k);
}

/* ---- what is known ---- */

static bool is_fresh(const struct cookie *k) {
    return k->last.found > 0 && k->last.generation == state_logins_generation(k->owner->logins) &&
           clock_mono_ms() - k->last.asked_ms <= FRONT_COOKIE_FRESH_MS;
}

/* Room for one more: those that are not used any more go first. False: all are needed. */
static bool make_room(struct front_cookies *k) {
    size_t at = 0, asking = 0;
    for (struct map_entry *e; (e = map_next(&k->known, &at));) {
        struct cookie *one = e->value;
        asking += one->asking && !one->last.found;
        if (k->known.count < FRONT_COOKIES_MAX || one->asking || is_fresh(one))
            continue;
        cookie_free(one);
        at = asking = 0;
    }
    return k->known.count < FRONT_COOKIES_MAX && asking < FRONT_COOKIES_ASKED_MAX;
}

static struct cookie *cookie_new(struct front_cookies *owner, struct slice text) {
    struct cookie *k = mem_zalloc(sizeof(*k));
    k->owner = owner;
    memcpy(k->text, text.ptr, STATE_LOGIN_CHARS);
    arena_init(&k->last.arena);
    arena_init(&k->next.arena);
    list_init(&k->waiting);
    map_put(&owner->known, slice_of(k->text, STATE_LOGIN_CHARS), k);
    return k;
}

enum front_cookie front_cookies_find(struct front_cookies *k, const struct front_conn *c, struct slice cookie,
                                     const struct state_login **ret_login) {
    *ret_login = NULL;
    if (cookie.len != STATE_LOGIN_CHARS)
        return FRONT_COOKIE_NONE;
    struct cookie *one = map_get(&k->known, cookie);
    if (c->cookie_waited && c->cookie_found <= 0)
        return c->cookie_found < 0 ? FRONT_COOKIE_FAILED : FRONT_COOKIE_NONE;
    bool answered = one && one->last.found > 0;
    if (answered && one->last.login.expires_ms <= clock_wall_ms())
        return FRONT_COOKIE_NONE;
    if (answered)
        *ret_login = &one->last.login;
    if (answered && (c->cookie_waited || is_fresh(one)))
        return FRONT_COOKIE_GOOD;
    if (!one && !c->cookie_waited && make_room(k))
        one = cookie_new(k, cookie);
    if (!one || c->cookie_waited)
        return FRONT_COOKIE_FAILED;
    cookie_ask(one);
    return FRONT_COOKIE_ASKED;
}

void front_cookies_wait(struct front_cookies *k, struct front_conn *c, struct slice cookie) {
    struct cookie *one = map_get(&k->known, cookie);
    CHECK(one && one->asking);
    c->cookie_waited = true;
    list_push(&one->waiting, &c->waiting);
}

/* ---- the start and the end ---- */

int front_cookies_open(struct io_loop *loop, const char *home, struct front_cookies **ret_cookies,
                       struct err *err) {
    struct state_logins *logins;
    if (state_logins_open(home, &logins, err) < 0)
        return -1;
    struct front_cookies *k = mem_zalloc(sizeof(*k));
    k->loop = loop;
    k->logins = logins;
    map_init(&k->known);
    list_init(&k->due);
    *ret_cookies = k;
    return 0;
}

void front_cookies_close(struct front_cookies *k) {
    if (!k)
        return;
    io_work_finish(k->loop);
    io_timer_stop(k->loop, &k->again);
    size_t at = 0;
    for (struct map_entry *e; (e = map_next(&k->known, &at)); at = 0)
        cookie_free(e->value);
    map_free(&k->known);
    state_logins_close(k->logins);
    free(k);
}
