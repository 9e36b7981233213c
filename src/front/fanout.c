/* Responses that cover the whole gate, whichever of its processes receives the request: that process asks its
 * peers the same question and puts the answers together.
 *
 *   GET /api/v1/sessions ─▶ own answer, and each peer's ─▶ one list
 *
 * A peer authenticates the request itself, and answers for itself alone. One that does not answer in time
 * is left out, and the answer says so. */
#include "front/peers.h"

#include "base/mem.h"
#include "front/fanout.h"
#include "front/gate_worker.h"
#include "session/web.h"
#include "wire/base64.h"
#include "wire/emit.h"
#include "wire/tape.h"

#include <dirent.h>
#include <stdio.h>

#define CURSOR "Sallyport-Cursor"

struct fanout;

struct part { /* one process' answer */
    struct fanout *fanout;
    struct io_conn *io; /* NULL: this process, or finished */
    struct buf text;    /* head and body, then the body alone */
    char tag[FRONT_TAG + 1];
    char name[FRONT_TAG + 1]; /* the number of a worker, or the tag of a process that is leaving */
    struct buf cursor;        /* of its next page; empty: it has no more entries */
    int status;
    bool done;
};

struct fanout {
    struct web_reply capture; /* of this process' own response */
    struct front_conn *conn;  /* NULL when the client has left */
    struct front *front;
    /* NULL for a readiness check */
    void (*merge)(const struct part *parts, size_t count, struct buf *out);
    struct io_timer timer;
    size_t waiting;
    size_t rows; /* of a page */
    size_t count;
    struct part parts[];
};

/* ---- merging ---- */

static struct slice body_of(const struct part *p) { return slice_trim(slice_of(p->text.ptr, p->text.len)); }

static void merge_lists(const struct part *parts, size_t count, struct buf *out) {
    bool any = false;
    buf_put_char(out, '[');
    for (size_t i = 0; i < count; i++) {
        struct slice list = body_of(&parts[i]);
        if (list.len < 2 || list.ptr[0] != '[')
            continue;
        struct slice inner = slice_trim(slice_of(list.ptr + 1, list.len - 2));
        if (inner.len && any)
            buf_put_char(out, ',');
        buf_put_slice(out, inner);
        any |= inner.len > 0;
    }
    buf_put_char(out, ']');
}

/* Writes the members of the first response; these are sums. */
static void merge_status(const struct part *parts, size_t count, struct buf *out) {
    static const char *const sums[] = {"sessions", "calls_under_way", "audit_refused", "audit_unrecorded"};
    int64_t total[ARRAY_LEN(sums)] = {0};
    cleanup_tape struct tape t;
    tape_init(&t);
    for (size_t i = count; i-- > 0;) { /* the first one last: the output is written from its tape */
        if (tape_parse(&t, body_of(&parts[i]), NULL) != TAPE_OK || !tape_is(&t, 0, TAPE_OBJECT))
            continue;
        for (size_t k = 0; k < ARRAY_LEN(sums); k++) {
            int64_t value;
            uint32_t node = tape_get_str(&t, 0, sums[k]);
            if (node && tape_int(&t, node, &value))
                total[k] += value;
        }
    }
    if (!tape_is(&t, 0, TAPE_OBJECT))
        return;
    struct emit e;
    emit_init(&e, out);
    emit_object(&e);
    TAPE_FOR_MEMBER(&t, 0, key) {
        cleanup_arena struct arena a;
        arena_init(&a);
        struct slice name = tape_text(&t, key, &a);
        emit_key_slice(&e, name);
        size_t k = 0;
        while (k < ARRAY_LEN(sums) && !slice_is(name, sums[k]))
            k++;
        if (k < ARRAY_LEN(sums))
            emit_int(&e, total[k]);
        else
            emit_raw(&e, tape_raw(&t, key + 1));
    }
    emit_key(&e, "workers");
    emit_int(&e, (int64_t)count);
    emit_object_end(&e);
}

/* "name{a="b"} 1" becomes "name{worker="2",a="b"} 1". */
static void put_labelled(struct buf *out, struct slice line, const char *worker) {
    size_t at = 0;
    while (at < line.len && line.ptr[at] != '{' && line.ptr[at] != ' ')
        at++;
    const bool labels = at < line.len && line.ptr[at] == '{';
    buf_printf(out, "%.*s{worker=\"%s\"%s", (int)at, line.ptr, worker, labels ? "," : "}");
    buf_put_slice(out, slice_from(line, at + labels));
    buf_put_char(out, '\n');
}

/* Groups the series of one family, each labelled with the number of its process. The families are those of
 * the first response, and then those that only the others have. */
static void put_family(const struct part *parts, size_t count, struct slice head, struct buf *out) {
    for (size_t i = 0; i < count; i++) {
        struct slice rest = body_of(&parts[i]), line;
        bool inside = false;
        while (rest.len) {
            slice_cut(&rest, '\n', &line);
            if (slice_starts(line, SLICE("# HELP ")))
                inside = slice_eq(line, head);
            else if (inside && !slice_starts(line, SLICE("#")) && line.len)
                put_labelled(out, line, parts[i].name);
        }
    }
}

static bool has_line(const struct part *p, struct slice wanted) {
    struct slice rest = body_of(p), line;
    while (rest.len) {
        slice_cut(&rest, '\n', &line);
        if (slice_eq(line, wanted))
            return true;
    }
    return false;
}

static void merge_metrics(const struct part *parts, size_t count, struct buf *out) {
    for (size_t i = 0; i < count; i++) {
        struct slice rest = body_of(&parts[i]), line, type;
        while (rest.len) {
            slice_cut(&rest, '\n', &line);
            bool seen = !slice_starts(line, SLICE("# HELP "));
            for (size_t k = 0; k < i && !seen; k++)
                seen = has_line(&parts[k], line);
            if (seen)
                continue;
            struct slice behind = rest;
            slice_cut(&behind, '\n', &type);
            buf_printf(out, "%.*s\n%.*s\n", SLICE_FMT(line), SLICE_FMT(type));
            put_family(parts, count, line, out);
        }
    }
}

/* ---- servers: one row for each, summed over the processes ---- */

static const char *const server_sums[] = {"links", "connections", "restarts"};
static const char *const server_most[] = {"tools", "held",
                                          "poisoned"}; /* a fact that any process knows is taken over */

struct rows { /* from one process' list */
    struct tape tape;
    bool good;
};

static uint32_t find_row(const struct rows *rows, struct slice name, struct arena *a) {
    if (rows->good)
        TAPE_FOR_ELEM(&rows->tape, 0, row) {
            uint32_t at = tape_get_str(&rows->tape, row, "name");
            if (at && slice_eq(tape_text(&rows->tape, at, a), name))
                return row;
        }
    return 0;
}

static int64_t number_of(const struct rows *rows, uint32_t row, struct slice key) {
    int64_t value = 0;
    uint32_t at = row ? tape_get(&rows->tape, row, key) : 0;
    return at && tape_int(&rows->tape, at, &value) ? value : 0;
}

static bool is_one_of(const char *const *names, size_t count, struct slice name) {
    for (size_t i = 0; i < count; i++)
        if (slice_is(name, names[i]))
            return true;
    return false;
}

static bool is_down(const struct rows *rows, uint32_t row) {
    uint32_t state = row ? tape_get_str(&rows->tape, row, "state") : 0;
    return state && slice_is(tape_raw(&rows->tape, state), "\"down\"");
}

/* Reports the entry of a process in which the server is down, else that of the process with the most
 * connections to it. */
static size_t row_speaker(const struct rows *all, size_t count, struct slice name, struct arena *a) {
    size_t best = count;
    int64_t most = -1;
    for (size_t i = 0; i < count; i++) {
        uint32_t row = find_row(&all[i], name, a);
        int64_t links = row ? number_of(&all[i], row, SLICE("links")) : -1;
        if (is_down(&all[i], row))
            return i;
        if (links > most) {
            most = links;
            best = i;
        }
    }
    return best;
}

static bool any_knows_tools(const struct rows *all, size_t count, struct slice name, struct arena *a) {
    for (size_t i = 0; i < count; i++) {
        uint32_t row = find_row(&all[i], name, a),
                 at = row ? tape_get_str(&all[i].tape, row, "tools_known") : 0;
        if (at && tape_is(&all[i].tape, at, TAPE_TRUE))
            return true;
    }
    return false;
}

static void put_row(struct emit *e, const struct rows *all, size_t count, struct slice name,
                    struct arena *a) {
    const struct rows *from = &all[row_speaker(all, count, name, a)];
    const uint32_t row = find_row(from, name, a);
    emit_object(e);
    TAPE_FOR_MEMBER(&from->tape, row, key) {
        const struct slice member = tape_text(&from->tape, key, a);
        const bool sums = is_one_of(server_sums, ARRAY_LEN(server_sums), member);
        int64_t value = 0;
        emit_key_slice(e, member);
        if (slice_is(member, "tools_known")) {
            emit_bool(e, any_knows_tools(all, count, name, a));
            continue;
        }
        if (!sums && !is_one_of(server_most, ARRAY_LEN(server_most), member)) {
            emit_raw(e, tape_raw(&from->tape, key + 1));
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            int64_t one = number_of(&all[i], find_row(&all[i], name, a), member);
            value = sums ? value + one : one > value ? one : value;
        }
        emit_int(e, value);
    }
    emit_object_end(e);
}

static void merge_servers(const struct part *parts, size_t count, struct buf *out) {
    struct rows *all = mem_zalloc(count * sizeof(*all));
    cleanup_arena struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < count; i++) {
        tape_init(&all[i].tape);
        all[i].good = tape_parse(&all[i].tape, body_of(&parts[i]), NULL) == TAPE_OK &&
                      tape_is(&all[i].tape, 0, TAPE_ARRAY);
    }
    struct emit e;
    emit_init(&e, out);
    emit_array(&e);
    for (size_t i = 0; i < count; i++) {
        if (!all[i].good)
            continue;
        TAPE_FOR_ELEM(&all[i].tape, 0, row) {
            uint32_t at = tape_get_str(&all[i].tape, row, "name");
            struct slice name = at ? tape_text(&all[i].tape, at, &a) : (struct slice){0};
            bool seen = !at;
            for (size_t k = 0; k < i && !seen; k++)
                seen = find_row(&all[k], name, &a);
            if (!seen)
                put_row(&e, all, count, name, &a);
        }
    }
    emit_array_end(&e);
    for (size_t i = 0; i < count; i++)
        tape_free(&all[i].tape);
    free(all);
}

/* The same for one server: its row alone. */
static void merge_server(const struct part *parts, size_t count, struct buf *out) {
    struct part *rows = mem_zalloc(count * sizeof(*rows));
    cleanup_buf struct buf list;
    buf_init(&list, FRONT_FANOUT_BYTES_MAX);
    for (size_t i = 0; i < count; i++) {
        buf_init(&rows[i].text, FRONT_FANOUT_BYTES_MAX);
        buf_printf(&rows[i].text, "[%.*s]", SLICE_FMT(body_of(&parts[i])));
    }
    merge_servers(rows, count, &list);
    for (size_t i = 0; i < count; i++)
        buf_free(&rows[i].text);
    free(rows);
    if (list.len > 2) /* without the brackets */
        buf_put(out, list.ptr + 1, list.len - 2);
}

/* ---- log lines: each process has those of its own connections, oldest first ---- */

struct lines {
    struct tape tape;
    uint32_t at, end;
};

static struct slice time_of(const struct lines *l) {
    uint32_t at = tape_get_str(&l->tape, l->at, "time");
    return at ? tape_raw(&l->tape, at) : (struct slice){0};
}

static struct lines *oldest_of(struct lines *all, size_t count) {
    struct lines *oldest = NULL;
    for (size_t i = 0; i < count; i++)
        if (all[i].at < all[i].end && (!oldest || slice_cmp(time_of(&all[i]), time_of(oldest)) < 0))
            oldest = &all[i];
    return oldest;
}

static void merge_lines(const struct part *parts, size_t count, struct buf *out) {
    struct lines *all = mem_zalloc(count * sizeof(*all));
    for (size_t i = 0; i < count; i++) {
        tape_init(&all[i].tape);
        if (tape_parse(&all[i].tape, body_of(&parts[i]), NULL) != TAPE_OK ||
            !tape_is(&all[i].tape, 0, TAPE_ARRAY))
            continue;
        all[i].at = 1;
        all[i].end = all[i].tape.nodes[0].next;
    }
    struct emit e;
    emit_init(&e, out);
    emit_array(&e);
    for (struct lines *l; (l = oldest_of(all, count)); l->at = l->tape.nodes[l->at].next)
        emit_raw(&e, tape_raw(&l->tape, l->at));
    emit_array_end(&e);
    for (size_t i = 0; i < count; i++)
        tape_free(&all[i].tape);
    free(all);
}

/* Only one process has the requested object. */
static void merge_first(const struct part *parts, size_t count, struct buf *out) {
    (void)count;
    buf_put_slice(out, body_of(&parts[0]));
}

static const struct question {
    enum http_method method;
    const char *path; /* an asterisk stands for one segment */
    void (*merge)(const struct part *parts, size_t count, struct buf *out);
} questions[] = {
    {HTTP_GET, "/api/v1/sessions", merge_lists},
    {HTTP_GET, "/api/v1/calls", merge_lists},
    {HTTP_GET, "/api/v1/jobs", merge_lists},
    {HTTP_GET, "/api/v1/jobs/*", merge_first},
    {HTTP_GET, "/api/v1/servers", merge_servers},
    {HTTP_GET, "/api/v1/servers/*", merge_server},
    {HTTP_GET, "/api/v1/servers/*/log", merge_lines},
    {HTTP_POST, "/api/v1/servers/*/restart", merge_server},
    {HTTP_GET, "/api/v1/status", merge_status},
    {HTTP_GET, "/metrics", merge_metrics},
    {HTTP_POST, "/api/v1/calls/*/cancel", merge_first},
};

static bool path_fits(struct slice pattern, struct slice path) {
    struct slice want, got;
    while (pattern.len && path.len) {
        slice_cut(&pattern, '/', &want);
        slice_cut(&path, '/', &got);
        if (!slice_is(want, "*") && !slice_eq(want, got))
            return false;
    }
    return !pattern.len && !path.len;
}

static const struct question *find_question(const struct http_head *head) {
    for (size_t i = 0; i < ARRAY_LEN(questions); i++)
        if (head->method == questions[i].method && path_fits(slice_str(questions[i].path), head->path))
            return &questions[i];
    return NULL;
}

/* What no single process can refuse for the others: the call, the run or the server may be theirs alone. */
static bool asks_everyone(const struct fanout *s) {
    return s->merge == merge_first || s->merge == merge_server;
}

/* ---- the response ---- */

static void fanout_free(struct fanout *s) {
    io_timer_stop(s->front->loop, &s->timer);
    for (size_t i = 0; i < s->count; i++) {
        io_conn_close(s->parts[i].io);
        buf_free(&s->parts[i].text);
        buf_free(&s->parts[i].cursor);
    }
    free(s);
}

/* A running process, neither dead nor leaving. */
static bool serves(const struct fanout *s, size_t i) {
    return i == 0 || (s->parts[i].status != 502 && strlen(s->parts[i].name) < FRONT_TAG);
}

/* The gate is ready when all its processes are, because a connection may reach any of them. A process that
 * hangs is not ready. Remote clients read only the first line. */
static void answer_ready(struct fanout *s) {
    struct front_conn *c = s->conn;
    cleanup_buf struct buf out;
    buf_init(&out, FRONT_FANOUT_BYTES_MAX);
    const struct part *worst = &s->parts[0];
    for (size_t i = 1; i < s->count; i++)
        if (serves(s, i) && worst->status == 200 && s->parts[i].status != 200)
            worst = &s->parts[i];
    struct slice rest = buf_slice(&worst->text), line;
    slice_cut(&rest, '\n', &line);
    buf_printf(&out, "%.*s\n", SLICE_FMT(worst->status == 504 ? SLICE("a worker does not respond") : line));
    for (size_t i = 0; front_is_local(c) && i < s->count; i++) {
        rest = s->parts[i].status == 504 ? SLICE("no answer\n") : buf_slice(&s->parts[i].text);
        while (serves(s, i) && rest.len && slice_cut(&rest, '\n', &line))
            buf_printf(&out, "worker %s: %.*s\n", s->parts[i].name, SLICE_FMT(line));
    }
    const int status = worst->status == 200 ? 200 : 503;
    fanout_free(s);
    front_answer(c, status, "text/plain", (struct slice){0}, buf_slice(&out));
}

static int by_tag(const void *a, const void *b) {
    return strcmp(((const struct part *)a)->tag, ((const struct part *)b)->tag);
}

static size_t count_rows(const struct part *p) {
    size_t rows = 0;
    cleanup_tape struct tape t;
    tape_init(&t);
    if (tape_parse(&t, body_of(p), NULL) == TAPE_OK && tape_is(&t, 0, TAPE_ARRAY))
        TAPE_FOR_ELEM(&t, 0, row)
    rows++;
    return rows;
}

/* A page has whole parts in the order of their tags, as many as fit. A cursor names a process and one of its
 * entries, so each process knows what of its part is left. */
static size_t fill_page(struct fanout *s, size_t good, struct buf *ret_head) {
    size_t used = 0, rows = 0;
    cleanup_buf struct buf start;
    struct slice cursor = {0};
    buf_init(&start, HTTP_LINE_MAX);
    qsort(s->parts, good, sizeof(s->parts[0]), by_tag);
    for (; used < good && !cursor.len; used++) {
        rows += count_rows(&s->parts[used]);
        if (rows > s->rows)
            break;
        cursor = buf_slice(&s->parts[used].cursor);
    }
    if (cursor.len) {
        buf_printf(ret_head, CURSOR ": %.*s\r\n", SLICE_FMT(cursor));
    } else if (used < good) {
        buf_printf(&start, "%s ", s->parts[used].tag);
        buf_put_str(ret_head, CURSOR ": ");
        base64_put(ret_head, buf_slice(&start), BASE64_URL);
        buf_put_str(ret_head, "\r\n");
    }
    return used;
}

static void swap_parts(struct part *a, struct part *b) {
    const struct part first = *a;
    *a = *b;
    *b = first;
}

/* Those that answered come first. One whose entry of the cursor is gone answers for all. */
static size_t sort_parts(struct fanout *s) {
    size_t good = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (s->merge == merge_lists && s->parts[i].status == 400) {
            swap_parts(&s->parts[0], &s->parts[i]);
            return 0;
        }
        if (s->parts[i].status == 200)
            swap_parts(&s->parts[good++], &s->parts[i]);
    }
    return good;
}

static void fanout_answer(struct fanout *s) {
    struct front_conn *c = s->conn;
    if (!s->merge) {
        answer_ready(s);
        return;
    }
    cleanup_buf struct buf out, head;
    buf_init(&out, FRONT_FANOUT_BYTES_MAX);
    buf_init(&head, HTTP_LINE_MAX);
    const size_t good = sort_parts(s);
    buf_printf(&head, "Cache-Control: no-store\r\nSallyport-Workers: %zu of %zu\r\n", good, s->count);
    const bool metrics = s->merge == merge_metrics;
    if (good)
        s->merge(s->parts, s->merge == merge_lists ? fill_page(s, good, &head) : good, &out);
    else
        buf_put_slice(&out, buf_slice(&s->parts[0].text));
    const int status = good ? 200 : s->parts[0].status;
    const bool full = out.full;
    fanout_free(s);
    if (full)
        front_answer_fault(c, 500, (struct slice){0}, "the answer is too large");
    else
        front_answer(c, status, metrics ? "text/plain; version=0.0.4; charset=utf-8" : "application/json",
                     buf_slice(&head), buf_slice(&out));
}

static void part_over(struct part *p, int status) {
    struct fanout *s = p->fanout;
    if (p->done)
        return;
    p->done = true;
    p->status = status;
    io_conn_close(p->io);
    p->io = NULL;
    if (--s->waiting == 0)
        fanout_answer(s);
}

static void on_late(struct io_timer *timer) {
    struct fanout *s = container_of(timer, struct fanout, timer);
    for (size_t i = 0; i < s->count; i++)
        if (!s->parts[i].done)
            s->parts[i].status = 504;
    fanout_answer(s);
}

/* ---- peers ---- */

static size_t on_data(struct io_conn *io, void *owner, struct block *b, char *ptr, size_t len) {
    (void)io, (void)b;
    struct part *p = owner;
    struct http_head *head = &p->fanout->front->peer_head;
    const char *why;
    buf_put(&p->text, ptr, len);
    int n = http_parse_response(buf_slice(&p->text), HTTP_GET, head, &why);
    if (n < 0 || p->text.full || (n > 0 && head->body == HTTP_BODY_CHUNKED)) {
        part_over(p, 502);
    } else if (n > 0 && p->text.len >= (size_t)n + head->body_len) {
        const int status = head->status;
        buf_put_slice(&p->cursor, http_value_of(head, SLICE(CURSOR)));
        memmove(p->text.ptr, p->text.ptr + n, p->text.len - (size_t)n);
        p->text.len -= (size_t)n;
        part_over(p, status);
    }
    return len;
}

static void on_end(struct io_conn *io, void *owner, int status) {
    (void)io, (void)status;
    part_over(owner, 502);
}

static const struct io_handlers part_handlers = {.data = on_data, .end = on_end};

static void open_part(struct part *p, const char *tag) {
    const struct gate_worker *w = p->fanout->front->worker;
    buf_init(&p->text, FRONT_FANOUT_BYTES_MAX);
    buf_init(&p->cursor, HTTP_LINE_MAX);
    snprintf(p->tag, sizeof(p->tag), "%s", tag);
    snprintf(p->name, sizeof(p->name), "%s", tag);
    for (unsigned i = 0; i < w->count; i++)
        if (strcmp(w->shared->slots[i].tag, tag) == 0)
            snprintf(p->name, sizeof(p->name), "%u", i);
}

static void part_ask(struct fanout *s, struct part *p, const char *tag, const struct http_head *head) {
    int fd = io_dial_unix(s->front->peer_dir, tag);
    p->fanout = s;
    open_part(p, tag);
    if (fd < 0) {
        p->done = true;
        p->status = 502;
        return;
    }
    s->waiting++;
    p->io = io_conn_fd(s->front->loop, fd, true, &part_handlers, p);
    io_conn_read(p->io, true);
    front_peers_put_request(s->conn, p->io, head, NULL,
                            (struct slice){0}); /* none of these requests has a body */
}

/* Counts the other processes that listen. Dead ones are not found. */
static size_t list_peers(const struct front *f, char tags[][FRONT_TAG + 1], size_t max) {
    size_t n = 0;
    DIR *d = opendir(f->peer_dir);
    for (const struct dirent *e; d && n < max && (e = readdir(d));)
        if (strlen(e->d_name) == FRONT_TAG && strcmp(e->d_name, f->tag) != 0)
            memcpy(tags[n++], e->d_name, FRONT_TAG + 1);
    if (d)
        closedir(d);
    return n;
}

/* ---- this process ---- */

static void capture_answer(struct web_reply *r, int status, const char *type, struct slice headers,
                           struct slice body) {
    (void)type;
    struct fanout *s = container_of(r, struct fanout, capture);
    struct slice line, name;
    while (slice_cut(&headers, '\n', &line), line.len)
        if (slice_cut(&line, ':', &name) && slice_is(name, CURSOR))
            buf_put_slice(&s->parts[0].cursor, slice_trim(line));
    buf_put_slice(&s->parts[0].text, body);
    s->parts[0].status = status;
    s->parts[0].done = true;
}

static const struct web_reply_ops capture_ops = {.answer = capture_answer};

static void on_gone(void *owner) { fanout_free(owner); }

static size_t page_rows(const struct http_head *head) {
    uint64_t rows;
    cleanup_buf struct buf value;
    buf_init(&value, HTTP_LINE_MAX);
    return http_query_get(head->query, SLICE("limit"), &value) && slice_to_u64(buf_slice(&value), &rows)
               ? (size_t)rows
               : WEB_PAGE_ROWS;
}

/* Sends the request to the peers. Returns NULL if there are none. `waiting` includes this process. */
static struct fanout *fanout_start(struct front_conn *c, const struct http_head *head,
                                   void (*merge)(const struct part *parts, size_t count, struct buf *out)) {
    char tags[GATE_OLD_MAX][FRONT_TAG + 1];
    struct front *f = c->front;
    const size_t peers = f->worker && !c->peer ? list_peers(f, tags, ARRAY_LEN(tags)) : 0;
    if (!peers)
        return NULL;
    struct fanout *s = mem_zalloc(sizeof(*s) + (peers + 1) * sizeof(s->parts[0]));
    *s = (struct fanout){.capture = {&capture_ops},
                         .conn = c,
                         .front = f,
                         .merge = merge,
                         .rows = page_rows(head),
                         .count = peers + 1,
                         .waiting = 1};
    s->parts[0].fanout = s;
    open_part(&s->parts[0], f->tag);
    front_conn_take(c, s, on_gone, NULL, NULL);
    for (size_t i = 0; i < peers; i++)
        part_ask(s, &s->parts[i + 1], tags[i], head);
    io_timer_arm(f->loop, &s->timer, FRONT_FANOUT_MS, on_late);
    return s;
}

bool front_fanout_ready(struct front_conn *c, const struct http_head *head, int status, struct slice text) {
    struct fanout *s = fanout_start(c, head, NULL);
    if (!s)
        return false;
    capture_answer(&s->capture, status, NULL, (struct slice){0}, text);
    if (--s->waiting == 0)
        fanout_answer(s);
    return true;
}

bool front_fanout(struct front_conn *c, const struct web_request *request) {
    const struct question *q = find_question(request->head);
    struct fanout *s = q ? fanout_start(c, request->head, q->merge) : NULL;
    if (!s)
        return false;
    struct web_request own = *request;
    own.reply = &s->capture;
    c->front->site->serve(c->front->site->ctx, &own);
    if (s->parts[0].status != 200 &&
        !asks_everyone(s)) { /* not allowed, or invalid: the peers would respond the same */
        cleanup_buf struct buf body;
        buf_init(&body, FRONT_FANOUT_BYTES_MAX);
        buf_put_slice(&body, buf_slice(&s->parts[0].text));
        const int status = s->parts[0].status;
        fanout_free(s);
        front_answer(c, status, "application/json", (struct slice){0}, buf_slice(&body));
    } else if (--s->waiting == 0) {
        fanout_answer(s);
    }
    return true;
}
