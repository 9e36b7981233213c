#include "pages/subject.h"

#include "base/mem.h"
#include "wire/emit.h"

#include <stdlib.h>

#define COMMON_MAX 200 /* servers that share a tool's name; names of more servers are not significant */

static void count(struct subject *s) {
    for (size_t i = 0; i < s->count; i++) {
        s->by_class[s->tools[i].cls]++;
        s->tokens += s->tools[i].tokens;
    }
}

static void tool_from_known(const struct risk_known *k, struct subject_tool *ret) {
    *ret = (struct subject_tool){.name = k->tool,
                                 .cls = k->cls,
                                 .confidence = k->confidence,
                                 .review = k->confidence < 60,
                                 .mismatch = k->findings & 1,
                                 .destructive_hint = k->destructive_hint,
                                 .tags = k->tags,
                                 .tokens = k->tokens,
                                 .properties = k->properties,
                                 .findings = k->findings,
                                 .freeform = k->freeform,
                                 .full = k->full};
    for (uint32_t i = 0; i < k->evidence.count && i < RISK_EVIDENCE_MAX; i++)
        ret->evidence[ret->evidence_count++] = risk_catalogue_item(k->evidence, i);
}

void subject_from_catalogue(size_t server, struct arena *a, struct subject *ret_subject) {
    struct subject *s = ret_subject;
    *s = (struct subject){.published = true, .server = server};
    risk_catalogue_server(server, &s->known);
    s->name = s->known.name;
    s->title = s->known.title.len ? s->known.title : s->known.name;
    s->version = s->known.version;
    s->tools = arena_array(a, struct subject_tool, s->known.tools + 1);
    for (size_t i = 0; i < s->known.tools; i++) {
        struct risk_known known;
        risk_catalogue_get(s->known.first + i, &known);
        tool_from_known(&known, &s->tools[s->count++]);
    }
    count(s);
}

static struct slice description_of(const struct tape *t, uint32_t tool, struct arena *a) {
    uint32_t node = tape_is(t, tool, TAPE_OBJECT) ? tape_get_str(t, tool, "description") : 0;
    return node && tape_is(t, node, TAPE_STRING) ? slice_trim(tape_text(t, node, a)) : (struct slice){0};
}

static void tool_from_survey(const struct risk_survey *s, const struct risk_surveyed *from, struct arena *a,
                             struct subject_tool *ret) {
    const struct risk_report *r = &from->entry.report;
    *ret = (struct subject_tool){.name = from->entry.name,
                                 .cls = r->cls,
                                 .confidence = r->confidence,
                                 .review = r->review,
                                 .mismatch = r->hint_mismatch,
                                 .destructive_hint = r->hint_destructive,
                                 .poisoned = from->entry.refuse,
                                 .tags = r->tags,
                                 .tokens = from->entry.tokens,
                                 .properties = r->properties,
                                 .findings = from->findings.seen | r->hint_mismatch,
                                 .freeform = r->freeform,
                                 .description = description_of(s->in.t, from->entry.node, a),
                                 .node = from->entry.node};
    for (size_t i = 0; i < r->evidence_count; i++)
        ret->evidence[ret->evidence_count++] = risk_evidence_text(&r->evidence[i], a);
    for (int i = 0; from->printed && i < 8; i++)
        ret->full = ret->full << 8 | from->print.full[i];
}

void subject_from_survey(const struct risk_survey *from, struct arena *a, struct subject *ret_subject) {
    struct subject *s = ret_subject;
    *s = (struct subject){.title = from->in.server,
                          .name = from->in.package.len ? from->in.package : from->in.server,
                          .version = from->in.version,
                          .t = from->in.t};
    s->published = from->in.package.len && risk_catalogue_find_server(from->in.registry, from->in.package,
                                                                      from->in.version, &s->server);
    if (s->published)
        risk_catalogue_server(s->server, &s->known);
    s->tools = arena_array(a, struct subject_tool, from->count + 1);
    for (size_t i = 0; i < from->count; i++)
        tool_from_survey(from, &from->tools[i], a, &s->tools[s->count++]);
    count(s);
}

size_t subject_changing(const struct subject *s) { return s->count - s->by_class[RISK_READ]; }

enum risk_severity subject_risk(const struct subject *s) {
    for (int cls = RISK_CLASSES - 1; cls > RISK_NONE; cls--)
        if (s->by_class[cls])
            return risk_class_severity((enum risk_class)cls);
    return RISK_LOW;
}

struct slice subject_target(const struct subject *s, struct arena *a) {
    if (!s->published)
        return (struct slice){0};
    return arena_printf(a, "server:%s/%.*s", risk_registry_name(s->known.registry), SLICE_FMT(s->known.name));
}

struct slice subject_tool_target(const struct risk_known *k, struct arena *a) {
    return arena_printf(a, "tool:%s/%.*s#%.*s", risk_registry_name(k->registry), SLICE_FMT(k->package),
                        SLICE_FMT(k->tool));
}

/* ---- policies ---- */

/* Without definitions each tool still has a name, which is enough for a rule. */
static void names_as_list(const struct subject *s, struct buf *out) {
    struct emit e;
    emit_init(&e, out);
    emit_array(&e);
    for (size_t i = 0; i < s->count; i++) {
        emit_object(&e);
        emit_key(&e, "name");
        emit_str(&e, s->tools[i].name);
        emit_object_end(&e);
    }
    emit_array_end(&e);
}

void subject_policy(const struct subject *s, size_t only, enum risk_dialect dialect, struct arena *a,
                    struct buf *out) {
    cleanup_buf struct buf text;
    buf_init(&text, RISK_POLICY_BYTES_MAX);
    cleanup_tape struct tape names;
    tape_init(&names);
    const struct tape *t = s->t;
    if (!t) {
        names_as_list(s, &text);
        if (tape_parse(&names, buf_slice(&text), NULL) != TAPE_OK)
            return;
        t = &names;
    }
    struct risk_entry *entries = arena_array(a, struct risk_entry, s->count + 1);
    size_t n = 0;
    uint32_t node = 1;
    for (size_t i = 0; i < s->count; i++, node = s->t ? node : tape_node(t, node)->next) {
        const struct subject_tool *tool = &s->tools[i];
        if (only != SIZE_MAX && only != i)
            continue;
        entries[n++] = (struct risk_entry){.name = tool->name,
                                           .node = s->t ? tool->node : node,
                                           .tokens = tool->tokens,
                                           .refuse = tool->poisoned,
                                           .report = {.cls = tool->cls,
                                                      .severity = risk_class_severity(tool->cls),
                                                      .confidence = tool->confidence,
                                                      .review = tool->review,
                                                      .tags = tool->tags}};
    }
    struct risk_starter starter = {
        .dialect = dialect, .server = s->title, .t = t, .entries = entries, .count = n};
    risk_starter_write(&starter, a, out);
}

/* ---- relatives ---- */

struct relative {
    size_t server;
    unsigned weight;
};

static int by_weight(const void *x, const void *y) {
    const struct relative *a = x, *b = y;
    return a->weight != b->weight ? (a->weight < b->weight ? 1 : -1)
                                  : (a->server > b->server) - (a->server < b->server);
}

static void add_weight(struct relative *list, size_t *count_of, size_t server, unsigned weight, size_t max) {
    for (size_t i = 0; i < *count_of; i++)
        if (list[i].server == server) {
            list[i].weight += weight;
            return;
        }
    if (*count_of < max)
        list[(*count_of)++] = (struct relative){server, weight};
}

size_t subject_similar(const struct subject *s, struct arena *a, size_t *ret_servers, size_t max) {
    enum { SEEN_MAX = 1000 };
    struct relative *list = arena_array(a, struct relative, SEEN_MAX);
    size_t seen = 0, n = 0;
    for (size_t i = 0; i < s->count; i++) {
        size_t place, same = risk_catalogue_named(s->tools[i].name, &place);
        for (size_t k = 0; same <= COMMON_MAX && k < same; k++) {
            struct risk_known known;
            struct risk_published server;
            risk_catalogue_get(risk_catalogue_in_order(place + k), &known);
            risk_catalogue_server(known.server, &server);
            bool self =
                s->published && known.registry == s->known.registry && slice_eq(known.package, s->known.name);
            if (server.newest && !self)
                add_weight(list, &seen, known.server, (unsigned)(1000 / same), SEEN_MAX);
        }
    }
    qsort(list, seen, sizeof(*list), by_weight);
    for (; n < seen && n < max; n++)
        ret_servers[n] = list[n].server;
    return n;
}

/* ---- by name ---- */

static bool find_prefixed(struct slice name, size_t *ret_server) {
    struct slice rest = name, first;
    enum risk_registry registry;
    return slice_cut(&rest, '/', &first) && risk_registry_from(first, &registry) &&
           risk_catalogue_find_server(registry, rest, (struct slice){0}, ret_server);
}

bool subject_find(struct slice name, size_t *ret_server) {
    if (!name.len)
        return false;
    if (find_prefixed(name, ret_server))
        return true;
    for (int r = 0; r < RISK_REGISTRIES; r++)
        if (risk_catalogue_find_server((enum risk_registry)r, name, (struct slice){0}, ret_server))
            return true;
    for (size_t i = 0; i < risk_catalogue_servers(); i++) {
        struct risk_published s;
        risk_catalogue_server(i, &s);
        bool tail = s.repository.len > name.len && slice_ends(s.repository, name) &&
                    s.repository.ptr[s.repository.len - name.len - 1] == '/';
        if (!s.newest || !(slice_eq_nocase(s.title, name) || slice_eq_nocase(s.repository, name) || tail))
            continue;
        *ret_server = i;
        return true;
    }
    return false;
}
