#include "session/poison.h"

#include "base/mem.h"
#include "risk/glyph.h"
#include "risk/poison.h"
#include "session/tools.h"
#include "wire/emit.h"

/* What makes a string one that is replaced, in a definition that deserves a denial. */
#define REPLACED (1u << RISK_PSEUDO_TAG | 1u << RISK_IMPERATIVE | 1u << RISK_SENSITIVE)
#define STRIPPED (1u << RISK_INVISIBLE | 1u << RISK_CONTROL)

struct cleaning {
    struct call *c;
    const struct tape *t;
    struct splice *text; /* NULL: only asks whether it would do */
    uint32_t replaced;   /* detectors whose strings are replaced as a whole */
    bool stuck;          /* something cannot be cleaned */
};

/* The string without what cannot be seen, or a word about what was there. */
static struct slice cleaned(struct cleaning *w, struct slice text, const struct risk_findings *f) {
    struct arena *a = &w->c->arena;
    struct buf out;
    buf_init(&out, MSG_BYTES_MAX);
    if (f->seen & w->replaced) {
        buf_put_str(&out, "[removed by the gate: ");
        buf_put_slice(&out, slice_str(risk_detector_name(f->items[0].detector)));
        buf_put_char(&out, ']');
    } else {
        risk_strip(text, &out);
    }
    struct buf json;
    buf_init(&json, MSG_BYTES_MAX);
    emit_quote(&json, buf_slice(&out));
    struct slice kept = arena_dup(a, buf_slice(&json));
    buf_free(&out);
    buf_free(&json);
    return kept;
}

static void clean_string(void *ctx, uint32_t node, bool key, struct slice text, struct slice where) {
    struct cleaning *w = ctx;
    struct risk_findings f = {0};
    risk_poison_text(NULL, NULL, text, where, &w->c->arena, &f);
    if (!(f.seen & (w->replaced | STRIPPED)))
        return;
    if (key || slice_is(where, "name"))
        w->stuck = true;
    else if (w->text && !splice_value(w->text, w->t, node, cleaned(w, text, &f)))
        w->stuck = true;
}

bool poison_can_strip(struct call *c, uint32_t elem) {
    const struct tape *t = &c->response->tape;
    struct slice name = tape_text(t, tape_get_str(t, elem, "name"), &c->arena);
    struct cleaning w = {.c = c, .t = t, .replaced = REPLACED, .stuck = !risk_name_plain(name)};
    risk_strings_each(t, elem, "", NULL, &c->arena, clean_string, &w);
    return !w.stuck;
}

bool poison_strip_list(struct call *c, uint32_t tools, uint64_t serial, struct splice *text) {
    const struct tape *t = &c->response->tape;
    if (guard_of_definitions(c->session->core) != SESSION_POISON_STRIP)
        return true;
    struct cleaning w = {.c = c, .t = t, .text = text, .replaced = REPLACED};
    TAPE_FOR_ELEM(t, tools, elem) {
        uint32_t name = tape_is(t, elem, TAPE_OBJECT) ? tape_get_str(t, elem, "name") : 0;
        if (!name || !tape_is(t, name, TAPE_STRING))
            continue;
        const struct tool *tool = tools_find(c->link, tape_text(t, name, &c->arena));
        if (tool && tool->poison && !guard_hides(c, tool, elem, serial))
            risk_strings_each(t, elem, "", NULL, &c->arena, clean_string, &w);
    }
    return !w.stuck;
}

/* ---- instructions ---- */

bool poison_instructions_ok(struct session_core *core, const struct session_server *server,
                            struct slice text) {
    enum session_poison mode = guard_of_definitions(core);
    if (mode == SESSION_POISON_OFF)
        return true;
    cleanup_arena struct arena a;
    arena_init(&a);
    struct risk_findings f = {0};
    risk_poison_text(NULL, NULL, text, SLICE("instructions"), &a, &f);
    if (!f.seen)
        return true;
    struct slice what = risk_findings_text(&f, &a);
    bool deny = risk_findings_deny(&f);
    guard_record(core, deny, arena_printf(&a, "server `%s`: %.*s", server->up.name, SLICE_FMT(what)));
    return !deny || mode == SESSION_POISON_FLAG;
}

/* Where tools are pinned the gate has something to say about the list, whatever its server does. */
static void offer_changes(struct call *c, struct splice *text) {
    const struct msg *m = c->response;
    uint32_t tools = tape_path(&m->tape, m->rpc.body, "capabilities", "tools", NULL);
    if (!guard_wants_definitions(c->session->core) || !tools || !tape_is(&m->tape, tools, TAPE_OBJECT))
        return;
    uint32_t says = tape_get_str(&m->tape, tools, "listChanged");
    if (!says)
        splice_add_member(text, &m->tape, tools, SLICE("listChanged"), SLICE("true"));
    else if (!tape_is(&m->tape, says, TAPE_TRUE))
        splice_value(text, &m->tape, says, SLICE("true"));
}

void poison_filter_hello(struct call *c, struct splice *text) {
    const struct msg *m = c->response;
    offer_changes(c, text);
    uint32_t node = tape_get_str(&m->tape, m->rpc.body, "instructions");
    if (!node || !tape_is(&m->tape, node, TAPE_STRING))
        return;
    struct slice said = tape_text(&m->tape, node, &c->arena);
    if (!poison_instructions_ok(c->session->core, c->server, said))
        splice_value(text, &m->tape, node, SLICE("\"\""));
}

struct slice poison_clean_hello(struct call *c, struct slice json) {
    cleanup_tape struct tape t;
    tape_init(&t);
    if (guard_of_definitions(c->session->core) < SESSION_POISON_FLAG || tape_parse(&t, json, NULL) != TAPE_OK)
        return json;
    uint32_t node = tape_get_str(&t, 0, "instructions");
    if (!node || !tape_is(&t, node, TAPE_STRING) ||
        poison_instructions_ok(c->session->core, c->link->server, tape_text(&t, node, &c->arena)))
        return json;
    struct splice edited;
    splice_init(&edited, json, &c->arena);
    splice_value(&edited, &t, node, SLICE("\"\""));
    cleanup_buf struct buf out;
    buf_init(&out, MSG_BYTES_MAX);
    splice_write(&edited, &out);
    return arena_dup(&c->arena, buf_slice(&out));
}

/* ---- results ---- */

bool poison_filter_result(struct call *c, struct splice *text) {
    enum session_poison mode = guard_of_results(c->session->core);
    const struct msg *m = c->response;
    if (mode == SESSION_POISON_OFF)
        return true;
    struct risk_findings f = {0};
    risk_poison_result(&m->tape, m->rpc.body, &c->arena, &f);
    if (!risk_findings_deny(&f))
        return true;
    c->findings = risk_findings_text(&f, &c->arena);
    /* What follows in this session may be the stranger's idea. */
    c->session->flow |= POLICY_SRC_UNTRUSTED;
    if (mode == SESSION_POISON_FLAG)
        return true;
    if (mode == SESSION_POISON_STRIP && f.seen & STRIPPED) {
        static const char *const encoded[] = {"data", "blob", NULL};
        struct cleaning w = {.c = c, .t = &m->tape, .text = text};
        risk_strings_each(&m->tape, m->rpc.body, "", encoded, &c->arena, clean_string, &w);
        if (!w.stuck)
            return true;
    } else if (mode == SESSION_POISON_STRIP) {
        return true;
    }
    guard_deny(c, POLICY_BY_POISON, SLICE("(poison)"),
               arena_printf(&c->arena, "The result is withheld: %.*s", SLICE_FMT(c->findings)));
    return false;
}
