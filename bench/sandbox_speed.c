/* How long code takes in a sandbox, measured from inside the gate's own client: bench/sandbox starts it.
 *
 *   sandbox_speed LANGUAGE warm|cold|busy|calls|hold N
 *
 * warm: code handed to a waiting child until its result is there, one at a time. cold: the child is forked
 * for it. busy: several at the same time, as fast as possible. calls: tool calls from one piece of code.
 * hold: keeps N children waiting until stdin ends. Prints one JSON object. */
#include "base/clock.h"
#include "base/mem.h"
#include "runner/sandbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_MAX 100000
#define BUSY_AT_ONCE 4
#define WARM_POOL 16       /* children that wait when a round of warm runs begins */
#define WARM_PAUSE_MS 5    /* between two of them, for the last one to be gone */
#define WARM_FIRST_MS 6000 /* before the first round: idle interpreters of JavaScript get faster */
#define WARM_READY_MS 40   /* what an idle child needs to get ready */

struct bench {
    struct io_loop loop;
    struct sandbox *sandbox;
    enum sandbox_language language;
    const char *mode;
    uint32_t count, started, done, failed;
    uint64_t began_us, first_us;
    uint64_t *times;
    struct io_timer timer;
    uv_timer_t pause;
    uint64_t calls_us;
    bool settled;
    uint32_t left; /* of a round of warm runs */
};

static void next(struct bench *b);
static void on_pause(uv_timer_t *timer) { next(timer->data); }

static void on_call(struct sandbox_run *run, void *owner, uint32_t id, struct slice server, struct slice tool,
                    struct slice args) {
    (void)owner, (void)server, (void)tool, (void)args;
    sandbox_answer(run, id, SLICE("{\"ok\":true}"));
}

static void on_done(struct sandbox_run *run, void *owner, const struct sandbox_outcome *o) {
    (void)run;
    struct bench *b = owner;
    b->times[b->done++] = clock_mono_us() - b->began_us;
    b->calls_us = o->wall_us;
    if (o->exit != SANDBOX_OK) {
        fprintf(stderr, "%.*s\n", SLICE_FMT(o->error));
        b->failed++;
    }
    if (b->done == b->count || strcmp(b->mode, "calls") == 0)
        io_loop_stop(&b->loop);
    else if (b->left)
        uv_timer_start(&b->pause, on_pause, WARM_PAUSE_MS, 0);
    else
        next(b);
}

static const struct sandbox_handlers handlers = {.call = on_call, .done = on_done};

static struct slice code_of(const struct bench *b, char text[256]) {
    const bool python = b->language == SANDBOX_PYTHON;
    if (strcmp(b->mode, "calls") == 0)
        snprintf(text, 256,
                 python ? "for i in range(%u): call_tool('a', 'b', {'x': i})"
                        : "for (let i = 0; i < %u; i++) await callTool('a', 'b', {x: i})",
                 b->count);
    else
        snprintf(text, 256, python ? "print(6 * 7)\nresult = sum(range(10))" : "console.log(6 * 7); 45");
    return slice_str(text);
}

static void start_one(struct bench *b) {
    char text[256];
    struct err err;
    const struct sandbox_request request = {
        .language = b->language, .code = code_of(b, text), .timeout_ms = 60000};
    b->began_us = clock_mono_us();
    if (!b->first_us)
        b->first_us = b->began_us;
    b->started++;
    if (!sandbox_start(b->sandbox, &request, &handlers, b, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
}

/* A warm run waits, outside the measurement, until a child waits for it. */
static void on_look(struct io_timer *timer) { next(container_of(timer, struct bench, timer)); }

static void next(struct bench *b) {
    struct sandbox_stats stats;
    sandbox_stats(b->sandbox, &stats);
    io_timer_stop(&b->loop, &b->timer);
    if (strcmp(b->mode, "hold") == 0) {
        if (stats.idle >= b->count && !b->settled) {
            b->settled = true;
            io_timer_arm(&b->loop, &b->timer, WARM_READY_MS, on_look);
        } else if (stats.idle >= b->count) {
            printf("{\"idle\":%u}\n", stats.idle);
            fflush(stdout);
            if (getchar() == EOF || true)
                io_loop_stop(&b->loop);
        } else if (b->started == 0) {
            start_one(b);
        } else {
            io_timer_arm(&b->loop, &b->timer, 20, on_look);
        }
        return;
    }
    const bool warm = strcmp(b->mode, "warm") == 0;
    /* A round begins when all are there and had the time to get ready, and ends with the last. */
    if (warm && b->started && b->left == 0) {
        const bool settled = b->settled;
        b->settled = stats.idle >= WARM_POOL;
        b->left = settled && b->settled ? WARM_POOL : 0;
        if (!b->left) {
            const uint32_t ready_ms = b->done == 1 ? WARM_FIRST_MS : WARM_READY_MS;
            io_timer_arm(&b->loop, &b->timer, b->settled ? ready_ms : 1, on_look);
            return;
        }
    }
    b->settled = false;
    b->left -= b->left > 0;
    const uint32_t at_once = strcmp(b->mode, "busy") == 0 ? BUSY_AT_ONCE : 1;
    const uint32_t all = strcmp(b->mode, "calls") == 0 ? 1 : b->count;
    while (b->started < all && b->started - b->done < at_once)
        start_one(b);
}

static void on_ready(void *owner) { next(owner); }

static int by_size(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void report(struct bench *b) {
    const uint64_t all = clock_mono_us() - b->first_us;
    if (strcmp(b->mode, "calls") == 0) {
        printf("{\"call_us\":%.2f}\n", (double)b->calls_us / b->count);
        return;
    }
    uint64_t *t = b->times + 1; /* the first one waited for the interpreter */
    const uint32_t n = b->done - 1;
    qsort(t, n, sizeof(*t), by_size);
    printf("{\"n\":%u,\"min_us\":%lu,\"p50_us\":%lu,\"p90_us\":%lu,\"p99_us\":%lu,\"per_s\":%.1f,\"failed\":%"
           "u}\n",
           n, t[0], t[n / 2], t[n * 9 / 10], t[n * 99 / 100], b->done * 1e6 / (double)all, b->failed);
}

int main(int argc, char **argv) {
    struct err err;
    struct bench b = {.mode = argc > 2 ? argv[2] : ""};
    if (argc != 4 || (b.count = (uint32_t)strtoul(argv[3], NULL, 10)) < 2 || b.count > RUNS_MAX) {
        fputs("sandbox_speed python|javascript warm|cold|busy|calls|hold N\n", stderr);
        return 2;
    }
    b.language = strcmp(argv[1], "python") == 0 ? SANDBOX_PYTHON : SANDBOX_JAVASCRIPT;
    b.times = mem_zalloc((b.count + 1) * sizeof(*b.times));
    const bool cold = strcmp(b.mode, "cold") == 0;
    const struct sandbox_config config = {.warm = cold                          ? SANDBOX_NONE_WARM
                                                  : strcmp(b.mode, "hold") == 0 ? b.count
                                                  : strcmp(b.mode, "warm") == 0 ? WARM_POOL
                                                                                : BUSY_AT_ONCE,
                                          .share_ceiling.runs = b.count,
                                          .languages = 1u << b.language};
    struct spawn *spawn = spawn_start(&err);
    io_loop_init(&b.loop);
    uv_timer_init(&b.loop.uv, &b.pause);
    b.pause.data = &b;
    if (!spawn || spawn_attach(spawn, &b.loop, &err) != 0 ||
        sandbox_open(&b.loop, spawn, &config, on_ready, &b, &b.sandbox, &err) != 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    io_loop_run(&b.loop);
    if (strcmp(b.mode, "hold") != 0)
        report(&b);
    sandbox_close(b.sandbox);
    spawn_stop(spawn);
    io_loop_free(&b.loop);
    free(b.times);
    return b.failed ? 1 : 0;
}
