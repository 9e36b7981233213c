#include "approval/approval.h"

#include "base/check.h"
#include "base/openssl.h"

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
        err_set(err, "`%.*s` is not pending: it is %s", SLICE_FMT(id),
                state_approval_status_name(after->status));
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
    unsigned char sum[32];
    size_t len = 0;
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(mac);
    char digest[] = "SHA256";
    const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string("digest", digest, 0),
                                 OSSL_PARAM_construct_end()};
    CHECK(ctx && EVP_MAC_init(ctx, (const unsigned char *)secret.ptr, secret.len, params) == 1 &&
          EVP_MAC_update(ctx, (const unsigned char *)stamp.ptr, stamp.len) == 1 &&
          EVP_MAC_update(ctx, (const unsigned char *)".", 1) == 1 &&
          EVP_MAC_update(ctx, (const unsigned char *)body.ptr, body.len) == 1 &&
          EVP_MAC_final(ctx, sum, &len, sizeof(sum)) == 1 && len == sizeof(sum));
    EVP_MAC_CTX_free(ctx);
    EVP_MAC_free(mac);
    int n = snprintf(ret_text, APPROVAL_SIGNATURE_TEXT, "v1=");
    for (size_t i = 0; i < sizeof(sum); i++)
        n += snprintf(ret_text + n, APPROVAL_SIGNATURE_TEXT - (size_t)n, "%02x", sum[i]);
}
