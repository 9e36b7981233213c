/* The interface of the engine: a queue of requests, a pool of warm children, sessions. */
#include "runner/sandbox.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "runner/sandbox_box.h"
#include "runner/sandbox_run.h"
#include "runner/sandbox_share.h"

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static void on_tick(struct io_timer *timer);
static const struct sandbox_events events;

/* ---- opening ---- */

static bool holds_helper(const char *dir) {
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/sallyport-sandbox", dir);
    return access(path, X_OK) == 0;
}

/* Beside the program (a build directory), or where `make install` puts it. */
int sandbox_helper_dir(char *ret_dir, struct err *err) {
    static const char *const places[] = {".", "../libexec/sallyport", "../lib/sallyport", NULL};
    char self[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    for (const char *const *place = places; slash && *place; place++) {
        char path[PATH_MAX + 64], real[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s", self, *place);
        if (realpath(path, real) && strlen(real) < FRAME_PATH_MAX && holds_helper(real)) {
            snprintf(ret_dir, FRAME_PATH_MAX, "%s", real);
            return 0;
        }
    }
    return err_set(err, "the helper sallyport-sandbox is not beside this program");
}

static int find_helper(const struct sandbox_config *config, char ret_dir[FRAME_PATH_MAX], struct err *err) {
    if (!config->helper_dir)
        return sandbox_helper_dir(ret_dir, err);
    snprintf(ret_dir, FRAME_PATH_MAX, "%.1000s", config->helper_dir);
    return holds_helper(ret_dir) ? 0 : err_set(err, "no sallyport-sandbox in %s", ret_dir);
}

static int write_memory(const char *what, struct slice bytes, int *ret_fd, struct err *err) {
    const int fd = memfd_create(what, MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes.ptr, bytes.len) != (ssize_t)bytes.len) {
        err_set(err, "write the %s: %s", what, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    *ret_fd = fd;
    return 0;
}

/* The format that the interpreters read: language (0 is Python, 1 JavaScript), length, bytes. */
static int write_preludes(const struct sandbox_config *config, int *ret_fd, struct err *err) {
    cleanup_buf struct buf all;
    buf_init(&all, SANDBOX_PRELUDES_MAX * (SANDBOX_PRELUDE_MAX + 8));
    if (config->prelude_count == 0)
        return 0;
    for (size_t i = 0; i < config->prelude_count; i++) {
        const struct sandbox_prelude *p = &config->preludes[i];
        const uint32_t head[2] = {htole32(p->language != SANDBOX_PYTHON), htole32((uint32_t)p->source.len)};
        if (p->source.len > SANDBOX_PRELUDE_MAX || i >= SANDBOX_PRELUDES_MAX)
            return err_set(err, "a prelude is too large");
        buf_put(&all, head, sizeof(head));
        buf_put_slice(&all, p->source);
    }
    return write_memory("preludes", buf_slice(&all), ret_fd, err);
}

static char *given_or_env(const char *given, const char *name) {
    const char *text = given ? given : getenv(name);
    return text && *text ? mem_dup(text, strlen(text)) : NULL;
}

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

static uint32_t or_default(uint32_t value, uint32_t fallback) { return value ? value : fallback; }

int sandbox_open(struct io_loop *loop, struct spawn *spawn, const struct sandbox_config *config,
                 void (*ready)(void *owner), void *owner, struct sandbox **ret_sandbox, struct err *err) {
    struct sandbox *s = mem_zalloc(sizeof(*s));
    *s = (struct sandbox){.magic = SANDBOX_MAGIC,
                          .events = &events,
                          .loop = loop,
                          .spawn = spawn,
                          .ready = ready,
                          .owner = owner,
                          .min_tier = config->min_tier ? config->min_tier : SANDBOX_MIN_TIER,
                          .wake_ms = or_default(config->wake_ms, SANDBOX_WAKE_MS),
                          .warm =
                              config->warm == SANDBOX_NONE_WARM ? 0 : or_default(config->warm, SANDBOX_WARM),
                          .ceiling = config->ceiling,
                          .share_ceiling = config->share_ceiling,
                          .timeout_ms_max = or_default(config->timeout_ms_max, SANDBOX_TIMEOUT_MS_MAX),
                          .memory_mb_max = or_default(config->memory_mb_max, SANDBOX_MEMORY_MB_MAX),
                          .workspace_mb = or_default(config->workspace_mb, SANDBOX_WORKSPACE_MB),
                          .languages = config->languages,
                          .profile = config->profile,
                          .preludes = -1,
                          .bundle = -1,
                          .control = -1};
    list_init(&s->boxes);
    list_init(&s->shares);
    s->ceiling.runs = or_default(s->ceiling.runs, SANDBOX_RUNS_MAX);
    s->share_ceiling.runs = or_default(s->share_ceiling.runs, SANDBOX_SHARE_RUNS_MAX);
    list_init(&s->running);
    list_init(&s->finishing);
    tape_init(&s->tape);
    if (config->packages && *config->packages)
        s->packages = mem_dup(config->packages, strlen(config->packages));
    if (config->uids && *config->uids)
        s->uids = mem_dup(config->uids, strlen(config->uids));
    s->given[SANDBOX_GIVEN_PYTHON] = given_or_env(config->python, "SALLYPORT_PYTHON");
    s->given[SANDBOX_GIVEN_NODE] = given_or_env(config->node, "SALLYPORT_NODE");
    s->given[SANDBOX_GIVEN_BUN] = given_or_env(config->bun, "SALLYPORT_BUN");
    if (find_helper(config, s->helper_dir, err) != 0 || write_preludes(config, &s->preludes, err) != 0 ||
        (config->bundle.len && write_memory("certificates", config->bundle, &s->bundle, err) != 0) ||
        sandbox_box_helper_start(s, err) != 0) {
        sandbox_close(s);
        return -1;
    }
    io_timer_arm(loop, &s->tick, SANDBOX_TICK_MS, on_tick);
    *ret_sandbox = s;
    return 0;
}

static void abandon_all(struct list *runs) {
    while (!list_empty(runs))
        sandbox_run_abandon(container_of(runs->next, struct sandbox_run, node), "the gate is closing");
}

void sandbox_close(struct sandbox *s) {
    if (!s)
        return;
    CHECK_MAGIC(s, SANDBOX_MAGIC);
    s->closing = true;
    io_timer_stop(s->loop, &s->tick);
    io_timer_stop(s->loop, &s->refill);
    abandon_all(&s->running);
    abandon_all(&s->finishing);
    LIST_FOR (n, &s->shares)
        abandon_all(&container_of(n, struct sandbox_share, node)->waiting);
    sandbox_box_helper_stop(s);
    sandbox_share_free_all(s);
    if (s->preludes >= 0)
        close(s->preludes);
    if (s->bundle >= 0)
        close(s->bundle);
    for (int i = 0; i < SANDBOX_GIVEN; i++)
        free(s->given[i]);
    free(s->packages);
    free(s->uids);
    tape_free(&s->tape);
    s->magic = 0;
    free(s);
}

/* ---- capabilities of the machine ---- */

int sandbox_tier(const struct sandbox *s) { return s->tier; }
const char *sandbox_tier_why(const struct sandbox *s) { return s->tier_why; }
int sandbox_group(const struct sandbox *s, const char **ret_why) {
    *ret_why = s->group_why;
    return s->group;
}

bool sandbox_own_uids(const struct sandbox *s, const char **ret_text) {
    *ret_text = s->uids_text;
    return s->own_uids;
}

static enum frame_runtime runtime_of(enum sandbox_language language) {
    return language == SANDBOX_JAVASCRIPT || language == SANDBOX_TYPESCRIPT ? FRAME_NODE : FRAME_PYTHON;
}

const char *sandbox_why_not(const struct sandbox *s, enum sandbox_language language) {
    const struct sandbox_runtime *r = &s->runtimes[runtime_of(language)];
    if (!s->said_hello && !s->told_ready)
        return "still starting";
    if (s->tier > s->min_tier)
        return s->tier_refusal;
    if (!r->known && !s->told_ready)
        return "still starting";
    if (language == SANDBOX_BASH && s->tier > 1)
        return "bash needs processes, which only tier 1 isolates (see `sallyport doctor`)";
    return r->usable ? NULL : r->name;
}

const char *sandbox_runtime_name(const struct sandbox *s, enum sandbox_language language) {
    const struct sandbox_runtime *r = &s->runtimes[runtime_of(language)];
    return r->usable ? r->name : "";
}

static void helper_known(struct sandbox *s) {
    if (!s->said_hello || s->told_ready)
        return;
    if (s->tier <= s->min_tier && (!s->runtimes[FRAME_PYTHON].known || !s->runtimes[FRAME_NODE].known))
        return;
    s->told_ready = true;
    if (s->ready)
        s->ready(s->owner);
}

void sandbox_stats(const struct sandbox *s, struct sandbox_stats *ret_stats) {
    *ret_stats = s->stats;
    ret_stats->running = s->total.running;
    ret_stats->waiting = s->total.waiting_count;
    LIST_FOR (n, &s->boxes) {
        const struct box *b = container_of(n, struct box, node);
        ret_stats->idle += b->state == BOX_IDLE;
        ret_stats->sessions += b->session != NULL && b->state != BOX_DYING;
    }
}

/* ---- the queue ---- */

static struct box *find_session(struct sandbox *s, enum frame_runtime runtime, enum sandbox_profile profile,
                                struct slice name) {
    LIST_FOR (n, &s->boxes) {
        struct box *b = container_of(n, struct box, node);
        if (b->session && b->state != BOX_DYING && (b->runtime < FRAME_NODE) == (runtime < FRAME_NODE) &&
            b->profile == profile && slice_is(name, b->session))
            return b;
    }
    return NULL;
}

static uint32_t count_boxes(const struct sandbox *s, size_t kind, enum box_state state) {
    uint32_t count = 0;
    LIST_FOR (n, &s->boxes) {
        const struct box *b = container_of(n, struct box, node);
        count += b->state == state && sandbox_kind_of(b->runtime, b->profile) == kind;
    }
    return count;
}

static struct box *find_idle(struct sandbox *s, size_t kind) {
    LIST_FOR (n, &s->boxes) {
        struct box *b = container_of(n, struct box, node);
        if (b->state == BOX_IDLE && sandbox_kind_of(b->runtime, b->profile) == kind)
            return b;
    }
    return NULL;
}

/* The session that was parked longest makes room for a new one. */
static void make_room_for_session(struct sandbox *s) {
    uint32_t count = 0;
    struct box *oldest = NULL;
    LIST_FOR (n, &s->boxes) {
        struct box *b = container_of(n, struct box, node);
        count += b->session != NULL && b->state != BOX_DYING;
        if (b->state == BOX_PARKED && (!oldest || b->since_ms < oldest->since_ms))
            oldest = b;
    }
    if (count >= SANDBOX_SESSIONS_MAX && oldest)
        sandbox_box_kill(oldest);
}

static bool mentions(struct slice code, const char *words) {
    struct slice rest = slice_str(words), word;
    for (bool more = rest.len > 0; more;) {
        more = slice_cut(&rest, ' ', &word);
        if (word.len && code.len && memmem(code.ptr, code.len, word.ptr, word.len))
            return true;
    }
    return false;
}

/* The interpreter with numpy and similar packages preloaded is used only for code that imports them. A run
 * with its own packages does not use it, because they may have the same names. */
static enum frame_runtime pick_runtime(const struct sandbox *s, const struct sandbox_request *r) {
    if (r->language != SANDBOX_PYTHON)
        return runtime_of(r->language);
    if (r->packages.len)
        return FRAME_PYTHON;
    const char *heavy = s->runtimes[FRAME_PYTHON].modules;
    return mentions(r->code, heavy) || mentions(r->context, heavy) ? FRAME_PYTHON_DATA : FRAME_PYTHON;
}

/* The result of a run's turn. */
enum turn {
    TURN_TAKEN, /* it has left the queue */
    TURN_LATER, /* it waits for something of its own; the next run of its share may start */
    TURN_FULL,  /* its share, or the engine, is at a ceiling */
};

static enum turn try_assign(struct sandbox *s, struct sandbox_run *run, uint32_t needed[SANDBOX_KINDS]) {
    const struct sandbox_request *r = &run->request;
    if (run->cancelled) {
        sandbox_run_deliver_now(run);
        return TURN_TAKEN;
    }
    const struct sandbox_runtime *rt = &s->runtimes[runtime_of(r->language)];
    if (s->control >= 0 && (!s->said_hello || (s->tier <= s->min_tier && !rt->known)))
        return TURN_LATER; /* not known yet */
    const char *why = s->control < 0 ? s->trouble : sandbox_why_not(s, r->language);
    if (why) {
        sandbox_run_refuse(run, *why ? why : "the sandbox helper does not start");
        return TURN_TAKEN;
    }
    run->runtime = pick_runtime(s, r);
    if (r->programs && s->tier == 1 && s->group)
        run->request.profile = SANDBOX_PROC;
    const size_t kind = sandbox_kind_of(run->runtime, r->profile);
    struct box *b = r->session.len ? find_session(s, run->runtime, r->profile, r->session) : NULL;
    if (b && b->state != BOX_PARKED)
        return TURN_LATER;
    if (!sandbox_share_has_room(s, run, b))
        return TURN_FULL;
    const bool parked = b != NULL;
    if (!b)
        b = find_idle(s, kind);
    s->kinds[kind].used_ms = io_now_ms(s->loop);
    if (!b && s->kinds[kind].failures >= SANDBOX_FAILURES_MAX) {
        s->kinds[kind].failures = 0; /* the next run may try again */
        sandbox_run_refuse(run, s->kinds[kind].why);
        return TURN_TAKEN;
    }
    if (!b) {
        run->cold = true;
        needed[kind]++;
        sandbox_share_claim(run);
        return TURN_LATER;
    }
    if (r->session.len && !parked) {
        make_room_for_session(s);
        b->session = mem_dup(r->session.ptr, r->session.len);
    }
    *(run->cold ? &s->stats.cold_starts : &s->stats.warm_hits) += 1;
    sandbox_run_begin(run, b);
    return TURN_TAKEN;
}

/* Starts one run of a share, so that no run waits behind another grant's whole queue. True if one started. */
static bool serve_share(struct sandbox *s, struct sandbox_share *share, uint32_t needed[SANDBOX_KINDS]) {
    LIST_FOR_SAFE (n, next, &share->waiting) {
        const enum turn turn = try_assign(s, container_of(n, struct sandbox_run, node), needed);
        if (turn != TURN_LATER)
            return turn == TURN_TAKEN;
    }
    return false;
}

/* Repeats until no share can start a run. `needed` is then what the remaining runs wait for. */
static void serve_all(struct sandbox *s, uint32_t needed[SANDBOX_KINDS]) {
    bool served = true;
    while (served && !s->pump_again) {
        served = false;
        memset(needed, 0, SANDBOX_KINDS * sizeof(*needed));
        sandbox_share_look(s);
        LIST_FOR_SAFE (n, next, &s->shares) {
            if (!serve_share(s, container_of(n, struct sandbox_share, node), needed))
                continue;
            served = true;
            list_remove(n);
            list_push(&s->shares, n);
            if (s->pump_again)
                break; /* the queue may have changed during the call */
        }
    }
}

static bool start_boxes(struct sandbox *s, size_t kind, uint32_t count, bool urgent) {
    for (uint32_t i = 0; i < count; i++)
        if (!sandbox_box_start(s, (enum frame_runtime)(kind / FRAME_PROFILES),
                               (enum sandbox_profile)(kind % FRAME_PROFILES), urgent, NULL))
            return false;
    return true;
}

static void pump(struct sandbox *s);

static void on_refill(struct io_timer *timer) { pump(container_of(timer, struct sandbox, refill)); }

/* Starts children for waiting runs, and a few spare ones. While one spare child is left, new ones are
 * started only when the engine is idle, because they would compete with runs for the processor. */
static void start_missing(struct sandbox *s, const uint32_t needed[SANDBOX_KINDS]) {
    const uint64_t now = io_now_ms(s->loop);
    const bool quiet = now - s->begun_ms >= SANDBOX_REFILL_MS;
    for (size_t k = 0; k < SANDBOX_KINDS; k++) {
        const bool hot = s->kinds[k].used_ms && now - s->kinds[k].used_ms < SANDBOX_HOT_MS;
        const uint32_t spare = hot && s->kinds[k].failures == 0 ? s->warm : 0;
        const uint32_t idle = count_boxes(s, k, BOX_IDLE);
        const uint32_t there = idle + count_boxes(s, k, BOX_STARTING) + count_boxes(s, k, BOX_WAKING);
        const uint32_t urgent = needed[k] > there ? needed[k] - there : 0;
        const uint32_t missing = needed[k] + spare > there + urgent ? needed[k] + spare - there - urgent : 0;
        if (!start_boxes(s, k, urgent, true))
            return;
        if (missing && idle && !quiet)
            io_timer_arm(s->loop, &s->refill, SANDBOX_REFILL_MS, on_refill);
        else if (!start_boxes(s, k, missing, !quiet))
            return;
    }
}

static void pump(struct sandbox *s) {
    uint32_t needed[SANDBOX_KINDS] = {0};
    struct err err = {""};
    if (s->closing || s->pumping)
        return;
    s->pumping = true; /* done() may submit the next request here */
    do {
        s->pump_again = false;
        if (s->control < 0 && s->total.waiting_count && sandbox_box_helper_start(s, &err) != 0)
            snprintf(s->trouble, sizeof(s->trouble), "%.200s", err.text);
        serve_all(s, needed);
    } while (s->pump_again);
    s->pumping = false;
    if (s->control >= 0 && s->said_hello && s->tier <= s->min_tier)
        start_missing(s, needed);
}

static void refuse_waiting(struct sandbox *s) {
    const char *why = *s->trouble ? s->trouble : "the sandbox helper does not start";
    LIST_FOR (n, &s->shares) {
        struct sandbox_share *share = container_of(n, struct sandbox_share, node);
        for (uint32_t left = share->waiting_count; left && !list_empty(&share->waiting); left--)
            sandbox_run_refuse(container_of(share->waiting.next, struct sandbox_run, node), why);
    }
}

static const struct sandbox_events events = {
    .output = sandbox_run_output,
    .violation = sandbox_run_violation,
    .exited = sandbox_run_box_exited,
    .frames = sandbox_run_frames,
    .abandoned = sandbox_run_abandon,
    .helper_known = helper_known,
    .helper_refused = refuse_waiting,
    .changed = pump,
};

/* Ends idle sessions, and warm children of kinds that are no longer used. */
static void on_tick(struct io_timer *timer) {
    struct sandbox *s = container_of(timer, struct sandbox, tick);
    const uint64_t now = io_now_ms(s->loop);
    LIST_FOR_SAFE (n, next, &s->boxes) {
        struct box *b = container_of(n, struct box, node);
        const uint64_t used = s->kinds[sandbox_kind_of(b->runtime, b->profile)].used_ms;
        if ((b->state == BOX_PARKED && now - b->since_ms > SANDBOX_SESSION_IDLE_MS) ||
            (b->state == BOX_IDLE && now - used > SANDBOX_HOT_MS && now - b->since_ms > SANDBOX_HOT_MS))
            sandbox_box_kill(b);
    }
    sandbox_share_sweep(s);
    pump(s);
    io_timer_arm(s->loop, &s->tick, SANDBOX_TICK_MS, on_tick);
}

/* ---- requests ---- */

static int check_request(const struct sandbox *s, const struct sandbox_request *r, struct err *err) {
    if (r->code.len > SANDBOX_CODE_MAX || r->context.len > SANDBOX_CODE_MAX)
        return err_set(err, "code and context may have %u MB each", SANDBOX_CODE_MAX >> 20);
    if (r->session.len > SANDBOX_SESSION_NAME_MAX ||
        memchr(r->session.ptr ? r->session.ptr : "", 0, r->session.len))
        return err_set(err, "a session's name may have at most %d bytes", SANDBOX_SESSION_NAME_MAX);
    if (r->timeout_ms > s->timeout_ms_max)
        return err_set(err, "code may run for %g seconds at most", s->timeout_ms_max / 1000.0);
    if (r->memory_mb > s->memory_mb_max)
        return err_set(err, "code may have %u MB of memory at most", s->memory_mb_max);
    if (s->total.waiting_count >= SANDBOX_WAITING_MAX)
        return err_set(err, "too many runs are waiting");
    LIST_FOR (n, &s->shares) {
        const struct sandbox_share *share = container_of(n, struct sandbox_share, node);
        if (share->waiting_count >= SANDBOX_SHARE_WAITING_MAX && slice_is(r->share, share->name))
            return err_set(err, "%u runs of this grant are waiting already", share->waiting_count);
    }
    return 0;
}

/* Holds what waits outside the queue until the loop's next turn: no callback runs inside sandbox_start(). */
static void on_first_turn(struct io_timer *timer) {
    struct sandbox_run *run = container_of(timer, struct sandbox_run, timer);
    pump(run->engine);
}

static void copy_request(struct sandbox_run *run, const struct sandbox_request *r) {
    struct sandbox_request *to = &run->request;
    *to = *r;
    to->code = arena_dup(&run->arena, r->code);
    to->context = arena_dup(&run->arena, r->context);
    to->packages = arena_dup(&run->arena, r->packages);
    to->session = arena_dup(&run->arena, r->session);
    to->share = arena_dup(&run->arena, r->share);
    if (r->workspace)
        to->workspace = arena_dup(&run->arena, slice_str(r->workspace)).ptr;
    to->memory_mb = or_default(r->memory_mb, smaller(SANDBOX_MEMORY_MB, run->engine->memory_mb_max));
    to->timeout_ms = or_default(r->timeout_ms, smaller(SANDBOX_TIMEOUT_MS, run->engine->timeout_ms_max));
    to->cpu_s = or_default(r->cpu_s, to->timeout_ms / 1000 + 2);
    to->output_max = or_default(r->output_max, SANDBOX_OUTPUT_MAX);
    to->result_max = or_default(r->result_max, SANDBOX_RESULT_MAX);
    to->calls_max = or_default(r->calls_max, SANDBOX_CALLS_MAX);
}

struct sandbox_run *sandbox_start(struct sandbox *s, const struct sandbox_request *request,
                                  const struct sandbox_handlers *handlers, void *owner, struct err *err) {
    CHECK_MAGIC(s, SANDBOX_MAGIC);
    if (check_request(s, request, err) != 0)
        return NULL;
    struct sandbox_run *run = mem_zalloc(sizeof(*run));
    run->magic = SANDBOX_RUN_MAGIC;
    run->engine = s;
    run->handlers = handlers;
    run->owner = owner;
    arena_init(&run->arena);
    copy_request(run, request);
    for (size_t i = 0; i < ARRAY_LEN(run->output); i++)
        sandbox_output_init(&run->output[i], run->request.output_max);
    run->asked_us = clock_mono_us();
    run->share = sandbox_share_of(s, run->request.share);
    sandbox_share_wait(run);
    s->pump_again = true;
    /* A run that can start does so immediately. A run that must be refused is refused on the loop's next
     * turn. */
    if (s->pumping || (s->said_hello && s->control >= 0 && sandbox_why_not(s, request->language) == NULL &&
                       s->kinds[sandbox_kind_of(pick_runtime(s, request), request->profile)].failures == 0))
        pump(s);
    else
        io_timer_soon(s->loop, &run->timer, on_first_turn);
    return run;
}

/* ---- names ---- */

const char *sandbox_language_name(enum sandbox_language language) {
    static const char *const names[] = {[SANDBOX_PYTHON] = "python",
                                        [SANDBOX_JAVASCRIPT] = "javascript",
                                        [SANDBOX_TYPESCRIPT] = "typescript",
                                        [SANDBOX_SQL] = "sql",
                                        [SANDBOX_BASH] = "bash"};
    return names[language];
}

const char *sandbox_exit_name(enum sandbox_exit e) {
    static const char *const names[] = {
        [SANDBOX_OK] = "ok",         [SANDBOX_ERROR] = "error",   [SANDBOX_TIMEOUT] = "timeout",
        [SANDBOX_MEMORY] = "memory", [SANDBOX_CPU] = "cpu",       [SANDBOX_KILLED] = "killed",
        [SANDBOX_OUTPUT] = "output", [SANDBOX_REFUSED] = "killed"};
    return names[e];
}

/* ---- sessions ---- */

bool sandbox_session_next(const struct sandbox *s, size_t *at, struct sandbox_session *ret_session) {
    size_t i = 0;
    LIST_FOR (n, &s->boxes) {
        const struct box *b = container_of(n, struct box, node);
        if (!b->session || b->state == BOX_DYING || i++ < *at)
            continue;
        *at = i;
        *ret_session =
            (struct sandbox_session){.name = slice_str(b->session),
                                     .language = b->runtime == FRAME_NODE     ? SANDBOX_JAVASCRIPT
                                                 : b->profile == SANDBOX_PROC ? SANDBOX_BASH
                                                                              : SANDBOX_PYTHON,
                                     .idle_ms = b->state == BOX_PARKED ? io_now_ms(s->loop) - b->since_ms : 0,
                                     .runs = b->session_runs,
                                     .busy = b->state == BOX_BUSY};
        return true;
    }
    return false;
}

bool sandbox_session_clear(struct sandbox *s, struct slice name) {
    bool found = false;
    LIST_FOR_SAFE (n, next, &s->boxes) {
        struct box *b = container_of(n, struct box, node);
        if (!b->session || b->state == BOX_DYING || !slice_is(name, b->session))
            continue;
        found = true;
        if (b->run)
            b->run->cancelled = true;
        sandbox_box_kill(b);
    }
    return found;
}
