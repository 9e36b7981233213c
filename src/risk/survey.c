#include "risk/survey.h"

#include "base/mem.h"
#include "risk/poison_text.h"
#include "risk/tokens.h"
#include "wire/emit.h"

static void look_up(const struct risk_survey *s, struct risk_surveyed *tool) {
    if (!tool->printed)
        return;
    tool->exact = risk_catalogue_find(tool->print.full, &tool->known);
    tool->similar = !tool->exact && risk_catalogue_find_shape(tool->print.shape, &tool->known);
    if (!tool->exact && s->in.package.len && s->in.version.len)
        tool->differs = risk_catalogue_differs(s->in.registry, s->in.package, s->in.version, tool->entry.name,
                                               tool->print.full);
}

/* Counts the canonical text, so that white space does not matter. */
static uint32_t tokens_of(const struct tape *t, uint32_t node, struct arena *a) {
    cleanup_buf struct buf text;
    buf_init(&text, RISK_DEFINITION_BYTES_MAX);
    return risk_definition_text(t, node, a, &text) ? risk_tokens_of(buf_slice(&text)) : 0;
}

struct neighbourhood {
    struct risk_neighbours near;
    struct map skeletons;
    struct map names; /* names seen so far */
};

static void survey_tool(struct risk_survey *s, struct neighbourhood *n, uint32_t node,
                        struct risk_surveyed *tool, struct arena *a) {
    const struct tape *t = s->in.t;
    tool->entry.node = node;
    tool->entry.name = tape_text_of(t, node, "name", a);
    tool->entry.tokens = tokens_of(t, node, a);
    risk_classify(&s->context, t, node, a, &tool->entry.report);
    risk_poison_tool(&s->context, &n->near, t, node, a, &tool->findings);
    if (map_put(&n->names, tool->entry.name, n)) /* the list has that name twice */
        risk_finding_add(&tool->findings, RISK_LOOKALIKE, SLICE("name"), tool->entry.name, a);
    tool->entry.refuse = risk_findings_deny(&tool->findings);
    tool->printed = risk_fingerprint_of(t, node, a, &tool->print);
    look_up(s, tool);
    if (s->pinned)
        risk_lock_check(s->in.lock, RISK_PIN_TOOL, s->in.server, t, node, a, &tool->pin);
    s->by_class[tool->entry.report.cls]++;
    s->tokens += tool->entry.tokens;
    s->drifted += tool->pin.pin != RISK_PIN_OK || tool->differs;
    s->poisoned += tool->entry.refuse;
}

static void survey_skills(struct risk_survey *s, struct arena *a) {
    const struct tape *t = s->in.t;
    if (!s->in.skills || !tape_is(t, s->in.skills, TAPE_ARRAY))
        return;
    size_t max = tape_node(t, s->in.skills)->count;
    max = max < RISK_TOOLS_MAX ? max : RISK_TOOLS_MAX;
    s->skills = arena_array(a, struct risk_surveyed_skill, max + 1);
    TAPE_FOR_ELEM(t, s->in.skills, node) {
        if (s->skill_count == max)
            break;
        struct risk_surveyed_skill *skill = &s->skills[s->skill_count++];
        skill->uri = risk_pin_name(RISK_PIN_SKILL, t, node, a);
        risk_poison_value(NULL, NULL, t, node, "skill", a, &skill->findings);
        if (s->pinned)
            risk_lock_check(s->in.lock, RISK_PIN_SKILL, s->in.server, t, node, a, &skill->pin);
        s->drifted += skill->pin.pin != RISK_PIN_OK;
        s->poisoned += risk_findings_deny(&skill->findings);
    }
}

void risk_survey_run(const struct risk_survey_input *in, struct arena *a, struct risk_survey *ret_survey) {
    struct risk_survey *s = ret_survey;
    *s = (struct risk_survey){.in = *in};
    struct slice name = in->package.len ? in->package : in->server;
    risk_toolset_read(in->t, in->tools, name, a, &s->context);
    s->pinned = in->lock && risk_lock_knows(in->lock, in->server);
    if (in->package.len)
        risk_lookalike_find(in->registry, in->package, a, &s->impostor);
    struct neighbourhood n = {.near = {&n.skeletons, in->others}};
    map_init(&n.skeletons);
    map_init(&n.names);
    risk_skeletons_add(&n.skeletons, in->t, in->tools, a);
    risk_poison_text(&s->context, &n.near, in->instructions, SLICE("instructions"), a, &s->instructions);
    s->poisoned += risk_findings_deny(&s->instructions);
    size_t max = tape_is(in->t, in->tools, TAPE_ARRAY) ? tape_node(in->t, in->tools)->count : 0;
    max = max < RISK_TOOLS_MAX ? max : RISK_TOOLS_MAX;
    s->tools = arena_array(a, struct risk_surveyed, max + 1);
    if (max)
        TAPE_FOR_ELEM(in->t, in->tools, node)
    if (s->count < max)
        survey_tool(s, &n, node, &s->tools[s->count++], a);
    survey_skills(s, a);
    map_free(&n.skeletons);
    map_free(&n.names);
}

struct slice risk_evidence_text(const struct risk_evidence *e, struct arena *a) {
    return arena_printf(a, "%s:%.*s", e->kind, SLICE_FMT(e->text));
}

bool risk_survey_policy(const struct risk_survey *s, enum risk_dialect dialect, struct arena *a,
                        struct buf *out) {
    struct risk_entry *entries = arena_alloc(a, sizeof *entries * (s->count + 1));
    for (size_t i = 0; i < s->count; i++)
        entries[i] = s->tools[i].entry;
    struct risk_starter starter = {
        .dialect = dialect, .server = s->in.server, .t = s->in.t, .entries = entries, .count = s->count};
    return risk_starter_write(&starter, a, out);
}

/* ---- JSON ---- */

static void put_finding(struct emit *e, const char *detector, const char *name, struct slice where,
                        struct slice text, bool deny) {
    emit_object(e);
    emit_key(e, "detector");
    emit_cstr(e, detector);
    emit_key(e, "name");
    emit_cstr(e, name);
    emit_key(e, "where");
    emit_str(e, where);
    emit_key(e, "text");
    emit_str(e, text);
    emit_key(e, "deny");
    emit_bool(e, deny);
    emit_object_end(e);
}

static void put_poison(struct emit *e, const struct risk_findings *findings) {
    for (size_t i = 0; i < findings->count; i++) {
        const struct risk_finding *f = &findings->items[i];
        put_finding(e, risk_detector_id(f->detector), risk_detector_name(f->detector), f->where, f->text,
                    risk_findings_deny(findings));
    }
}

static void put_drift(struct emit *e, const struct risk_pin_verdict *pin) {
    if (pin->pin != RISK_PIN_OK)
        put_finding(e, "drift", pin->pin == RISK_PIN_NEW ? "new" : "changed", SLICE("lock"), pin->reason,
                    true);
}

static void put_findings(struct emit *e, const struct risk_surveyed *tool) {
    emit_array(e);
    put_poison(e, &tool->findings);
    if (tool->entry.report.hint_mismatch)
        put_finding(e, "hint", "hint-mismatch", SLICE("annotations"),
                    SLICE("readOnlyHint on a tool that does more than read"), false);
    put_drift(e, &tool->pin);
    if (tool->differs)
        put_finding(e, "drift", "not-as-published", SLICE("catalogue"),
                    SLICE("this version of the package was seen with another definition"), false);
    emit_array_end(e);
}

static void put_lists(struct emit *e, const struct risk_surveyed *tool, struct arena *a) {
    const struct risk_report *r = &tool->entry.report;
    emit_key(e, "evidence");
    emit_array(e);
    for (size_t i = 0; i < r->evidence_count; i++)
        emit_str(e, risk_evidence_text(&r->evidence[i], a));
    emit_array_end(e);
    risk_tags_put(e, r->tags);
    emit_key(e, "findings");
    put_findings(e, tool);
}

static void put_hash(struct emit *e, const char *key, const uint8_t *hash) {
    cleanup_buf struct buf text;
    buf_init(&text, 128);
    risk_fingerprint_text(hash, &text);
    emit_key(e, key);
    emit_str(e, buf_slice(&text));
}

static void put_tool(struct emit *e, const struct risk_surveyed *tool, struct arena *a) {
    const struct risk_report *r = &tool->entry.report;
    emit_object(e);
    emit_key(e, "tool");
    emit_str(e, tool->entry.name);
    emit_key(e, "category");
    emit_cstr(e, risk_class_name(r->cls));
    emit_key(e, "severity");
    emit_cstr(e, risk_severity_name(r->severity));
    emit_key(e, "confidence");
    emit_double(e, r->confidence / 100.0);
    emit_key(e, "review");
    emit_bool(e, r->review);
    emit_key(e, "destructive_hint");
    emit_bool(e, r->hint_destructive);
    emit_key(e, "properties");
    emit_int(e, r->properties);
    if (r->freeform.len) {
        emit_key(e, "freeform");
        emit_str(e, r->freeform);
    }
    put_lists(e, tool, a);
    emit_key(e, "tokens");
    emit_int(e, tool->entry.tokens);
    if (tool->printed) {
        put_hash(e, "fingerprint", tool->print.full);
        put_hash(e, "shape", tool->print.shape);
    }
    if (tool->exact || tool->similar) {
        emit_key(e, "catalogue");
        emit_object(e);
        emit_key(e, "match");
        emit_cstr(e, tool->exact ? "exact" : "shape");
        emit_key(e, "registry");
        emit_cstr(e, risk_registry_name(tool->known.registry));
        emit_key(e, "package");
        emit_str(e, tool->known.package);
        emit_key(e, "version");
        emit_str(e, tool->known.version);
        emit_object_end(e);
    }
    emit_object_end(e);
}

static void put_skill(struct emit *e, const struct risk_surveyed_skill *skill) {
    emit_object(e);
    emit_key(e, "skill");
    emit_str(e, skill->uri);
    emit_key(e, "findings");
    emit_array(e);
    put_poison(e, &skill->findings);
    put_drift(e, &skill->pin);
    emit_array_end(e);
    emit_object_end(e);
}

void risk_survey_json(const struct risk_survey *s, struct arena *a, struct buf *out) {
    struct emit e;
    emit_init(&e, out);
    emit_array(&e);
    for (size_t i = 0; i < s->count; i++)
        put_tool(&e, &s->tools[i], a);
    for (size_t i = 0; i < s->skill_count; i++)
        put_skill(&e, &s->skills[i]);
    emit_array_end(&e);
    buf_put_char(out, '\n');
}
