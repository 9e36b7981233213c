#include "code/code_job.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/mem.h"
#include "base/rand.h"
#include "code/code_log.h"
#include "code/code_req.h"
#include "code/code_session.h"
#include "code/journal.h"
#include "code/package.h"
#include "code/skill.h"
#include "code/workspace.h"

#include <math.h>
#include <stdio.h>

#define JOB_MAGIC 0xc0de10b5
#define PROGRESS_PER_S 50 /* notifications; further ones of the code are stored but not sent */
#define PROGRESS_STEP 1e-6

static const struct sandbox_handlers job_handlers;

static const char *const state_names[] = {
    [CODE_JOB_PENDING] = "pending", [CODE_JOB_RUNNING] = "running",     [CODE_JOB_COMPLETED] = "completed",
    [CODE_JOB_FAILED] = "failed",   [CODE_JOB_CANCELLED] = "cancelled", [CODE_JOB_TIMEOUT] = "timeout",
};

const char *code_job_state_name(enum code_job_state state) { return state_names[state]; }

/* A client that got "cancelled" gets no other state, even while processes still run. */
enum code_job_state code_job_state(const struct code_job *j) {
    if (j->asked_to_end && !code_job_over(j))
        return CODE_JOB_CANCELLED;
    if (j->state == CODE_JOB_PENDING && j->calls.sandbox && sandbox_running(j->calls.sandbox))
        return CODE_JOB_RUNNING;
    return j->state;
}

static struct io_loop *job_loop(const struct code_job *j) { return j->owner->server->config.loop; }

/* ---- life cycle ---- */

/* A UUID (version 4), random except for its end, so that no client can guess the id of another client's job.
 */
static void name_job(struct code_job *j) {
    const unsigned char *node = j->owner->server->config.node;
    unsigned char b[16];
    rand_bytes(b, sizeof(b));
    if (node)
        memcpy(b + sizeof(b) - CODE_NODE, node, CODE_NODE);
    b[6] = (unsigned char)(0x40 | (b[6] & 0x0f));
    b[8] = (unsigned char)(0x80 | (b[8] & 0x3f));
    char hex[2 * sizeof(b) + 1];
    hex_str(b, sizeof(b), hex);
    snprintf(j->id, sizeof(j->id), "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

static struct slice run_key(const struct code_run *run, struct arena *a) {
    struct slice text = arena_printf(a, "%d\n%.*s\n%.*s\n%.*s", (int)run->language, SLICE_FMT(run->session),
                                     SLICE_FMT(run->context), SLICE_FMT(run->code));
    return skill_hash("SHA256", text, a);
}

static struct code_job *job_new(struct code_req *r, const struct code_run *run) {
    struct code_job *j = mem_zalloc(sizeof(*j));
    j->magic = JOB_MAGIC;
    j->owner = j->calls.owner = r->owner;
    j->calls.arena = &j->arena;
    j->calls.conn = r->conn;
    arena_init(&j->arena);
    j->run = *run;
    j->run.session = arena_dup(&j->arena, run->session);
    j->run.head = arena_dup(&j->arena, run->head);
    j->run.code = arena_dup(&j->arena, run->code);
    j->run.context = j->run.packages = (struct slice){0};
    j->calls.record = r->record;
    j->calls.journal = journal_open(&r->owner->journals, run_key(run, &j->arena));
    j->created_ms = j->updated_ms = clock_wall_ms();
    j->ttl_ms = CODE_JOB_KEEP_MS;
    j->progress = j->notified = -1;
    name_job(j);
    buf_init(&j->out, CODE_RESULT_MAX);
    buf_init(&j->err, CODE_RESULT_MAX);
    list_init(&j->calls.open);
    list_init(&j->waiters);
    code_answer_init(&j->answer);
    list_push(&j->owner->jobs, &j->node);
    j->owner->job_count++;
    j->owner->active_count++;
    list_push(&j->calls.conn->jobs, &j->on_conn);
    return j;
}

static void job_free(struct code_job *j) {
    CHECK_MAGIC(j, JOB_MAGIC);
    CHECK(list_empty(&j->waiters));
    outgoing_stop(&j->outgoing);
    toolcall_drop_all(&j->calls);
    io_timer_stop(job_loop(j), &j->keeping);
    if (!code_job_over(j))
        j->owner->active_count--;
    j->owner->job_count--;
    list_remove(&j->node);
    list_remove(&j->on_conn);
    if (j->calls.journal)
        journal_close(j->calls.journal, &j->owner->journals, false);
    buf_free(&j->out);
    buf_free(&j->err);
    code_answer_free(&j->answer);
    arena_free(&j->arena);
    j->magic = 0;
    free(j);
}

/* The sandbox is already closed: none of its code runs. */
void code_jobs_free(struct code_owner *o) {
    LIST_FOR_SAFE (n, next, &o->jobs) {
        job_free(container_of(n, struct code_job, node));
    }
}

static void on_kept(struct io_timer *timer) {
    struct code_job *j = container_of(timer, struct code_job, keeping);
    job_free(j);
}

/* Makes room for one more: the oldest finished job is deleted first. */
static bool make_room(struct code_owner *o) {
    LIST_FOR_SAFE (n, next, &o->jobs) {
        struct code_job *j = container_of(n, struct code_job, node);
        if (o->job_count < CODE_JOBS_MAX)
            break;
        if (code_job_over(j) && list_empty(&j->waiters))
            job_free(j);
    }
    return o->job_count < CODE_JOBS_MAX && o->active_count < CODE_JOBS_ACTIVE_MAX;
}

struct code_job *code_job_find(struct code_owner *o, struct slice id) {
    LIST_FOR (n, &o->jobs) {
        struct code_job *j = container_of(n, struct code_job, node);
        if (j->keep && slice_is(id, j->id))
            return j;
    }
    return NULL;
}

/* ---- waiting ---- */

static void resume(struct code_req *r) {
    io_timer_stop(r->conn->server->config.loop, &r->timer);
    list_remove(&r->on_job);
    void (*next)(struct code_req *) = r->resume;
    r->resume = NULL;
    next(r);
}

static void on_waited(struct io_timer *timer) { resume(container_of(timer, struct code_req, timer)); }

void code_job_wait(struct code_req *r, struct code_job *j, uint64_t ms, void (*next)(struct code_req *r)) {
    r->job = j;
    r->resume = next;
    if (code_job_over(j)) {
        resume(r);
        return;
    }
    list_push(&j->waiters, &r->on_job);
    if (ms)
        io_timer_arm(job_loop(j), &r->timer, ms, on_waited);
}

void code_job_cancel(struct code_job *j) {
    if (code_job_over(j) || j->asked_to_end)
        return;
    j->asked_to_end = true;
    sandbox_cancel(j->calls.sandbox);
}

void code_job_leave(struct code_req *r, bool cancelled) {
    struct code_job *j = r->job;
    if (!j || !list_linked(&r->on_job))
        return;
    list_remove(&r->on_job);
    /* A background run continues if its client only disconnected. */
    bool may_go_on = j->task || ((j->run.background || j->run.detached) && !cancelled);
    if (r->starts_job && !may_go_on)
        code_job_cancel(j);
    else if (r->starts_job)
        j->keep = true;
}

void code_jobs_detach(struct code_conn *c) {
    struct list *n;
    while ((n = list_pop(&c->jobs))) {
        struct code_job *j = container_of(n, struct code_job, on_conn);
        toolcall_fail_all(&j->calls);
        if (j->outgoing.port)
            outgoing_fail_all(&j->outgoing);
        j->calls.conn = NULL;
    }
}

/* ---- start ---- */

/* A run that requests no more than the default gets what the operator allows. */
static uint32_t within(uint32_t asked, uint32_t usual, uint32_t max) {
    return max && asked == usual && asked > max ? max : asked;
}

/* Code that may start programs, where the operator allows them. A session keeps its process, so all its runs
 * are of one profile. */
static bool may_start_programs(const struct code_server *server, const struct code_run *run) {
    static const char *const words[] = {"subprocess", "child_process", "os.system", "os.popen",
                                        "os.spawn",   "os.exec",       "os.fork",   "os.posix_spawn"};
    if (!server->config.bash || run->language == SANDBOX_SQL)
        return false;
    bool named = run->session.len > 0;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        named |= memmem(run->code.ptr, run->code.len, words[i], strlen(words[i])) != NULL;
    return named;
}

static bool begin(struct code_req *r, struct code_job *j, const struct code_run *run, struct err *err) {
    const struct code_config *config = &j->owner->server->config;
    struct workspace_list files;
    if (workspace_list(j->owner->workspace_fd, (struct slice){0}, &j->arena, &files) == WORKSPACE_OK) {
        j->before = files.files;
        j->before_count = files.count;
    }
    struct sandbox_request request = {
        .language = run->language,
        .programs = may_start_programs(j->owner->server, run),
        .profile = run->language == SANDBOX_BASH                 ? SANDBOX_PROC
                   : sandbox_tier(j->owner->server->sandbox) < 3 ? SANDBOX_FILES
                                                                 : SANDBOX_PURE,
        .code = run->code,
        .context = run->context,
        .prelude = run->prelude,
        .packages = run->packages,
        .last_value = run->last_value,
        .memory_mb = within((uint32_t)run->memory_mb, SANDBOX_MEMORY_MB, config->memory_mb_max),
        .timeout_ms = within((uint32_t)run->timeout_ms, CODE_TIMEOUT_S * 1000, config->timeout_ms_max),
        .output_max = CODE_RESULT_MAX,
        .result_max = CODE_RESULT_MAX,
        .calls_max = config->calls_max,
        .workspace = j->owner->path,
        .project = config->dir != NULL,
        .workspace_bytes_max = CODE_WORKSPACE_BYTES_MAX,
        .share = slice_str(j->owner->dir),
        .session = code_session_key(j->owner, run->session, &r->arena),
    };
    j->calls.sandbox = sandbox_start(j->owner->server->sandbox, &request, &job_handlers, j, err);
    return j->calls.sandbox != NULL;
}

struct code_job *code_job_new(struct code_req *r, const struct code_run *run, struct err *err) {
    const char *why = sandbox_why_not(r->conn->server->sandbox, run->language);
    if (run->language == SANDBOX_BASH && !r->conn->server->config.bash)
        why = "bash is off; the operator turns it on with `code: {bash: true}` in sallyport.yaml, or with "
              "`sallyport code --bash`";
    if (why) {
        err_set(err, "this language cannot be run here: %s", why);
        return NULL;
    }
    if (!make_room(r->owner)) {
        err_set(err, "too many runs under way or kept for this principal");
        return NULL;
    }
    struct code_job *j = job_new(r, run);
    if (!begin(r, j, run, err)) {
        job_free(j);
        return NULL;
    }
    j->owner->runs++;
    if (run->session.len)
        code_session_note(j->owner, run->session, run->written.len ? run->written : run->code);
    return j;
}

/* ---- reports of the sandbox ---- */

static void on_call(struct sandbox_run *run, void *owner, uint32_t id, struct slice server, struct slice tool,
                    struct slice args) {
    (void)run;
    struct code_job *j = owner;
    CHECK_MAGIC(j, JOB_MAGIC);
    toolcall_start(&j->calls, id, server, tool, args);
}

static void on_gone(struct sandbox_run *run, void *owner, uint32_t id) {
    (void)run;
    struct code_job *j = owner;
    toolcall_drop(&j->calls, id);
}

/* False if there were too many messages in this second. */
static bool may_notify(struct code_job *j) {
    uint64_t now = clock_mono_ms();
    if (now - j->notified_ms >= 1000) {
        j->notified_ms = now;
        j->notified_count = 0;
    }
    return ++j->notified_count <= PROGRESS_PER_S;
}

/* To every waiting client that gave a progress token. The notified progress must increase, whatever the code
 * reports. */
static void notify_progress(struct code_job *j, struct slice message) {
    double value =
        j->progress > j->notified ? j->progress : (j->notified < 0 ? 0 : j->notified) + PROGRESS_STEP;
    j->notified = value;
    LIST_FOR (n, &j->waiters) {
        struct code_req *r = container_of(n, struct code_req, on_job);
        if (!r->token.len)
            continue;
        struct buf out;
        buf_init(&out, 8 * CODE_STREAM_BYTES_MAX);
        struct emit e;
        buf_printf(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":");
        emit_init(&e, &out);
        emit_object(&e);
        emit_key(&e, "progressToken");
        emit_raw(&e, r->token);
        emit_key(&e, "progress");
        emit_double(&e, value);
        emit_key(&e, "total");
        emit_int(&e, 1);
        if (message.len) {
            emit_key(&e, "message");
            emit_str(&e, message);
        }
        emit_object_end(&e);
        buf_put_char(&out, '}');
        code_req_send(r, buf_slice(&out));
        buf_free(&out);
    }
}

/* Progress contains only stdout. */
static bool wants_lines(const struct code_job *j, enum sandbox_stream stream) {
    LIST_FOR (n, &j->waiters) {
        const struct code_req *r = container_of(n, struct code_req, on_job);
        if ((stream == SANDBOX_STDOUT && r->token.len) || code_log_wanted(r, stream))
            return true;
    }
    return false;
}

static bool tell_lines(struct code_job *j, enum sandbox_stream stream, struct slice lines) {
    if (!may_notify(j))
        return false;
    if (stream == SANDBOX_STDOUT)
        notify_progress(j, lines);
    LIST_FOR (n, &j->waiters) {
        const struct code_req *r = container_of(n, struct code_req, on_job);
        if (code_log_wanted(r, stream))
            code_log_send(r, stream, lines);
    }
    return true;
}

/* Sends new output, in complete lines: the filters could miss a value in half a line. The rest is sent with
 * the next line, or is in the response. */
static void notify_output(struct code_job *j, enum sandbox_stream stream) {
    const struct buf *all = stream == SANDBOX_STDOUT ? &j->out : &j->err;
    size_t *streamed = &j->streamed[stream];
    for (size_t at = SIZE_MAX; at != *streamed;) {
        at = *streamed;
        const struct slice fresh = slice_from(buf_slice(all), at);
        const char *end = fresh.len ? memchr(fresh.ptr, '\n', fresh.len) : NULL;
        const char *last =
            fresh.len ? memrchr(fresh.ptr, '\n', slice_upto(fresh, CODE_STREAM_BYTES_MAX).len) : NULL;
        if (last && tell_lines(j, stream, slice_of(fresh.ptr, (size_t)(last - fresh.ptr))))
            *streamed += (size_t)(last - fresh.ptr) + 1;
        else if (end && !last)
            *streamed += (size_t)(end - fresh.ptr) + 1; /* a line that is too long is only in the response */
    }
}

static void on_progress(struct sandbox_run *run, void *owner, double fraction, struct slice text) {
    (void)run;
    struct code_job *j = owner;
    if (!isnan(fraction))
        j->progress = fraction < 0 ? 0 : fraction > 1 ? 1 : fraction;
    text = slice_upto(text, sizeof(j->message_text));
    if (text.len) {
        memcpy(j->message_text, text.ptr, text.len);
        j->message = slice_of(j->message_text, text.len);
    }
    j->updated_ms = clock_wall_ms();
    if (may_notify(j))
        notify_progress(j, j->message);
}

static void on_output(struct sandbox_run *run, void *owner, enum sandbox_stream stream, struct slice bytes) {
    (void)run;
    struct code_job *j = owner;
    struct buf *to = stream == SANDBOX_STDOUT ? &j->out : &j->err;
    buf_put_slice(to, slice_upto(bytes, to->max - to->len));
    if (!j->run.exact && wants_lines(j, stream))
        notify_output(j, stream);
}

static enum code_job_state state_after(const struct code_job *j, const struct sandbox_outcome *o) {
    if (j->asked_to_end)
        return CODE_JOB_CANCELLED;
    if (o->exit == SANDBOX_TIMEOUT)
        return CODE_JOB_TIMEOUT;
    return o->exit == SANDBOX_OK ? CODE_JOB_COMPLETED : CODE_JOB_FAILED;
}

static void on_network(struct sandbox_run *run, void *owner, int take_listener) {
    (void)run;
    struct code_job *j = owner;
    outgoing_start(&j->outgoing, &j->calls, take_listener);
}

static void on_done(struct sandbox_run *run, void *owner, const struct sandbox_outcome *o) {
    (void)run;
    struct code_job *j = owner;
    CHECK_MAGIC(j, JOB_MAGIC);
    outgoing_stop(&j->outgoing);
    toolcall_drop_all(&j->calls);
    bool unfinished = j->calls.approval.len || (o->exit == SANDBOX_TIMEOUT && j->calls.held);
    journal_close(steal(j->calls.journal), &j->owner->journals, unfinished);
    j->resumable = unfinished;
    j->tool_calls = o->tool_calls;
    j->wall_us = o->wall_us;
    struct sandbox_outcome explained = *o;
    if (o->exit == SANDBOX_ERROR)
        explained.error = package_explain(j->owner->server, j->run.language, o->error, &j->arena);
    j->run.format(j, &explained, &j->answer);
    j->state = state_after(j, o);
    j->calls.sandbox = NULL;
    j->updated_ms = clock_wall_ms();
    j->owner->active_count--;
    j->owner->failures += j->state != CODE_JOB_COMPLETED;
    list_remove(&j->on_conn);
    j->calls.conn = NULL;
    struct list *n;
    while ((n = list_pop(&j->waiters)))
        resume(container_of(n, struct code_req, on_job));
    if (j->keep)
        io_timer_arm(job_loop(j), &j->keeping, j->ttl_ms, on_kept);
    else
        job_free(j);
}

static const struct sandbox_handlers job_handlers = {.call = on_call,
                                                     .gone = on_gone,
                                                     .progress = on_progress,
                                                     .output = on_output,
                                                     .network = on_network,
                                                     .done = on_done};

/* ---- for the operator ---- */

static void put_output(struct emit *e, const char *key, const struct buf *text) {
    struct slice all = buf_slice(text);
    emit_key(e, key);
    emit_str(e, slice_from(all, all.len > CODE_JOB_SHOWN_MAX ? all.len - CODE_JOB_SHOWN_MAX : 0));
}

/* Its content: images and pages are stored nowhere else. */
static void put_content(struct emit *e, const struct code_answer *answer) {
    if (!answer->content.len || answer->content.full)
        return;
    emit_key(e, "content");
    emit_array(e);
    emit_raw(e, buf_slice(&answer->content)); /* elements, separated by commas */
    emit_array_end(e);
}

void code_job_answer_text(struct code_job *j, struct code_answer *answer) {
    cleanup_arena struct arena a;
    arena_init(&a);
    code_answer_text(answer, arena_printf(&a, "Still running as job %s", j->id));
}

void code_job_write(const struct code_job *j, bool output, struct emit *e) {
    char created[CLOCK_TEXT_MAX];
    clock_text(j->created_ms, created);
    emit_object(e);
    emit_key(e, "id");
    emit_cstr(e, j->id);
    emit_key(e, "principal");
    emit_str(e, text_slice(j->owner->id));
    emit_key(e, "state");
    emit_cstr(e, code_job_state_name(code_job_state(j)));
    emit_key(e, "language");
    emit_cstr(e, sandbox_language_name(j->run.language));
    emit_key(e, "created_at");
    emit_cstr(e, created);
    if (j->progress >= 0) {
        emit_key(e, "progress");
        emit_double(e, j->progress);
    }
    if (j->message.len) {
        emit_key(e, "message");
        emit_str(e, j->message);
    }
    emit_key(e, "execution_time_ms");
    emit_int(e, (int64_t)(j->wall_us / 1000));
    emit_key(e, "tool_calls");
    emit_int(e, j->tool_calls);
    if (j->calls.record) {
        emit_key(e, "call");
        emit_int(e, (int64_t)j->calls.record);
    }
    if (output) {
        put_output(e, "output", &j->out);
        put_output(e, "error_output", &j->err);
        put_content(e, &j->answer);
    }
    emit_object_end(e);
}
