#include "runner/sandbox_share.h"

#include "base/mem.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

struct sandbox_share *sandbox_share_of(struct sandbox *s, struct slice name) {
    LIST_FOR (n, &s->shares) {
        struct sandbox_share *share = container_of(n, struct sandbox_share, node);
        if (slice_is(name, share->name))
            return share;
    }
    struct sandbox_share *share = mem_zalloc(sizeof(*share));
    share->name = mem_dup(name.ptr, name.len);
    list_init(&share->waiting);
    list_push(s->shares.next, &share->node); /* at the front: it has never been served */
    return share;
}

static void share_free(struct sandbox_share *share) {
    list_remove(&share->node);
    free(share->name);
    free(share);
}

static uint64_t window_of(const struct sandbox *s) { return io_now_ms(s->loop) / SANDBOX_SHARE_WINDOW_MS; }

void sandbox_share_sweep(struct sandbox *s) {
    LIST_FOR_SAFE (n, next, &s->shares) {
        struct sandbox_share *share = container_of(n, struct sandbox_share, node);
        if (!share->waiting_count && !share->running && !share->children && share->window != window_of(s))
            share_free(share);
    }
}

void sandbox_share_free_all(struct sandbox *s) {
    while (!list_empty(&s->shares))
        share_free(container_of(s->shares.next, struct sandbox_share, node));
}

/* ---- the queue ---- */

void sandbox_share_wait(struct sandbox_run *run) {
    list_push(&run->share->waiting, &run->node);
    run->share->waiting_count++;
    run->engine->total.waiting_count++;
}

void sandbox_share_leave(struct sandbox_run *run) {
    run->share->waiting_count--;
    run->engine->total.waiting_count--;
}

void sandbox_share_look(struct sandbox *s) {
    s->total.claimed = 0;
    LIST_FOR (n, &s->shares)
        container_of(n, struct sandbox_share, node)->claimed = 0;
}

void sandbox_share_claim(struct sandbox_run *run) {
    run->share->claimed++;
    run->engine->total.claimed++;
}

/* ---- ceilings ---- */

static bool fits(const struct sandbox *s, const struct sandbox_share *share, const struct sandbox_ceiling *c,
                 uint32_t memory_mb, const struct box *parked) {
    const bool now = share->window == window_of(s);
    const uint64_t held = share->memory_mb - (parked ? parked->memory_mb : 0);
    const bool alone = !share->running && share->parked == (parked ? 1 : 0);
    if (c->runs && share->running + share->claimed >= c->runs)
        return false;
    if (c->memory_mb && held + memory_mb > c->memory_mb && !alone)
        return false;
    return !(now && ((c->cpu_s && share->cpu_us >= (uint64_t)c->cpu_s * 1000000) ||
                     (c->wall_s && share->wall_us >= (uint64_t)c->wall_s * 1000000)));
}

bool sandbox_share_has_room(struct sandbox *s, const struct sandbox_run *run, const struct box *parked) {
    const uint32_t memory_mb = run->request.memory_mb;
    return fits(s, &s->total, &s->ceiling, memory_mb, parked) &&
           fits(s, run->share, &s->share_ceiling, memory_mb, parked);
}

/* ---- running work ---- */

static void hold(struct sandbox_share *share, int32_t running, int32_t parked, int64_t memory_mb) {
    share->running += (uint32_t)running;
    share->parked += (uint32_t)parked;
    share->memory_mb += (uint64_t)memory_mb;
}

static void hold_both(struct sandbox *s, struct sandbox_share *share, int32_t running, int32_t parked,
                      int64_t memory_mb) {
    hold(&s->total, running, parked, memory_mb);
    hold(share, running, parked, memory_mb);
}

static void signal_box(const struct box *b, int number) {
    if (b->pidfd >= 0)
        syscall(SYS_pidfd_send_signal, b->pidfd, number, NULL, 0);
}

static void unpark(struct box *b) {
    if (!b->parked)
        return;
    hold_both(b->engine, b->payer, 0, -1, -(int64_t)b->memory_mb);
    b->parked = false;
    signal_box(b, SIGCONT);
}

void sandbox_share_begin(struct sandbox_run *run, struct box *b) {
    sandbox_share_leave(run);
    unpark(b);
    if (!b->payer)
        run->share->children++;
    b->payer = run->share;
    hold_both(run->engine, run->share, 1, 0, run->request.memory_mb);
}

static void spend(const struct sandbox *s, struct sandbox_share *share, uint64_t cpu_us, uint64_t wall_us) {
    if (share->window != window_of(s))
        share->cpu_us = share->wall_us = 0;
    share->window = window_of(s);
    share->cpu_us += cpu_us;
    share->wall_us += wall_us;
}

static void spend_both(struct sandbox *s, struct sandbox_share *share, uint64_t cpu_us, uint64_t wall_us) {
    spend(s, &s->total, cpu_us, wall_us);
    spend(s, share, cpu_us, wall_us);
}

/* The usage of a child is known when it has ended. A session's child lives on, so its run is charged its
 * full limit. */
void sandbox_share_exited(struct box *b, uint64_t cpu_us) {
    if (b->payer && !b->session)
        spend_both(b->engine, b->payer, cpu_us, 0);
}

void sandbox_share_forget(struct box *b) {
    unpark(b);
    if (b->payer)
        b->payer->children--;
    b->payer = NULL;
}

void sandbox_share_end(struct sandbox_run *run) {
    struct sandbox *s = run->engine;
    hold_both(s, run->share, -1, 0, -(int64_t)run->request.memory_mb);
    const uint64_t wall_us = run->outcome.wall_us;
    spend_both(s, run->share, run->request.session.len ? wall_us : 0, wall_us);
}

void sandbox_share_park(struct sandbox_run *run, struct box *b) {
    b->parked = true;
    b->memory_mb = run->request.memory_mb;
    hold_both(run->engine, b->payer, 0, 1, b->memory_mb);
    signal_box(b, SIGSTOP);
}
