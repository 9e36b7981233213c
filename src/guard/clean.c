#include "guard/clean.h"

#include "base/mem.h"
#include "call/answer.h"
#include "risk/confusable.h"
#include "risk/poison.h"
#include "wire/base64.h"

/* The detectors that make a string of a denied definition one that is replaced. */
#define REPLACED (1u << RISK_PSEUDO_TAG | 1u << RISK_IMPERATIVE | 1u << RISK_SENSITIVE)
#define STRIPPED (1u << RISK_INVISIBLE | 1u << RISK_CONTROL)

struct cleaning {
    struct arena *a;
    const struct tape *t;
    struct splice *text; /* NULL: only checks whether cleaning would work */
    bool stuck;          /* something cannot be cleaned */
};

static bool carries(struct slice text, uint32_t what, struct arena *a, struct risk_findings *f) {
    *f = (struct risk_findings){0};
    risk_poison_text(NULL, NULL, text, SLICE("text"), a, f);
    return f->seen & what;
}

static void put_removed(struct buf *out, const struct risk_findings *f) {
    size_t i = 0;
    while (i + 1 < f->count && !(REPLACED >> f->items[i].detector & 1))
        i++;
    buf_printf(out, "[removed by the gate: %s]", risk_detector_name(f->items[i].detector));
}

/* The text without invisible characters, and with a placeholder for every line that contains instructions;
 * if they span lines, a placeholder for the complete text. */
static void clean_text(struct slice text, struct arena *a, struct buf *out) {
    struct risk_findings f;
    struct buf seen;
    buf_init(&seen, MSG_BYTES_MAX);
    risk_strip(text, &seen);
    struct slice rest = arena_dup(a, buf_slice(&seen)), line;
    buf_free(&seen);
    bool more = rest.len > 0;
    while (more) {
        more = slice_cut(&rest, '\n', &line);
        if (carries(line, REPLACED, a, &f))
            put_removed(out, &f);
        else
            buf_put_slice(out, line);
        if (more)
            buf_put_char(out, '\n');
    }
    if (!carries(buf_slice(out), REPLACED, a, &f))
        return;
    buf_reset(out);
    put_removed(out, &f);
}

static struct slice cleaned(struct slice text, struct arena *a) {
    cleanup_buf struct buf out;
    buf_init(&out, MSG_BYTES_MAX);
    clean_text(text, a, &out);
    return answer_quoted(a, buf_slice(&out));
}

static void clean_string(void *ctx, uint32_t node, bool key, struct slice text, struct slice where) {
    struct cleaning *w = ctx;
    struct risk_findings f;
    if (!carries(text, REPLACED | STRIPPED, w->a, &f))
        return;
    if (key || slice_is(where, "name"))
        w->stuck = true;
    else if (w->text && !splice_value(w->text, w->t, node, cleaned(text, w->a)))
        w->stuck = true;
}

static bool is_cleanable(struct call *c, uint32_t elem) {
    const struct tape *t = &c->response->tape;
    struct slice name = tape_text(t, tape_get_str(t, elem, "name"), &c->arena);
    struct cleaning w = {.a = &c->arena, .t = t, .stuck = risk_name_bad(name, &c->arena)};
    risk_strings_each(t, elem, "", NULL, &c->arena, clean_string, &w);
    return !w.stuck;
}

bool clean_hides(struct call *c, const struct tool *tool, uint32_t elem, uint64_t serial) {
    const struct core *core = c->session->core;
    bool pinned = guard_pins(core, c->server);
    if (!core->guard || (!pinned && guard_of_definitions(core) < GUARD_STRIP))
        return false;
    /* Elements that were not judged here (a second one of that name) are not shown. */
    if (!tool || tool->serial != serial || tool->elem != elem)
        return true;
    return tool->held || guard_is_poisoned(core, tool) || (tool->poison && !is_cleanable(c, elem));
}

bool clean_list(struct call *c, uint32_t tools, uint64_t serial, struct splice *text) {
    const struct tape *t = &c->response->tape;
    if (guard_of_definitions(c->session->core) != GUARD_STRIP)
        return true;
    struct cleaning w = {.a = &c->arena, .t = t, .text = text};
    TAPE_FOR_ELEM(t, tools, elem) {
        uint32_t name = tape_is(t, elem, TAPE_OBJECT) ? tape_get_str(t, elem, "name") : 0;
        if (!name || !tape_is(t, name, TAPE_STRING))
            continue;
        const struct tool *tool = tool_find(&c->server->tools, tape_text(t, name, &c->arena));
        if (tool && tool->poison && !clean_hides(c, tool, elem, serial))
            risk_strings_each(t, elem, "", NULL, &c->arena, clean_string, &w);
    }
    return !w.stuck;
}

/* ---- instructions ---- */

struct slice clean_instructions(struct core *core, const struct server *server, struct slice text,
                                struct arena *a) {
    enum guard_mode mode = guard_of_definitions(core);
    struct risk_findings f;
    if (mode == GUARD_OFF || !carries(text, ~0u, a, &f))
        return text;
    for (size_t i = 0; i < f.count; i++)
        f.items[i].where = SLICE("instructions");
    bool deny = risk_findings_deny(&f);
    guard_record(core, deny,
                 arena_printf(a, "server `%s`: %.*s", server->up.name, SLICE_FMT(risk_findings_text(&f, a))));
    if (!deny || mode == GUARD_FLAG)
        return text;
    cleanup_buf struct buf out;
    buf_init(&out, MSG_BYTES_MAX);
    if (mode == GUARD_STRIP)
        clean_text(text, a, &out);
    return arena_dup(a, buf_slice(&out));
}

/* Where tools are pinned, the gate notifies about changed lists itself, whether or not the server does. */
static void offer_changes(struct call *c, struct splice *text) {
    const struct msg *m = c->response;
    uint32_t tools = tape_path(&m->tape, m->rpc.body, "capabilities", "tools", NULL);
    if (!guard_pins(c->session->core, c->server) || !tools || !tape_is(&m->tape, tools, TAPE_OBJECT))
        return;
    uint32_t says = tape_get_str(&m->tape, tools, "listChanged");
    if (!says)
        splice_add_member(text, &m->tape, tools, SLICE("listChanged"), SLICE("true"));
    else if (!tape_is(&m->tape, says, TAPE_TRUE))
        splice_value(text, &m->tape, says, SLICE("true"));
}

static void clean_description(struct call *c, struct splice *text) {
    const struct msg *m = c->response;
    offer_changes(c, text);
    uint32_t node = tape_get_str(&m->tape, m->rpc.body, "instructions");
    if (!node || !tape_is(&m->tape, node, TAPE_STRING))
        return;
    struct slice original = tape_text(&m->tape, node, &c->arena);
    struct slice shown = clean_instructions(c->session->core, c->server, original, &c->arena);
    if (!slice_eq(original, shown))
        splice_value(text, &m->tape, node, answer_quoted(&c->arena, shown));
}

struct slice clean_description_text(struct call *c, struct slice json) {
    cleanup_tape struct tape t;
    tape_init(&t);
    if (guard_of_definitions(c->session->core) < GUARD_FLAG || tape_parse(&t, json, NULL) != TAPE_OK)
        return json;
    uint32_t node = tape_get_str(&t, 0, "instructions");
    if (!node || !tape_is(&t, node, TAPE_STRING))
        return json;
    struct slice original = tape_text(&t, node, &c->arena);
    struct slice shown = clean_instructions(c->session->core, c->server, original, &c->arena);
    if (slice_eq(original, shown))
        return json;
    struct splice edited;
    splice_init(&edited, json, &c->arena);
    splice_value(&edited, &t, node, answer_quoted(&c->arena, shown));
    cleanup_buf struct buf out;
    buf_init(&out, MSG_BYTES_MAX);
    splice_write(&edited, &out);
    return arena_dup(&c->arena, buf_slice(&out));
}

/* ---- results ---- */

/* A skill is written for models to follow, as definitions are; a cleaned one would not match its digest. */
static enum guard_mode mode_for(const struct call *c) {
    enum guard_mode results = guard_of_results(c->session->core);
    enum guard_mode definitions = guard_of_definitions(c->session->core);
    if (!slice_is(c->method, "resources/read") || !guard_is_skill_call(c))
        return results;
    enum guard_mode mode = definitions > results ? definitions : results;
    return mode == GUARD_STRIP ? GUARD_DENY : mode;
}

static bool clean_result(struct call *c, struct splice *text) {
    enum guard_mode mode = mode_for(c);
    const struct msg *m = c->response;
    if (mode == GUARD_OFF)
        return true;
    struct risk_findings f = {0};
    risk_poison_result(&m->tape, m->rpc.body, &c->arena, &f);
    if (!risk_findings_deny(&f))
        return true;
    call_add_finding(c, risk_findings_text(&f, &c->arena));
    /* From now on calls in this session may be influenced by untrusted text. */
    call_add_flow(c, POLICY_SRC_UNTRUSTED);
    if (mode == GUARD_FLAG)
        return true;
    if (mode == GUARD_STRIP) {
        static const char *const encoded[] = {"data", "blob", NULL};
        struct cleaning w = {.a = &c->arena, .t = &m->tape, .text = text};
        risk_strings_each(&m->tape, m->rpc.body, "", encoded, &c->arena, clean_string, &w);
        if (!w.stuck)
            return true;
    }
    guard_deny(c, POLICY_BY_POISON, SLICE("(poison)"),
               mode == GUARD_HIDE
                   ? SLICE("The result is not available")
                   : arena_printf(&c->arena, "The result is withheld: %.*s", SLICE_FMT(c->findings)));
    return false;
}

/* ---- skills ---- */

/* A skill is never cleaned: its texts must match its digests and its SKILL.md. */
static bool is_poisoned_skill(struct call *c, const struct tape *t, uint32_t skill) {
    struct core *core = c->session->core;
    struct risk_findings f = {0};
    if (guard_of_definitions(core) == GUARD_OFF)
        return false;
    risk_poison_value(NULL, NULL, t, skill, "skill", &c->arena, &f);
    bool deny = risk_findings_deny(&f);
    if (f.seen)
        guard_record(core, deny,
                     arena_printf(&c->arena, "server `%s`: %.*s", c->server->up.name,
                                  SLICE_FMT(risk_findings_text(&f, &c->arena))));
    return deny && guard_of_definitions(core) > GUARD_FLAG;
}

static bool hides_skill(void *ctx, const struct tape *t, uint32_t skill) {
    struct call *c = ctx;
    return guard_skill_held(c->session->core, c->server, t, skill, &c->arena) ||
           is_poisoned_skill(c, t, skill);
}

static enum call_next withhold_pinned(struct call *c, const char *why) {
    guard_deny(c, POLICY_BY_PIN, SLICE("(pin)"), slice_str(why));
    answer_withheld(c, "pin");
    return CALL_FAIL;
}

static enum call_next filter_skill(struct call *c, const struct tape *t, uint32_t skill) {
    const char *held = guard_skill_held(c->session->core, c->server, t, skill, &c->arena);
    if (held)
        return withhold_pinned(c, held);
    if (!is_poisoned_skill(c, t, skill))
        return CALL_NEXT;
    guard_deny(c, POLICY_BY_POISON, SLICE("(poison)"), SLICE("The skill carries instructions"));
    answer_withheld(c, "poisoned");
    return CALL_FAIL;
}

/* Exactly one content, with the accepted digest. Of several, some clients read the first and others the
 * last. */
static enum call_next filter_file(struct call *c, const struct tape *t, uint32_t contents) {
    if (!guard_pins(c->session->core, c->server))
        return CALL_NEXT;
    uint32_t item = tape_is(t, contents, TAPE_ARRAY) && tape_node(t, contents)->count == 1 ? contents + 1 : 0;
    bool object = item && tape_is(t, item, TAPE_OBJECT);
    uint32_t text = object ? tape_get_str(t, item, "text") : 0,
             blob = object ? tape_get_str(t, item, "blob") : 0;
    struct slice bytes;
    if (text && !blob && tape_is(t, text, TAPE_STRING))
        bytes = tape_text(t, text, &c->arena);
    else if (!blob || text || !tape_is(t, blob, TAPE_STRING) ||
             !base64_get(tape_text(t, blob, &c->arena), BASE64_PADDED, &c->arena, &bytes))
        return withhold_pinned(c, "the file of a pinned skill cannot be read");
    const char *held = guard_file_held(c->session->core, c->server, c->name, bytes, &c->arena);
    return held ? withhold_pinned(c, held) : CALL_NEXT;
}

/* ---- passes of FILTER ---- */

/* Content that a model reads, and that third parties may have written. */
static bool brings_content(const struct call *c) {
    return c->kind == CALL_TOOLS_CALL || slice_is(c->method, "resources/read") ||
           slice_is(c->method, "prompts/get") || slice_is(c->method, "tasks/result") ||
           slice_is(c->method, "tasks/get"); /* in the modern era, the result of a completed task */
}

enum call_next clean_filter_description(struct call *c) {
    if (c->kind == CALL_INITIALIZE || c->kind == CALL_DISCOVER)
        clean_description(c, c->answer);
    return CALL_NEXT;
}

enum call_next clean_filter_skills(struct call *c) {
    const struct msg *m = c->response;
    if (!guard_is_skill_call(c))
        return CALL_NEXT;
    if (slice_is(c->method, "skills/get")) {
        uint32_t skill = tape_get_str(&m->tape, m->rpc.body, "skill");
        return skill ? filter_skill(c, &m->tape, skill) : CALL_NEXT;
    }
    if (slice_is(c->method, "resources/read")) {
        uint32_t contents = tape_get_str(&m->tape, m->rpc.body, "contents");
        return contents ? filter_file(c, &m->tape, contents) : CALL_NEXT;
    }
    uint32_t skills = slice_is(c->method, "skills/list") ? tape_get_str(&m->tape, m->rpc.body, "skills") : 0;
    if (!skills || (tape_is(&m->tape, skills, TAPE_ARRAY) &&
                    splice_drop_elems(c->answer, &m->tape, skills, hides_skill, c)))
        return CALL_NEXT;
    return answer_refuse(c, RPC_INTERNAL, 502, "the server's list of skills could not be filtered");
}

enum call_next clean_filter_result(struct call *c) {
    if (!brings_content(c) || clean_result(c, c->answer))
        return CALL_NEXT;
    answer_withheld(c, "poisoned");
    return CALL_FAIL;
}
