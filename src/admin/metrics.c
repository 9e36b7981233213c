/* /metrics, in the text format of Prometheus. */
#include "record/metrics.h"
#include "admin/api.h"
#include "approval/approve.h"
#include "audit/audit.h"
#include "base/check.h"
#include "base/clock.h"
#include "channel/channel.h"
#include "code/code.h"
#include "privacy/privacy.h"
#include "record/limits.h"
#include "record/span.h"
#include "risk/class.h"
#include "server/server.h"
#include "ship/ship.h"
#include "state/state.h"

#include <inttypes.h>

/* All metrics: /metrics takes type and help from here, and docs/reference/metrics.md is generated from it.
 * The label `worker` is added where there are several workers. */
static const struct metric {
    const char *name, *type, *labels, *help;
} metrics[] = {
    {"info", "gauge", "version", "The running version."},
    {"start_time_seconds", "gauge", "", "When the gate started, in seconds since 1970."},
    {"sessions", "gauge", "", "Open sessions."},
    {"server_processes", "gauge", "", "Processes of servers, until they have exited."},
    {"calls_under_way", "gauge", "", "Messages in flight: received and not answered yet."},
    {"decisions_total", "counter", "server, method, tool, verdict",
     "Messages of clients, by the policy's verdict."},
    {"shadow_verdicts_total", "counter", "server, method, tool, verdict",
     "Messages of clients, by the verdict that a rule or limit in shadow mode would have given."},
    {"outcomes_total", "counter", "server, method, tool, outcome", "Messages of clients, by outcome."},
    {"tool_decisions_total", "counter", "class, verdict",
     "Calls of tools, by their risk class and the verdict."},
    {"call_duration_seconds", "histogram", "server, method, tool",
     "Time from receipt to answer, for messages that a server answered."},
    {"received_bytes_total", "counter", "server, method, tool", "Bytes of messages from clients."},
    {"answered_bytes_total", "counter", "server, method, tool", "Bytes of the servers' answers."},
    {"server_links", "gauge", "server", "Sessions that have a server ready."},
    {"server_links_missing", "gauge", "server", "Sessions for which a server is down."},
    {"server_connections", "gauge", "server", "Open HTTP connections to a server."},
    {"server_waiting", "gauge", "server", "Requests that wait for a connection to a server."},
    {"server_tools", "gauge", "server", "Tools that a server is known to have."},
    {"server_restarts_total", "counter", "server", "Processes of a server that crashed, exited or hung."},
    {"server_health_checks_total", "counter", "server", "Health checks sent to silent servers."},
    {"server_health_failures_total", "counter", "server", "Health checks that failed."},
    {"audit_records_total", "counter", "", "Records written to the audit log."},
    {"audit_commits_total", "counter", "", "Transactions that wrote records to the audit log."},
    {"audit_ring_bytes", "gauge", "", "Bytes of records that wait for the writer."},
    {"audit_ring_limit_bytes", "gauge", "", "Bytes of records that may wait for the writer."},
    {"audit_refused_total", "counter", "", "Records that could not be written to the audit log."},
    {"audit_gaps_total", "counter", "", "Records missing in the audit log because they could not be stored."},
    {"audit_up", "gauge", "", "1 while the audit log can be written."},
    {"audit_ship_active", "gauge", "", "1 where this process ships the audit log."},
    {"audit_ship_up", "gauge", "", "1 while records can be shipped to the database of the fleet."},
    {"audit_ship_records_total", "counter", "", "Records shipped to the database of the fleet."},
    {"audit_ship_bytes_total", "counter", "", "Bytes of records and signatures shipped."},
    {"audit_ship_batches_total", "counter", "", "Transactions that shipped records."},
    {"audit_ship_failures_total", "counter", "", "Attempts to ship that failed."},
    {"audit_ship_lag_records", "gauge", "", "Records that were not shipped yet."},
    {"audit_ship_lag_milliseconds", "gauge", "", "Since when there are records that were not shipped."},
    {"audit_ship_backlog_bytes", "gauge", "", "Bytes of records that were not shipped."},
    {"audit_ship_backlog_limit_bytes", "gauge", "",
     "Bytes that may wait for shipping before calls are refused."},
    {"state_counters", "gauge", "", "Counters of limits in use."},
    {"state_processes", "gauge", "", "Processes that share the counters of limits."},
    {"state_commits_total", "counter", "", "Writes that made the counters of limits durable."},
    {"state_faults_total", "counter", "", "Calls during which the store failed."},
    {"state_up", "gauge", "", "1 while the store of limits can be reached."},
    {"state_requests_total", "counter", "", "Requests to a store on the network."},
    {"state_timeouts_total", "counter", "", "Requests that were not answered in time."},
    {"state_connects_total", "counter", "", "Connections made to a store on the network."},
    {"state_unsent_total", "counter", "",
     "Requests that were refused at once, because the store cannot be reached."},
    {"state_passed_total", "counter", "",
     "Calls that passed uncounted, because the store failed and the fail mode is open."},
    {"state_leased_total", "counter", "",
     "Calls that passed from a slice of a limit, without a request to the store."},
    {"state_losses_total", "counter", "", "Detected losses of writes in Redis."},
    {"state_request_duration_seconds", "histogram", "",
     "Time from a request to a store on the network to its answer."},
    {"approvals_pending", "gauge", "", "Calls that wait for approval."},
    {"trace_spans_sent_total", "counter", "", "Spans that the collector accepted."},
    {"trace_spans_dropped_total", "counter", "", "Spans that were dropped."},
    {"code_runs_total", "counter", "exit", "Runs of code, by how they ended."},
    {"code_run_duration_seconds", "histogram", "", "Time from the start of the code to its end."},
    {"code_warm_starts_total", "counter", "", "Runs that started in a warm sandbox."},
    {"code_cold_starts_total", "counter", "", "Runs that waited for a sandbox to start."},
    {"code_violations_total", "counter", "", "System calls of code that were refused."},
    {"code_tool_calls_total", "counter", "", "Tools called from code."},
    {"code_runs_under_way", "gauge", "", "Runs of code in progress."},
    {"code_runs_waiting", "gauge", "", "Runs that wait for a sandbox."},
    {"code_sandboxes_idle", "gauge", "", "Warm sandboxes that wait for code."},
    {"code_sessions", "gauge", "", "Sandboxes of sessions that keep variables."},
    {"pii_found_total", "counter", "kind", "Personal data and secrets found in messages of servers."},
    {"pii_sent_total", "counter", "kind", "Personal data and secrets found in messages of clients."},
    {"pii_restored_total", "counter", "", "Tokens replaced by their values."},
    {"pii_refused_total", "counter", "",
     "Values withheld because the destination is not allowed to get them."},
    {"pii_unknown_tokens_total", "counter", "", "Unknown tokens in arguments."},
    {"pii_literals_total", "counter", "", "Text from outside that has the form of a token."},
    {"pii_blocked_total", "counter", "", "Results and messages that were withheld."},
};

/* scripts/reference --check compares the names in use with the table. */
static void head(struct buf *out, const char *name) {
    const struct metric *row = metrics;
    while (strcmp(row->name, name) != 0)
        CHECK(++row < metrics + sizeof(metrics) / sizeof(metrics[0]));
    buf_printf(out, "# HELP sallyport_%s %s\n# TYPE sallyport_%s %s\n", name, row->help, name, row->type);
}

static void put_label(struct buf *out, const char *name, struct slice value, bool first) {
    buf_printf(out, "%s%s=\"", first ? "" : ",", name);
    for (size_t i = 0; i < value.len; i++) {
        char ch = value.ptr[i];
        if (ch == '\n')
            buf_put_str(out, "\\n");
        else if (ch == '"' || ch == '\\')
            buf_put_char(out, '\\'), buf_put_char(out, ch);
        else
            buf_put_char(out, ch);
    }
    buf_put_char(out, '"');
}

static void put_cell_labels(struct buf *out, const struct metrics_cell *cell) {
    put_label(out, "server", cell->server, true);
    put_label(out, "method", cell->method, false);
    if (cell->tool.len)
        put_label(out, "tool", cell->tool, false);
}

static void plain(struct buf *out, const char *name, uint64_t value) {
    head(out, name);
    buf_printf(out, "sallyport_%s %" PRIu64 "\n", name, value);
}

/* All cells with a count; the cell of the remaining ones comes last. */
static const struct metrics_cell *next_cell(const struct metrics *m, const struct metrics_cell *at) {
    const struct metrics_cell *next = at ? at->next : m->first;
    if (at == &m->rest)
        return NULL;
    return next ? next : m->count >= METRICS_CELLS_MAX ? &m->rest : NULL;
}

#define FOR_CELLS(m, cell)                                                                                   \
    for (const struct metrics_cell *cell = next_cell(m, NULL); cell; cell = next_cell(m, cell))

static void put_classes(struct buf *out, const struct metrics *m) {
    head(out, "tool_decisions_total");
    for (int cls = 0; cls < METRICS_CLASSES; cls++)
        for (int v = 0; v < METRICS_VERDICTS; v++)
            if (m->classes[cls][v])
                buf_printf(out, "sallyport_tool_decisions_total{class=\"%s\",verdict=\"%s\"} %" PRIu64 "\n",
                           cls ? risk_class_name((enum risk_class)cls) : "unknown",
                           policy_outcome_name((enum policy_outcome)v), m->classes[cls][v]);
}

static void put_verdicts(struct buf *out, const struct metrics_cell *cell, const char *name,
                         const uint64_t counts[METRICS_VERDICTS]) {
    for (int v = 0; v < METRICS_VERDICTS; v++) {
        if (!counts[v])
            continue;
        buf_printf(out, "sallyport_%s{", name);
        put_cell_labels(out, cell);
        buf_printf(out, ",verdict=\"%s\"} %" PRIu64 "\n", policy_outcome_name((enum policy_outcome)v),
                   counts[v]);
    }
}

static void put_counts(struct buf *out, const struct metrics *m) {
    head(out, "decisions_total");
    FOR_CELLS(m, cell)
    put_verdicts(out, cell, "decisions_total", cell->verdicts);
    head(out, "shadow_verdicts_total");
    FOR_CELLS(m, cell)
    put_verdicts(out, cell, "shadow_verdicts_total", cell->shadows);
    head(out, "outcomes_total");
    FOR_CELLS(m, cell) {
        for (int o = 0; o < METRICS_OUTCOMES; o++) {
            if (!cell->outcomes[o])
                continue;
            buf_put_str(out, "sallyport_outcomes_total{");
            put_cell_labels(out, cell);
            buf_printf(out, ",outcome=\"%s\"} %" PRIu64 "\n", metrics_outcome_names[o], cell->outcomes[o]);
        }
    }
}

static void put_histogram(struct buf *out, const struct metrics_cell *cell) {
    uint64_t sum = 0;
    for (int i = 0; i <= METRICS_BUCKETS; i++) {
        sum += cell->latency[i];
        buf_put_str(out, "sallyport_call_duration_seconds_bucket{");
        put_cell_labels(out, cell);
        if (i < METRICS_BUCKETS)
            buf_printf(out, ",le=\"%g\"} %" PRIu64 "\n", metrics_bucket_us[i] / 1e6, sum);
        else
            buf_printf(out, ",le=\"+Inf\"} %" PRIu64 "\n", sum);
    }
    buf_put_str(out, "sallyport_call_duration_seconds_sum{");
    put_cell_labels(out, cell);
    buf_printf(out, "} %.6f\nsallyport_call_duration_seconds_count{", (double)cell->latency_us / 1e6);
    put_cell_labels(out, cell);
    buf_printf(out, "} %" PRIu64 "\n", sum);
}

static void put_bytes(struct buf *out, const struct metrics *m, const char *name, size_t at) {
    head(out, name);
    FOR_CELLS(m, cell) {
        buf_printf(out, "sallyport_%s{", name);
        put_cell_labels(out, cell);
        buf_printf(out, "} %" PRIu64 "\n", *(const uint64_t *)(const void *)((const char *)cell + at));
    }
}

static uint64_t links_ready(const struct core *core, const struct server *s) {
    size_t ready, missing;
    channel_count(core, s, &ready, &missing);
    return ready;
}

static uint64_t links_missing(const struct core *core, const struct server *s) {
    size_t ready, missing;
    channel_count(core, s, &ready, &missing);
    return missing;
}

static uint64_t connections(const struct core *core, const struct server *s) {
    (void)core;
    return s->up.conn_count;
}

static uint64_t waiting(const struct core *core, const struct server *s) {
    (void)core;
    return s->up.conn_waiting;
}

static uint64_t tools(const struct core *core, const struct server *s) {
    (void)core;
    return s->tools.by_name.count;
}

static uint64_t ended(const struct core *core, const struct server *s) {
    (void)core;
    return s->up.ended_count;
}

static uint64_t health_checks(const struct core *core, const struct server *s) {
    (void)core;
    return s->health_checks;
}

static uint64_t health_misses(const struct core *core, const struct server *s) {
    (void)core;
    return s->health_misses;
}

static void put_servers(struct buf *out, const struct core *core) {
    static const struct {
        const char *name;
        uint64_t (*value)(const struct core *core, const struct server *s);
    } rows[] = {
        {"server_links", links_ready},
        {"server_links_missing", links_missing},
        {"server_connections", connections},
        {"server_waiting", waiting},
        {"server_tools", tools},
        {"server_restarts_total", ended},
        {"server_health_checks_total", health_checks},
        {"server_health_failures_total", health_misses},
    };
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        head(out, rows[k].name);
        for (size_t i = 0; i < core->server_count; i++) {
            if (!core->servers[i])
                continue;
            buf_printf(out, "sallyport_%s{", rows[k].name);
            put_label(out, "server", slice_str(core->servers[i]->up.name), true);
            buf_printf(out, "} %" PRIu64 "\n", rows[k].value(core, core->servers[i]));
        }
    }
}

static void put_ship(struct buf *out, struct ship *ship) {
    struct ship_health h;
    ship_health(ship, &h);
    plain(out, "audit_ship_active", h.active);
    plain(out, "audit_ship_up", !h.failed);
    plain(out, "audit_ship_records_total", h.records);
    plain(out, "audit_ship_bytes_total", h.bytes);
    plain(out, "audit_ship_batches_total", h.batches);
    plain(out, "audit_ship_failures_total", h.failures);
    plain(out, "audit_ship_lag_records", h.lag_records);
    plain(out, "audit_ship_lag_milliseconds", h.lag_ms);
    plain(out, "audit_ship_backlog_bytes", h.backlog);
    plain(out, "audit_ship_backlog_limit_bytes", h.backlog_max);
}

static void put_state_answers(struct buf *out, const struct state_health *h) {
    uint64_t sum = 0;
    head(out, "state_request_duration_seconds");
    for (int i = 0; i < STATE_ANSWER_BUCKETS; i++)
        buf_printf(out, "sallyport_state_request_duration_seconds_bucket{le=\"%g\"} %" PRIu64 "\n",
                   (double)state_answer_us[i] / 1e6, sum += h->answers[i]);
    sum += h->answers[STATE_ANSWER_BUCKETS];
    buf_printf(out, "sallyport_state_request_duration_seconds_bucket{le=\"+Inf\"} %" PRIu64 "\n", sum);
    buf_printf(out, "sallyport_state_request_duration_seconds_sum %.6f\n", (double)h->answer_us / 1e6);
    buf_printf(out, "sallyport_state_request_duration_seconds_count %" PRIu64 "\n", sum);
}

static void put_stores(struct buf *out, struct core *core) {
    if (core->audit) {
        struct audit_health h;
        audit_health(core->audit, &h);
        plain(out, "audit_records_total", h.written);
        plain(out, "audit_commits_total", h.commits);
        plain(out, "audit_ring_bytes", h.queued);
        plain(out, "audit_ring_limit_bytes", AUDIT_RING_BYTES);
        plain(out, "audit_refused_total", h.refused);
        plain(out, "audit_gaps_total", h.gaps);
        plain(out, "audit_up", !h.failed);
    }
    if (core->ship)
        put_ship(out, core->ship);
    if (core->state) {
        struct state_health h;
        state_health(core->state, &h);
        plain(out, "state_counters", h.counters);
        plain(out, "state_processes", h.processes);
        plain(out, "state_commits_total", h.commits);
        plain(out, "state_faults_total", h.faults);
        plain(out, "state_up", !h.down);
        plain(out, "state_requests_total", h.requests);
        plain(out, "state_timeouts_total", h.timeouts);
        plain(out, "state_connects_total", h.connects);
        plain(out, "state_unsent_total", h.unsent);
        plain(out, "state_passed_total", h.passed);
        plain(out, "state_losses_total", h.losses);
        plain(out, "state_leased_total", h.leased);
        if (h.requests)
            put_state_answers(out, &h);
    }
    if (core->approvals && core->approvals->store)
        plain(out, "approvals_pending", approve_pending(core));
}

static void put_code(struct buf *out, const struct core *core) {
    struct sandbox_stats s;
    uint64_t sum = 0;
    if (!core->code || !code_server_stats(core->code, &s))
        return;
    head(out, "code_runs_total");
    for (int i = 0; i < SANDBOX_EXITS; i++)
        buf_printf(out, "sallyport_code_runs_total{exit=\"%s\"} %" PRIu64 "\n",
                   i == SANDBOX_REFUSED ? "refused" : sandbox_exit_name((enum sandbox_exit)i), s.exits[i]);
    head(out, "code_run_duration_seconds");
    for (int i = 0; i < SANDBOX_BUCKETS; i++)
        buf_printf(out, "sallyport_code_run_duration_seconds_bucket{le=\"%g\"} %" PRIu64 "\n",
                   (double)sandbox_bucket_us[i] / 1e6, sum += s.wall[i]);
    sum += s.wall[SANDBOX_BUCKETS];
    buf_printf(out, "sallyport_code_run_duration_seconds_bucket{le=\"+Inf\"} %" PRIu64 "\n", sum);
    buf_printf(out, "sallyport_code_run_duration_seconds_sum %.6f\n", (double)s.wall_us / 1e6);
    buf_printf(out, "sallyport_code_run_duration_seconds_count %" PRIu64 "\n", sum);
    plain(out, "code_warm_starts_total", s.warm_hits);
    plain(out, "code_cold_starts_total", s.cold_starts);
    plain(out, "code_violations_total", s.violations);
    plain(out, "code_tool_calls_total", s.calls);
    plain(out, "code_runs_under_way", s.running);
    plain(out, "code_runs_waiting", s.waiting);
    plain(out, "code_sandboxes_idle", s.idle);
    plain(out, "code_sessions", s.sessions);
}

static void put_traces(struct buf *out, const struct core *core) {
    struct span_exporter_health h;
    if (!span_exporter_health(core, &h))
        return;
    plain(out, "trace_spans_sent_total", h.sent);
    plain(out, "trace_spans_dropped_total", h.dropped);
}

/* Counts of personal data and secrets; never the values. */
static void put_pii(struct buf *out, const struct core *core) {
    const char *name;
    if (!core->privacy)
        return;
    const struct privacy_counts *c = privacy_counts(core->privacy);
    head(out, "pii_found_total");
    for (unsigned i = 0; (name = privacy_kind_name(core->privacy, i)); i++)
        if (c->found[i])
            buf_printf(out, "sallyport_pii_found_total{kind=\"%s\"} %" PRIu64 "\n", name, c->found[i]);
    head(out, "pii_sent_total");
    for (unsigned i = 0; (name = privacy_kind_name(core->privacy, i)); i++)
        if (c->sent[i])
            buf_printf(out, "sallyport_pii_sent_total{kind=\"%s\"} %" PRIu64 "\n", name, c->sent[i]);
    plain(out, "pii_restored_total", c->restored);
    plain(out, "pii_refused_total", c->refused);
    plain(out, "pii_unknown_tokens_total", c->unknown);
    plain(out, "pii_literals_total", c->literals);
    plain(out, "pii_blocked_total", c->blocked);
}

void api_write_metrics(struct admin *a, struct buf *out) {
    struct core *core = a->core;
    const struct metrics *m = core->metrics;
    head(out, "info");
    buf_put_str(out, "sallyport_info{version=\"" SALLYPORT_VERSION "\"} 1\n");
    head(out, "start_time_seconds");
    buf_printf(out, "sallyport_start_time_seconds %.3f\n", (double)a->started_ms / 1e3);
    plain(out, "sessions", core->session_count);
    plain(out, "server_processes", core->up.process_count);
    plain(out, "calls_under_way", core->calls_under_way);
    put_counts(out, m);
    put_classes(out, m);
    head(out, "call_duration_seconds");
    FOR_CELLS(m, cell)
    put_histogram(out, cell);
    put_bytes(out, m, "received_bytes_total", offsetof(struct metrics_cell, bytes_in));
    put_bytes(out, m, "answered_bytes_total", offsetof(struct metrics_cell, bytes_out));
    put_servers(out, core);
    put_stores(out, core);
    put_traces(out, core);
    put_code(out, core);
    put_pii(out, core);
}
