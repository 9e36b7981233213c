/* The audit log at the API: questions, and a live stream. Reading the log takes time that calls do not have,
 * so it is done by a thread of the pool; the loop only passes the result on. */
#include "admin/api.h"
#include "audit/format.h"
#include "audit/log_reader.h"
#include "base/mem.h"

#include <stdio.h>
#include <time.h>

struct job {
    uv_work_t work;
    struct list node;
    struct admin *admin;     /* NULL once that is gone */
    struct web_reply *reply; /* NULL when nobody waits any more, and for the tail */
    char *home;
    struct arena arena; /* holds the texts of the filter */
    struct audit_filter filter;
    bool newest; /* only look where the end is */
    uint64_t last_seq;
    struct buf out; /* a JSON array, or for the tail a line a record */
    struct emit e;
    bool failed;
    struct err err;
};

static struct job *job_new(struct admin *a) {
    struct job *j = mem_zalloc(sizeof(*j));
    j->admin = a;
    j->home = mem_dup(a->home, strlen(a->home));
    j->work.data = j;
    arena_init(&j->arena);
    buf_init(&j->out, ADMIN_OUT_MAX);
    emit_init(&j->e, &j->out);
    list_push(&a->jobs, &j->node);
    a->job_count++;
    return j;
}

static void job_free(struct job *j) {
    if (j->admin) {
        list_remove(&j->node);
        j->admin->job_count--;
    }
    arena_free(&j->arena);
    buf_free(&j->out);
    free(j->home);
    free(j);
}

/* ---- questions ---- */

static bool put_entry(void *ctx, const struct audit_entry *entry) {
    struct job *j = ctx;
    cleanup_buf struct buf one;
    buf_init(&one, AUDIT_RECORD_MAX * 8);
    audit_format_json(&one, entry);
    emit_raw(&j->e, buf_slice(&one));
    return !j->out.full;
}

static void query_work(uv_work_t *work) {
    struct job *j = work->data;
    cleanup_audit_log struct audit_log *log = NULL;
    emit_array(&j->e);
    j->failed = audit_log_open(j->home, &log, &j->err) < 0 ||
                audit_log_walk_back(log, &j->filter, put_entry, j, &j->err) < 0;
    emit_array_end(&j->e);
    buf_put_char(&j->out, '\n');
}

#define LOG_HEADERS SLICE("Cache-Control: no-store\r\n")

static void query_done(uv_work_t *work, int status) {
    struct job *j = work->data;
    struct web_reply *reply = j->reply;
    bool fine = status == 0 && !j->failed && !j->out.full;
    if (reply && fine)
        reply->ops->answer(reply, 200, "application/json", LOG_HEADERS, buf_slice(&j->out));
    else if (reply)
        reply->ops->answer(reply, 503, "application/json", LOG_HEADERS,
                           SLICE("{\"error\":\"the audit log cannot be read\"}\n"));
    job_free(j);
}

static void query_gone(void *owner) {
    struct job *j = owner;
    j->reply = NULL;
}

/* RFC 3339 in UTC, or empty. */
static bool read_time(struct api_call *c, const char *name, uint64_t *ret_us) {
    struct slice text = api_query_text(c, name);
    struct tm tm = {0};
    *ret_us = 0;
    if (!text.len)
        return true;
    const char *rest = strptime(text.ptr, "%Y-%m-%dT%H:%M:%S", &tm);
    while (rest && (*rest == '.' || (*rest >= '0' && *rest <= '9')))
        rest++;
    if (!rest || strcmp(rest, "Z") != 0) {
        api_error(c, 400, "%s must be a time like 2026-01-02T03:04:05Z", name);
        return false;
    }
    *ret_us = (uint64_t)timegm(&tm) * 1000000;
    return true;
}

void api_audit(struct api_call *c) {
    static const struct {
        const char *name;
        enum audit_text text;
    } rows[] = {{"tool", AUDIT_TOOL},       {"server", AUDIT_SERVER},     {"verdict", AUDIT_VERDICT},
                {"rule", AUDIT_RULE},       {"identity", AUDIT_IDENTITY}, {"grant", AUDIT_GRANT},
                {"session", AUDIT_SESSION}, {"method", AUDIT_METHOD},     {"event", AUDIT_EVENT}};
    struct audit_filter f = {0};
    if (c->admin->job_count >= ADMIN_JOBS_MAX) {
        api_error(c, 503, "too many questions at once");
        return;
    }
    if (!read_time(c, "since", &f.since_us) || !read_time(c, "until", &f.until_us) ||
        !api_query_number(c, "limit", ADMIN_LIST_MAX, 100, &f.limit))
        return;
    struct job *j = job_new(c->admin);
    j->filter = f;
    j->filter.search = arena_dup(&j->arena, api_query_text(c, "text"));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        j->filter.text[rows[i].text] = arena_dup(&j->arena, api_query_text(c, rows[i].name));
    j->reply = c->request->reply;
    j->reply->ops->later(j->reply, j, query_gone);
    uv_queue_work(&c->admin->core->up.loop->uv, &j->work, query_work, query_done);
}

/* ---- the live stream ---- */

struct stream {
    struct list node;
    struct admin *admin;
    struct web_reply *reply;
    bool ready; /* it has been told from where on it hears everything */
};

static void on_tail(struct io_timer *timer);

static bool note_newest(void *ctx, const struct audit_entry *entry) {
    struct job *j = ctx;
    j->last_seq = entry->outcome_seq > entry->seq ? entry->outcome_seq : entry->seq;
    return false;
}

static bool put_line(void *ctx, const struct audit_entry *entry) {
    struct job *j = ctx;
    j->last_seq = entry->seq;
    audit_format_json(&j->out, entry);
    return buf_put_char(&j->out, '\n');
}

static void tail_work(uv_work_t *work) {
    struct job *j = work->data;
    cleanup_audit_log struct audit_log *log = NULL;
    if (audit_log_open(j->home, &log, &j->err) < 0)
        j->failed = true;
    else if (j->newest)
        j->failed = audit_log_walk_back(log, &j->filter, note_newest, j, &j->err) < 0;
    else
        j->failed = audit_log_walk(log, &j->filter, put_line, j, &j->err) < 0;
}

static void stream_free(struct stream *st) {
    list_remove(&st->node);
    st->admin->stream_count--;
    free(st);
}

/* To everybody who listens; one that leaves meanwhile takes itself out. */
static void tail_spread(struct admin *a, struct slice lines) {
    struct slice line;
    while (lines.len) {
        slice_cut(&lines, '\n', &line);
        LIST_FOR_SAFE (n, next, &a->streams) {
            struct stream *st = container_of(n, struct stream, node);
            st->reply->ops->event(st->reply, SLICE("record"), (struct slice){0}, line);
        }
    }
}

static void tail_greet(struct admin *a) {
    char text[48];
    int n = snprintf(text, sizeof(text), "{\"seq\":%llu}", (unsigned long long)a->tail_seq);
    LIST_FOR_SAFE (at, next, &a->streams) {
        struct stream *st = container_of(at, struct stream, node);
        if (st->ready)
            continue;
        st->ready = true;
        st->reply->ops->event(st->reply, SLICE("ready"), (struct slice){0}, slice_of(text, (size_t)n));
    }
}

static void tail_done(uv_work_t *work, int status) {
    struct job *j = work->data;
    struct admin *a = j->admin;
    if (a) {
        a->tail_busy = false;
        if (status == 0 && !j->failed && j->last_seq > a->tail_seq) {
            a->tail_seq = j->last_seq;
            tail_spread(a, buf_slice(&j->out));
        }
        if (a->tail_seq)
            tail_greet(a);
        if (!list_empty(&a->streams))
            io_timer_arm(a->core->up.loop, &a->tail_timer, ADMIN_TAIL_MS, on_tail);
    }
    job_free(j);
}

static void tail_look(struct admin *a) {
    if (a->tail_busy)
        return;
    a->tail_busy = true;
    struct job *j = job_new(a);
    j->newest = a->tail_seq == 0;
    if (!j->newest)
        j->filter = (struct audit_filter){.from_seq = a->tail_seq + 1, .limit = ADMIN_TAIL_RECORDS_MAX};
    uv_queue_work(&a->core->up.loop->uv, &j->work, tail_work, tail_done);
}

static void on_tail(struct io_timer *timer) {
    struct admin *a = container_of(timer, struct admin, tail_timer);
    if (!list_empty(&a->streams))
        tail_look(a);
    else
        a->tail_seq = 0; /* the next one who listens starts from then */
}

static void stream_gone(void *owner) { stream_free(owner); }

void api_audit_stream(struct api_call *c) {
    struct admin *a = c->admin;
    struct web_reply *reply = c->request->reply;
    if (a->stream_count >= ADMIN_STREAMS_MAX) {
        api_error(c, 503, "too many streams");
        return;
    }
    struct stream *st = mem_zalloc(sizeof(*st));
    st->admin = a;
    st->reply = reply;
    list_push(&a->streams, &st->node);
    a->stream_count++;
    reply->ops->later(reply, st, stream_gone);
    reply->ops->stream(reply);
    if (a->stream_count == 1)
        a->tail_seq = 0;
    tail_look(a);
}

void api_audit_free(struct admin *a) {
    io_timer_stop(a->core->up.loop, &a->tail_timer);
    LIST_FOR_SAFE (n, next, &a->streams) {
        stream_free(container_of(n, struct stream, node));
    }
    LIST_FOR_SAFE (n, next, &a->jobs) {
        struct job *j = container_of(n, struct job, node);
        list_remove(n);
        j->admin = NULL; /* the thread ends by itself, and its result with it */
        j->reply = NULL;
    }
}
