#include "state/remote_link.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>

static void on_watch(struct io_timer *timer);

/* Whether the server executed pending requests is unknown, so all of them are reported as failed. */
static void fail_wants(struct remote_link *l) {
    while (state_remote_link_answer(l, NULL))
        ;
}

void state_remote_link_retry(struct remote_link *l) {
    io_timer_stop(l->loop, &l->retry);
    l->phase = REMOTE_CONNECTING;
    l->connect(l);
}

static void on_retry(struct io_timer *timer) {
    state_remote_link_retry(container_of(timer, struct remote_link, retry));
}

void state_remote_link_note(struct remote_link *l, const char *why) {
    snprintf(l->health.fault, sizeof(l->health.fault), "%s", why);
}

void state_remote_link_lost(struct remote_link *l, const char *why) {
    state_remote_link_note(l, why);
    l->phase = REMOTE_WAITING;
    l->health.up = false;
    l->misses = 0;
    l->drop(l);
    io_timer_stop(l->loop, &l->watch);
    io_timer_arm(l->loop, &l->retry, l->backoff_ms, on_retry);
    l->backoff_ms *= 2;
    if (l->backoff_ms > STATE_REMOTE_BACKOFF_MAX_MS)
        l->backoff_ms = STATE_REMOTE_BACKOFF_MAX_MS;
    fail_wants(l);
}

void state_remote_link_good(struct remote_link *l) {
    l->health.up = true;
    l->backoff_ms = STATE_REMOTE_BACKOFF_MS;
}

static void arm_watch(struct remote_link *l) {
    l->looked = false;
    LIST_FOR (n, &l->wants) {
        const struct remote_want *w = container_of(n, struct remote_want, node);
        if (w->is_late)
            continue;
        uint64_t now = io_now_ms(l->loop);
        io_timer_arm(l->loop, &l->watch, w->due_ms > now ? w->due_ms - now : 1, on_watch);
        return;
    }
}

/* Timers run before the socket is read. A process that did not run for a while may have its answer there, so
 * a request is late only if nothing came after one more look. */
static void on_watch(struct io_timer *timer) {
    struct remote_link *l = container_of(timer, struct remote_link, watch);
    uint64_t now = io_now_ms(l->loop);
    if (!l->looked) {
        l->looked = true;
        io_timer_arm(l->loop, timer, 1, on_watch);
        return;
    }
    LIST_FOR_SAFE (n, next, &l->wants) {
        struct remote_want *w = container_of(n, struct remote_want, node);
        if (w->due_ms > now)
            break;
        if (w->is_late)
            continue;
        w->is_late = true;
        l->health.timeouts++;
        l->misses++;
        if (w->late)
            w->late(w);
    }
    if (l->misses >= STATE_REMOTE_MISSES_MAX)
        state_remote_link_lost(l, "no answer in time");
    else
        arm_watch(l);
}

bool state_remote_link_takes(struct remote_link *l) {
    bool takes = l->phase != REMOTE_WAITING && l->want_count < STATE_REMOTE_WANTS_MAX;
    l->health.unsent += !takes;
    return takes;
}

static void count_answer(struct remote_link *l, uint64_t us) {
    size_t i = 0;
    while (i < STATE_ANSWER_BUCKETS && us > state_answer_us[i])
        i++;
    l->health.answers[i]++;
    l->health.answer_us += us;
}

/* The watch is off when every request before is late already; requests come in the order of their due times.
 */
static bool is_watched(const struct remote_link *l) {
    return !list_empty(&l->wants) && !container_of(l->wants.prev, struct remote_want, node)->is_late;
}

void state_remote_link_queue(struct remote_link *l, struct remote_want *want) {
    const bool watched = is_watched(l);
    want->is_late = false;
    want->sent_us = clock_mono_us();
    want->due_ms = want->sent_us / 1000 + l->timeout_ms; /* the loop's clock may be behind */
    list_push(&l->wants, &want->node);
    l->want_count++;
    l->health.requests++;
    if (!watched)
        arm_watch(l);
}

bool state_remote_link_answer(struct remote_link *l, const void *reply) {
    struct list *first = list_pop(&l->wants);
    if (!first)
        return false;
    struct remote_want *w = container_of(first, struct remote_want, node);
    l->want_count--;
    if (reply) {
        l->misses = 0;
        count_answer(l, clock_mono_us() - w->sent_us);
    }
    w->answered(w, reply);
    return true;
}

void state_remote_link_start(struct remote_link *l, struct io_loop *loop, uint64_t timeout_ms) {
    l->loop = loop;
    l->timeout_ms = timeout_ms;
    l->backoff_ms = STATE_REMOTE_BACKOFF_MS;
    l->phase = REMOTE_CONNECTING;
    list_init(&l->wants);
    l->connect(l);
}

void state_remote_link_end(struct remote_link *l) {
    io_timer_stop(l->loop, &l->retry);
    io_timer_stop(l->loop, &l->watch);
    l->phase = REMOTE_WAITING;
    l->drop(l);
    fail_wants(l);
}
