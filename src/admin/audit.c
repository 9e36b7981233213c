/* The audit log at the API: queries, one record, exports, and a live stream. The log is read in a thread
 * (worker.c); the loop only passes the result on. */
#include "admin/api.h"
#include "audit/format.h"
#include "audit/log_reader.h"
#include "base/mem.h"
#include "ship/fleet_log.h"

#include <stdio.h>
#include <time.h>

/* ---- parameters ---- */

/* RFC 3339 in UTC, or empty. */
bool api_read_time(struct api_call *c, const char *name, struct slice text, uint64_t *ret_us) {
    struct tm tm = {0};
    *ret_us = 0;
    if (!text.len)
        return true;
    uint64_t us = 0, unit = 100000;
    const char *rest = strptime(text.ptr, "%Y-%m-%dT%H:%M:%S", &tm);
    if (rest && *rest == '.')
        for (rest++; *rest >= '0' && *rest <= '9'; rest++, unit /= 10)
            us += (uint64_t)(*rest - '0') * unit;
    if (!rest || strcmp(rest, "Z") != 0) {
        api_error(c, 400, "%s must be a time like 2026-01-02T03:04:05Z", name);
        return false;
    }
    *ret_us = (uint64_t)timegm(&tm) * 1000000 + us;
    return true;
}

bool api_query_fleet(struct api_call *c, bool *ret_fleet) {
    *ret_fleet = api_query_text(c, "fleet").len > 0;
    if (!*ret_fleet || c->admin->core->ship)
        return true;
    api_error(c, 400, "this gate does not ship its audit log to a fleet: set audit.ship in its settings");
    return false;
}

static uint32_t read_kinds(struct api_call *c) {
    static const struct {
        const char *name;
        uint32_t kinds;
    } rows[] = {{"decision", 1u << AUDIT_KIND_DECISION},
                {"outcome", 1u << AUDIT_KIND_OUTCOME},
                {"event", 1u << AUDIT_KIND_EVENT}};
    struct slice name = api_query_text(c, "kind");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (slice_is(name, rows[i].name))
            return rows[i].kinds;
    return 0;
}

/* Responds with an error and returns false if a value is invalid. The texts are allocated in the call's
 * arena. */
static bool read_filter(struct api_call *c, uint64_t limit, uint64_t limit_max, struct audit_filter *f) {
    static const struct {
        const char *name;
        enum audit_text text;
    } rows[] = {{"tool", AUDIT_TOOL},       {"server", AUDIT_SERVER},     {"verdict", AUDIT_VERDICT},
                {"rule", AUDIT_RULE},       {"identity", AUDIT_IDENTITY}, {"grant", AUDIT_GRANT},
                {"session", AUDIT_SESSION}, {"method", AUDIT_METHOD},     {"event", AUDIT_EVENT},
                {"reason", AUDIT_REASON},   {"class", AUDIT_CLASS}};
    *f = (struct audit_filter){0};
    uint64_t before, after;
    bool fleet;
    if (!api_query_fleet(c, &fleet) || !api_read_time(c, "since", api_query_text(c, "since"), &f->since_us) ||
        !api_read_time(c, "until", api_query_text(c, "until"), &f->until_us) ||
        !api_query_number(c, "limit", limit_max, limit, &f->limit) ||
        !api_query_number(c, "before", INT64_MAX, 0, &before) ||
        !api_query_number(c, "after", INT64_MAX, 0, &after) ||
        !api_query_number(c, "parent", INT64_MAX, 0, &f->parent) ||
        !api_query_number(c, "chain", INT64_MAX, 0, &f->chain))
        return false;
    if ((before || after) && fleet && !f->chain) {
        api_error(c, 400, "record numbers are per gate: with fleet, use since and until, or chain");
        return false;
    }
    f->kinds = read_kinds(c);
    f->gate = api_query_text(c, "gate");
    f->to_seq = before ? before - 1 : 0;
    f->from_seq = after ? after + 1 : 0;
    if (before == 1)
        f->from_seq = INT64_MAX; /* there is no record before the first */
    f->search = api_query_text(c, "text");
    f->outcome = api_query_text(c, "outcome");
    f->shadowed = api_query_text(c, "shadow").len > 0;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        f->text[rows[i].text] = api_query_text(c, rows[i].name);
    return true;
}

struct question {
    struct audit_filter filter;
    bool fleet;    /* the logs of all gates */
    bool oldest;   /* oldest first; decisions and outcomes separately */
    uint64_t call; /* of the one record, to find its outcome */
    bool found;
    int format; /* of an export */
};

/* The filter's texts are moved into the job. */
static struct question *question_of(struct api_job *j, const struct audit_filter *f) {
    struct question *q = arena_new(&j->arena, struct question);
    *q = (struct question){.filter = *f};
    q->filter.search = arena_dup(&j->arena, f->search);
    q->filter.outcome = arena_dup(&j->arena, f->outcome);
    q->filter.gate = arena_dup(&j->arena, f->gate);
    for (size_t i = 0; i < AUDIT_TEXTS; i++)
        q->filter.text[i] = arena_dup(&j->arena, f->text[i]);
    j->what = q;
    return q;
}

static int open_log(struct api_job *j, bool fleet, struct audit_log **ret_log) {
    return (fleet ? ship_fleet_open : audit_log_open)(j->home, ret_log, &j->err);
}

/* ---- lists ---- */

static bool put_entry(void *ctx, const struct audit_entry *entry) {
    struct api_job *j = ctx;
    cleanup_buf struct buf one;
    buf_init(&one, AUDIT_RECORD_MAX * 8);
    audit_format_json(&one, entry);
    emit_raw(&j->e, buf_slice(&one));
    return !j->out.full;
}

static void list_run(struct api_job *j) {
    const struct question *q = j->what;
    cleanup_audit_log struct audit_log *log = NULL;
    emit_array(&j->e);
    j->failed = open_log(j, q->fleet, &log) < 0 || (q->oldest ? audit_log_walk : audit_log_walk_back)(
                                                       log, &q->filter, put_entry, j, &j->err) < 0;
    emit_array_end(&j->e);
    buf_put_char(&j->out, '\n');
}

void api_audit(struct api_call *c) {
    struct audit_filter f;
    struct slice order = api_query_text(c, "order");
    if (!read_filter(c, 100, ADMIN_LIST_MAX, &f))
        return;
    struct api_job *j = api_job_for(c);
    if (!j)
        return;
    struct question *q = question_of(j, &f);
    q->oldest = slice_is(order, "oldest");
    q->fleet = api_query_text(c, "fleet").len > 0;
    api_job_start(j, list_run);
}

/* ---- one record ---- */

static bool put_one(void *ctx, const struct audit_entry *entry) {
    struct api_job *j = ctx;
    struct question *q = j->what;
    if (entry->seq != q->filter.to_seq)
        return true;
    q->found = true;
    audit_format_json(&j->out, entry);
    j->out.len -= j->out.len > 0; /* the closing brace */
    cleanup_audit_log struct audit_log *log = NULL;
    char hash[AUDIT_HASH_TEXT];
    if (!q->fleet && audit_log_open(j->home, &log, &j->err) == 0 &&
        audit_log_hash(log, entry->seq, hash, &j->err) > 0)
        buf_printf(&j->out, ",\"hash\":\"%s\"", hash);
    buf_put_str(&j->out, "}\n");
    return false;
}

static void one_run(struct api_job *j) {
    const struct question *q = j->what;
    cleanup_audit_log struct audit_log *log = NULL;
    j->failed =
        open_log(j, q->fleet, &log) < 0 || audit_log_walk_back(log, &q->filter, put_one, j, &j->err) < 0;
    if (j->failed || q->found)
        return;
    j->status = 404;
    j->failed = true;
    err_set(&j->err,
            "no decision or event has the number %llu; the outcome of a call is part of its decision",
            (unsigned long long)q->filter.from_seq);
}

/* The number of the record in the path. Responds with an error and returns 0 if it is invalid. */
static uint64_t seq_of(struct api_call *c) {
    uint64_t seq;
    if (slice_to_u64(c->arg, &seq) && seq >= 1 && seq <= INT64_MAX)
        return seq;
    api_error(c, 404, "no such record");
    return 0;
}

void api_audit_one(struct api_call *c) {
    uint64_t seq = seq_of(c), chain;
    if (!seq || !api_query_number(c, "chain", INT64_MAX, 0, &chain))
        return;
    if (chain && !c->admin->core->ship) {
        api_error(c, 404, "no such record");
        return;
    }
    struct api_job *j = api_job_for(c);
    if (!j)
        return;
    question_of(j, &(struct audit_filter){.from_seq = seq, .to_seq = seq, .chain = chain})->fleet = chain > 0;
    api_job_start(j, one_run);
}

/* ---- exports ---- */

static const struct {
    const char *name, *type;
    void (*head)(struct buf *out);
    void (*put)(struct buf *out, const struct audit_entry *e);
} formats[] = {{"jsonl", "application/jsonl", NULL, audit_format_json},
               {"csv", "text/csv; charset=utf-8", audit_format_csv_head, audit_format_csv},
               {"cef", "text/plain; charset=utf-8", NULL, audit_format_cef}};

static bool put_export(void *ctx, const struct audit_entry *entry) {
    struct api_job *j = ctx;
    const struct question *q = j->what;
    formats[q->format].put(&j->out, entry);
    if (j->out.len && j->out.ptr[j->out.len - 1] != '\n')
        buf_put_char(&j->out, '\n');
    return !j->out.full;
}

static void export_run(struct api_job *j) {
    const struct question *q = j->what;
    cleanup_audit_log struct audit_log *log = NULL;
    if (formats[q->format].head)
        formats[q->format].head(&j->out);
    j->failed =
        open_log(j, q->fleet, &log) < 0 || audit_log_walk_back(log, &q->filter, put_export, j, &j->err) < 0;
}

void api_audit_export(struct api_call *c) {
    struct audit_filter f;
    struct slice name = api_query_text(c, "format");
    int format = 0;
    for (size_t i = 0; i < ARRAY_LEN(formats); i++)
        if (slice_is(name, formats[i].name))
            format = (int)i;
    if (!read_filter(c, ADMIN_EXPORT_MAX, ADMIN_EXPORT_MAX, &f))
        return;
    struct api_job *j = api_job_for(c);
    if (!j)
        return;
    struct question *q = question_of(j, &f);
    q->format = format;
    q->fleet = api_query_text(c, "fleet").len > 0;
    j->type = formats[format].type;
    j->more = arena_printf(&j->arena, "Content-Disposition: attachment; filename=\"audit.%s\"\r\n",
                           formats[format].name);
    api_job_start(j, export_run);
}

/* ---- the live stream ---- */

struct stream {
    struct list node;
    struct admin *admin;
    struct web_reply *reply;
    bool ready; /* it was sent the position from which it gets every record */
};

static void on_tail(struct io_timer *timer);

/* One check of the end of the log. */
struct tail {
    struct audit_filter filter;
    bool newest; /* only find the end */
    uint64_t last_seq;
};

static bool note_newest(void *ctx, const struct audit_entry *entry) {
    struct api_job *j = ctx;
    ((struct tail *)j->what)->last_seq = entry->outcome_seq > entry->seq ? entry->outcome_seq : entry->seq;
    return false;
}

static bool put_line(void *ctx, const struct audit_entry *entry) {
    struct api_job *j = ctx;
    ((struct tail *)j->what)->last_seq = entry->seq;
    audit_format_json(&j->out, entry);
    return buf_put_char(&j->out, '\n');
}

static void tail_run(struct api_job *j) {
    const struct tail *t = j->what;
    cleanup_audit_log struct audit_log *log = NULL;
    if (audit_log_open(j->home, &log, &j->err) < 0)
        j->failed = true;
    else if (t->newest)
        j->failed = audit_log_walk_back(log, &t->filter, note_newest, j, &j->err) < 0;
    else
        j->failed = audit_log_walk(log, &t->filter, put_line, j, &j->err) < 0;
}

static void stream_free(struct stream *st) {
    list_remove(&st->node);
    st->admin->stream_count--;
    free(st);
}

/* Sends to every listener that was greeted: the others read these records themselves, because their greeting
 * counts them in. One that disconnects meanwhile removes itself. */
static void tail_spread(struct admin *a, struct slice lines) {
    struct slice line;
    while (lines.len) {
        slice_cut(&lines, '\n', &line);
        LIST_FOR_SAFE (n, next, &a->streams) {
            struct stream *st = container_of(n, struct stream, node);
            if (st->ready)
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

static void tail_done(struct api_job *j) {
    const struct tail *t = j->what;
    struct admin *a = j->admin;
    a->tail_busy = false;
    if (!j->failed && t->last_seq > a->tail_seq) {
        a->tail_seq = t->last_seq;
        tail_spread(a, buf_slice(&j->out));
    }
    /* The end of an empty log is known, too; a check from before tail_forget() that read nothing says
     * nothing. */
    a->tail_known |= !j->failed && (t->newest || t->last_seq);
    if (a->tail_known)
        tail_greet(a);
    if (!list_empty(&a->streams))
        io_timer_arm(a->core->up.loop, &a->tail_timer, ADMIN_TAIL_MS, on_tail);
}

static void tail_poll(struct admin *a) {
    if (a->tail_busy)
        return;
    a->tail_busy = true;
    struct api_job *j = api_job_new(a);
    struct tail *t = arena_new(&j->arena, struct tail);
    *t = (struct tail){.newest = !a->tail_known};
    if (!t->newest)
        t->filter = (struct audit_filter){.from_seq = a->tail_seq + 1, .limit = ADMIN_TAIL_RECORDS_MAX};
    j->what = t;
    j->done = tail_done;
    api_job_start(j, tail_run);
}

/* The next listener starts from then. */
static void tail_forget(struct admin *a) {
    a->tail_seq = 0;
    a->tail_known = false;
}

static void on_tail(struct io_timer *timer) {
    struct admin *a = container_of(timer, struct admin, tail_timer);
    if (!list_empty(&a->streams))
        tail_poll(a);
    else
        tail_forget(a);
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
        tail_forget(a);
    tail_poll(a);
}

void api_audit_free(struct admin *a) {
    io_timer_stop(a->core->up.loop, &a->tail_timer);
    LIST_FOR_SAFE (n, next, &a->streams) {
        stream_free(container_of(n, struct stream, node));
    }
    api_jobs_leave(a);
}
