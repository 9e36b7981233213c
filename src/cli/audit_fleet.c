#include "cli/audit_fleet.h"

#include "audit/format.h"
#include "base/mem.h"
#include "cli/command.h"
#include "ship/fleet_verify.h"
#include "wire/emit.h"

#include <inttypes.h>

#define AUDIT_FLEET_OUT_MAX (64u << 20) /* totals over all chains */

struct fleet_print {
    struct buf out;
    struct emit e;
    bool json;
};

static void fleet_chain_json(struct emit *e, const struct ship_chain_report *r) {
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"chain", r->chain},       {"records", r->records},         {"first_seq", r->first_seq},
                {"last_seq", r->last_seq}, {"checkpoints", r->checkpoints}, {"signed_seq", r->signed_seq}};
    emit_object(e);
    emit_key(e, "gate");
    emit_cstr(e, r->gate);
    emit_key(e, "log");
    emit_cstr(e, r->log);
    emit_key(e, "ok");
    emit_bool(e, r->sound);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        emit_key(e, rows[i].name);
        emit_int(e, (int64_t)rows[i].value);
    }
    emit_time(e, "shipped_at", r->at_ms);
    emit_key(e, "silent");
    emit_bool(e, r->silent);
    if (!r->sound) {
        emit_key(e, "first_bad");
        if (r->first_bad)
            emit_int(e, (int64_t)r->first_bad);
        else
            emit_null(e);
        emit_key(e, "error");
        emit_cstr(e, r->text);
    }
    emit_object_end(e);
}

static void fleet_chain(void *ctx, const struct ship_chain_report *r) {
    struct fleet_print *p = ctx;
    char time[AUDIT_TIME_TEXT];
    if (p->json) {
        fleet_chain_json(&p->e, r);
        return;
    }
    audit_format_local_time(r->at_ms * 1000, time);
    buf_printf(&p->out, "%s  chain %" PRIu64 " of gate %s: ", r->sound ? "sound    " : "NOT SOUND", r->chain,
               r->gate);
    if (!r->sound)
        buf_printf(&p->out, "%s\n", r->text);
    else
        buf_printf(&p->out,
                   "%" PRIu64 " records (%" PRIu64 " to %" PRIu64 "), %" PRIu64
                   " signed checkpoints, last shipped %s\n",
                   r->records, r->first_seq, r->last_seq, r->checkpoints, time);
    if (r->silent)
        buf_put_str(&p->out, "           its gate did not stop, and has shipped nothing since then\n");
}

static void fleet_end(struct fleet_print *p, const struct ship_report *r) {
    if (!p->json) {
        if (r->text[0])
            buf_printf(&p->out, "NOT SOUND: %s\n", r->text);
        buf_printf(&p->out,
                   "%" PRIu64 " chains, %" PRIu64 " of them not sound; %" PRIu64 " records; %" PRIu64
                   " statements of gates about each other\n",
                   r->chains, r->bad_chains, r->records, r->witnessed);
        return;
    }
    emit_array_end(&p->e);
    emit_key(&p->e, "ok");
    emit_bool(&p->e, r->sound);
    emit_key(&p->e, "records");
    emit_int(&p->e, (int64_t)r->records);
    emit_key(&p->e, "witnessed");
    emit_int(&p->e, (int64_t)r->witnessed);
    if (r->text[0]) {
        emit_key(&p->e, "error");
        emit_cstr(&p->e, r->text);
    }
    emit_object_end(&p->e);
    buf_put_char(&p->out, '\n');
}

int cli_audit_verify_fleet(const char *home, const char *key, bool json) {
    struct fleet_print p = {.json = json};
    struct ship_report report;
    struct err err = {0};
    buf_init(&p.out, AUDIT_FLEET_OUT_MAX);
    emit_init(&p.e, &p.out);
    if (json) {
        emit_object(&p.e);
        emit_key(&p.e, "chains");
        emit_array(&p.e);
    }
    ship_verify(home, key, fleet_chain, &p, &report);
    int status = CLI_FAILED;
    if (report.unreadable) {
        err_set(&err, "%s", report.text);
        cli_fail(CLI_FAILED, &err);
    } else {
        fleet_end(&p, &report);
        status = cli_print(&p.out);
        if (status == CLI_OK && !report.sound)
            status = CLI_NO;
    }
    buf_free(&p.out);
    return status;
}
