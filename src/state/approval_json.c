/* An approval as JSON: what the command line prints, the admin API answers and webhooks carry. */
#include "base/clock.h"
#include "state/approvals.h"
#include "wire/emit.h"
#include "wire/tape.h"

static void put_text(struct emit *e, const char *key, struct slice text) {
    if (!text.len)
        return;
    emit_key(e, key);
    emit_str(e, text);
}

/* As JSON, unless it was cut: then as text. */
static void put_json(struct emit *e, const char *key, struct slice json) {
    cleanup_tape struct tape t;
    tape_init(&t);
    if (!json.len)
        return;
    emit_key(e, key);
    if (tape_parse(&t, json, NULL) == TAPE_OK)
        emit_raw(e, json);
    else
        emit_str(e, json);
}

void state_approval_json(struct emit *e, const struct state_approval *r) {
    emit_object(e);
    put_text(e, "id", r->id);
    emit_key(e, "status");
    emit_cstr(e, state_approval_status_name(r->status));
    put_text(e, "identity", r->call.identity);
    put_text(e, "session", r->session);
    put_text(e, "server", r->call.server);
    put_text(e, "tool", r->call.tool);
    put_json(e, "arguments", r->args);
    if (r->args_cut) {
        emit_key(e, "arguments_cut");
        emit_bool(e, true);
    }
    put_text(e, "text", r->text);
    put_text(e, "rule", r->rule);
    put_text(e, "policy", r->policy);
    put_json(e, "approvers", r->approvers);
    emit_time(e, "created_at", r->created_ms);
    emit_time(e, "expires_at", r->expires_ms);
    emit_key(e, "asked");
    emit_int(e, (int64_t)r->asked);
    emit_time(e, "decided_at", r->decided_ms);
    put_text(e, "decided_by", r->decider);
    put_text(e, "note", r->note);
    if (r->code.len)
        put_text(e, "code", r->code);
    emit_time(e, "used_at", r->used_ms);
    emit_time(e, "repeat_until", r->repeat_ms);
    if (r->repeat_any) {
        emit_key(e, "repeat_any");
        emit_bool(e, true);
    }
    put_text(e, "stale", r->stale);
    put_text(e, "class", r->class);
    put_text(e, "url", r->url);
    put_text(e, "digest", r->digest);
    put_text(e, "arguments_hash", r->call.args_hash);
    put_text(e, "fingerprint", r->call.fingerprint);
    put_text(e, "policy_hash", r->call.policy_hash);
    emit_object_end(e);
}
