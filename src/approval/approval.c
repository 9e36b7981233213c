#include "approval/approval.h"

#include "base/check.h"
#include "base/hex.h"
#include "base/mem.h"
#include "base/sha.h"

#include <stdio.h>

enum audit_result approval_record(struct audit *audit, const char *event, const struct state_approval *r,
                                  struct slice who) {
    cleanup_arena struct arena a;
    arena_init(&a);
    struct slice text =
        r->note.len ? arena_printf(&a, "%.*s: %.*s", SLICE_FMT(r->id), SLICE_FMT(r->note)) : r->id;
    struct audit_action action = {
        .name = slice_str(event),
        .identity = who,
        .session = r->session,
        .server = r->call.server,
        .tool = r->call.tool,
        .rule = r->rule,
        .policy = r->policy,
        .policy_hash = r->call.policy_hash,
        .args_hash = r->call.args_hash,
        .fingerprint = r->call.fingerprint,
        .text = text,
    };
    return audit_put_action(audit, &action);
}

void approval_refusal(enum state_decide why, struct slice id, const struct state_approval *after,
                      struct err *err) {
    switch (why) {
    case STATE_DECIDE_UNKNOWN:
        err_set(err, "no approval `%.*s`", SLICE_FMT(id));
        break;
    case STATE_DECIDE_OVER:
        err_set(err, "`%.*s` is not pending: it is %s%s%.*s", SLICE_FMT(id),
                state_approval_status_name(after->status),
                after->status == STATE_APPROVAL_EXPIRED && after->note.len ? ", because " : "",
                SLICE_FMT(after->status == STATE_APPROVAL_EXPIRED ? after->note : (struct slice){0}));
        break;
    case STATE_DECIDE_SELF:
        err_set(err, "`%.*s` was asked for by the same identity: somebody else has to decide", SLICE_FMT(id));
        break;
    case STATE_DECIDE_OTHERS:
        err_set(err, "`%.*s` can be decided only by %.*s", SLICE_FMT(id), SLICE_FMT(after->approvers));
        break;
    case STATE_DECIDED:
    case STATE_DECIDE_FAULT:
        break;
    }
}

void approval_sign(struct slice secret, struct slice stamp, struct slice body,
                   char ret_text[APPROVAL_SIGNATURE_TEXT]) {
    unsigned char sum[SHA_BYTES];
    const struct slice parts[] = {stamp, SLICE("."), body};
    sha_hmac_once(secret, parts, ARRAY_LEN(parts), sum);
    memcpy(ret_text, "v1=", 3);
    hex_str(sum, sizeof(sum), ret_text + 3);
}
