#include "approval/prompt.h"

#include "approval/limits.h"
#include "base/clock.h"
#include "base/glyph.h"
#include "wire/emit.h"

/* `elicitation` of the client's capabilities: {} and {"form":…} can show a form. */
static bool can_show_form(const struct tape *t, uint32_t capabilities) {
    uint32_t e = capabilities ? tape_get_str(t, capabilities, "elicitation") : 0;
    if (!e || !tape_is(t, e, TAPE_OBJECT))
        return false;
    return tape_node(t, e)->count == 0 || tape_get_str(t, e, "form");
}

static bool legacy_supported(const struct session *s) {
    cleanup_tape struct tape t;
    tape_init(&t);
    return s->init_params.len && tape_parse(&t, text_slice(s->init_params), NULL) == TAPE_OK &&
           can_show_form(&t, tape_get_str(&t, 0, "capabilities"));
}

bool approve_prompt_supported(const struct call *c) {
    const struct msg *m = c->request;
    if (!c->modern)
        return legacy_supported(c->session);
    return can_show_form(&m->tape, tape_path(&m->tape, m->rpc.params, "_meta",
                                             "io.modelcontextprotocol/clientCapabilities", NULL));
}

/* The question for the person at the client: the arguments decoded, without JSON escapes. */
static struct slice question(const struct state_approval *r, struct arena *a) {
    return arena_printf(a, "%.*s\n\n%.*s wants to call %.*s of server %.*s with %.*s",
                        SLICE_FMT(glyph_printable(r->text, APPROVE_TEXT_MAX, a)),
                        SLICE_FMT(glyph_printable(r->call.identity, APPROVE_TEXT_MAX, a)),
                        SLICE_FMT(glyph_printable(r->call.tool, APPROVE_TEXT_MAX, a)),
                        SLICE_FMT(glyph_printable(r->call.server, APPROVE_TEXT_MAX, a)),
                        SLICE_FMT(glyph_printable(r->args, APPROVE_TEXT_MAX, a)));
}

/* No choice is preselected: accepting without a choice approves nothing. */
struct slice approve_prompt_question(const struct state_approval *r, bool modern, struct arena *a) {
    struct buf out;
    buf_init(&out, APPROVE_QUESTION_MAX);
    struct emit e;
    emit_init(&e, &out);
    emit_object(&e);
    if (modern) {
        emit_key(&e, "mode");
        emit_cstr(&e, "form");
    }
    emit_key(&e, "message");
    emit_str(&e, question(r, a));
    emit_key(&e, "requestedSchema");
    emit_raw(&e, SLICE("{\"type\":\"object\",\"properties\":{\"decision\":{\"type\":\"string\",\"title\":"
                       "\"Decision\",\"enum\":[\"approve\",\"deny\"]}},\"required\":[\"decision\"]}"));
    emit_object_end(&e);
    struct slice json = out.full ? (struct slice){0} : arena_dup(a, buf_slice(&out));
    buf_free(&out);
    return json;
}

enum approve_answer approve_prompt_read(const struct tape *t, uint32_t result) {
    uint32_t action = result ? tape_get_str(t, result, "action") : 0;
    if (!action || tape_eq(t, action, SLICE("cancel")))
        return APPROVE_ANSWER_NONE;
    if (tape_eq(t, action, SLICE("decline")))
        return APPROVE_ANSWER_DENY;
    uint32_t decision = tape_path(t, result, "content", "decision", NULL);
    if (!tape_eq(t, action, SLICE("accept")) || !decision)
        return APPROVE_ANSWER_NONE;
    return tape_eq(t, decision, SLICE("approve")) ? APPROVE_ANSWER_APPROVE : APPROVE_ANSWER_DENY;
}

/* A text for the agent to pass on. It names no command: an agent must not be able to approve by running
 * it. */
static struct slice instructions(struct slice id, const char *console, struct arena *a) {
    struct slice where =
        console ? arena_printf(a, " at %s/approvals/%.*s", console, SLICE_FMT(id)) : (struct slice){0};
    return arena_printf(a,
                        "A person has to approve this call. Tell your operator that request %.*s waits for "
                        "approval%.*s, then make the same call again with the same arguments.",
                        SLICE_FMT(id), SLICE_FMT(where));
}

struct slice approve_prompt_pending(const struct state_approval *r, const char *console, struct arena *a) {
    char until[CLOCK_TEXT_MAX];
    clock_text(r->expires_ms, until);
    struct buf out;
    buf_init(&out, MSG_BYTES_MAX);
    struct emit e;
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "approval_id");
    emit_str(&e, r->id);
    emit_key(&e, "expires_at");
    emit_cstr(&e, until);
    emit_key(&e, "human_instructions");
    emit_str(&e, instructions(r->id, console, a));
    emit_object_end(&e);
    struct slice json = arena_dup(a, buf_slice(&out));
    buf_free(&out);
    return json;
}

struct slice approve_prompt_approvers(const struct policy_verdict *v, struct arena *a) {
    struct buf out;
    buf_init(&out, STATE_APPROVAL_TEXT_MAX);
    struct emit e;
    emit_init(&e, &out);
    emit_array(&e);
    for (size_t i = 0; i < v->approver_count; i++)
        emit_str(&e, v->approvers[i]);
    emit_array_end(&e);
    /* Fails closed: a list that does not fit names no approver. */
    struct slice json = out.full ? SLICE("[\"\"]") : arena_dup(a, buf_slice(&out));
    buf_free(&out);
    return json;
}
