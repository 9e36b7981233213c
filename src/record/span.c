#include "record/span.h"

#include "base/clock.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rand.h"
#include "call/call.h"
#include "call/principal.h"
#include "record/limits.h"
#include "server/server.h"
#include "upstream/fetch.h"
#include "wire/emit.h"

#include <stdio.h>

#define TRACE_ID 32 /* hex digits */
#define SPAN_ID 16
#define PARENT_TEXT 55 /* 00-TRACE-SPAN-FLAGS */

struct call_span {
    char trace[TRACE_ID];
    char span[SPAN_ID];
    char parent[SPAN_ID]; /* all zero: none */
    char flags[2];
    uint64_t start_us; /* wall clock */
};

struct span {
    struct call_span at;
    uint64_t end_us;
    char method[SPAN_TEXT_MAX];
    char name[SPAN_TEXT_MAX];
    char server[SPAN_TEXT_MAX];
    char identity[SPAN_TEXT_MAX];
    char session[SPAN_TEXT_MAX];
    char version[SPAN_TEXT_MAX];
    char id[SPAN_TEXT_MAX];         /* of the request, as JSON has it */
    char error_code[SPAN_TEXT_MAX]; /* of JSON-RPC; empty: none */
    const char *verdict;
    const char *outcome;
};

struct span_exporter {
    struct core *core;
    char *url;
    struct span *spans; /* SPAN_WAITING_MAX */
    size_t count;
    size_t sending; /* of them, from the first on */
    struct up_fetch *fetch;
    struct io_timer timer;
    struct span_exporter_health health;
};

/* ---- one call ---- */

static void random_hex(char *to, size_t len) {
    unsigned char bytes[TRACE_ID / 2];
    rand_bytes(bytes, len / 2);
    hex_put(bytes, len / 2, to);
}

static bool is_hex(struct slice text) {
    bool some = false;
    for (size_t i = 0; i < text.len; i++) {
        char ch = text.ptr[i];
        if (!((ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'f')))
            return false;
        some = some || ch != '0';
    }
    return some;
}

/* "00-TRACE-PARENT-FLAGS"; anything else starts a trace of its own. */
static bool read_parent(struct slice text, struct call_span *t) {
    if (text.len != PARENT_TEXT || !slice_starts(text, SLICE("00-")) || text.ptr[35] != '-' ||
        text.ptr[52] != '-')
        return false;
    struct slice trace = slice_of(text.ptr + 3, TRACE_ID), span = slice_of(text.ptr + 36, SPAN_ID);
    struct slice flags = slice_of(text.ptr + 53, 2);
    if (!is_hex(trace) || !is_hex(span) || !(is_hex(flags) || slice_is(flags, "00")))
        return false;
    memcpy(t->trace, trace.ptr, TRACE_ID);
    memcpy(t->parent, span.ptr, SPAN_ID);
    memcpy(t->flags, flags.ptr, 2);
    return true;
}

static uint32_t parent_node(const struct call *c) {
    const struct msg *m = c->request;
    uint32_t node = m->rpc.params ? tape_path(&m->tape, m->rpc.params, "_meta", "traceparent", NULL) : 0;
    return node && tape_is(&m->tape, node, TAPE_STRING) ? node : 0;
}

void span_begin(struct call *c) {
    if (!c->session->core->spans || c->span || !c->request->rpc.id)
        return;
    struct call_span *t = arena_new(&c->arena, struct call_span);
    uint32_t node = parent_node(c);
    if (!node || !read_parent(tape_text(&c->request->tape, node, &c->arena), t)) {
        random_hex(t->trace, TRACE_ID);
        memcpy(t->flags, "01", 2);
    }
    random_hex(t->span, SPAN_ID);
    t->start_us = clock_wall_ms() * 1000;
    c->span = t;
}

struct slice span_context(struct call *c) {
    const struct call_span *t = c->span;
    if (!t)
        return (struct slice){0};
    return arena_printf(&c->arena, "\"00-%.*s-%.*s-%.*s\"", TRACE_ID, t->trace, SPAN_ID, t->span, 2,
                        t->flags);
}

void span_forward(struct call *c, struct splice *text) {
    const struct msg *m = c->request;
    struct slice parent = span_context(c);
    if (!parent.len)
        return;
    uint32_t node = parent_node(c);
    uint32_t meta = rpc_param(&m->tape, &m->rpc, "_meta");
    /* If the message has no place for it, it is sent without. */
    if (node)
        splice_value(text, &m->tape, node, parent);
    else if (meta && tape_is(&m->tape, meta, TAPE_OBJECT))
        splice_add_member(text, &m->tape, meta, SLICE("traceparent"), parent);
    else if (!meta && m->rpc.params && tape_node(&m->tape, m->rpc.params)->count)
        splice_add_member(text, &m->tape, m->rpc.params, SLICE("_meta"),
                          arena_printf(&c->arena, "{\"traceparent\":%.*s}", SLICE_FMT(parent)));
}

static void copy_text(char to[SPAN_TEXT_MAX], struct slice text) {
    snprintf(to, SPAN_TEXT_MAX, "%.*s", (int)slice_upto(text, SPAN_TEXT_MAX - 1).len,
             text.ptr ? text.ptr : "");
}

/* The lowest bit of a hex digit. */
static bool is_sampled(const struct call_span *t) {
    char ch = t->flags[1];
    return (ch <= '9' ? ch - '0' : ch - 'a' + 10) & 1;
}

static void on_send(struct io_timer *timer);

void span_end(struct call *c, const char *outcome) {
    struct span_exporter *st = c->session->core->spans;
    const struct call_span *t = c->span;
    if (!st || !t || !is_sampled(t))
        return;
    if (st->count >= SPAN_WAITING_MAX) {
        st->health.dropped++;
        return;
    }
    struct span *s = &st->spans[st->count++];
    s->at = *t;
    s->end_us = t->start_us + (clock_mono_us() - c->received_us);
    s->verdict = policy_outcome_name(c->verdict.outcome);
    s->outcome = outcome;
    copy_text(s->method, c->method);
    copy_text(s->name, c->name);
    copy_text(s->server, c->server ? slice_str(c->server->up.name) : (struct slice){0});
    copy_text(s->identity, slice_str(c->session->principal->id));
    copy_text(s->session, slice_str(c->session->name));
    copy_text(s->version, slice_str(c->session->version));
    const struct msg *ask = c->request, *answer = c->response;
    uint32_t code =
        answer && answer->rpc.kind == RPC_ERROR ? tape_get_str(&answer->tape, answer->rpc.body, "code") : 0;
    copy_text(s->id, ask->rpc.id ? tape_raw(&ask->tape, ask->rpc.id) : (struct slice){0});
    copy_text(s->error_code, code ? tape_raw(&answer->tape, code) : (struct slice){0});
    if (st->count >= SPAN_GROUP && !st->fetch)
        io_timer_arm(st->core->up.loop, &st->timer, 0, on_send);
    else if (!st->timer.due_ms)
        io_timer_arm(st->core->up.loop, &st->timer, SPAN_SEND_MS, on_send);
}

/* ---- the collector ---- */

/* "name=value,name=value", values percent-encoded: how OTEL_* variables write a list. */
struct pairs {
    struct slice rest;
    char name[SPAN_TEXT_MAX], value[SPAN_TEXT_MAX];
};

static void decode_percent(struct slice from, char to[SPAN_TEXT_MAX]) {
    size_t n = 0;
    for (size_t i = 0; i < from.len && n < SPAN_TEXT_MAX - 1; i++) {
        unsigned char byte;
        if (from.ptr[i] == '%' && i + 2 < from.len && hex_get(slice_of(from.ptr + i + 1, 2), &byte, 1)) {
            to[n++] = (char)byte;
            i += 2;
        } else {
            to[n++] = from.ptr[i];
        }
    }
    to[n] = '\0';
}

/* Invalid pairs are skipped, and so are pairs that could end a header line. */
static bool pairs_next(struct pairs *p) {
    while (p->rest.len) {
        struct slice pair, name;
        slice_cut(&p->rest, ',', &pair);
        if (!slice_cut(&pair, '=', &name) || !slice_trim(name).len)
            continue;
        decode_percent(slice_trim(name), p->name);
        decode_percent(slice_trim(pair), p->value);
        if (!strpbrk(p->name, "\r\n:") && !strpbrk(p->value, "\r\n"))
            return true;
    }
    return false;
}

static void put_attribute(struct emit *e, const char *key, const char *value) {
    if (!value[0])
        return;
    emit_object(e);
    emit_key(e, "key");
    emit_cstr(e, key);
    emit_key(e, "value");
    emit_object(e);
    emit_key(e, "stringValue");
    emit_cstr(e, value);
    emit_object_end(e);
    emit_object_end(e);
}

static void put_nanos(struct emit *e, const char *key, uint64_t us) {
    char text[32];
    snprintf(text, sizeof(text), "%llu000", (unsigned long long)us);
    emit_key(e, key);
    emit_cstr(e, text);
}

/* The attribute for the subject of a method, by OpenTelemetry's semantic conventions for MCP. */
static const char *target_name(const char *method) {
    static const char *const names[][2] = {{"tools/", "gen_ai.tool.name"},
                                           {"prompts/", "gen_ai.prompt.name"},
                                           {"resources/", "mcp.resource.uri"}};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (slice_starts(slice_str(method), slice_str(names[i][0])))
            return names[i][1];
    return "mcp.subject";
}

static void put_span(struct emit *e, const struct span *s) {
    char name[SPAN_TEXT_MAX * 2];
    bool failed = strcmp(s->outcome, "ok") != 0;
    snprintf(name, sizeof(name), "%s%s%s", s->method, s->name[0] ? " " : "", s->name);
    emit_object(e);
    emit_key(e, "traceId");
    emit_str(e, slice_of(s->at.trace, TRACE_ID));
    emit_key(e, "spanId");
    emit_str(e, slice_of(s->at.span, SPAN_ID));
    if (s->at.parent[0]) {
        emit_key(e, "parentSpanId");
        emit_str(e, slice_of(s->at.parent, SPAN_ID));
    }
    emit_key(e, "name");
    emit_cstr(e, name);
    emit_key(e, "kind");
    emit_int(e, 2); /* SPAN_KIND_SERVER */
    put_nanos(e, "startTimeUnixNano", s->at.start_us);
    put_nanos(e, "endTimeUnixNano", s->end_us);
    emit_key(e, "attributes");
    emit_array(e);
    put_attribute(e, "mcp.method.name", s->method);
    if (strcmp(s->method, "tools/call") == 0)
        put_attribute(e, "gen_ai.operation.name", "execute_tool");
    put_attribute(e, target_name(s->method), s->name);
    put_attribute(e, "mcp.session.id", s->session);
    put_attribute(e, "mcp.protocol.version", s->version);
    put_attribute(e, "jsonrpc.request.id", s->id);
    put_attribute(e, "rpc.response.status_code", s->error_code);
    put_attribute(e, "error.type", failed ? s->outcome : "");
    put_attribute(e, "sallyport.server", s->server);
    put_attribute(e, "sallyport.identity", s->identity);
    put_attribute(e, "sallyport.verdict", s->verdict);
    put_attribute(e, "sallyport.outcome", s->outcome);
    emit_array_end(e);
    emit_key(e, "status");
    emit_object(e);
    emit_key(e, "code");
    emit_int(e, failed ? 2 : 1);
    emit_object_end(e);
    emit_object_end(e);
}

static void put_group(struct span_exporter *st, struct buf *out) {
    struct emit e;
    emit_init(&e, out);
    const char *service = getenv("OTEL_SERVICE_NAME");
    buf_put_str(out, "{\"resourceSpans\":[{\"resource\":{\"attributes\":");
    emit_array(&e);
    put_attribute(&e, "service.name", service && *service ? service : "sallyport");
    put_attribute(&e, "service.version", SALLYPORT_VERSION);
    struct pairs pairs = {.rest = slice_str(getenv("OTEL_RESOURCE_ATTRIBUTES"))};
    while (pairs_next(&pairs))
        put_attribute(&e, pairs.name, pairs.value);
    emit_array_end(&e);
    buf_put_str(out, "},\"scopeSpans\":[{\"scope\":{\"name\":\"sallyport\"},\"spans\":");
    emit_init(&e, out);
    emit_array(&e);
    for (size_t i = 0; i < st->sending; i++)
        put_span(&e, &st->spans[i]);
    emit_array_end(&e);
    buf_put_str(out, "}]}]}");
}

static void drop_first(struct span_exporter *st, size_t n) {
    st->count -= n;
    memmove(st->spans, st->spans + n, st->count * sizeof(*st->spans));
}

/* Sent once: spans that a collector refuses are not worth keeping in memory. */
static void on_sent(void *owner, const struct up_fetch_answer *answer) {
    struct span_exporter *st = owner;
    st->fetch = NULL;
    if (answer->status >= 200 && answer->status < 300) {
        st->health.sent += st->sending;
    } else {
        st->health.dropped += st->sending;
        log_warn("traces: %zu spans were not taken: %s", st->sending,
                 answer->status ? "the collector refused them" : answer->why);
    }
    drop_first(st, st->sending);
    st->sending = 0;
    if (st->count)
        io_timer_arm(st->core->up.loop, &st->timer, st->count >= SPAN_GROUP ? 0 : SPAN_SEND_MS, on_send);
}

/* Credentials for the collector. */
static void put_headers(struct buf *out) {
    const char *own = getenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS"),
               *all = getenv("OTEL_EXPORTER_OTLP_HEADERS");
    struct pairs pairs = {.rest = slice_str(own && *own ? own : all)};
    while (pairs_next(&pairs))
        buf_printf(out, "%s: %s\r\n", pairs.name, pairs.value);
    if (out->full)
        buf_reset(out);
}

static void on_send(struct io_timer *timer) {
    struct span_exporter *st = container_of(timer, struct span_exporter, timer);
    if (st->fetch || !st->count)
        return;
    st->sending = st->count < SPAN_GROUP ? st->count : SPAN_GROUP;
    cleanup_buf struct buf body;
    buf_init(&body, SPAN_BODY_MAX);
    put_group(st, &body);
    cleanup_buf struct buf headers;
    buf_init(&headers, SPAN_HEADERS_MAX);
    put_headers(&headers);
    struct up_fetch_request request = {.method = HTTP_POST,
                                       .headers = buf_slice(&headers),
                                       .url = st->url,
                                       .content_type = "application/json",
                                       .body = buf_slice(&body),
                                       .limit_ms = SPAN_ANSWER_MS};
    struct err err = {0};
    st->fetch = up_fetch(&st->core->up, &request, on_sent, st, &err);
    if (st->fetch)
        return;
    st->health.dropped += st->sending;
    log_warn("traces: %s", err.text);
    drop_first(st, st->sending);
    st->sending = 0;
}

/* ---- start and stop ---- */

/* As the OpenTelemetry specification has it: the endpoint for traces is a complete URL, the common one is a
 * base. */
static const char *env_endpoint(bool *ret_complete) {
    const char *off = getenv("OTEL_SDK_DISABLED"), *exporter = getenv("OTEL_TRACES_EXPORTER");
    const char *own = getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
               *all = getenv("OTEL_EXPORTER_OTLP_ENDPOINT");
    if ((off && strcmp(off, "true") == 0) || (exporter && strcmp(exporter, "none") == 0))
        return NULL;
    *ret_complete = own && *own;
    return own && *own ? own : all && *all ? all : NULL;
}

int span_exporter_start(struct core *core, const char *url, struct err *err) {
    bool complete = false;
    if (!url)
        url = env_endpoint(&complete);
    if (!url)
        return 0;
    if (!up_url_is_safe(slice_str(url)))
        return err_set(err, "trace collector `%s`: only https, or http on this machine", url);
    struct span_exporter *st = mem_zalloc(sizeof(*st));
    struct slice base = slice_str(url);
    complete = complete || slice_ends(base, SLICE("/v1/traces"));
    while (!complete && slice_ends(base, SLICE("/")))
        base.len--;
    if (asprintf(&st->url, "%.*s%s", SLICE_FMT(base), complete ? "" : "/v1/traces") < 0) {
        free(st);
        return err_set(err, "out of memory");
    }
    st->core = core;
    st->spans = mem_alloc(SPAN_WAITING_MAX * sizeof(*st->spans));
    core->spans = st;
    return 0;
}

void span_exporter_stop(struct core *core) {
    struct span_exporter *st = core->spans;
    if (!st)
        return;
    io_timer_stop(core->up.loop, &st->timer);
    up_fetch_cancel(st->fetch);
    free(st->spans);
    free(st->url);
    free(st);
    core->spans = NULL;
}

bool span_exporter_health(const struct core *core, struct span_exporter_health *ret_health) {
    if (core->spans)
        *ret_health = core->spans->health;
    return core->spans != NULL;
}
