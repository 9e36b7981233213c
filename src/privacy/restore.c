#include "privacy/restore.h"

#include "call/answer.h"
#include "privacy/limits.h"
#include "privacy/privacy.h"
#include "privacy/sent.h"
#include "server/server.h"

static enum call_next refuse(struct call *c, const struct filter_report *report) {
    const struct privacy *pii = c->session->core->privacy;
    const char *name = "a value", *kind;
    for (unsigned i = 0; (kind = privacy_kind_name(pii, i)); i++)
        if (report->refused[i])
            name = kind;
    struct slice place = {0};
    if (report->kept_back.end) {
        place = sent_place(c, &report->kept_back);
        name = privacy_kind_name(pii, report->kept_back.kind);
    }
    call_deny_as(
        c, POLICY_BY_RULE, SLICE("pii"),
        privacy_is_restore(c->server, c->name)
            ? arena_printf(&c->arena,
                           "Values are not shown to the model: no rule in `results` allows %s here", name)
            : arena_printf(&c->arena, "The arguments contain %s%s%.*s that server \"%s\" may not have", name,
                           place.len ? " in " : "", SLICE_FMT(place), c->server->up.name));
    c->verdict.path = place;
    return answer_deny(c);
}

static enum call_next fail(struct call *c) {
    return answer_refuse(c, RPC_INTERNAL, 0, "the arguments could not be scanned for tokens");
}

static size_t character_count(struct slice s) {
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        n += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
    return n;
}

/* "[SECRET_7K3QX9M2] stands for 42 characters": describes the value without revealing it. */
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

/* Replaces the call's request by one with values: its arguments and the headers that mirror them are read
 * again. The message with the tokens is kept for readers who must not see values. */
static enum call_next rewrite(struct call *c, const struct filter_edits *edits) {
    struct splice text;
    splice_init(&text, c->request->bytes, &c->arena);
    struct msg *m = splice_merge(&text, edits->at, edits->count) ? call_reread(c, &text) : NULL;
    if (!m)
        return fail(c);
    describe_tokens(c, edits);
    call_restore_request(c, m);
    call_set_headers(c, (struct slice){0}, false);
    return CALL_NEXT;
}

/* If the plain values of a call are only counted, the log gets their kinds. */
static void note_plain(struct call *c, const struct filter_report *report) {
    const struct privacy *pii = c->session->core->privacy;
    cleanup_buf struct buf out;
    const char *name;
    buf_init(&out, PRIVACY_SUMMARY_MAX);
    for (unsigned i = 0; report->found && (name = privacy_kind_name(pii, i)); i++)
        if (report->counts[i])
            buf_printf(&out, "%s%s %u", out.len ? ", " : "the arguments contain ", name, report->counts[i]);
    if (out.len)
        call_add_finding(c, arena_dup(&c->arena, buf_slice(&out)));
}

/* Only tokens in arguments of tools are restored. Code works with tokens, which are restored in the calls
 * that it makes. If no token was issued there is nothing to do. */
static bool turns_back(const struct call *c) {
    const struct session *s = c->session;
    return c->kind == CALL_TOOLS_CALL && c->args &&
           (!c->server->up.builtin || privacy_is_restore(c->server, c->name)) &&
           (s->vault || s->core->privacy->vaults.reach != VAULT_SESSION);
}

/* An identity that sends many unknown tokens is guessing: in a scope that several sessions share, a guess
 * could match another session's token. */
static bool is_guessing(struct call *c, uint32_t unknown) {
    struct privacy *pii = c->session->core->privacy;
    const size_t at = map_hash(slice_str(c->session->principal->id)) % RESTORE_BRAKES;
    const uint64_t minute = io_now_ms(c->session->core->up.loop) / 60000 + 1;
    if (!unknown || pii->vaults.reach == VAULT_SESSION)
        return false;
    if (pii->brakes[at].minute != minute)
        pii->brakes[at].unknown = 0;
    pii->brakes[at].minute = minute;
    pii->brakes[at].unknown += unknown;
    return pii->brakes[at].unknown > RESTORE_UNKNOWN_MAX;
}

static enum call_next refuse_guess(struct call *c) {
    call_deny_as(c, POLICY_BY_RULE, SLICE("pii"),
                 SLICE("Too many tokens in the arguments are not known here; try again in a minute"));
    return answer_deny(c);
}

enum call_next restore_step(struct call *c) {
    struct session *s = c->session;
    call_set_policy(c, server_policy(s, c->server)); /* the record of a refusal contains it */
    if (!s->core->privacy || !c->server)
        return CALL_NEXT;
    struct filter_rules plain = {0};
    const bool looks = sent_wanted(c, &plain), turns = turns_back(c);
    if (!looks && !turns)
        return CALL_NEXT;
    struct vault *v = privacy_vault(s);
    struct filter_report *report = arena_new(&c->arena, struct filter_report);
    struct filter_rules rules = privacy_restore_rules(s, c->server, c->name, &c->arena);
    rules.plain_refused = plain.plain_refused;
    rules.plain_noted = plain.plain_noted;
    rules.looks_for_tokens = turns;
    const struct tape *t = &c->request->tape;
    struct filter_edits edits = {0};
    if (v)
        vault_expect(v);
    if (!v || c->vault_failed ||
        (looks ? !sent_check(c, vault_scope(v), &rules, report)
               : filter_restore_check(vault_scope(v), &rules, t, c->args, report) == FILTER_FAILED))
        return fail(c);
    const enum filter_result back =
        report->may_restore
            ? filter_restore_edits(vault_scope(v), &rules, t, c->args, &c->arena, &edits, report)
            : FILTER_SAME;
    if (vault_fetches(v, c))
        return CALL_WAIT;
    note_plain(c, report);
    report->found = 0; /* values that servers returned */
    privacy_count(s->core->privacy, report);
    c->restored_kinds = report->restored_kinds;
    if (back == FILTER_FAILED)
        return fail(c);
    if (is_guessing(c, (uint32_t)report->unknown))
        return refuse_guess(c);
    if (report->refused_total)
        return refuse(c, report);
    return back == FILTER_CHANGED ? rewrite(c, &edits) : CALL_NEXT;
}
