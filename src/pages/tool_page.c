#include "pages/tool_page.h"

#include "base/glyph.h"
#include "base/mem.h"
#include "pages/attack.h"
#include "risk/finding.h"

#define MANY_PROPERTIES 10 /* numbers from here on are mentioned */

static void put_part(struct buf *out, struct slice text) {
    buf_printf(out, "%s%.*s", out->len ? ", " : "", SLICE_FMT(text));
}

struct slice tool_page_signals(const struct subject_tool *tool, struct sheet *s) {
    cleanup_buf struct buf out;
    buf_init(&out, PAGES_BYTES_MAX);
    if (tool->freeform.len) {
        struct slice name = sheet_name(s, tool->freeform);
        put_part(&out, arena_printf(s->a, "freeform code in `%.*s`", SLICE_FMT(name)));
    }
    if (tool->properties >= MANY_PROPERTIES)
        put_part(&out, arena_printf(s->a, "%u properties", tool->properties));
    for (unsigned i = 0; i < RISK_TAGS; i++)
        if (tool->tags & 1u << i && !(tool->freeform.len && 1u << i == RISK_TAG_FREEFORM_CODE))
            put_part(&out, slice_str(risk_tag_text(i)));
    if (tool->mismatch)
        put_part(&out, SLICE("calls itself read-only"));
    if (tool->destructive_hint)
        put_part(&out, SLICE("calls itself destructive"));
    for (unsigned d = 1; d < RISK_DETECTORS; d++)
        if (tool->findings & 1u << d)
            put_part(&out, arena_printf(s->a, "%s (%s)", risk_detector_name((enum risk_detector)d),
                                        risk_detector_id((enum risk_detector)d)));
    if (tool->review)
        put_part(&out, SLICE("little evidence: please review"));
    return arena_dup(s->a, buf_slice(&out));
}

void tool_page_put_facts(const struct subject_tool *tool, struct emit *e) {
    emit_object(e);
    emit_key(e, "tool");
    emit_str(e, tool->name);
    emit_key(e, "category");
    emit_cstr(e, risk_class_name(tool->cls));
    emit_key(e, "severity");
    emit_cstr(e, risk_severity_name(risk_class_severity(tool->cls)));
    emit_key(e, "confidence");
    emit_double(e, tool->confidence / 100.0);
    risk_tags_put(e, tool->tags);
    emit_key(e, "evidence");
    emit_array(e);
    for (size_t i = 0; i < tool->evidence_count; i++)
        emit_str(e, tool->evidence[i]);
    emit_array_end(e);
    emit_key(e, "tokens");
    emit_int(e, tool->tokens);
    emit_key(e, "properties");
    emit_int(e, tool->properties);
    if (tool->freeform.len) {
        emit_key(e, "freeform");
        emit_str(e, tool->freeform);
    }
    if (tool->full) {
        char text[17];
        snprintf(text, sizeof(text), "%016llx", (unsigned long long)tool->full);
        emit_key(e, "fingerprint_head");
        emit_cstr(e, text);
    }
    emit_object_end(e);
}

/* ---- description and risk ---- */

static const struct {
    const char *what; /* follows "AI agents call NAME " */
    const char *why;
    const char *advice;
    const char *effect; /* of the recommended rule */
    const char *means;  /* follows "which means it can " */
} classes[RISK_CLASSES] = {
    [RISK_READ] = {"to look something up in",
                   "A read changes nothing, but it decides what the agent knows: untrusted text can "
                   "steer it, and what is private can leave with the next call. A loop costs money and runs "
                   "into the limits of others.",
                   "Read tools need a rate limit, and a flow rule where they bring in private data.",
                   "stays usable, and a loop ends at 60 calls a minute", "retrieve data"},
    [RISK_WRITE] = {"to create or change something in",
                    "Each call leaves something behind. An agent in a loop, or one that follows an untrusted "
                    "text, changes many things before a person notices.",
                    "Write tools should be rate-limited, and their arguments checked.",
                    "stays usable, but rate-capped: 30 calls a minute", "create or modify data"},
    [RISK_EXECUTE] =
        {"to trigger actions in",
         "What it does depends on the arguments that the agent supplies, and its effects often reach beyond "
         "the call: builds, messages, processes, other systems.",
         "Execute tools should be rate-limited and have argument validation enabled.",
         "stays usable, but rate-capped: a runaway agent cannot fire it dozens of times a minute",
         "trigger actions or run processes"},
    [RISK_DESTRUCTIVE] = {"to remove something from",
                          "What it removes does not come back through the server. Nothing in the protocol "
                          "asks anybody before it happens.",
                          "Destructive tools should not be available to agents without a person's approval.",
                          "is refused until a person allows it", "permanently remove data"},
    [RISK_FINANCIAL] = {"to move or commit money in",
                        "A call commits money at once, and there is no undo in the protocol.",
                        "Financial tools should wait for a person, and have a limit on amounts.",
                        "is refused until a person allows it", "move or commit money"},
};

/* "name:delete" as a sentence. */
static void put_evidence(struct sheet *s, struct slice evidence) {
    static const struct {
        const char *kind, *text;
    } kinds[] = {
        {"name", "Its name says"},
        {"description", "Its description says"},
        {"object", "What it is done to counts as"},
        {"enum", "One of its operations is"},
        {"parameter", "It has a parameter for"},
        {"context", "The server's other tools are those of a"},
        {"hint", "The server's own annotation:"},
        {"unknown", "The evidence:"},
    };
    struct slice rest = evidence, kind;
    const char *text = "Evidence:";
    if (!slice_cut(&rest, ':', &kind))
        rest = evidence;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (slice_is(kind, kinds[i].kind))
            text = kinds[i].text;
    sheet_text(s, "%s `%.*s`.", text, SLICE_FMT(sheet_name(s, rest)));
}

static void put_why(const struct subject_tool *tool, struct sheet *s) {
    sheet_text(s, "%s", classes[tool->cls].why);
    for (size_t i = 0; i < tool->evidence_count; i++)
        put_evidence(s, tool->evidence[i]);
    if (tool->freeform.len)
        sheet_text(s, "Accepts freeform code/query input (`%.*s`).",
                   SLICE_FMT(sheet_name(s, tool->freeform)));
    if (tool->properties >= MANY_PROPERTIES)
        sheet_text(s, "High parameter count (%u properties).", tool->properties);
    if (tool->description.len) {
        struct slice quote = sheet_name(s, glyph_printable(tool->description, PAGES_QUOTE_MAX, s->a));
        sheet_text(s, "From the tool's definition: \xe2\x80\x9c%.*s%s\xe2\x80\x9d", SLICE_FMT(quote),
                   tool->description.len > quote.len ? "\xe2\x80\xa6" : "");
    }
    if (tool->poisoned)
        sheet_text(s, "Its definition carries instructions to the model. The starter policy leaves it out, "
                      "so that it is refused.");
}

void tool_page_put_section(const struct subject_tool *tool, struct sheet *s) {
    const struct attack *attacks[PAGES_PATTERNS_MAX];
    size_t n = attack_of_tool(tool, attacks, ARRAY_LEN(attacks));
    sheet_heading(s, sheet_name(s, tool->name).ptr, true);
    sheet_text(s, "%s, severity %s, %u %% sure.", risk_class_name(tool->cls),
               risk_severity_name(risk_class_severity(tool->cls)), tool->confidence);
    put_why(tool, s);
    if (n)
        attack_put_links(s, attacks, n);
}

/* ---- the rule ---- */

static void put_rule(const struct subject *subject, size_t at, struct slice name, struct sheet *s) {
    const struct subject_tool *tool = &subject->tools[at];
    cleanup_buf struct buf yaml, json;
    buf_init(&yaml, PAGES_BYTES_MAX);
    buf_init(&json, PAGES_BYTES_MAX);
    subject_policy(subject, at, RISK_DIALECT_INTERCEPT, s->a, &yaml);
    subject_policy(subject, at, RISK_DIALECT_POLICYLAYER, s->a, &json);
    sheet_heading(s, arena_printf(s->a, "How to control %.*s", SLICE_FMT(name)).ptr, false);
    sheet_text(s,
               "With this rule `%.*s` %s. Everything else on the server is denied unless you say otherwise.",
               SLICE_FMT(name), classes[tool->cls].effect);
    sheet_code(s, "policy.json", "json", buf_slice(&json));
    s->detail = true;
    sheet_code(s, "policy.yaml", "yaml", buf_slice(&yaml));
}

/* ---- relatives ---- */

static bool fits(const struct risk_known *k, const struct subject_tool *tool, const struct subject *subject) {
    struct risk_published server;
    bool own = subject->published && k->registry == subject->known.registry &&
               slice_eq(k->package, subject->known.name);
    if (own || k->cls != tool->cls)
        return false;
    risk_catalogue_server(k->server, &server);
    return server.newest;
}

/* Was it classified for the same word? */
static bool same_reason(const struct risk_known *k, const struct subject_tool *tool) {
    return tool->evidence_count && k->evidence.count &&
           slice_eq(risk_catalogue_item(k->evidence, 0), tool->evidence[0]);
}

struct relatives {
    const struct subject *subject;
    const struct subject_tool *tool;
    size_t count, servers[PAGES_RELATED_MAX];
    struct risk_known found[PAGES_RELATED_MAX];
};

/* One tool per server. */
static void add_relative(struct relatives *r, const struct risk_known *k) {
    if (r->count == PAGES_RELATED_MAX || !fits(k, r->tool, r->subject))
        return;
    for (size_t i = 0; i < r->count; i++)
        if (r->servers[i] == k->server)
            return;
    r->servers[r->count] = k->server;
    r->found[r->count++] = *k;
}

enum likeness { SAME_TAGS_AND_REASON, SAME_REASON, SAME_CLASS };

static bool is_alike(const struct risk_known *k, const struct subject_tool *tool, enum likeness likeness) {
    return likeness == SAME_CLASS ||
           (same_reason(k, tool) && (likeness == SAME_REASON || k->tags == tool->tags));
}

/* The neighbours of a name in the alphabet, in both directions: names that begin alike. */
static void add_neighbours(struct relatives *r, struct slice name, enum likeness likeness) {
    size_t place, same = risk_catalogue_named(name, &place), all = risk_catalogue_count();
    for (size_t i = 0; i < all && i < PAGES_NEIGHBOURS_MAX && r->count < PAGES_RELATED_MAX; i++) {
        size_t step = i / 2 + 1, at = i % 2 ? place + all - step : place + same + step - 1;
        struct risk_known k;
        risk_catalogue_get(risk_catalogue_in_order(at % all), &k);
        if (is_alike(&k, r->tool, likeness))
            add_relative(r, &k);
    }
}

/* The word that decided the class ("name:execute"): names that begin with it are nearer relatives than names
 * that begin as this one does ("asyncExecuteCode"). */
static struct slice deciding_word(const struct subject_tool *tool) {
    struct slice kind, word = tool->evidence_count ? tool->evidence[0] : (struct slice){0};
    return slice_cut(&word, ':', &kind) && word.len ? word : tool->name;
}

/* Tools of the same name first, then those of the class with the same tags, then the others of the class. */
static void put_related(const struct subject *subject, const struct subject_tool *tool, struct sheet *s) {
    struct relatives r = {.subject = subject, .tool = tool};
    size_t place, same = risk_catalogue_named(tool->name, &place);
    for (size_t i = 0; i < same; i++) {
        struct risk_known k;
        risk_catalogue_get(risk_catalogue_in_order(place + i), &k);
        add_relative(&r, &k);
    }
    add_neighbours(&r, tool->name, SAME_TAGS_AND_REASON);
    add_neighbours(&r, deciding_word(tool), SAME_TAGS_AND_REASON);
    add_neighbours(&r, deciding_word(tool), SAME_REASON);
    add_neighbours(&r, deciding_word(tool), SAME_CLASS);
    if (!r.count)
        return;
    sheet_heading(s, "Related tools", true);
    sheet_text(s, "Other tools of the class %s. The same rules apply to each.", risk_class_name(tool->cls));
    sheet_rows(s, SHEET_LINKS, 2);
    for (size_t i = 0; i < r.count; i++) {
        const struct risk_known *k = &r.found[i];
        sheet_link(s, subject_tool_target(k, s->a), sheet_name(s, k->tool),
                   arena_printf(s->a, "%s, %s", sheet_name(s, k->package).ptr, risk_class_name(k->cls)));
    }
}

/* ---- questions ---- */

static void put_questions(const struct subject *subject, const struct subject_tool *tool, struct slice name,
                          struct slice server, struct sheet *s) {
    struct arena *a = s->a;
    const char *cls = risk_class_name(tool->cls),
               *severity = risk_severity_name(risk_class_severity(tool->cls));
    const char *article = tool->cls == RISK_EXECUTE ? "an" : "a";
    sheet_heading(s, arena_printf(a, "Questions about %.*s", SLICE_FMT(name)).ptr, true);
    struct slice quoted = sheet_name(s, glyph_printable(tool->description, PAGES_QUOTE_MAX, a));
    sheet_question(s, arena_printf(a, "What does the %.*s tool do?", SLICE_FMT(name)),
                   arena_printf(a, "%.*s%sIt is categorised as %s %s tool in %.*s, which means it can %s. %s",
                                SLICE_FMT(quoted), quoted.len ? " " : "", article, cls,
                                SLICE_FMT(sheet_server(server, a)), classes[tool->cls].means,
                                classes[tool->cls].advice));
    sheet_question(s, arena_printf(a, "How do I enforce a policy on %.*s?", SLICE_FMT(name)),
                   arena_printf(a,
                                "Add a rule for it to the policy: allow, deny, rate-limit, or require "
                                "approval. Put `sallyport -c policy.yaml --` in front of the command of "
                                "%.*s; the rule is enforced on every call, before it reaches the server.",
                                SLICE_FMT(server)));
    sheet_question(s, arena_printf(a, "What risk level is %.*s?", SLICE_FMT(name)),
                   arena_printf(a, "%.*s is %s %s tool with %s risk. %s", SLICE_FMT(name), article, cls,
                                severity, classes[tool->cls].advice));
    sheet_question(
        s, arena_printf(a, "Can I rate-limit %.*s?", SLICE_FMT(name)),
        arena_printf(
            a,
            "Yes. Add `rate_limit: 10/minute` to its rules, or a `limits` entry with `max` and `window`. "
            "Limits are counted for each grant. In a terminal: `sallyport limit SERVER %.*s 10/minute`.",
            SLICE_FMT(name)));
    sheet_question(
        s, arena_printf(a, "How do I block %.*s completely?", SLICE_FMT(name)),
        arena_printf(a,
                     "Set `action: deny` in its rule; the agent gets a policy message and the server never "
                     "sees the call. `hide: [%.*s]` makes it look as if it did not exist.",
                     SLICE_FMT(name)));
    struct slice where = subject->published
                             ? arena_printf(a, " (%s, %.*s)", risk_registry_name(subject->known.registry),
                                            SLICE_FMT(sheet_name(s, subject->known.name)))
                             : SLICE("");
    sheet_question(s, arena_printf(a, "What MCP server provides %.*s?", SLICE_FMT(name)),
                   arena_printf(a, "%.*s is provided by %.*s%.*s.", SLICE_FMT(name),
                                SLICE_FMT(sheet_server(server, a)), SLICE_FMT(where)));
}

static void put_about(const struct subject *subject, const struct subject_tool *tool, struct sheet *s) {
    struct arena *a = s->a;
    sheet_rows(s, SHEET_FACTS, 2);
    sheet_fact(s, "Server", sheet_name(s, subject->title));
    if (subject->published)
        s->last->last_row->cells[1].link = subject_target(subject, a);
    sheet_fact(s, "Class", slice_str(risk_class_name(tool->cls)));
    sheet_fact(s, "Severity", slice_str(risk_severity_name(risk_class_severity(tool->cls))));
    sheet_fact(s, "Confidence", arena_printf(a, "%u %%", tool->confidence));
    sheet_fact(s, "Signals", tool_page_signals(tool, s));
    const struct slice unknown = SLICE("unknown: the definition was not seen");
    sheet_fact(s, "Parameters", tool->tokens ? arena_printf(a, "%u", tool->properties) : unknown);
    sheet_fact(s, "Tokens", tool->tokens ? arena_printf(a, "%u", tool->tokens) : unknown);
    if (tool->full)
        sheet_fact(s, "Fingerprint", arena_printf(a, "%016llx\xe2\x80\xa6", (unsigned long long)tool->full));
}

void tool_page(const struct subject *subject, size_t at, struct sheet *s) {
    const struct subject_tool *tool = &subject->tools[at];
    struct slice name = sheet_name(s, tool->name), server = sheet_name(s, subject->title);
    static const char *const risks[] = {"Low Risk", "Medium Risk", "High Risk", "Critical Risk"};
    const char *risk = risks[risk_class_severity(tool->cls)];
    s->title = name;
    if (subject->published && !subject->t)
        s->id = arena_printf(s->a, "tool:%s/%.*s#%.*s", risk_registry_name(subject->known.registry),
                             SLICE_FMT(subject->known.name), SLICE_FMT(tool->name));
    s->summary =
        arena_printf(s->a, "%s: %s tool of %.*s", risk, risk_class_name(tool->cls), SLICE_FMT(server));
    cleanup_buf struct buf facts;
    buf_init(&facts, PAGES_BYTES_MAX);
    struct emit e;
    emit_init(&e, &facts);
    emit_key(&e, "definition");
    tool_page_put_facts(tool, &e);
    s->facts = arena_dup(s->a, buf_slice(&facts));
    sheet_badge(s, risk, risk_severity_name(risk_class_severity(tool->cls)));
    sheet_text(s, "AI agents call `%.*s` %s %.*s.", SLICE_FMT(name), classes[tool->cls].what,
               SLICE_FMT(server));
    put_about(subject, tool, s);
    sheet_heading(s, arena_printf(s->a, "Why %.*s needs a policy", SLICE_FMT(name)).ptr, false);
    put_why(tool, s);
    const struct attack *attacks[PAGES_PATTERNS_MAX];
    size_t n = attack_of_tool(tool, attacks, ARRAY_LEN(attacks));
    if (n) {
        sheet_heading(s, "Documented attack patterns", false);
        sheet_text(s, "These abuse the kind of access that `%.*s` gives an agent:", SLICE_FMT(name));
        attack_put_links(s, attacks, n);
    }
    put_rule(subject, at, name, s);
    put_related(subject, tool, s);
    put_questions(subject, tool, name, server, s);
}
