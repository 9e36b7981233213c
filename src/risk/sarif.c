/* The survey as SARIF 2.1.0, for code-scanning pages. */
#include "base/mem.h"
#include "risk/survey.h"
#include "wire/emit.h"

struct writer {
    struct emit e;
    struct slice uri;
    struct slice server;
    struct arena *a;
};

static void put_rule(struct emit *e, const char *id, const char *text) {
    emit_object(e);
    emit_key(e, "id");
    emit_cstr(e, id);
    emit_key(e, "shortDescription");
    emit_object(e);
    emit_key(e, "text");
    emit_cstr(e, text);
    emit_object_end(e);
    emit_object_end(e);
}

static void put_rules(struct emit *e, struct arena *a) {
    emit_array(e);
    for (int cls = RISK_EXECUTE; cls < RISK_CLASSES; cls++) {
        const char *name = risk_class_name((enum risk_class)cls);
        put_rule(e, arena_printf(a, "class-%s", name).ptr,
                 arena_printf(a, "The tool is classified %s", name).ptr);
    }
    for (int d = 1; d < RISK_DETECTORS; d++)
        put_rule(e, risk_detector_id((enum risk_detector)d), risk_detector_name((enum risk_detector)d));
    put_rule(e, "hint-mismatch", "The server calls a tool read-only that is not");
    put_rule(e, "drift", "A definition is not what was accepted or published");
    put_rule(e, "impostor", "The package imitates the name of a known one");
    emit_array_end(e);
}

static void put_result(struct writer *w, const char *rule, const char *level, struct slice tool,
                       struct slice text) {
    struct emit *e = &w->e;
    emit_object(e);
    emit_key(e, "ruleId");
    emit_cstr(e, rule);
    emit_key(e, "level");
    emit_cstr(e, level);
    emit_key(e, "message");
    emit_object(e);
    emit_key(e, "text");
    emit_str(e, text);
    emit_object_end(e);
    emit_key(e, "locations");
    emit_array(e);
    emit_object(e);
    emit_key(e, "physicalLocation");
    emit_object(e);
    emit_key(e, "artifactLocation");
    emit_object(e);
    emit_key(e, "uri");
    emit_str(e, w->uri);
    emit_object_end(e);
    emit_object_end(e);
    emit_key(e, "logicalLocations");
    emit_array(e);
    emit_object(e);
    emit_key(e, "name");
    emit_str(e, tool);
    emit_key(e, "fullyQualifiedName");
    emit_str(e, arena_printf(w->a, "%.*s/%.*s", SLICE_FMT(w->server), SLICE_FMT(tool)));
    emit_key(e, "kind");
    emit_cstr(e, "function");
    emit_object_end(e);
    emit_array_end(e);
    emit_object_end(e);
    emit_array_end(e);
    emit_object_end(e);
}

static void put_findings(struct writer *w, struct slice tool, const struct risk_findings *findings) {
    for (size_t i = 0; i < findings->count; i++) {
        const struct risk_finding *f = &findings->items[i];
        struct slice text = arena_printf(w->a, "%s in %.*s: %.*s", risk_detector_name(f->detector),
                                         SLICE_FMT(f->where), SLICE_FMT(f->text));
        put_result(w, risk_detector_id(f->detector), risk_findings_deny(findings) ? "error" : "note", tool,
                   text);
    }
}

static void put_tool(struct writer *w, const struct risk_surveyed *tool) {
    const struct risk_report *r = &tool->entry.report;
    struct slice name = tool->entry.name;
    if (r->cls >= RISK_EXECUTE) {
        struct slice why =
            r->evidence_count ? risk_evidence_text(&r->evidence[0], w->a) : SLICE("no evidence");
        put_result(w, arena_printf(w->a, "class-%s", risk_class_name(r->cls)).ptr,
                   r->severity == RISK_CRITICAL ? "warning" : "note", name,
                   arena_printf(w->a, "`%.*s` is %s (%.*s)", SLICE_FMT(name), risk_class_name(r->cls),
                                SLICE_FMT(why)));
    }
    put_findings(w, name, &tool->findings);
    if (r->hint_mismatch)
        put_result(w, "hint-mismatch", "warning", name,
                   SLICE("readOnlyHint on a tool that does more than read"));
    if (tool->pin.pin != RISK_PIN_OK)
        put_result(w, "drift", "error", name, tool->pin.reason);
    else if (tool->differs)
        put_result(w, "drift", "warning", name,
                   SLICE("this version of the package was seen with another definition"));
}

static void put_survey(struct writer *w, const struct risk_survey *s) {
    w->server = s->in.server;
    put_findings(w, SLICE("instructions"), &s->instructions);
    if (s->impostor.of.len)
        put_result(w, "impostor", s->impostor.refuse ? "error" : "note", s->in.package,
                   risk_lookalike_text(&s->impostor, w->a));
    for (size_t i = 0; i < s->count; i++)
        put_tool(w, &s->tools[i]);
    for (size_t i = 0; i < s->skill_count; i++) {
        put_findings(w, s->skills[i].uri, &s->skills[i].findings);
        if (s->skills[i].pin.pin != RISK_PIN_OK)
            put_result(w, "drift", "error", s->skills[i].uri, s->skills[i].pin.reason);
    }
}

static void put_driver(struct emit *e, const char *version, struct arena *a) {
    emit_object(e);
    emit_key(e, "driver");
    emit_object(e);
    emit_key(e, "name");
    emit_cstr(e, "sallyport");
    emit_key(e, "version");
    emit_cstr(e, version);
    emit_key(e, "rules");
    put_rules(e, a);
    emit_object_end(e);
    emit_object_end(e);
}

void risk_sarif_write(const struct risk_survey *const *surveys, size_t count, const char *version,
                      struct slice uri, struct arena *a, struct buf *out) {
    struct writer w = {.uri = uri, .a = a};
    struct emit *e = &w.e;
    emit_init(e, out);
    emit_object(e);
    emit_key(e, "$schema");
    emit_cstr(e, "https://json.schemastore.org/sarif-2.1.0.json");
    emit_key(e, "version");
    emit_cstr(e, "2.1.0");
    emit_key(e, "runs");
    emit_array(e);
    emit_object(e);
    emit_key(e, "tool");
    put_driver(e, version, a);
    emit_key(e, "results");
    emit_array(e);
    for (size_t i = 0; i < count; i++)
        put_survey(&w, surveys[i]);
    emit_array_end(e);
    emit_object_end(e);
    emit_array_end(e);
    emit_object_end(e);
    buf_put_char(out, '\n');
}
