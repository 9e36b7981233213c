/* An approval as JSON: what the command line prints, the admin API answers and webhooks carry. */
#include "base/clock.h"
#include "state/approvals.h"
#include "wire/emit.h"
#include "wire/tape.h"

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
    emit_text(e, "id", r->id);
    emit_key(e, "status");
    emit_cstr(e, state_approval_status_name(r->status));
    emit_text(e, "identity", r->call.identity);
    emit_text(e, "session", r->session);
    emit_text(e, "server", r->call.server);
    emit_text(e, "tool", r->call.tool);
    put_json(e, "arguments", r->args);
    if (r->args_cut) {
        emit_key(e, "arguments_cut");
        emit_bool(e, true);
    }
    emit_text(e, "text", r->text);
    emit_text(e, "rule", r->rule);
    emit_text(e, "policy", r->policy);
    put_json(e, "approvers", r->approvers);
    emit_time(e, "created_at", r->created_ms);
    emit_time(e, "expires_at", r->expires_ms);
    emit_key(e, "asked");
    emit_int(e, (int64_t)r->asked);
    emit_time(e, "decided_at", r->decided_ms);
    emit_text(e, "decided_by", r->decider);
    emit_text(e, "note", r->note);
    if (r->code.len)
        emit_text(e, "code", r->code);
    emit_time(e, "used_at", r->used_ms);
    emit_time(e, "repeat_until", r->repeat_ms);
    if (r->repeat_any) {
        emit_key(e, "repeat_any");
        emit_bool(e, true);
    }
    emit_text(e, "stale", r->stale);
    emit_text(e, "class", r->class);
    emit_text(e, "url", r->url);
    emit_text(e, "digest", r->digest);
    emit_text(e, "arguments_hash", r->call.args_hash);
    emit_text(e, "fingerprint", r->call.fingerprint);
    emit_text(e, "policy_hash", r->call.policy_hash);
    emit_object_end(e);
}
