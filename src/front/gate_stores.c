#include "front/gate_stores.h"

#include "base/buf.h"
#include "base/log.h"
#include "call/core.h"
#include "decision/stop.h"
#include "front/gate_worker.h"
#include "state/database.h"
#include "state/home_format.h"
#include "state/stores.h"

#define GATE_LOST_TEXT_MAX 2048 /* bytes of the log line about lost stores */
#define GATE_SHIP_CHECK_MS 1000 /* delay until the log reports that shipping fails, or works again */

static void on_audit_changed(void *owner, const struct audit_health *health) {
    (void)owner;
    if (health->failed)
        log_error("the audit log cannot be written: %s; %s", health->fault,
                  health->passing ? "calls pass without a record" : "calls are refused");
    else if (health->refused || health->gaps)
        log_warn("the audit log can be written again; %llu calls were refused, %llu records are missing",
                 (unsigned long long)health->refused, (unsigned long long)health->gaps);
    if (health->finding[0])
        log_warn("audit log: %s; see sallyport audit verify", health->finding);
}

/* The shipper runs in a thread and does not log by itself. */
static void on_ship_look(struct io_timer *timer) {
    struct gate_stores *s = container_of(timer, struct gate_stores, ship_look);
    struct ship_health now;
    ship_health(s->ship, &now);
    if (now.failed && !s->ship_seen.failed)
        log_warn("the audit log is not shipped: %s; it is kept here and shipped later", now.fault);
    else if (!now.failed && s->ship_seen.failed)
        log_info("the audit log is shipped again");
    if (now.held && !s->ship_seen.held)
        log_error("calls are refused: %llu bytes of the audit log were not shipped, more than "
                  "audit.ship.backlog_mb",
                  (unsigned long long)now.backlog);
    s->ship_seen = now;
    io_timer_arm(s->core->up.loop, timer, GATE_SHIP_CHECK_MS, on_ship_look);
}

static int ship_open(struct gate_stores *s, struct err *err) {
    const struct gate_config *config = s->config;
    const struct ship_config ship = {.home = config->home,
                                     .dsn = config->ship.dsn,
                                     .gate = config->ship.gate,
                                     .keep_ms = config->ship.keep_ms,
                                     .backlog_max = config->ship.backlog_max,
                                     .audit = s->audit};
    if (!config->ship.dsn)
        return 0;
    if (ship_start(&ship, &s->ship, err) < 0)
        return -1;
    s->core->ship = s->ship;
    io_timer_arm(s->core->up.loop, &s->ship_look, GATE_SHIP_CHECK_MS, on_ship_look);
    return 0;
}

/* A lost store is created empty, so the loss is logged first. */
static void note_lost_store(void *ctx, const char *name, const char *meaning) {
    struct buf *out = ctx;
    log_error("`%s` was deleted from the home, or is empty: %s", name, meaning);
    buf_printf(out, "%s%s was deleted: %s", out->len ? "; " : "", name, meaning);
}

int gate_stores_join(struct gate_stores *s, struct err *err) {
    const char *dsn = s->config->state_database;
    s->failed = true;
    if (state_database_join(s->config->home, dsn, err) < 0)
        return dsn ? err_wrap(err, "state.database") : -1;
    s->failed = state_fleet_logins_start(s->config->home, &s->logins, err) < 0;
    return s->failed ? -1 : 0;
}

static void warn_counters(const struct gate_stores *s) {
    struct state_health health;
    if (!state_is_remote(s->state) || (s->config->worker && s->config->worker->index))
        return;
    state_health(s->state, &health);
    if (health.warning[0])
        log_warn("%s", health.warning);
}

static int counters_open(struct gate_stores *s, struct err *err) {
    const struct gate_config *config = s->config;
    struct state_config state = {
        .dsn = config->state_dsn,
        .dir = config->state_dir,
        .prefix = config->state_prefix,
        .fail_mode = config->state_fail_open ? STATE_FAIL_OPEN : STATE_FAIL_CLOSED,
        .timeout_ms = config->state_timeout_ms,
        .lease_calls = config->state_lease,
        .marks_dsn = config->state_marks ? config->state_database : NULL,
        .loop = s->core->up.loop,
    };
    const int rc = state_open(&state, &s->state, err);
    s->core->state = s->state;
    return rc;
}

static int log_open(struct gate_stores *s, struct err *err) {
    const struct gate_config *config = s->config;
    struct audit_config audit = {
        .home = config->home,
        .durable = config->audit_durable,
        .retain_ms = config->audit_keep_ms,
        .ships = config->ship.dsn != NULL,
        .segment_bytes = config->audit_segment_bytes,
        .on_full = config->audit_pass ? AUDIT_PASS : AUDIT_REFUSE,
        .changed = on_audit_changed,
        .loop = s->core->up.loop,
    };
    s->core->audit_args = config->audit_args;
    s->core->audit_hash_needed = config->audit_hash_needed;
    const int rc = audit_open(&audit, &s->audit, err);
    s->core->audit = s->audit;
    return rc;
}

int gate_stores_open(struct gate_stores *s, struct err *err) {
    const struct gate_config *config = s->config;
    struct state_dsn dsn;
    if (state_dsn_parse(config->state_dsn, &dsn, err) < 0)
        return -1;
    cleanup_buf struct buf lost;
    buf_init(&lost, GATE_LOST_TEXT_MAX);
    state_stores_missing(config->home, note_lost_store, &lost);
    if (config->state_dir && !slice_same_str(config->state_dir, config->home))
        state_stores_missing(config->state_dir, note_lost_store, &lost);
    s->failed = true;
    if (state_home_format_open(config->home, err) < 0 || counters_open(s, err) < 0 || log_open(s, err) < 0 ||
        stop_open(s->core, config->home, err) < 0)
        return -1;
    warn_counters(s);
    if (lost.len)
        audit_put_event(s->audit, SLICE("store_lost"), (struct slice){0}, (struct slice){0},
                        buf_slice(&lost));
    if (ship_open(s, err) < 0)
        return -1;
    s->failed = false;
    return 0;
}

void gate_stores_close(struct gate_stores *s) {
    ship_settle(s->ship);
    audit_close(s->audit);
    ship_end(s->ship);
    state_fleet_logins_end(s->logins);
    state_close(s->state);
}
