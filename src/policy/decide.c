/* One message, one verdict. The order is the same for both dialects:
 *
 *   hidden? → listed? → checks of the tool, of the patterns it falls under, of "*" → flows → limits
 *
 * The first denial wins; an approval is remembered and only counts when nothing denies. Shadow checks are
 * evaluated and noted, never enforced. */
#include "base/mem.h"
#include "policy/eval.h"
#include "policy/limit.h"
#include "policy/match.h"
#include "policy/method.h"
#include "policy/path.h"
#include "policy/schema.h"
#include "policy/tool_name.h"
#include "wire/clash.h"

const char *policy_reason_name(enum policy_reason reason) {
    static const char *const names[] = {
        [POLICY_BY_NOTHING] = "none",
        [POLICY_BY_HIDE] = "hidden",
        [POLICY_BY_DEFAULT] = "default",
        [POLICY_BY_RULE] = "rule",
        [POLICY_BY_LIMIT] = "limit",
        [POLICY_BY_APPROVAL] = "approval",
        [POLICY_BY_FLOW] = "flow",
        [POLICY_BY_METHOD] = "method",
        [POLICY_BY_SCHEMA] = "schema",
        [POLICY_BY_FAULT] = "fault",
        [POLICY_BY_PIN] = "pin",
        [POLICY_BY_POISON] = "poison",
        [POLICY_BY_AMBIGUITY] = "ambiguous_arguments",
        [POLICY_BY_STOP] = "stopped",
    };
    return names[reason];
}

const char *policy_outcome_name(enum policy_outcome outcome) {
    static const char *const names[] = {"allow", "deny", "approve"};
    return names[outcome];
}

/* ---- verdicts ---- */

static void deny(struct policy_verdict *v, enum policy_reason reason, struct slice rule, struct slice pointer,
                 struct slice text) {
    v->outcome = POLICY_DENY;
    v->reason = reason;
    v->rule = rule;
    v->pointer = pointer;
    v->text = text;
    v->limits = NULL;
    v->limit_count = 0;
}

static void note_shadow(struct arena *a, size_t max, struct policy_verdict *v, struct policy_shadow shadow) {
    if (!v->shadows)
        v->shadows = arena_array(a, struct policy_shadow, max + 1);
    if (v->shadow_count <= max)
        v->shadows[v->shadow_count++] = shadow;
}

/* In a shadow policy even hide and default only add a note. true: enforced, and the decision is complete. */
static bool deny_or_note(struct eval *e, struct policy_verdict *v, enum policy_reason reason, bool shadow,
                         struct slice rule, struct slice pointer, struct slice text) {
    if (!shadow && !e->policy->shadow) {
        deny(v, reason, rule, pointer, text);
        return true;
    }
    note_shadow(e->arena, e->policy->shadow_max, v, (struct policy_shadow){POLICY_DENY, rule, pointer, text});
    return false;
}

void policy_refuse(const struct policy_limit *limit, uint64_t retry_after_ms, struct arena *a,
                   struct policy_verdict *v) {
    deny(v, POLICY_BY_LIMIT, limit->rule, limit->pointer, limit->text);
    v->retry_after_ms = retry_after_ms;
    if (retry_after_ms)
        v->detail = arena_printf(a, "the limit frees up in %llu s",
                                 (unsigned long long)(retry_after_ms + 999) / 1000);
}

void policy_refuse_fault(struct policy_verdict *v) {
    deny(v, POLICY_BY_FAULT, (struct slice){0}, (struct slice){0}, SLICE("Internal policy error"));
}

void policy_shadow(const struct policy_limit *limit, struct arena *a, struct policy_verdict *v) {
    struct policy_shadow *all = arena_array(a, struct policy_shadow, v->shadow_count + 1);
    if (v->shadow_count)
        memcpy(all, v->shadows, v->shadow_count * sizeof(*all));
    all[v->shadow_count++] = (struct policy_shadow){POLICY_DENY, limit->rule, limit->pointer, limit->text};
    v->shadows = all;
}

struct slice policy_verdict_text(const struct policy *p, const struct policy_verdict *v, struct arena *a) {
    if (v->outcome == POLICY_ALLOW)
        return SLICE("");
    struct slice prefix = v->outcome == POLICY_DENY ? p->deny_prefix : p->approve_prefix;
    return arena_join(a, prefix, v->text);
}

static struct slice unlisted_text(struct slice tool, struct arena *a) {
    return arena_printf(a, "Tool \"%.*s\" is not permitted by policy", SLICE_FMT(tool));
}

bool policy_verdict_unlisted(const struct policy *p, struct slice tool, struct arena *a,
                             struct policy_verdict *ret_verdict) {
    if (p->default_deny)
        deny(ret_verdict, POLICY_BY_DEFAULT, SLICE("(default deny)"), SLICE("/default"),
             unlisted_text(tool, a));
    return p->default_deny;
}

/* ---- the entries that apply to a tool ---- */

static bool entry_selects(const struct entry *entry, struct slice tool, const struct policy_traits *traits) {
    if (entry->class)
        return entry->class == traits->class;
    if (entry->tag)
        return traits->tags & entry->tag;
    return policy_glob_names(entry->name, tool);
}

static bool hidden_by(const struct policy *p, struct slice tool, const struct policy_traits *traits) {
    if (p->hide_all || (p->hidden.count && map_get(&p->hidden, tool)))
        return true;
    for (size_t i = 0; i < p->hide_pattern_count; i++)
        if (entry_selects(&p->hide_patterns[i], tool, traits))
            return true;
    return false;
}

/* Fills e->applied; returns whether the policy names the tool ("*" does not count). */
static bool apply_tool(struct eval *e, const struct entry *exact) {
    const struct policy *p = e->policy;
    bool listed = exact != NULL;
    if (exact)
        e->applied[e->applied_count++] = exact;
    for (size_t i = 0; i < p->pattern_count; i++) {
        if (!entry_selects(p->patterns[i], e->facts->tool, &e->facts->traits))
            continue;
        e->applied[e->applied_count++] = p->patterns[i];
        listed = true;
    }
    if (p->everything)
        e->applied[e->applied_count++] = p->everything;
    return listed;
}

bool policy_hides(const struct policy *p, struct slice tool, const struct policy_traits *traits) {
    if (p->shadow)
        return false;
    if (hidden_by(p, tool, traits))
        return true;
    const struct entry *exact = map_get(&p->tools, tool);
    if (exact)
        return slice_is(tool, "*");
    if (!policy_name_is_plain(tool))
        return true;
    if (!p->prune || !p->default_deny)
        return false;
    for (size_t i = 0; i < p->pattern_count; i++)
        if (entry_selects(p->patterns[i], tool, traits))
            return false;
    return true;
}

bool policy_wants_traits(const struct policy *p) { return p->wants_traits; }
bool policy_wants_detector(const struct policy *p) { return p->wants_detector; }

/* The tool's own setting comes before those of patterns, of all tools, and of the document. */
static bool is_strict(const struct eval *e) {
    bool reads = false;
    for (uint32_t i = 0; i < e->applied_count; i++) {
        if (e->applied[i]->strict != STRICT_UNSAID)
            return e->applied[i]->strict == STRICT_YES;
        reads |= e->applied[i]->reads_args;
    }
    return e->policy->strict == STRICT_UNSAID ? reads : e->policy->strict == STRICT_YES;
}

bool policy_wants_schema(const struct policy *p, struct slice tool, const struct policy_traits *traits) {
    if (!p->wants_schema || p->protect_agent_config)
        return p->wants_schema;
    const struct policy_facts facts = {.tool = tool, .traits = *traits};
    struct eval e; /* not zeroed, because it is large: only what is set here is used */
    e.policy = p;
    e.facts = &facts;
    e.applied_count = 0;
    apply_tool(&e, map_get(&p->tools, tool));
    for (uint32_t i = 0; i < e.applied_count; i++)
        if (e.applied[i]->wants_schema)
            return true;
    return is_strict(&e);
}

/* ---- checks ---- */

static struct slice required_missing(const struct policy_facts *f) {
    struct slice name;
    for (size_t i = 0; (name = policy_schema_required(f->schema, i)).ptr; i++) {
        uint32_t node = policy_has_args(f) ? tape_get(f->tape, f->args, name) : 0;
        if (!node || tape_is(f->tape, node, TAPE_NULL))
            return name;
    }
    return (struct slice){0};
}

enum check_answer { CHECK_PASSES, CHECK_DENIES, CHECK_APPROVES };

static struct slice schema_text(struct eval *e, const struct policy_schema_failure *failure) {
    return arena_printf(e->arena, "Arguments do not match the tool's schema: %s at \"%.*s\"",
                        failure->keyword ? failure->keyword : "too complex", SLICE_FMT(failure->pointer));
}

/* Schema checks of both kinds. *text is the check's own message, or the schema's error. */
static enum check_answer check_schema(struct eval *e, const struct check *c, struct slice *text) {
    const struct policy_facts *f = e->facts;
    if (!f->schema) {
        e->fault = "the tool's schema is not known";
        return CHECK_DENIES;
    }
    if (c->mode == CHECK_REQUIRED_ARGS) {
        struct slice name = required_missing(f);
        if (!name.ptr)
            return CHECK_PASSES;
        if (!text->len)
            *text = arena_printf(e->arena, "Missing required argument \"%.*s\"", SLICE_FMT(name));
        return CHECK_DENIES;
    }
    struct policy_schema_failure failure = {0};
    if (!policy_has_args(f)) {
        if (policy_schema_required(f->schema, 0).ptr == NULL)
            return CHECK_PASSES;
        failure.keyword = "required";
    } else if (policy_schema_judge(f->schema, f->tape, f->args, &e->budget, NULL, &failure) ==
               POLICY_SCHEMA_VALID) {
        return CHECK_PASSES;
    }
    if (!text->len)
        *text = schema_text(e, &failure);
    return CHECK_DENIES;
}

/* The result if every value that could not be judged were harmless. */
static enum truth eval_optimistic(struct eval *e, const struct cond *conds) {
    struct policy_trace *trace = e->trace;
    e->trace = NULL;
    e->optimistic = true;
    enum truth truth = policy_eval(e, conds);
    e->optimistic = false;
    e->trace = trace;
    return truth;
}

static enum check_answer check_run(struct eval *e, const struct check *c, struct slice *text) {
    e->fault = NULL;
    e->found_kind = (struct slice){0};
    if (c->mode == CHECK_REQUIRED_ARGS || c->mode == CHECK_SCHEMA)
        return check_schema(e, c, text);
    enum truth truth = policy_eval(e, &c->conds);
    if (truth == TRUTH_FAULT)
        return CHECK_DENIES;
    if (e->unsure && truth == eval_optimistic(e, &c->conds))
        e->unsure = NULL; /* it did not change the result */
    if (c->mode == CHECK_REQUIRE)
        return truth == TRUTH_YES ? CHECK_PASSES : CHECK_DENIES;
    if (truth == TRUTH_NO)
        return CHECK_PASSES;
    return c->mode == CHECK_DENY || e->unsure ? CHECK_DENIES : CHECK_APPROVES;
}

/* The value that would have passed, for `_meta` and explain: only if a single condition decided. */
static struct slice check_detail(struct eval *e, const struct check *c) {
    if (!e->fault && e->found_kind.len)
        return arena_printf(e->arena, "%.*s holds %.*s", SLICE_FMT(e->found_path), SLICE_FMT(e->found_kind));
    if (e->fault)
        return slice_str(e->fault);
    if (e->unsure && e->unsure_type)
        return arena_printf(e->arena, "%.*s has the type %s, and a server may read it otherwise than %s does",
                            SLICE_FMT(e->unsure->path.text), e->unsure_type, policy_ops[e->unsure->op].name);
    if (e->unsure)
        return arena_printf(e->arena, "%.*s leads to something that a server may read otherwise",
                            SLICE_FMT(e->unsure->path.text));
    if (c->mode != CHECK_REQUIRE || !e->blame || c->conds.count == 0)
        return (struct slice){0};
    const struct cond *leaf = e->blame;
    return arena_printf(e->arena, "%.*s must be %s %.*s", SLICE_FMT(leaf->path.text),
                        policy_ops[leaf->op].name, SLICE_FMT(leaf->value.text));
}

static void approve(struct eval *e, const struct check *c, struct policy_verdict *v) {
    if (c->shadow || e->policy->shadow) {
        note_shadow(e->arena, e->policy->shadow_max, v,
                    (struct policy_shadow){POLICY_APPROVE, c->name, c->pointer, c->text});
        return;
    }
    if (v->outcome == POLICY_APPROVE)
        return;
    v->outcome = POLICY_APPROVE;
    v->reason = POLICY_BY_APPROVAL;
    v->rule = c->name;
    v->pointer = c->pointer;
    v->text = c->text;
    v->approval_timeout_ms = c->timeout_ms;
    v->approvers = c->approvers;
    v->approver_count = c->approver_count;
}

static const char *answer_name(enum check_answer answer) {
    static const char *const names[] = {"passes", "denies", "asks for approval"};
    return names[answer];
}

/* The method name itself; patterns that match it were written by the policy's author. */
static struct slice method_refused(struct eval *e) {
    return arena_printf(e->arena, "Method \"%.*s\" is not permitted by policy", SLICE_FMT(e->facts->method));
}

/* The text of a check that denies. A rule's own text is its reason to deny or to ask; it is not used when
 * the rule could not be evaluated. */
static void deny_check(struct eval *e, const struct check *c, struct slice text, struct policy_verdict *v) {
    bool is_schema = c->mode == CHECK_REQUIRED_ARGS || c->mode == CHECK_SCHEMA;
    enum policy_reason reason = e->fault    ? POLICY_BY_FAULT
                                : is_schema ? POLICY_BY_SCHEMA
                                : e->unsure ? POLICY_BY_AMBIGUITY
                                            : POLICY_BY_RULE;
    struct slice detail = c->shadow ? (struct slice){0} : check_detail(e, c);
    if (c->whole_method)
        text = method_refused(e);
    else if (reason == POLICY_BY_AMBIGUITY && c->mode != CHECK_REQUIRE)
        text = arena_printf(e->arena, "Rule \"%.*s\" cannot judge %.*s", SLICE_FMT(c->name),
                            SLICE_FMT(e->unsure->path.text));
    else if (!text.len)
        text = arena_printf(e->arena, "Denied by rule \"%.*s\"", SLICE_FMT(c->name));
    if (!deny_or_note(e, v, reason, c->shadow, c->name, c->pointer, text))
        return;
    v->detail = detail;
    if (reason == POLICY_BY_AMBIGUITY)
        v->path = e->unsure->path.text;
    else if (e->found_kind.len)
        v->path = e->found_path;
}

/* Arguments that a rule reads must match the tool's schema, or the server may read something else. false:
 * denied. */
static bool check_strict(struct eval *e, struct policy_verdict *v) {
    const struct policy_facts *f = e->facts;
    struct policy_schema_failure failure = {.keyword = "required"};
    enum policy_reason reason = POLICY_BY_SCHEMA;
    struct slice text;
    if (e->args_checked)
        return true;
    e->args_checked = true;
    if (!is_strict(e))
        return true;
    e->strict = f->schema != NULL;
    enum policy_schema_answer answer = POLICY_SCHEMA_FAULT;
    if (f->schema && policy_has_args(f))
        answer = policy_schema_judge(f->schema, f->tape, f->args, &e->budget, &e->unlisted, &failure);
    else if (f->schema)
        answer = policy_schema_required(f->schema, 0).ptr ? POLICY_SCHEMA_INVALID : POLICY_SCHEMA_VALID;
    switch (answer) {
    case POLICY_SCHEMA_VALID:
        return true;
    case POLICY_SCHEMA_INVALID:
        text = schema_text(e, &failure);
        break;
    case POLICY_SCHEMA_CLASH:
        reason = POLICY_BY_AMBIGUITY;
        text = SLICE("A key differs from an argument of the tool only in case or Unicode form");
        break;
    default:
        text = f->schema ? SLICE("The arguments take too long to check against the tool's schema")
                         : SLICE("The tool's schema cannot be read, so its arguments cannot be checked");
        break;
    }
    if (!deny_or_note(e, v, reason, false, SLICE("(arguments)"), SLICE(""), text))
        return true;
    if (policy_has_args(f) && answer != POLICY_SCHEMA_FAULT)
        v->path = policy_path_name(f->tape, f->args, failure.node ? failure.node : f->args, e->arena);
    v->detail = v->path;
    return false;
}

/* false: denied. */
static bool run_checks(struct eval *e, const struct entry *entry, struct policy_verdict *v) {
    for (uint32_t i = 0; i < entry->check_count; i++) {
        const struct check *c = &entry->checks[i];
        struct slice text = c->text;
        if (c->reads_args && !e->args_checked && !check_strict(e, v))
            return false;
        if (e->trace)
            policy_trace_check(e->trace, c);
        e->blame = e->unsure = NULL;
        enum check_answer answer = check_run(e, c, &text);
        if (e->trace)
            policy_trace_check_end(e->trace, answer_name(answer));
        if (answer == CHECK_APPROVES)
            approve(e, c, v);
        if (answer == CHECK_DENIES)
            deny_check(e, c, text, v);
        if (v->outcome == POLICY_DENY)
            return false;
    }
    return true;
}

static bool flow_has(const struct policy_facts *f, const struct flow_pii *want) {
    for (size_t i = 0; i < f->pii_count; i++)
        if (slice_eq(f->pii[i].kind, want->kind))
            return f->pii[i].most > want->over;
    return f->pii_closed;
}

/* Has the session all labels that the flow requires? */
static bool flow_follows(const struct policy_facts *f, const struct flow_rule *flow) {
    if ((f->flow & flow->after) != flow->after)
        return false;
    for (size_t i = 0; i < flow->pii_count; i++)
        if (!flow_has(f, &flow->pii[i]))
            return false;
    return true;
}

static bool run_flows(struct eval *e, struct policy_verdict *v) {
    const struct policy *p = e->policy;
    for (size_t i = 0; i < p->flow_count; i++) {
        const struct flow_rule *flow = &p->flows[i];
        if (!flow_follows(e->facts, flow) || !(e->facts->traits.tags & flow->tags))
            continue;
        if (flow->approve) {
            struct check as_check = {.name = flow->name,
                                     .pointer = flow->pointer,
                                     .text = flow->text,
                                     .shadow = flow->shadow,
                                     .timeout_ms = flow->timeout_ms};
            approve(e, &as_check, v);
        } else if (deny_or_note(e, v, POLICY_BY_FLOW, flow->shadow, flow->name, flow->pointer, flow->text)) {
            return false;
        }
    }
    return true;
}

struct gathering {
    struct policy_limit *limits;
    uint32_t count;
};

/* A call is counted once, even if several limits name the same counter; the strictest limit applies. */
static bool counts_already(struct gathering *g, const struct policy_limit *limit) {
    for (uint32_t i = 0; i < g->count; i++) {
        struct policy_limit *other = &g->limits[i];
        if (other->kind != limit->kind || other->window_ms != limit->window_ms ||
            other->amount != limit->amount || other->shadow != limit->shadow ||
            !slice_eq(other->key, limit->key))
            continue;
        if (limit->max < other->max)
            *other = *limit;
        return true;
    }
    return false;
}

/* The limits of the applied entries: those that count, or those that only check. false: denied, because an
 * amount cannot be read. */
static bool gather(struct eval *e, bool check_only, struct gathering *g, struct policy_verdict *v) {
    for (uint32_t i = 0; i < e->applied_count; i++) {
        const struct entry *entry = e->applied[i];
        if (check_only && !entry->cap_count)
            continue;
        for (uint32_t j = 0; j < entry->limit_count; j++) {
            const struct limit_rule *rule = &entry->limits[j];
            struct policy_limit *limit = &g->limits[g->count];
            if (rule->check_only != check_only)
                continue;
            if (!policy_limit_build(e, rule, limit)) {
                enum policy_reason reason = e->amount_path.len ? POLICY_BY_AMBIGUITY : POLICY_BY_FAULT;
                if (!deny_or_note(e, v, reason, rule->shadow, rule->name, rule->pointer,
                                  SLICE("Internal policy error")))
                    continue;
                v->detail = SLICE("the amount to count must be a number that is not negative");
                v->path = e->amount_path;
                return false;
            }
            if (e->trace)
                policy_trace_limit(e->trace, limit);
            if (check_only || !counts_already(g, limit))
                g->count++;
        }
    }
    return true;
}

/* Caps come last: they check the counters as they are after this call. */
static void gather_limits(struct eval *e, struct policy_verdict *v) {
    uint32_t total = 0;
    for (uint32_t i = 0; i < e->applied_count; i++)
        total += e->applied[i]->limit_count;
    if (!total || !e->facts->counters)
        return;
    struct gathering g = {.limits = arena_alloc(e->arena, total * sizeof(*g.limits))};
    if (!gather(e, false, &g, v) || !gather(e, true, &g, v))
        return;
    v->limits = g.limits;
    v->limit_count = g.count;
}

static void run_applied(struct eval *e, struct policy_verdict *v) {
    for (uint32_t i = 0; i < e->applied_count; i++) {
        const struct entry *entry = e->applied[i];
        policy_tighten(e->policy->shadow ? &v->result_bytes_shadow : &v->result_bytes_max,
                       entry->result_bytes_max);
        policy_tighten(&v->result_bytes_shadow, entry->result_bytes_shadow);
        if (!run_checks(e, entry, v))
            return;
    }
    if (!check_strict(e, v) || !run_flows(e, v))
        return;
    gather_limits(e, v);
}

/* ---- presets ---- */

/* Arguments of these names hold commands, whatever the class of the tool. */
static bool is_command_key(const struct tape *t, uint32_t node) {
    static const char *const names[] = {"command", "cmd", "commands", "script", "shell", "bash", "code"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (tape_eq(t, node, slice_str(names[i])))
            return true;
    return false;
}

/* Does the schema want a text for this argument? Then no server parses it. */
static bool is_text_argument(const struct eval *e, uint32_t key) {
    struct step step = {.kind = STEP_KEY, .key = tape_text(e->facts->tape, key, e->arena)};
    const struct path path = {.steps = &step, .step_count = 1};
    return e->facts->schema && policy_schema_is_text(e->facts->schema, &path, true);
}

/* The strings of one argument at any depth, keys included. */
static bool argument_touches_config(struct eval *e, uint32_t key, struct policy_preset_parts *parts) {
    const struct policy_facts *f = e->facts;
    unsigned always = f->traits.class == POLICY_CLASS_EXECUTE ? POLICY_PRESET_COMMAND : 0;
    bool is_text = is_text_argument(e, key);
    for (uint32_t i = key; i < tape_node(f->tape, key + 1)->next; i++) {
        if (!tape_is(f->tape, i, TAPE_STRING))
            continue;
        struct slice text = tape_text(f->tape, i, e->arena);
        unsigned forms = always;
        if (i > key && tape_is(f->tape, i - 1, TAPE_STRING) && is_command_key(f->tape, i - 1))
            forms |= POLICY_PRESET_COMMAND;
        if (!is_text && policy_value_may_be_json(text))
            forms |= POLICY_PRESET_JSON;
        if (!policy_spend(&e->budget, 1 + text.len) || policy_preset_names_config(text, forms, e->arena) ||
            (i > key && policy_preset_add_part(parts, text, e->arena)))
            return true;
    }
    return false;
}

static bool touches_agent_config(struct eval *e) {
    const struct policy_facts *f = e->facts;
    struct policy_preset_parts parts = {0};
    if (!policy_has_args(f) || f->traits.class == POLICY_CLASS_READ)
        return false;
    TAPE_FOR_MEMBER(f->tape, f->args, key) {
        if (argument_touches_config(e, key, &parts))
            return true;
    }
    return false;
}

/* A name that the policy writes otherwise: a server that folds names would run the tool that a rule is about.
 * true: denied. */
static bool name_imitates(struct eval *e, struct policy_verdict *v) {
    struct slice tool = e->facts->tool;
    struct slice named = policy_name_imitated(e->policy, tool, e->arena);
    return named.len &&
           deny_or_note(
               e, v, POLICY_BY_AMBIGUITY, false, SLICE("(tool name)"), SLICE(""),
               arena_printf(e->arena,
                            "The tool name differs only in case, blanks or Unicode form from \"%.*s\", "
                            "which the policy names",
                            SLICE_FMT(named)));
}

/* Keys that a server may treat as equal: it is unknown which value it would use. true: denied. */
static bool keys_clash(struct eval *e, struct policy_verdict *v) {
    const struct policy_facts *f = e->facts;
    uint32_t key = policy_has_args(f) ? clash_find(f->tape, f->args, 0) : 0;
    if (!key)
        return false;
    struct slice path = policy_path_name(f->tape, f->args, key + 1, e->arena);
    struct slice text =
        arena_printf(e->arena, "Two keys differ only in case or Unicode form: %.*s", SLICE_FMT(path));
    if (!deny_or_note(e, v, POLICY_BY_AMBIGUITY, false, SLICE("(arguments)"), SLICE(""), text))
        return false;
    v->path = v->detail = path;
    return true;
}

/* ---- the two kinds of messages ---- */

static void decide_tool(struct eval *e, struct policy_verdict *v) {
    const struct policy *p = e->policy;
    struct slice tool = e->facts->tool;
    if (hidden_by(p, tool, &e->facts->traits)) {
        if (e->trace)
            policy_trace_note(e->trace, "hidden", "denies");
        if (deny_or_note(e, v, POLICY_BY_HIDE, false, SLICE("(hidden)"), SLICE("/hide"),
                         arena_printf(e->arena, "Tool \"%.*s\" is hidden by policy", SLICE_FMT(tool))))
            return;
    }
    const struct entry *exact = slice_is(tool, "*") ? NULL : map_get(&p->tools, tool);
    if (!exact && !policy_name_is_plain(tool)) {
        deny(v, POLICY_BY_DEFAULT, SLICE("(tool name)"), SLICE(""),
             SLICE("The tool name is not permitted by policy: it has characters that are hidden or look like "
                   "others; a policy that names it exactly under `tools` can allow it"));
        return;
    }
    bool listed = apply_tool(e, exact);
    if (!listed && p->default_deny) {
        if (e->trace)
            policy_trace_note(e->trace, "not listed, and the default is deny", "denies");
        if (deny_or_note(e, v, POLICY_BY_DEFAULT, false, SLICE("(default deny)"), SLICE("/default"),
                         unlisted_text(tool, e->arena)))
            return;
    } else if (e->trace) {
        policy_trace_note(e->trace, listed ? "listed" : "not listed, and the default is allow", "passes");
    }
    if ((!exact && name_imitates(e, v)) || keys_clash(e, v))
        return;
    if (p->protect_agent_config && touches_agent_config(e) &&
        deny_or_note(e, v, POLICY_BY_RULE, false, SLICE("(protect_agent_config)"), SLICE("/presets"),
                     SLICE("Files that agents, editors and shells take orders from are protected")))
        return;
    run_applied(e, v);
}

/* For methods that the policy does not name: denies unknown methods where the default is deny, and
 * deceptive elicitations. An entry under `methods` takes precedence. */
static bool deny_unnamed(struct eval *e, struct policy_verdict *v) {
    const struct policy_facts *f = e->facts;
    if (f->direction == POLICY_TO_SERVER && policy_method_imitates(f->method, e->arena))
        return deny_or_note(e, v, POLICY_BY_AMBIGUITY, false, SLICE("(method)"), SLICE(""),
                            method_refused(e));
    if (e->policy->default_deny && !policy_method_known(f->method))
        return deny_or_note(e, v, POLICY_BY_DEFAULT, false, SLICE("(default deny)"), SLICE("/default"),
                            method_refused(e));
    if (f->direction != POLICY_TO_CLIENT || !slice_is(f->method, "elicitation/create"))
        return false;
    const char *fault = policy_elicitation_fault(f->tape, f->args, e->arena);
    return fault && deny_or_note(e, v, POLICY_BY_METHOD, false, SLICE("(elicitation)"), SLICE("/methods"),
                                 slice_str(fault));
}

static void decide_method(struct eval *e, struct policy_verdict *v) {
    const struct policy *p = e->policy;
    struct slice method = e->facts->method;
    const struct entry *exact = p->methods.count ? map_get(&p->methods, method) : NULL;
    if (exact)
        e->applied[e->applied_count++] = exact;
    for (size_t i = 0; i < p->method_pattern_count; i++)
        if (policy_glob_names(p->method_patterns[i]->name, method))
            e->applied[e->applied_count++] = p->method_patterns[i];
    if (e->applied_count == 0 && !p->allows_by_default && e->facts->direction == POLICY_TO_CLIENT &&
        slice_starts(method, SLICE("sampling/"))) {
        deny_or_note(e, v, POLICY_BY_METHOD, false, SLICE("(sampling)"), SLICE("/methods"),
                     method_refused(e));
        return;
    }
    if (e->applied_count == 0 && deny_unnamed(e, v))
        return;
    run_applied(e, v);
}

void policy_decide(const struct policy *p, const struct policy_facts *f, struct arena *a,
                   struct policy_trace *trace, struct policy_verdict *ret_verdict) {
    *ret_verdict = (struct policy_verdict){0};
    /* Not zeroed as a whole: the array of applied entries is large, and its count says what is valid. */
    struct eval e;
    e.policy = p;
    e.facts = f;
    e.arena = a;
    e.trace = trace;
    e.applied_count = 0;
    e.looked_up = 0;
    e.blame = e.unsure = NULL;
    e.fault = NULL;
    e.found_kind = (struct slice){0};
    e.optimistic = e.strict = false;
    e.unlisted.count = 0;
    e.unlisted.has_more = false;
    e.args_checked = !f->schema && !f->schema_unreadable; /* there is nothing to check them against */
    policy_budget_init(&e.budget, a);
    if (slice_is(f->method, "tools/call"))
        decide_tool(&e, ret_verdict);
    else
        decide_method(&e, ret_verdict);
}
