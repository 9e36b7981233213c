/* The state of the gates, from the state directory: works without a running gate. */
#include "cli/status.h"
#include "audit/format.h"
#include "audit/rings.h"
#include "audit/verify.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/glyph.h"
#include "base/map.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/gates.h"
#include "cli/limits.h"
#include "cli/when.h"
#include "policy/tick.h"
#include "state/state.h"
#include "state/stores.h"
#include "wire/emit.h"

#include <inttypes.h>

#define STATUS_TOP 10
#define STATUS_RULES_MAX 10000
#define STATUS_COUNTERS_MAX 1000 /* shown */
#define STATUS_KEY_MAX 512       /* bytes of a counter's name that are shown */
#define STATUS_OUT_MAX (16u << 20)

static const struct cli_option status_rows[] = {
    {CLI_TEXT(struct status_options, state_dir), .name = "state-dir", .argument = "DIR",
     .help = "where counters are stored, if not in the home"},
    {CLI_TEXT(struct status_options, state_dsn), .name = "state-dsn", .argument = "DSN",
     .help = "the store of counters"},
    {CLI_TEXT(struct status_options, since), .name = "since", .argument = "TIME", .fallback = "24h",
     .help = "calls from then on: " CLI_WHEN_HELP},
    {CLI_SWITCH(struct status_options, tokens), .name = "tokens",
     .help =
         "instead: what the definitions of each server's tools cost an agent, listed up front and lazily"},
    {CLI_TEXT(struct status_options, config), .name = "config", .letter = 'c', .argument = "FILE",
     .help = "the settings for --tokens; by default ./sallyport.yaml, else the one that `init` wrote"},
    {CLI_LIST(struct status_options, client_files), .name = "mcp-config", .argument = "FILE",
     .help = "with --tokens: the servers of a client's own file"},
    {CLI_DURATION(struct status_options, timeout_ms), .name = "timeout", .argument = "TIME",
     .fallback = "30s", .help = "with --tokens: for a server to answer"},
    {CLI_SWITCH(struct status_options, json), .name = "json", .help = "print JSON"},
    {0},
};

struct rule_count {
    struct slice name;
    uint64_t count;
};

struct status {
    const char *home;
    uint64_t since_us;
    uint64_t calls, allowed, denied, approvals, shadowed, errors, gaps;
    struct audit_rings rings;
    uint64_t last_us;
    struct arena arena;
    struct map rules; /* name → struct rule_count */
    struct rule_count top[STATUS_TOP];
    struct buf recent; /* lines, or JSON array members */
    uint64_t recent_count;
    bool json;
    uint64_t reload_us; /* 0: no reload is recorded */
    struct slice reload_event, reload_policy, reload_text;
    bool log_read;
    struct err log_err;
    struct err log_fault; /* no text: what was signed is there */
    bool state_read;
    struct err state_err;
    struct state_health health;
    struct state_store *store;
};

/* ---- from the log ---- */

static void status_denied(struct status *s, const struct audit_entry *e) {
    struct slice name = e->record->text[AUDIT_RULE];
    s->denied++;
    struct rule_count *rule = map_get(&s->rules, name);
    if (!rule && name.len > 0 && s->rules.count < STATUS_RULES_MAX) {
        rule = arena_new(&s->arena, struct rule_count);
        rule->name = arena_dup(&s->arena, name);
        map_put(&s->rules, rule->name, rule);
    }
    if (rule)
        rule->count++;
    if (s->recent_count++ >= STATUS_TOP)
        return;
    if (s->json && s->recent_count > 1)
        buf_put_char(&s->recent, ',');
    if (s->json)
        audit_format_json(&s->recent, e);
    else
        audit_format_line(&s->recent, e);
}

static void status_event(struct status *s, const struct audit_record *r) {
    if (slice_is(r->text[AUDIT_EVENT], "gap"))
        s->gaps++;
    if (s->reload_us || !slice_starts(r->text[AUDIT_EVENT], SLICE("reload")))
        return;
    s->reload_us = r->number[AUDIT_TIME_US];
    s->reload_event = arena_dup(&s->arena, r->text[AUDIT_EVENT]);
    s->reload_policy = arena_dup(&s->arena, r->text[AUDIT_POLICY]);
    s->reload_text = arena_dup(&s->arena, r->text[AUDIT_TEXT]);
}

static bool status_entry(void *ctx, const struct audit_entry *e) {
    struct status *s = ctx;
    const struct audit_record *r = e->record;
    if (r->number[AUDIT_TIME_US] > s->last_us)
        s->last_us = r->number[AUDIT_TIME_US];
    if (r->kind == AUDIT_KIND_EVENT) {
        status_event(s, r);
        return true;
    }
    if (r->number[AUDIT_TIME_US] < s->since_us || !audit_counts_as_call(r))
        return true;
    s->calls++;
    s->allowed += slice_is(r->text[AUDIT_VERDICT], "allow");
    s->approvals += slice_is(r->text[AUDIT_VERDICT], "approve");
    s->shadowed += r->text[AUDIT_SHADOW].len > 0;
    s->errors += e->outcome && audit_outcome_failed(e->outcome->text[AUDIT_STATUS]);
    if (slice_is(r->text[AUDIT_VERDICT], "deny"))
        status_denied(s, e);
    return true;
}

static void status_read_log(struct status *s, const char *home) {
    cleanup_audit_log struct audit_log *log = NULL;
    const struct audit_filter all = {0};
    audit_verify_quick(home, &s->log_fault);
    s->log_read = audit_log_open(home, &log, &s->log_err) == 0 &&
                  audit_log_walk_back(log, &all, status_entry, s, &s->log_err) == 0;
    audit_rings_count(home, &s->rings);
    size_t at = 0;
    for (struct map_entry *e; (e = map_next(&s->rules, &at));) {
        struct rule_count rule = *(struct rule_count *)e->value;
        for (size_t i = 0; i < STATUS_TOP; i++)
            if (rule.count > s->top[i].count) {
                struct rule_count less = s->top[i];
                s->top[i] = rule;
                rule = less;
            }
    }
}

static void status_read_state(struct status *s, const struct status_options *opt, const char *home) {
    struct state_config config = {
        .dsn = opt->state_dsn, .dir = opt->state_dir ? opt->state_dir : home, .read_only = true};
    s->state_read = state_open(&config, &s->store, &s->state_err) == 0;
    if (s->state_read)
        state_health(s->store, &s->health);
}

/* ---- gates that run ---- */

static void put_gate_server(const struct tape *t, uint32_t node, struct arena *a, struct buf *out) {
    uint32_t pids = tape_get_str(t, node, "pids");
    int64_t tools = 0, restarts = 0;
    const bool known = tape_int(t, tape_get_str(t, node, "tools"), &tools);
    tape_int(t, tape_get_str(t, node, "restarts"), &restarts);
    buf_printf(out, "  %-20.*s %.*s", SLICE_FMT(tape_text(t, tape_get_str(t, node, "name"), a)),
               SLICE_FMT(tape_text(t, tape_get_str(t, node, "state"), a)));
    if (known)
        buf_printf(out, ", %" PRId64 " tools", tools);
    if (restarts)
        buf_printf(out, ", ended by itself %" PRId64 " times", restarts);
    if (pids && tape_is(t, pids, TAPE_ARRAY))
        TAPE_FOR_ELEM(t, pids, i) {
            buf_printf(out, "%s%.*s", i == pids + 1 ? ", pid " : " ", SLICE_FMT(tape_raw(t, i)));
        }
    uint32_t fault = tape_get_str(t, node, "fault");
    if (fault)
        buf_printf(out, "\n    %.*s", SLICE_FMT(tape_text(t, fault, a)));
    buf_put_char(out, '\n');
}

static const char *local_time(struct slice rfc3339, char text[AUDIT_TIME_TEXT]) {
    uint64_t ms = 0;
    if (!policy_time_parse(rfc3339, &ms))
        return "unknown";
    audit_format_local_time(ms * 1000, text);
    return text;
}

static void text_gate(void *ctx, const struct tape *t) {
    struct buf *out = ctx;
    char time[AUDIT_TIME_TEXT];
    cleanup_arena struct arena a;
    arena_init(&a);
    buf_printf(out, "Gate: pid %.*s, %.*s, since %s, sessions: %.*s\n",
               SLICE_FMT(tape_raw(t, tape_get_str(t, 0, "pid"))),
               SLICE_FMT(tape_text(t, tape_get_str(t, 0, "listen"), &a)),
               local_time(tape_text(t, tape_get_str(t, 0, "started_at"), &a), time),
               SLICE_FMT(tape_raw(t, tape_get_str(t, 0, "sessions"))));
    static const char *const notes[][2] = {{"restart_needed_for", "restart needed for"},
                                           {"settings_fault", "the newest settings are not used"},
                                           {"audit_fault", "the audit log cannot be written"},
                                           {"state_fault", "limits cannot be counted"},
                                           {"audit_ship_fault", "the audit log is not shipped"}};
    for (size_t i = 0; i < ARRAY_LEN(notes); i++) {
        uint32_t note = tape_get_str(t, 0, notes[i][0]);
        if (note)
            buf_printf(out, "  %s: %.*s\n", notes[i][1], SLICE_FMT(tape_text(t, note, &a)));
    }
    uint32_t servers = tape_get_str(t, 0, "servers");
    TAPE_FOR_ELEM(t, servers, i)
    put_gate_server(t, i, &a, out);
}

static void json_gate(void *ctx, const struct tape *t) { emit_raw(ctx, tape_raw(t, 0)); }

/* ---- for people ---- */

struct counter_print {
    struct buf *out;
    struct emit *emit;
    uint64_t count;
};

static void put_micro(struct buf *out, int64_t micro) {
    buf_printf(out, "%" PRId64, micro / STATE_MICRO);
    if (micro % STATE_MICRO)
        buf_printf(out, ".%06" PRId64, micro % STATE_MICRO);
}

static void put_counter(void *ctx, const struct state_counter *c) {
    struct counter_print *p = ctx;
    if (p->count++ >= STATUS_COUNTERS_MAX)
        return;
    buf_put_str(p->out, "  ");
    cleanup_arena struct arena a;
    arena_init(&a);
    buf_put_slice(p->out, glyph_printable(c->key, STATUS_KEY_MAX, &a));
    buf_put_str(p->out, "  ");
    put_micro(p->out, c->value);
    if (c->max != STATE_NO_MAX) {
        buf_put_str(p->out, " of ");
        put_micro(p->out, c->max);
    }
    if (c->window_ms)
        buf_printf(p->out, " (%s, %" PRIu64 " s)\n", state_kind_name(c->kind), c->window_ms / 1000);
    else
        buf_printf(p->out, " (%s)\n", state_kind_name(c->kind));
}

static void status_text_state(struct status *s, struct buf *out) {
    if (!s->state_read) {
        buf_printf(out, "Counters: %s\n", s->state_err.text);
        return;
    }
    struct counter_print p = {.out = out};
    buf_printf(out, "Counters: %s %s, processes: %zu\n", s->health.backend, s->health.path,
               s->health.processes);
    struct err err = {0};
    if (state_list(s->store, clock_wall_ms(), put_counter, &p, &err) < 0)
        buf_printf(out, "  %s\n", err.text);
    if (p.count > STATUS_COUNTERS_MAX)
        buf_printf(out, "  and %" PRIu64 " more\n", p.count - STATUS_COUNTERS_MAX);
}

static void text_lost(void *ctx, const char *name, const char *meaning) {
    buf_printf(ctx, "Deleted from the home: %s; when a gate starts, %s\n", name, meaning);
}

static void status_text(struct status *s, struct buf *out) {
    char time[AUDIT_TIME_TEXT];
    if (cli_home_unused(s->home)) {
        buf_printf(out,
                   "No gate has run with the home `%s` yet.\n"
                   "  sallyport init                        put a gate in front of your clients' servers\n"
                   "  sallyport serve                       run one gate for many servers\n"
                   "  sallyport -c POLICY -- COMMAND ...    guard one server\n"
                   "SALLYPORT_HOME names another home.\n",
                   s->home);
        return;
    }
    state_stores_missing(s->home, text_lost, out);
    const size_t before = out->len;
    cli_gates_each(s->home, text_gate, out);
    if (out->len == before)
        buf_put_str(out, "No gate is running.\n");
    status_text_state(s, out);
    if (s->rings.unrecorded)
        buf_printf(out, "Not in the audit log: %" PRIu64 " records, because it was full\n",
                   s->rings.unrecorded);
    if (s->rings.left)
        buf_printf(out, "Killed gates: %" PRIu64 "; their last records are read when a gate starts\n",
                   s->rings.left);
    if (s->rings.damaged || s->rings.aside)
        buf_printf(out, "Rings that cannot be read: %" PRIu64 "; their records are not in the audit log\n",
                   s->rings.damaged + s->rings.aside);
    if (s->log_fault.text[0])
        buf_printf(out, "Audit log, not sound: %s; see sallyport audit verify\n", s->log_fault.text);
    if (!s->log_read) {
        buf_printf(out, "Audit log: %s\n", s->log_err.text);
        return;
    }
    audit_format_local_time(s->last_us, time);
    buf_printf(out, "Audit log: last record %s, %" PRIu64 " gaps\n", s->last_us ? time : "none", s->gaps);
    if (s->reload_us) {
        audit_format_local_time(s->reload_us, time);
        buf_printf(out, "Last reload: %s %.*s %.*s %.*s\n", time, SLICE_FMT(s->reload_event),
                   SLICE_FMT(s->reload_policy), SLICE_FMT(s->reload_text));
    }
    buf_printf(out,
               "Calls: %" PRIu64 " (%" PRIu64 " allowed, %" PRIu64 " denied, %" PRIu64
               " need approval), %" PRIu64 " failed\n",
               s->calls, s->allowed, s->denied, s->approvals, s->errors);
    if (s->shadowed)
        buf_printf(out,
                   "Shadow: rules in shadow mode would have refused %" PRIu64
                   " of them; see sallyport audit query --shadow\n",
                   s->shadowed);
    if (s->top[0].count)
        buf_put_str(out, "Top deny rules:\n");
    for (size_t i = 0; i < STATUS_TOP && s->top[i].count; i++)
        buf_printf(out, "  %6" PRIu64 "  %.*s\n", s->top[i].count, SLICE_FMT(s->top[i].name));
    if (s->recent.len)
        buf_put_str(out, "Recent denials:\n");
    buf_put_slice(out, buf_slice(&s->recent));
}

/* ---- for programs ---- */

static void emit_micro(struct emit *e, const char *name, int64_t micro) {
    emit_key(e, name);
    if (micro % STATE_MICRO)
        emit_double(e, (double)micro / STATE_MICRO);
    else
        emit_int(e, micro / STATE_MICRO);
}

static void json_counter(void *ctx, const struct state_counter *c) {
    struct counter_print *p = ctx;
    struct emit *e = p->emit;
    if (p->count++ >= STATUS_COUNTERS_MAX)
        return;
    emit_object(e);
    emit_key(e, "key");
    emit_str(e, c->key);
    emit_key(e, "kind");
    emit_cstr(e, state_kind_name(c->kind));
    emit_micro(e, "value", c->value);
    if (c->max != STATE_NO_MAX)
        emit_micro(e, "max", c->max);
    emit_key(e, "window_ms");
    emit_int(e, (int64_t)c->window_ms);
    emit_key(e, "start_ms");
    emit_int(e, (int64_t)c->start_ms);
    emit_object_end(e);
}

static void status_json_state(struct status *s, struct emit *e) {
    emit_key(e, "state");
    emit_object(e);
    emit_key(e, "ok");
    emit_bool(e, s->state_read);
    if (!s->state_read) {
        emit_key(e, "error");
        emit_cstr(e, s->state_err.text);
        emit_object_end(e);
        return;
    }
    emit_key(e, "backend");
    emit_cstr(e, s->health.backend);
    emit_key(e, "path");
    emit_cstr(e, s->health.path);
    emit_key(e, "processes");
    emit_int(e, (int64_t)s->health.processes);
    emit_key(e, "counters");
    emit_array(e);
    struct counter_print p = {.emit = e};
    state_list(s->store, clock_wall_ms(), json_counter, &p, NULL);
    emit_array_end(e);
    emit_object_end(e);
}

static void status_json_log(struct status *s, struct emit *e) {
    char time[AUDIT_TIME_TEXT];
    emit_key(e, "audit");
    emit_object(e);
    emit_key(e, "ok");
    emit_bool(e, s->log_read && !s->log_fault.text[0]);
    if (s->log_fault.text[0]) {
        emit_key(e, "fault");
        emit_cstr(e, s->log_fault.text);
    }
    if (!s->log_read) {
        emit_key(e, "error");
        emit_cstr(e, s->log_err.text);
    } else if (s->last_us) {
        audit_format_time(s->last_us, time);
        emit_key(e, "last_record");
        emit_cstr(e, time);
    }
    emit_key(e, "gaps");
    emit_int(e, (int64_t)s->gaps);
    emit_key(e, "unrecorded");
    emit_int(e, (int64_t)s->rings.unrecorded);
    emit_key(e, "gates_killed");
    emit_int(e, (int64_t)s->rings.left);
    emit_key(e, "rings_unread");
    emit_int(e, (int64_t)(s->rings.damaged + s->rings.aside));
    emit_object_end(e);
    if (!s->reload_us)
        return;
    audit_format_time(s->reload_us, time);
    emit_key(e, "last_reload");
    emit_object(e);
    emit_key(e, "time");
    emit_cstr(e, time);
    emit_key(e, "status");
    emit_cstr(e, slice_is(s->reload_event, "reload") ? "success" : "failure");
    emit_key(e, "policy");
    emit_str(e, s->reload_policy);
    emit_key(e, "message");
    emit_str(e, s->reload_text);
    emit_object_end(e);
}

static void status_json_calls(struct status *s, struct emit *e) {
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"total", s->calls},         {"allowed", s->allowed},   {"denied", s->denied},
                {"approvals", s->approvals}, {"shadowed", s->shadowed}, {"failed", s->errors}};
    emit_key(e, "calls");
    emit_object(e);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        emit_key(e, rows[i].name);
        emit_int(e, (int64_t)rows[i].value);
    }
    emit_object_end(e);
    emit_key(e, "top_deny_rules");
    emit_array(e);
    for (size_t i = 0; i < STATUS_TOP && s->top[i].count; i++) {
        emit_object(e);
        emit_key(e, "rule");
        emit_str(e, s->top[i].name);
        emit_key(e, "count");
        emit_int(e, (int64_t)s->top[i].count);
        emit_object_end(e);
    }
    emit_array_end(e);
}

static void json_lost(void *ctx, const char *name, const char *meaning) {
    struct emit *e = ctx;
    emit_object(e);
    emit_key(e, "name");
    emit_cstr(e, name);
    emit_key(e, "meaning");
    emit_cstr(e, meaning);
    emit_object_end(e);
}

static void status_json(struct status *s, struct buf *out) {
    struct emit e;
    emit_init(&e, out);
    emit_object(&e);
    emit_key(&e, "gates");
    emit_array(&e);
    cli_gates_each(s->home, json_gate, &e);
    emit_array_end(&e);
    emit_key(&e, "stores_lost");
    emit_array(&e);
    state_stores_missing(s->home, json_lost, &e);
    emit_array_end(&e);
    status_json_state(s, &e);
    status_json_log(s, &e);
    status_json_calls(s, &e);
    emit_key(&e, "recent_denials");
    struct buf list;
    buf_init(&list, STATUS_OUT_MAX);
    buf_put_char(&list, '[');
    buf_put_slice(&list, buf_slice(&s->recent));
    buf_put_char(&list, ']');
    emit_raw(&e, buf_slice(&list));
    buf_free(&list);
    emit_object_end(&e);
    buf_put_char(out, '\n');
}

static int status_run(const void *options, const struct cli_rest *rest) {
    const struct status_options *opt = options;
    struct err err = {0};
    char home[CLI_PATH_MAX];
    (void)rest;
    if (opt->tokens)
        return cli_status_tokens(opt);
    struct status *s = mem_zalloc(sizeof(*s));
    s->json = opt->json;
    s->home = home;
    const bool timed = cli_when("since", opt->since, &s->since_us, &err) == 0;
    if (!timed || cli_home(home, &err) < 0) {
        free(s);
        return cli_fail(timed ? CLI_CONFIG : CLI_USAGE, &err);
    }
    cleanup_buf struct buf out;
    buf_init(&out, STATUS_OUT_MAX);
    buf_init(&s->recent, STATUS_OUT_MAX);
    arena_init(&s->arena);
    map_init(&s->rules);
    status_read_log(s, home);
    status_read_state(s, opt, home);
    if (opt->json)
        status_json(s, &out);
    else
        status_text(s, &out);
    state_close(s->store);
    map_free(&s->rules);
    arena_free(&s->arena);
    buf_free(&s->recent);
    free(s);
    return cli_print(&out);
}

static const struct cli_example status_examples[] = {
    {"sallyport status", "gates that run, their servers, counters, and what was denied in the last day"},
    {"sallyport status --since 1h --json", "the same for a program, of the last hour"},
    {"sallyport status --tokens", "what the tools of each server cost in every conversation"},
    {0},
};

const struct cli_command cli_status = {
    .name = "status",
    .summary = "show running gates with their servers, counters, the audit log and what was denied",
    .detail = "Read from the state directory: no grant is needed. A gate brings the list of its servers up "
              "to date once a "
              "second: idle, ready or down, the tools it is known to have, its processes, and how often one "
              "ended by itself.",
    .examples = status_examples,
    .options = status_rows,
    .options_size = sizeof(struct status_options),
    .run = status_run,
};
