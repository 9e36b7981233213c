#include "runner/sandbox_run.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "runner/sandbox_box.h"
#include "runner/sandbox_files.h"
#include "runner/sandbox_frame.h"
#include "runner/sandbox_share.h"
#include "runner/shape.h"
#include "wire/emit.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define RUN_FRAME_MAX                                                                                        \
    (3 * SANDBOX_CODE_MAX) /* escaping can make text longer; what does not fit is refused                    \
                            */
#define CPU_SLACK_S 1
#define TIMEOUT_TEXT "Execution timed out after %g seconds"

static void run_finish(struct sandbox_run *run);

/* ---- completion ---- */

static void set_end(struct sandbox_run *run, enum sandbox_exit how, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void set_end(struct sandbox_run *run, enum sandbox_exit how, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(run->error_text, sizeof(run->error_text), fmt, args);
    va_end(args);
    run->outcome.exit = how;
    run->outcome.error = slice_str(run->error_text);
}

static void run_free(struct sandbox_run *run) {
    struct sandbox *s = run->engine;
    io_timer_stop(s->loop, &run->timer);
    list_remove(&run->node);
    for (size_t i = 0; i < ARRAY_LEN(run->output); i++)
        sandbox_output_free(&run->output[i]);
    buf_free(&run->seen);
    arena_free(&run->arena);
    run->magic = 0;
    free(run);
}

const uint64_t sandbox_bucket_us[SANDBOX_BUCKETS] = {1000,   5000,    25000,    100000,
                                                     500000, 2500000, 10000000, 60000000};

static void count_outcome(struct sandbox_stats *stats, const struct sandbox_outcome *o) {
    size_t at = 0;
    while (at < SANDBOX_BUCKETS && o->wall_us > sandbox_bucket_us[at])
        at++;
    stats->exits[o->exit]++;
    stats->wall[at]++;
    stats->wall_us += o->wall_us;
}

/* Reports the outcome; the run and its data are freed afterwards. */
static void run_deliver(struct sandbox_run *run) {
    struct sandbox *s = run->engine;
    struct sandbox_outcome *o = &run->outcome;
    if (!o->result.len)
        o->result = SLICE("null");
    if (!o->error.ptr)
        o->error = SLICE("");
    o->out = sandbox_output_text(&run->output[SANDBOX_STDOUT], &run->arena);
    o->err = sandbox_output_text(&run->output[SANDBOX_STDERR], &run->arena);
    o->out_cut = sandbox_output_cut(&run->output[SANDBOX_STDOUT]);
    o->err_cut = sandbox_output_cut(&run->output[SANDBOX_STDERR]);
    o->images = run->images;
    o->image_count = run->image_count;
    o->violations = run->violations;
    o->violation_count = run->violation_count;
    o->tool_calls = run->calls;
    if (run->sent && !o->wall_us)
        o->wall_us = clock_mono_us() - run->start_us;
    count_outcome(&s->stats, o);
    list_remove(&run->node);
    if (run->box)
        run->box->run = NULL;
    run->box = NULL;
    while (run->open_count) {
        const uint32_t id = run->open[--run->open_count];
        if (run->handlers->gone)
            run->handlers->gone(run, run->owner, id);
    }
    run->handlers->done(run, run->owner, o);
    run_free(run);
}

void sandbox_run_deliver_now(struct sandbox_run *run) {
    io_timer_stop(run->engine->loop, &run->timer);
    sandbox_share_leave(run);
    run_deliver(run);
}

/* ---- the workspace ---- */

struct copy_job {
    uv_work_t work;
    struct sandbox_run *run; /* NULL: the run has ended */
    struct sandbox_files files;
    struct err err;
    int status;
    bool in;
};

static void on_copy(uv_work_t *work) {
    struct copy_job *job = container_of(work, struct copy_job, work);
    job->status = sandbox_files_copy(&job->files, &job->err);
}

static void run_send(struct sandbox_run *run);

static void copy_free(struct copy_job *job) {
    buf_free(&job->files.seen);
    free(job);
}

static void on_copied(uv_work_t *work, int status) {
    struct copy_job *job = container_of(work, struct copy_job, work);
    struct sandbox_run *run = job->run;
    close(job->files.from);
    close(job->files.to);
    if (!run || status != 0) {
        copy_free(job);
        return;
    }
    run->copy = NULL;
    if (job->in)
        run->seen = job->files.seen, job->files.seen = (struct buf){0};
    if (job->status != 0 || job->files.skipped) {
        const char *why = job->status != 0 ? job->err.text : job->files.first_skipped.text;
        run->outcome.copy_error =
            arena_printf(&run->arena, "%s%s", why, job->files.skipped > 1 ? " (and others)" : "").ptr;
    }
    const bool in = job->in;
    copy_free(job);
    if (!in) {
        run_deliver(run);
    } else if (run->cancelled || !run->box || run->box->state == BOX_DYING) {
        if (!run->cancelled)
            set_end(run, SANDBOX_KILLED, "the sandbox ended before the code could run");
        run_finish(run);
    } else {
        run_send(run);
    }
}

/* True if copying is in progress. */
static bool run_copy(struct sandbox_run *run, bool in) {
    struct sandbox *s = run->engine;
    struct stat st;
    if (!run->request.workspace || run->request.profile == SANDBOX_PURE || !run->box ||
        run->box->workspace < 0)
        return false;
    const int host = open(run->request.workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    const int guest = fcntl(run->box->workspace, F_DUPFD_CLOEXEC, 3);
    if (host < 0 || guest < 0 || fstat(guest, &st) != 0) {
        run->outcome.copy_error = arena_printf(&run->arena, "open the workspace: %s", strerror(errno)).ptr;
        if (host >= 0)
            close(host);
        if (guest >= 0)
            close(guest);
        return false;
    }
    struct copy_job *job = mem_zalloc(sizeof(*job));
    const uint64_t disk = (uint64_t)s->workspace_mb << 20;
    job->run = run;
    job->in = in;
    job->files = (struct sandbox_files){
        .from = in ? host : guest,
        .to = in ? guest : host,
        .from_guest = !in,
        .guest_uid = st.st_uid,
        .guest_gid = st.st_gid,
        .bytes_max = run->request.workspace_bytes_max && !in ? run->request.workspace_bytes_max : disk,
        .files_max = SANDBOX_FILES_MAX,
        .project = run->request.project,
        .remove_missing = true,
        .seen = run->seen};
    run->seen = (struct buf){0};
    if (in)
        buf_init(&job->files.seen, SANDBOX_SEEN_BYTES_MAX);
    run->copy = job;
    uv_queue_work(&s->loop->uv, &job->work, on_copy, on_copied);
    return true;
}

/* The outcome is known. A child without a session is killed first, so that nothing changes its files while
 * they are read. */
static void run_finish(struct sandbox_run *run) {
    struct box *b = run->box;
    struct sandbox *s = run->engine;
    io_timer_stop(s->loop, &run->timer);
    if (run->sent && !run->outcome.wall_us)
        run->outcome.wall_us = clock_mono_us() - run->start_us;
    if (list_linked(&run->node)) {
        list_remove(&run->node);
        sandbox_share_end(run);
        run->over = true;
    }
    const bool keep = b && run->done_seen && b->session && b->state == BOX_BUSY && b->bridge;
    if (b && !keep)
        sandbox_box_kill(b);
    if (b && keep) {
        b->state = BOX_PARKED;
        b->session_runs++;
        b->since_ms = io_now_ms(s->loop);
        sandbox_share_park(run, b);
    }
    run->outcome.session_lost = run->request.session.len && !keep;
    if (b)
        sandbox_box_listen(b, false);
    const bool copying = b && run->sent && run_copy(run, false);
    if (b) {
        b->run = NULL;
        run->box = NULL;
    }
    if (copying)
        list_push(&s->finishing, &run->node);
    else
        run_deliver(run);
    if (!s->closing)
        s->events->changed(s);
}

void sandbox_run_refuse(struct sandbox_run *run, const char *why) {
    set_end(run, SANDBOX_REFUSED, "%s", why);
    io_timer_stop(run->engine->loop, &run->timer);
    sandbox_share_leave(run);
    run_deliver(run);
}

void sandbox_run_abandon(struct sandbox_run *run, const char *why) {
    if (run->copy)
        run->copy->run = NULL, run->copy = NULL;
    if (run->outcome.exit == SANDBOX_OK && !run->outcome.error.ptr)
        set_end(run, SANDBOX_KILLED, "%s", why);
    if (run->begun && !run->over)
        sandbox_share_end(run);
    else if (!run->begun)
        sandbox_share_leave(run);
    run_deliver(run);
}

/* ---- output ---- */

/* Code that writes too much continues: the beginning and the end of its output are kept. Reading takes the
 * gate's time, so there is a ceiling on that too. */
void sandbox_run_output(struct sandbox_run *run, enum sandbox_stream which, struct slice bytes) {
    struct sandbox_output *to = &run->output[which];
    const uint64_t before = to->written, max = run->request.output_max;
    sandbox_output_put(to, bytes);
    const struct slice within = slice_upto(bytes, before < max ? (size_t)(max - before) : 0);
    if (within.len && run->handlers->output)
        run->handlers->output(run, run->owner, which, within);
    if (to->written > SANDBOX_FLOOD_MAX && !run->too_much_output && run->box && run->sent &&
        !run->done_seen) {
        run->too_much_output = true;
        sandbox_box_kill(run->box);
    }
}

void sandbox_run_violation(struct sandbox_run *run, const char *name, bool ended) {
    run->ended_for_violation |= ended;
    for (size_t i = 0; i < run->violation_count; i++)
        if (strcmp(run->violations[i].name, name) == 0) {
            run->violations[i].ended |= ended;
            return;
        }
    if (run->violation_count == SANDBOX_VIOLATIONS_MAX)
        return;
    struct sandbox_violation *v = &run->violations[run->violation_count++];
    snprintf(v->name, sizeof(v->name), "%s", name);
    v->ended = ended;
}

/* ---- frames ---- */

static void send_frame(struct sandbox_run *run, enum frame_kind kind, uint32_t id, struct slice body) {
    struct box *b = run->box;
    if (!b || !b->bridge)
        return;
    char space[FRAME_HEAD_BYTES];
    struct buf head = {.ptr = space, .cap = sizeof(space), .max = sizeof(space)};
    sandbox_frame_head(&head, kind, id, body.len);
    io_conn_put(b->bridge, buf_slice(&head));
    io_conn_put(b->bridge, body);
    if (io_conn_queued(b->bridge) > SANDBOX_QUEUE_MAX) { /* a guest that does not read its answers */
        set_end(run, SANDBOX_KILLED, "the code left more than %u MB of answers unread",
                SANDBOX_QUEUE_MAX >> 20);
        sandbox_box_kill(b);
    }
}

static bool close_call(struct sandbox_run *run, uint32_t id) {
    for (uint32_t i = 0; i < run->open_count; i++)
        if (run->open[i] == id) {
            run->open[i] = run->open[--run->open_count];
            return true;
        }
    return false;
}

static void answer(struct sandbox_run *run, enum frame_kind kind, uint32_t id, struct slice json) {
    CHECK_MAGIC(run, SANDBOX_RUN_MAGIC);
    if (!close_call(run, id))
        return;
    if (json.len > FRAME_BYTES_MAX) {
        json = SLICE("\"the result is too large for the code to receive\"");
        kind = FRAME_ERROR;
    }
    send_frame(run, kind, id, json);
    run->answered_us = clock_mono_us();
    run->spinning = run->spin_skips == 0;
    if (run->spinning)
        io_loop_stay_awake(run->engine->loop, SANDBOX_AWAKE_US);
    if (run->box && run->box->bridge && run->open_count == SANDBOX_CALLS_OPEN_MAX - 1)
        io_conn_read(run->box->bridge, true);
}

void sandbox_answer(struct sandbox_run *run, uint32_t id, struct slice json) {
    answer(run, FRAME_RESULT, id, json);
}

void sandbox_answer_error(struct sandbox_run *run, uint32_t id, struct slice text) {
    cleanup_buf struct buf quoted;
    buf_init(&quoted, FRAME_TEXT_MAX);
    if (!emit_quote(&quoted, slice_upto(text, FRAME_TEXT_MAX / 8))) {
        buf_reset(&quoted);
        buf_put_str(&quoted, "\"the tool failed\"");
    }
    answer(run, FRAME_ERROR, id, buf_slice(&quoted));
}

void sandbox_answer_fault(struct sandbox_run *run, uint32_t id, struct slice json) {
    answer(run, FRAME_ERROR, id, json);
}

/* Adaptive spinning: after spinning for the next call failed, the gate skips it for one call, then three,
 * and so on. */
static void judge_pace(struct sandbox_run *run) {
    if (!run->spinning) {
        run->spin_skips -= run->spin_skips > 0;
        return;
    }
    if (clock_mono_us() - run->answered_us <= SANDBOX_AWAKE_US)
        run->spin_skips_last = 0;
    else if (run->spin_skips_last < SANDBOX_AWAKE_SKIP_MAX)
        run->spin_skips_last = 2 * run->spin_skips_last + 1;
    run->spin_skips = run->spin_skips_last;
    run->spinning = false;
}

static bool take_call(struct sandbox_run *run, const struct sandbox_frame *f) {
    struct sandbox_frame_call call;
    if (f->id <= run->last_id)
        return false; /* ids only increase: no duplicate can be mistaken for another call's answer */
    run->last_id = f->id;
    judge_pace(run);
    run->calls++;
    run->call_bytes += f->body.len;
    run->engine->stats.calls++;
    if (run->calls > run->request.calls_max || run->call_bytes > SANDBOX_CALL_BYTES_MAX) {
        set_end(run, SANDBOX_KILLED, "more than %u tool calls, or %u MB of arguments", run->request.calls_max,
                SANDBOX_CALL_BYTES_MAX >> 20);
        sandbox_box_kill(run->box);
        return true;
    }
    run->open[run->open_count++] = f->id;
    if (run->open_count == SANDBOX_CALLS_OPEN_MAX)
        io_conn_read(run->box->bridge, false);
    cleanup_arena struct arena a;
    arena_init(&a);
    const char *fault = sandbox_frame_call(f->body, &run->engine->tape, &a, &call);
    if (fault)
        sandbox_answer_error(run, f->id, slice_str(fault));
    else
        run->handlers->call(run, run->owner, f->id, call.server, call.tool, call.args);
    return true;
}

static bool take_progress(struct sandbox_run *run, const struct sandbox_frame *f) {
    struct sandbox_frame_progress p;
    cleanup_arena struct arena a;
    arena_init(&a);
    if (!sandbox_frame_progress(f->body, &run->engine->tape, &a, &p))
        return false;
    if (run->handlers->progress && run->progresses++ < SANDBOX_PROGRESS_MAX)
        run->handlers->progress(run, run->owner, p.fraction, p.text);
    return true;
}

static bool take_image(struct sandbox_run *run, const struct sandbox_frame *f) {
    struct slice mime, bytes;
    if (!sandbox_frame_image(f->body, &mime, &bytes))
        return false;
    run->image_bytes += bytes.len;
    if (run->image_count < FRAME_IMAGES_MAX && run->image_bytes <= FRAME_GUEST_MAX)
        run->images[run->image_count++] =
            (struct sandbox_image){arena_dup(&run->arena, mime), arena_dup(&run->arena, bytes)};
    return true;
}

static bool take_done(struct sandbox_run *run, const struct sandbox_frame *f) {
    struct sandbox_frame_done d;
    struct sandbox_outcome *o = &run->outcome;
    struct tape *t = &run->engine->tape;
    if (!sandbox_frame_done(f->body, t, &run->arena, &d))
        return false;
    run->done_seen = true;
    o->exit = d.ok ? SANDBOX_OK : slice_is(d.kind, "MemoryError") ? SANDBOX_MEMORY : SANDBOX_ERROR;
    o->error = arena_dup(&run->arena, d.error);
    o->kind = arena_dup(&run->arena, d.kind);
    o->traceback = arena_dup(&run->arena, d.traceback);
    o->cpu_us = d.cpu_us;
    o->rss_kb = d.rss_kb;
    if (d.result) {
        cleanup_buf struct buf trimmed;
        buf_init(&trimmed, run->request.result_max);
        shape_value(t, d.result, run->request.result_max, &trimmed, &o->result_cut);
        o->result = arena_dup(&run->arena, buf_slice(&trimmed));
    }
    tape_trim(t);
    sandbox_box_drain(run->box);
    run_finish(run);
    return true;
}

static bool take_frame(struct sandbox_run *run, const struct sandbox_frame *f) {
    switch (f->kind) {
    case FRAME_CALL:
        return take_call(run, f);
    case FRAME_PROGRESS:
        return take_progress(run, f);
    case FRAME_IMAGE:
        return take_image(run, f);
    case FRAME_DONE:
        return take_done(run, f);
    default:
        return false;
    }
}

size_t sandbox_run_frames(struct sandbox_run *run, struct slice bytes, size_t *ret_want) {
    struct box *b = run->box;
    size_t used = 0;
    while (b->run == run && b->state == BOX_BUSY && run->open_count < SANDBOX_CALLS_OPEN_MAX) {
        struct sandbox_frame f;
        size_t want = 0;
        const enum sandbox_read got = sandbox_frame_read(slice_from(bytes, used), &f, &want);
        if (got == SANDBOX_READ_AGAIN) {
            *ret_want = want;
            return used;
        }
        if (got == SANDBOX_READ_BAD || !run->sent || !take_frame(run, &f)) {
            run->bad_frame = true; /* `run` is still valid: only a valid DONE frame ends it */
            sandbox_box_kill(b);
            return bytes.len;
        }
        used += want;
    }
    if (b->state == BOX_PARKED && used < bytes.len)
        sandbox_box_kill(b); /* data after its end: it could be mistaken for a later run's */
    return b->state == BOX_BUSY ? used : bytes.len;
}

/* ---- other ways to end ---- */

static bool says_no_memory(struct sandbox_run *run) {
    static const char *const words[] = {"out of memory", "MemoryError", "Allocation failed",
                                        "memory is exhausted"};
    const struct slice err = sandbox_output_text(&run->output[SANDBOX_STDERR], &run->arena);
    for (size_t i = 0; err.len && i < ARRAY_LEN(words); i++)
        if (memmem(err.ptr, err.len, words[i], strlen(words[i])))
            return true;
    return false;
}

/* Bun inspects its own stack when it crashes, and was killed for that. */
static bool crashed_bun(struct sandbox_run *run) {
    const char *last = run->violation_count ? run->violations[run->violation_count - 1].name : "";
    return run->runtime == FRAME_NODE && strcmp(last, "process_vm_readv") == 0 && says_no_memory(run);
}

/* V8 crashes without an error if an allocation fails. Native libraries of Python may do so too, but also
 * for other reasons. */
static bool crashed_full(const struct sandbox_run *run, const struct frame_report *r, int sig) {
    const bool crash = sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGTRAP || sig == SIGABRT;
    const uint64_t limit_kb = (uint64_t)run->request.memory_mb * 1024;
    return crash && r->rss_kb >= (run->runtime == FRAME_NODE ? limit_kb / 4 : limit_kb / 4 * 3);
}

/* Why the process ended, from our own state and the kernel's report. */
static void judge_exit(struct sandbox_run *run, const struct frame_report *r) {
    const int status = r->value, sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const uint64_t cpu_max = (uint64_t)run->request.cpu_s * 1000000;
    if (run->timed_out)
        set_end(run, SANDBOX_TIMEOUT, TIMEOUT_TEXT, run->request.timeout_ms / 1000.0);
    else if (run->cancelled)
        set_end(run, SANDBOX_KILLED, "cancelled");
    else if (run->outcome.error.ptr)
        return; /* a quota; its text is already set */
    else if (run->ended_for_violation && crashed_bun(run))
        set_end(run, SANDBOX_MEMORY, "out of memory");
    else if (run->ended_for_violation)
        set_end(run, SANDBOX_KILLED, "killed because of the system call `%s`",
                run->violations[run->violation_count - 1].name);
    else if (run->too_much_output)
        set_end(run, SANDBOX_OUTPUT, "more than %u MB of output", SANDBOX_FLOOD_MAX >> 20);
    else if (run->bad_frame)
        set_end(run, SANDBOX_KILLED, "killed because of a malformed message");
    else if (sig == SIGXCPU || (sig == SIGKILL && run->request.cpu_s && r->cpu_us + 500000 >= cpu_max))
        set_end(run, SANDBOX_CPU, "more than %u seconds of CPU time", run->request.cpu_s);
    else if (sig && (r->out_of_memory || says_no_memory(run) || crashed_full(run, r, sig)))
        set_end(run, SANDBOX_MEMORY, "out of memory");
    else if (sig)
        set_end(run, SANDBOX_KILLED, "the process was ended by signal %d (%s)", sig, strsignal(sig));
    else
        set_end(run, SANDBOX_KILLED, "the process exited with status %d before it had a result",
                WEXITSTATUS(status));
}

void sandbox_run_box_exited(struct sandbox_run *run, const struct frame_report *report) {
    sandbox_box_drain(run->box);
    judge_exit(run, report);
    run->outcome.cpu_us = report->cpu_us;
    run->outcome.rss_kb = report->rss_kb;
    if (run->copy) { /* the copy in continues and finds that its box is gone */
        run->box = NULL;
        return;
    }
    run_finish(run);
}

static void on_wall(struct io_timer *timer) {
    struct sandbox_run *run = container_of(timer, struct sandbox_run, timer);
    run->timed_out = true;
    if (run->box)
        sandbox_box_kill(run->box);
}

/* ---- start ---- */

/* Environment variables that configure a proxy and certificates for HTTP clients. */
#define STRING_OF(x) #x
#define STRING(x) STRING_OF(x)
#define PROXY "\"http://127.0.0.1:" STRING(FRAME_PROXY_PORT) "\""
#define BUNDLE "\"" FRAME_BUNDLE "\""
static const char environment[] =
    "{\"HTTP_PROXY\":" PROXY ",\"HTTPS_PROXY\":" PROXY ",\"http_proxy\":" PROXY ",\"https_proxy\":" PROXY
    ",\"SSL_CERT_FILE\":" BUNDLE ",\"REQUESTS_CA_BUNDLE\":" BUNDLE ",\"CURL_CA_BUNDLE\":" BUNDLE
    ",\"GIT_SSL_CAINFO\":" BUNDLE ",\"NODE_EXTRA_CA_CERTS\":" BUNDLE "}";

/* Why there is no network although the operator lists hosts; NULL if there is one. */
static const char *no_network(const struct sandbox_run *run) {
    if (run->engine->bundle < 0 || run->box->network >= 0)
        return NULL;
    return run->engine->tier > 1 ? "no network here: it needs tier 1 of the sandbox (see `sallyport doctor`)"
                                 : "no network with profile pure";
}

static bool write_run(struct sandbox_run *run, struct buf *out) {
    const struct sandbox_request *r = &run->request;
    struct emit e;
    sandbox_frame_head(out, FRAME_RUN, 0, 0);
    emit_init(&e, out);
    emit_object(&e);
    emit_key(&e, "code");
    emit_str(&e, r->code);
    if (r->context.len) {
        emit_key(&e, "context");
        emit_raw(&e, r->context);
    }
    if (r->packages.len) {
        emit_key(&e, "packages");
        emit_raw(&e, r->packages);
        emit_key(&e, "packages_dir");
        emit_cstr(&e, run->engine->tier == 1 ? FRAME_PACKAGES : run->engine->packages);
    }
    emit_key(&e, "language");
    emit_cstr(&e, sandbox_language_name(r->language));
    emit_key(&e, "prelude");
    emit_int(&e, run->fresh_session ? r->prelude : 0);
    emit_key(&e, "memory_mb");
    emit_int(&e, r->memory_mb);
    emit_key(&e, "timeout_ms");
    emit_int(&e, r->timeout_ms);
    emit_key(&e, "cpu_s");
    emit_int(&e, r->cpu_s);
    emit_key(&e, "echo");
    emit_bool(&e, r->echo);
    emit_key(&e, "last");
    emit_bool(&e, r->last_value);
    emit_key(&e, "session");
    emit_bool(&e, r->session.len > 0);
    if (run->box->network >= 0) {
        emit_key(&e, "environment");
        emit_raw(&e, SLICE(environment));
    }
    const char *why = no_network(run);
    if (why) {
        emit_key(&e, "no_network");
        emit_cstr(&e, why);
    }
    emit_object_end(&e);
    if (out->full)
        return false;
    struct buf head = {.ptr = out->ptr, .cap = FRAME_HEAD_BYTES, .max = FRAME_HEAD_BYTES};
    sandbox_frame_head(&head, FRAME_RUN, 0, out->len - FRAME_HEAD_BYTES);
    return true;
}

static void run_send(struct sandbox_run *run) {
    struct sandbox *s = run->engine;
    cleanup_buf struct buf frame;
    buf_init(&frame, RUN_FRAME_MAX);
    if (!write_run(run, &frame)) {
        set_end(run, SANDBOX_REFUSED, "code and context are too large");
        run_finish(run);
        return;
    }
    const int listener = run->box->network >= 0 ? fcntl(run->box->network, F_DUPFD_CLOEXEC, 0) : -1;
    if (listener >= 0)
        run->handlers->network(run, run->owner, listener);
    sandbox_box_limit(run->box, run->request.memory_mb);
    sandbox_box_listen(run->box, true);
    io_conn_put(run->box->bridge, buf_slice(&frame));
    io_conn_flush(run->box->bridge);
    run->sent = true;
    run->start_us = clock_mono_us();
    run->deadline_ms = io_now_ms(s->loop) + run->request.timeout_ms;
    io_timer_arm(s->loop, &run->timer, run->request.timeout_ms, on_wall);
}

void sandbox_run_begin(struct sandbox_run *run, struct box *b) {
    struct sandbox *s = run->engine;
    run->fresh_session = b->state == BOX_IDLE; /* a parked child has already run its prelude */
    run->box = b;
    b->run = run;
    b->state = BOX_BUSY;
    list_remove(&run->node);
    list_push(&s->running, &run->node);
    sandbox_share_begin(run, b);
    run->begun = true;
    run->outcome.waited_us = clock_mono_us() - run->asked_us;
    s->stats.runs++;
    s->begun_ms = io_now_ms(s->loop);
    if (!run_copy(run, true))
        run_send(run);
}

static void on_cancelled(struct io_timer *timer) {
    struct sandbox *s = container_of(timer, struct sandbox_run, timer)->engine;
    s->events->changed(s);
}

void sandbox_cancel(struct sandbox_run *run) {
    CHECK_MAGIC(run, SANDBOX_RUN_MAGIC);
    run->cancelled = true;
    if (run->box) {
        sandbox_box_kill(run->box);
        return;
    }
    set_end(run, SANDBOX_KILLED, "cancelled");
    io_timer_soon(run->engine->loop, &run->timer, on_cancelled);
}

bool sandbox_running(const struct sandbox_run *run) { return run->sent; }
