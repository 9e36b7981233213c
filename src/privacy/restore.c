#include "privacy/restore.h"

#include "call/answer.h"
#include "privacy/inner.h"
#include "privacy/limits.h"
#include "privacy/redact.h"
#include "server/server.h"

static bool refuse(struct call *c, const struct filter_report *report) {
    const struct privacy *pii = c->session->core->privacy;
    struct policy_verdict *v = &c->verdict;
    const char *name = "a value", *kind;
    for (unsigned i = 0; (kind = privacy_kind_name(pii, i)); i++)
        if (report->refused[i])
            name = kind;
    v->outcome = POLICY_DENY;
    v->reason = POLICY_BY_RULE;
    v->rule = SLICE("pii");
    v->text =
        privacy_is_restore(c->server, c->name)
            ? arena_printf(&c->arena,
                           "Values are not shown to the model: no rule about results lets %s pass here", name)
            : arena_printf(&c->arena, "The arguments hold %s that server \"%s\" may not have", name,
                           c->server->up.name);
    answer_denied(c);
    return false;
}

static bool fail(struct call *c) {
    answer_error(c, RPC_INTERNAL, 0, "the arguments could not be looked through for tokens");
    return false;
}

static size_t character_count(struct slice s) {
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        n += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
    return n;
}

/* "[SECRET_7K3QX9M2] stands for 42 characters": true, and without the value. */
static void describe_tokens(struct call *c, const struct filter_edits *edits) {
    cleanup_buf struct buf out;
    buf_init(&out, RESTORE_TEXT_MAX);
    for (size_t i = 0; i < edits->count && i < RESTORE_TOKENS_SHOWN; i++) {
        const struct splice_edit *e = &edits->at[i];
        buf_printf(&out, "%s%.*s stands for %zu characters", i ? ", " : "", (int)(e->end - e->start),
                   c->request->bytes.ptr + e->start, character_count(e->text));
    }
    if (edits->count > RESTORE_TOKENS_SHOWN)
        buf_printf(&out, ", and %zu more tokens", edits->count - RESTORE_TOKENS_SHOWN);
    c->stands_for = arena_dup(&c->arena, buf_slice(&out));
}

/* From here on the call is the one with the values: its arguments are read again, and so are the headers that
 * mirror them. The message with the tokens stays for those who must not see values. */
static bool rewrite(struct call *c, const struct filter_edits *edits) {
    struct splice text;
    splice_init(&text, c->request->bytes, &c->arena);
    struct msg *m = splice_merge(&text, edits->at, edits->count) ? call_reread(c, &text) : NULL;
    if (!m)
        return fail(c);
    describe_tokens(c, edits);
    c->asked = c->request; /* method and name point into it */
    c->asked_args = c->args;
    c->request = m;
    c->args = tape_get_str(&m->tape, m->rpc.params, "arguments");
    c->mirrored = false;
    c->extra_headers = (struct slice){0};
    return true;
}

bool restore_arguments(struct call *c) {
    struct session *s = c->session;
    if (!s->core->privacy || c->kind != CALL_TOOLS_CALL || !c->args || !c->server)
        return true;
    if (c->server->up.builtin && !privacy_is_restore(c->server, c->name))
        return true; /* code works with tokens: they turn back in the calls that it makes */
    if (!s->vault && s->core->privacy->scope == PRIVACY_SESSION)
        return true; /* no token was ever given out here */
    struct vault *v = vault_of(s);
    struct filter_report *report = arena_new(&c->arena, struct filter_report);
    const struct filter_rules rules = privacy_restore_rules(s, c->server, c->name, &c->arena);
    struct filter_edits edits = {0};
    const struct tape *t = &c->request->tape;
    if (!v)
        return fail(c);
    const enum filter_result leak = filter_check_json(vault_scope(v), &rules, t, c->args, report);
    const enum filter_result back =
        filter_restore_edits(vault_scope(v), &rules, t, c->args, &c->arena, &edits, report);
    privacy_count(s->core->privacy, report);
    c->restored_kinds = report->restored_kinds;
    if (leak == FILTER_FAILED || back == FILTER_FAILED)
        return fail(c);
    if (report->refused_total)
        return refuse(c, report);
    return back != FILTER_CHANGED || rewrite(c, &edits);
}
