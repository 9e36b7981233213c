#include "approval/approval.h"

#include "base/check.h"
#include "base/hex.h"
#include "base/mem.h"
#include "base/sha.h"
#include "policy/policy.h"
#include "server/server.h"

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
        err_set(err, "`%.*s` was requested by the same identity: another person must decide", SLICE_FMT(id));
        break;
    case STATE_DECIDE_OTHERS:
        err_set(err, "`%.*s` can be decided only by %.*s", SLICE_FMT(id), SLICE_FMT(after->approvers));
        break;
    case STATE_DECIDED:
    case STATE_DECIDE_FAULT:
        break;
    }
}

/* ---- is the approval still valid? ---- */

struct hashes {
    void (*each)(void *ctx, const char *hash);
    void *ctx;
};

static void put_file(void *ctx, const struct core_policy *one) {
    const struct hashes *h = ctx;
    if (one->policy)
        h->each(h->ctx, policy_hash(one->policy));
}

void approval_policies(const struct core *core, void (*each)(void *ctx, const char *hash), void *ctx) {
    struct hashes h = {each, ctx};
    if (core->policy)
        each(ctx, policy_hash(core->policy));
    for (size_t i = 0; i < core->server_count; i++)
        if (core->servers[i] && core->servers[i]->policy)
            each(ctx, policy_hash(core->servers[i]->policy));
    if (core->files.each_policy)
        core->files.each_policy(core->files.owner, put_file, &h);
}

struct search {
    struct slice hash;
    bool found;
};

static void match_hash(void *ctx, const char *hash) {
    struct search *s = ctx;
    s->found = s->found || slice_is(s->hash, hash);
}

struct slice approval_stale(struct core *core, const struct state_approval *r) {
    bool open = r->status == STATE_APPROVAL_PENDING || r->status == STATE_APPROVAL_APPROVED || r->repeat_ms;
    if (!open)
        return (struct slice){0};
    struct search search = {.hash = r->call.policy_hash};
    approval_policies(core, match_hash, &search);
    if (!search.found)
        return SLICE("The policy has changed since.");
    const struct server *server = server_find(core, r->call.server);
    const struct tool *tool = server ? map_get(&server->tools.by_name, r->call.tool) : NULL;
    if (tool && r->call.fingerprint.len && !slice_is(r->call.fingerprint, tool->fingerprint))
        return SLICE("The definition of the tool has changed since.");
    return (struct slice){0};
}

void approval_sign(struct slice secret, struct slice stamp, struct slice body,
                   char ret_text[APPROVAL_SIGNATURE_TEXT]) {
    unsigned char sum[SHA_BYTES];
    const struct slice parts[] = {stamp, SLICE("."), body};
    sha_hmac_once(secret, parts, ARRAY_LEN(parts), sum);
    memcpy(ret_text, "v1=", 3);
    hex_str(sum, sizeof(sum), ret_text + 3);
}
