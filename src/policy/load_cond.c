#include "policy/load.h"
#include "policy/match.h"
#include "policy/path.h"
#include "policy/regex.h"
#include "policy/schema.h"
#include "policy/value.h"

#include "base/buf.h"
#include "base/mem.h"
#include "wire/emit.h"
#include "wire/host.h"
#include "wire/tree_edit.h"

const struct op_row policy_ops[OP_COUNT] = {
    [OP_EQ] = {"eq", NULL, true},
    [OP_NEQ] = {"neq", NULL, true},
    [OP_IN] = {"in", "a list", true},
    [OP_NOT_IN] = {"not_in", "a list", true},
    [OP_LT] = {"lt", "a numeric", true},
    [OP_LTE] = {"lte", "a numeric", true},
    [OP_GT] = {"gt", "a numeric", true},
    [OP_GTE] = {"gte", "a numeric", true},
    [OP_EXISTS] = {"exists", "a boolean", true},
    [OP_REGEX] = {"regex", "a string", true},
    [OP_CONTAINS] = {"contains", NULL, true},
    [OP_STARTS_WITH] = {"starts_with", "a string or list", false},
    [OP_ENDS_WITH] = {"ends_with", "a string or list", false},
    [OP_GLOB] = {"glob", "a string or list", false},
    [OP_LEN_EQ] = {"len_eq", "a numeric", false},
    [OP_LEN_LT] = {"len_lt", "a numeric", false},
    [OP_LEN_LTE] = {"len_lte", "a numeric", false},
    [OP_LEN_GT] = {"len_gt", "a numeric", false},
    [OP_LEN_GTE] = {"len_gte", "a numeric", false},
    [OP_TYPE] = {"type", "a type name or list", false},
    [OP_UNDER] = {"under", "a directory or list", false},
    [OP_HOST] = {"host", "a host or list", false},
    [OP_SQL] = {"sql", "\"read_only\" or {\"read_only\": DIALECT} as", false},
    [OP_NO_SHELL_META] = {"no_shell_meta", "true as", false},
    [OP_NO_LEADING_DASH] = {"no_leading_dash", "true as", false},
    [OP_SCHEMA] = {"schema", "true or a schema as", false},
    [OP_WITHIN] = {"within", "a time window", false},
    [OP_CONTAINS_SECRET] = {"contains_secret", "a boolean", false},
    [OP_PII] = {"pii", "true, false, a kind, a list of kinds or {\"kinds\": […], \"over\": N} as", false},
};

static const char *const op_names[] = {"eq",
                                       "neq",
                                       "in",
                                       "not_in",
                                       "lt",
                                       "lte",
                                       "gt",
                                       "gte",
                                       "exists",
                                       "regex",
                                       "contains",
                                       "starts_with",
                                       "ends_with",
                                       "glob",
                                       "len_eq",
                                       "len_lt",
                                       "len_lte",
                                       "len_gt",
                                       "len_gte",
                                       "type",
                                       "under",
                                       "host",
                                       "sql",
                                       "no_shell_meta",
                                       "no_leading_dash",
                                       "schema",
                                       "within",
                                       "contains_secret",
                                       "pii",
                                       NULL};

struct where { /* one condition while it is being read */
    struct loader *l;
    struct place place;
    const struct cond_context *ctx;
    bool lenient;
    unsigned depth;
};

static void read_condition(const struct where *w, const struct tree *t, struct cond *c);

static bool needs(const struct where *w, const struct tree *at, enum op op) {
    policy_problem(w->l, at, w->place.pointer, (struct slice){0}, "%.*s: operator \"%s\" requires %s value",
                   SLICE_FMT(w->place.prefix), policy_ops[op].name, policy_ops[op].requires);
    return false;
}

/* ---- values ---- */

static bool read_list(const struct where *w, const struct tree *v, struct cond *c) {
    bool single = v->type != TREE_LIST;
    size_t count = single ? 1 : v->count;
    if (count > POLICY_LIST_MAX) {
        policy_problem(w->l, v, w->place.pointer, (struct slice){0},
                       "%.*s: a list may have at most %d elements", SLICE_FMT(w->place.prefix),
                       POLICY_LIST_MAX);
        return false;
    }
    c->list = arena_array(w->l->arena, struct constant, count + 1);
    for (const struct tree *item = single ? v : v->child; item; item = single ? NULL : item->next)
        policy_value_constant(item, w->l->arena, &c->list[c->list_count++]);
    return true;
}

static bool read_strings(const struct where *w, const struct tree *v, struct cond *c) {
    if ((v->type != TREE_STRING && v->type != TREE_LIST) || (v->type == TREE_LIST && !v->count))
        return needs(w, v, c->op);
    for (const struct tree *item = v->type == TREE_LIST ? v->child : NULL; item; item = item->next)
        if (item->type != TREE_STRING)
            return needs(w, item, c->op);
    return read_list(w, v, c);
}

static bool read_regex(const struct where *w, const struct tree *v, struct cond *c) {
    struct loader *l = w->l;
    if (v->type != TREE_STRING) {
        policy_problem(l, v, w->place.pointer, (struct slice){0}, "%.*s: regex value must be a string",
                       SLICE_FMT(w->place.prefix));
        return false;
    }
    const char *why;
    struct policy_regex *regex = policy_regex_compile(v->text, POLICY_REGEX_RULE, l->arena, &why);
    if (!regex) {
        policy_problem(l, v, w->place.pointer, (struct slice){0}, "%.*s: invalid regex \"%.*s\": %s",
                       SLICE_FMT(w->place.prefix), SLICE_FMT(v->text), why);
        return false;
    }
    c->regex = regex;
    struct policy *p = l->policy;
    if (p->regex_count == p->regex_cap) {
        p->regex_cap = p->regex_cap ? p->regex_cap * 2 : 16;
        p->regexes = mem_realloc(p->regexes, p->regex_cap * sizeof(struct policy_regex *));
    }
    p->regexes[p->regex_count++] = regex;
    return true;
}

static bool read_dirs(const struct where *w, const struct tree *v, struct cond *c) {
    if (!read_strings(w, v, c))
        return false;
    for (size_t i = 0; i < c->list_count; i++) {
        struct slice clean;
        if (policy_under_clean(c->list[i].text, w->l->arena, &clean)) {
            c->list[i].text = clean;
            continue;
        }
        policy_problem(w->l, v, w->place.pointer, SLICE("write an absolute path"),
                       "%.*s: operator \"under\" requires absolute directories, got \"%.*s\"",
                       SLICE_FMT(w->place.prefix), SLICE_FMT(c->list[i].text));
    }
    return true;
}

static bool read_hosts(const struct where *w, const struct tree *v, struct cond *c) {
    if (!read_strings(w, v, c))
        return false;
    for (size_t i = 0; i < c->list_count; i++)
        if (!host_is_pattern(c->list[i].text, w->l->arena))
            policy_problem(
                w->l, v, w->place.pointer,
                SLICE("example.com, *.example.com, 192.0.2.1, 2001:db8::1 or *, without scheme, port "
                      "and path; a name beyond ASCII as xn--…"),
                "%.*s: operator \"host\" cannot match \"%.*s\"", SLICE_FMT(w->place.prefix),
                SLICE_FMT(c->list[i].text));
    return true;
}

static bool read_types(const struct where *w, const struct tree *v, struct cond *c) {
    static const char *const names[] = {"string", "number", "integer", "boolean",
                                        "array",  "object", "null",    NULL};
    if (!read_strings(w, v, c))
        return false;
    for (size_t i = 0; i < c->list_count; i++) {
        bool known = false;
        for (size_t j = 0; names[j]; j++)
            known |= slice_is(c->list[i].text, names[j]);
        if (!known)
            policy_problem(w->l, v, w->place.pointer, policy_hint(w->l, c->list[i].text, names),
                           "%.*s: unknown type \"%.*s\"", SLICE_FMT(w->place.prefix),
                           SLICE_FMT(c->list[i].text));
    }
    return true;
}

/* read_only, or {read_only: postgres}. */
static bool read_sql(const struct where *w, const struct tree *v, struct cond *c) {
    if (v->type == TREE_STRING && slice_is(v->text, "read_only"))
        return true;
    const struct tree *dialect = v->type == TREE_MAP && v->count == 1 ? tree_get(v, "read_only") : NULL;
    if (!dialect || dialect->type != TREE_STRING)
        return needs(w, v, c->op);
    if (policy_sql_dialect_from(dialect->text, &c->dialect))
        return true;
    policy_problem(w->l, dialect, w->place.pointer, policy_hint(w->l, dialect->text, policy_sql_dialects),
                   "%.*s: unknown SQL dialect \"%.*s\"; known are postgres, mysql, sqlite and mssql",
                   SLICE_FMT(w->place.prefix), SLICE_FMT(dialect->text));
    return false;
}

static bool read_schema(const struct where *w, const struct tree *v, struct cond *c) {
    if (v->type == TREE_BOOL && v->truth)
        return true;
    if (v->type != TREE_MAP)
        return needs(w, v, c->op);
    cleanup_buf struct buf json;
    buf_init(&json, POLICY_BYTES_MAX);
    struct emit e;
    emit_init(&e, &json);
    tree_json(v, &e);
    struct policy_schema *schema = NULL;
    struct err err;
    if (policy_schema_compile(buf_slice(&json), &schema, &err) < 0) {
        policy_problem(w->l, v, w->place.pointer, (struct slice){0}, "%.*s: invalid schema: %s",
                       SLICE_FMT(w->place.prefix), err.text);
        return false;
    }
    struct policy *p = w->l->policy;
    if (p->schema_count == p->schema_cap) {
        p->schema_cap = p->schema_cap ? p->schema_cap * 2 : 16;
        p->schemas = mem_realloc(p->schemas, p->schema_cap * sizeof(struct policy_schema *));
    }
    p->schemas[p->schema_count++] = schema;
    c->schema = schema;
    return true;
}

/* "HH:MM", up to 24:00. */
static bool read_clock(struct slice text, int16_t *ret_min) {
    struct slice hours, minutes = text;
    uint64_t h, m;
    if (!slice_cut(&minutes, ':', &hours) || !slice_to_u64(hours, &h) || minutes.len != 2 ||
        !slice_to_u64(minutes, &m) || h > 24 || m > 59 || (h == 24 && m))
        return false;
    *ret_min = (int16_t)(h * 60 + m);
    return true;
}

static int day_number(struct slice name) {
    static const char *const days[] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
    for (int i = 0; i < 7; i++)
        if (slice_eq_nocase(name, slice_str(days[i])))
            return i;
    return -1;
}

/* "mon", or "mon-fri". */
static bool read_days(struct slice text, uint8_t *days) {
    struct slice to = text, from;
    bool range = slice_cut(&to, '-', &from);
    int first = day_number(from), last = range ? day_number(to) : first;
    if (first < 0 || last < 0)
        return false;
    for (int day = first;; day = (day + 1) % 7) {
        *days |= (uint8_t)(1u << day);
        if (day == last)
            return true;
    }
}

static bool read_utc_offset(struct slice text, int16_t *ret_min) {
    int16_t minutes;
    if (slice_is(text, "UTC") || slice_is(text, "Z") || !text.len)
        return true;
    if ((text.ptr[0] != '+' && text.ptr[0] != '-') || !read_clock(slice_from(text, 1), &minutes) ||
        minutes > 14 * 60)
        return false;
    *ret_min = (int16_t)(text.ptr[0] == '-' ? -minutes : minutes);
    return true;
}

static bool read_within(const struct where *w, const struct tree *v, struct cond *c) {
    static const char *const keys[] = {"days", "from", "to", "utc_offset", NULL};
    struct loader *l = w->l;
    if (v->type != TREE_MAP)
        return needs(w, v, c->op);
    policy_check_keys(l, v, w->place, keys);
    c->within.to_min = 24 * 60;
    const struct tree *from = tree_get(v, "from"), *to = tree_get(v, "to");
    bool good = (!from || read_clock(from->text, &c->within.from_min)) &&
                (!to || read_clock(to->text, &c->within.to_min)) &&
                read_utc_offset(policy_member_text(l, v, w->place, "utc_offset"), &c->within.offset_min);
    const struct tree *days = tree_get(v, "days");
    if (!days)
        c->within.days = 0x7f;
    else if (days->type == TREE_LIST)
        for (const struct tree *day = days->child; day; day = day->next)
            good &= read_days(day->text, &c->within.days);
    else
        good &= read_days(days->text, &c->within.days);
    if (!good)
        policy_problem(l, v, w->place.pointer,
                       SLICE("days: [mon-fri], from: \"09:00\", to: \"17:00\", utc_offset: \"+01:00\""),
                       "%.*s: operator \"within\" cannot read its time window", SLICE_FMT(w->place.prefix));
    return good;
}

static bool is_kind(struct slice text) {
    for (size_t i = 0; i < text.len; i++) {
        const char c = text.ptr[i];
        if (!(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_')
            return false;
    }
    return text.len > 0;
}

static bool read_kinds(const struct where *w, const struct tree *v, struct cond *c) {
    if (!read_strings(w, v, c))
        return false;
    struct slice *kinds = arena_array(w->l->arena, struct slice, c->list_count);
    for (size_t i = 0; i < c->list_count; i++) {
        kinds[i] = c->list[i].text;
        policy_note_kind(w->l, v, w->place.pointer, kinds[i]);
        if (!is_kind(kinds[i]))
            policy_problem(w->l, v, w->place.pointer, SLICE("EMAIL, CREDIT_CARD, SECRET …; see docs/pii.md"),
                           "%.*s: \"%.*s\" is not a kind of personal data", SLICE_FMT(w->place.prefix),
                           SLICE_FMT(kinds[i]));
    }
    c->kinds = kinds;
    c->kind_count = c->list_count;
    return true;
}

/* true, false, EMAIL, [EMAIL, PHONE] or {kinds: [EMAIL], over: 3}. */
static bool read_finds(const struct where *w, const struct tree *v, struct cond *c) {
    static const char *const keys[] = {"kinds", "over", NULL};
    static const struct slice secret = {"SECRET", 6};
    if (c->op == OP_CONTAINS_SECRET) {
        c->kinds = &secret;
        c->kind_count = 1;
    }
    if (v->type == TREE_BOOL) {
        c->wants_none = !v->truth;
        return true;
    }
    if (c->op == OP_CONTAINS_SECRET)
        return needs(w, v, c->op);
    if (v->type != TREE_MAP)
        return read_kinds(w, v, c);
    policy_check_keys(w->l, v, w->place, keys);
    const struct tree *kinds = tree_get(v, "kinds"), *over = tree_get(v, "over");
    if (over && (over->type != TREE_INT || over->integer < 0 || over->integer > INT32_MAX))
        return needs(w, over, c->op);
    c->over = over ? (uint32_t)over->integer : 0;
    return !kinds || read_kinds(w, kinds, c);
}

static bool is_number(const struct tree *v) {
    /* Integers beyond 64 bits are not numeric to Intercept. */
    bool is_huge = v->type == TREE_FLOAT && v->text.len > 18 && slice_find(v->text, '.') < 0 &&
                   slice_find(v->text, 'e') < 0 && slice_find(v->text, 'E') < 0;
    return v->type == TREE_INT || (v->type == TREE_FLOAT && !is_huge);
}

static bool read_value(const struct where *w, const struct tree *v, struct cond *c) {
    policy_value_constant(v, w->l->arena, &c->value);
    if (v->type == TREE_BOOL)
        c->value.number = v->truth;
    switch (c->op) {
    case OP_IN:
    case OP_NOT_IN:
        return v->type == TREE_LIST ? read_list(w, v, c) : needs(w, v, c->op);
    case OP_LT:
    case OP_LTE:
    case OP_GT:
    case OP_GTE:
    case OP_LEN_EQ:
    case OP_LEN_LT:
    case OP_LEN_LTE:
    case OP_LEN_GT:
    case OP_LEN_GTE:
        return is_number(v) || needs(w, v, c->op);
    case OP_EXISTS:
        return v->type == TREE_BOOL || needs(w, v, c->op);
    case OP_REGEX:
        return read_regex(w, v, c);
    case OP_STARTS_WITH:
    case OP_ENDS_WITH:
    case OP_GLOB:
        return read_strings(w, v, c);
    case OP_HOST:
        return read_hosts(w, v, c);
    case OP_TYPE:
        return read_types(w, v, c);
    case OP_UNDER:
        return read_dirs(w, v, c);
    case OP_SQL:
        return read_sql(w, v, c);
    case OP_NO_SHELL_META:
    case OP_NO_LEADING_DASH:
        return (v->type == TREE_BOOL && v->truth) || needs(w, v, c->op);
    case OP_SCHEMA:
        return read_schema(w, v, c);
    case OP_WITHIN:
        return read_within(w, v, c);
    case OP_CONTAINS_SECRET:
    case OP_PII:
        return read_finds(w, v, c);
    case OP_EQ:
    case OP_NEQ:
    case OP_CONTAINS:
    case OP_COUNT:
        break;
    }
    return true;
}

/* ---- leaves ---- */

static void add_reference(struct loader *l, struct cond *c, const struct tree *at) {
    if (l->reference_count == l->reference_cap) {
        l->reference_cap = l->reference_cap ? l->reference_cap * 2 : 32;
        l->references = mem_realloc(l->references, l->reference_cap * sizeof(*l->references));
    }
    l->references[l->reference_count++] = (struct reference){c, at};
}

static bool time_path_is_known(struct slice text) {
    return slice_is(text, "time.now") || slice_is(text, "time.hour") || slice_is(text, "time.weekday");
}

/* All facts that exist about the server, the tool and the call. A misspelled fact would always be absent,
 * and a rule that denies by it would never match. Facts of identities, grants and sessions differ between
 * sites. */
static const char *const known_facts[] = {"server.name", "tool.name",      "tool.class",
                                          "call.method", "call.direction", NULL};

static bool fact_is_known(struct slice text) {
    for (size_t i = 0; known_facts[i]; i++)
        if (slice_is(text, known_facts[i]))
            return true;
    return !slice_starts(text, SLICE("server.")) && !slice_starts(text, SLICE("tool.")) &&
           !slice_starts(text, SLICE("call."));
}

/* `arg.amount`, `argument.x`: the probably intended first word. */
static struct slice root_hint(struct loader *l, struct slice text) {
    static const char *const roots[] = {"args",   "params", "state", "grant", "identity", "session",
                                        "server", "tool",   "call",  "time",  NULL};
    struct slice root, rest = text;
    slice_cut(&rest, '.', &root);
    return policy_hint(l, root, roots);
}

static void read_path(const struct where *w, const struct tree *t, struct cond *c) {
    struct loader *l = w->l;
    struct slice text = policy_member_text(l, t, w->place, "path");
    const struct tree *at = tree_get(t, "path");
    switch (policy_path_compile(text, l->arena, &c->path)) {
    case POLICY_PATH_OK:
        break;
    case POLICY_PATH_ROOT:
        policy_problem(l, at ? at : t, w->place.pointer, root_hint(l, text),
                       "%.*s: path must start with \"args.\" or \"state.\", got \"%.*s\"",
                       SLICE_FMT(w->place.prefix), SLICE_FMT(text));
        return;
    case POLICY_PATH_SYNTAX:
        policy_problem(l, at ? at : t, w->place.pointer,
                       SLICE("args.a.b, args.list[0], args.list[*].c, args[\"a.b\"]"),
                       "%.*s: path \"%.*s\" cannot be read", SLICE_FMT(w->place.prefix), SLICE_FMT(text));
        return;
    }
    size_t id = (size_t)(uintptr_t)map_get(&l->paths, c->path.text);
    if (!id) {
        id = l->paths.count + 1;
        map_put(&l->paths, c->path.text, (void *)(uintptr_t)id);
    }
    c->path.id = (uint32_t)(id - 1);
    if (c->path.root == ROOT_STATE)
        add_reference(l, c, t);
    if (c->path.root == ROOT_TIME && !time_path_is_known(text))
        policy_problem(l, at, w->place.pointer, SLICE("time.now, time.hour or time.weekday"),
                       "%.*s: unknown time \"%.*s\"", SLICE_FMT(w->place.prefix), SLICE_FMT(text));
    if (c->path.root == ROOT_FACT && !fact_is_known(text))
        policy_problem(l, at, w->place.pointer, policy_hint(l, text, known_facts),
                       "%.*s: unknown fact \"%.*s\"", SLICE_FMT(w->place.prefix), SLICE_FMT(text));
}

static bool read_op(const struct where *w, const struct tree *t, struct cond *c) {
    struct slice name = policy_member_text(w->l, t, w->place, "op");
    for (int i = 0; i < OP_COUNT; i++) {
        if (slice_is(name, policy_ops[i].name)) {
            c->op = (enum op)i;
            return true;
        }
    }
    const struct tree *at = tree_get(t, "op");
    policy_problem(w->l, at ? at : t, w->place.pointer, policy_hint(w->l, name, op_names),
                   "%.*s: unknown operator \"%.*s\"", SLICE_FMT(w->place.prefix), SLICE_FMT(name));
    return false;
}

static void read_modifiers(const struct where *w, const struct tree *t, struct cond *c) {
    struct slice match = policy_member_text(w->l, t, w->place, "match");
    struct slice missing = policy_member_missing(w->l, t, w->place);
    if (!missing.len)
        missing = w->ctx->missing;
    c->lenient = w->lenient;
    c->has_missing = missing.len > 0;
    c->match_all = match.len ? slice_is(match, "all") : w->lenient;
    if (match.len && !slice_is(match, "all") && !slice_is(match, "any"))
        policy_problem(w->l, t, w->place.pointer, (struct slice){0},
                       "%.*s: match must be \"all\" or \"any\", got \"%.*s\"", SLICE_FMT(w->place.prefix),
                       SLICE_FMT(match));
    /* The effect of a missing argument: pass or deny, both for required and for denied conditions. */
    if (slice_is(missing, "pass"))
        c->absent = w->lenient;
    else if (slice_is(missing, "deny"))
        c->absent = !w->lenient;
}

static void read_leaf(const struct where *w, const struct tree *t, struct cond *c) {
    static const char *const keys[] = {"path", "op", "value", "match", "on_missing", NULL};
    static const struct tree nothing = {.type = TREE_NULL};
    policy_check_keys(w->l, t, w->place, keys);
    c->kind = COND_LEAF;
    read_path(w, t, c);
    bool known = read_op(w, t, c);
    read_modifiers(w, t, c);
    if (!known)
        return;
    const struct tree *v = tree_get(t, "value");
    struct tree here = nothing;
    here.line = t->line;
    here.column = t->column;
    read_value(w, v ? v : &here, c);
    if ((c->op == OP_WITHIN) != (c->path.root == ROOT_TIME && slice_is(c->path.text, "time.now")) &&
        c->path.text.len)
        policy_problem(w->l, t, w->place.pointer, (struct slice){0},
                       "%.*s: operator \"within\" and path \"time.now\" belong together",
                       SLICE_FMT(w->place.prefix));
    if ((c->op == OP_CONTAINS_SECRET || c->op == OP_PII) && c->path.text.len && c->path.root != ROOT_ARGS)
        policy_problem(w->l, t, w->place.pointer, SLICE("path: args checks all of them"),
                       "%.*s: operator \"%s\" checks arguments only", SLICE_FMT(w->place.prefix),
                       policy_ops[c->op].name);
}

/* ---- groups ---- */

static void read_members(const struct where *w, const struct tree *list, const char *name, struct cond *c) {
    if (list->count > POLICY_CONDITIONS_MAX) {
        policy_problem(w->l, list, w->place.pointer, (struct slice){0}, "%.*s: at most %d conditions",
                       SLICE_FMT(w->place.prefix), POLICY_CONDITIONS_MAX);
        return;
    }
    c->children = arena_array(w->l->arena, struct cond, list->count + 1);
    c->count = list->count;
    size_t i = 0;
    for (const struct tree *item = list->child; item; item = item->next, i++) {
        struct where inner = *w;
        inner.place = policy_place_index(w->l, w->place, name, i);
        read_condition(&inner, item, &c->children[i]);
    }
}

static void read_group(const struct where *w, const struct tree *t, const struct tree *body, struct cond *c) {
    struct where inner = *w;
    bool is_not = slice_is(body->key, "not");
    c->kind = is_not ? COND_NOT : slice_is(body->key, "any") ? COND_ANY : COND_ALL;
    if (t->count != 1)
        policy_problem(w->l, t, w->place.pointer, (struct slice){0},
                       "%.*s: \"%.*s\" must be the only element", SLICE_FMT(w->place.prefix),
                       SLICE_FMT(body->key));
    if (++inner.depth > POLICY_GROUP_DEPTH_MAX) {
        policy_problem(w->l, body, w->place.pointer, (struct slice){0}, "%.*s: groups nest at most %d deep",
                       SLICE_FMT(w->place.prefix), POLICY_GROUP_DEPTH_MAX);
        return;
    }
    if (is_not)
        inner.lenient = !inner.lenient;
    if (is_not && body->type == TREE_MAP) {
        c->children = arena_new(w->l->arena, struct cond);
        c->count = 1;
        inner.place = policy_place_key(w->l, w->place, SLICE("not"));
        read_condition(&inner, body, c->children);
        return;
    }
    if (body->type != TREE_LIST || body->count == 0) {
        policy_problem(w->l, body, w->place.pointer, (struct slice){0},
                       "%.*s: \"%.*s\" requires a list of conditions", SLICE_FMT(w->place.prefix),
                       SLICE_FMT(body->key));
        return;
    }
    if (!is_not) {
        read_members(&inner, body, c->kind == COND_ANY ? "any" : "all", c);
        return;
    }
    c->children = arena_new(w->l->arena, struct cond); /* not: [a, b] is not (a and b) */
    c->count = 1;
    c->children->kind = COND_ALL;
    read_members(&inner, body, "not", c->children);
}

static void read_condition(const struct where *w, const struct tree *t, struct cond *c) {
    if (t->type != TREE_MAP) {
        policy_problem(w->l, t, w->place.pointer, (struct slice){0}, "%.*s: a condition must be a mapping",
                       SLICE_FMT(w->place.prefix));
        return;
    }
    static const char *const groups[] = {"any", "all", "not"};
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        const struct tree *body = tree_get(t, groups[i]);
        if (body) {
            read_group(w, t, body, c);
            return;
        }
    }
    read_leaf(w, t, c);
}

void policy_load_conditions(struct loader *l, const struct tree *list, const struct cond_context *ctx,
                            struct cond *ret_cond) {
    struct where w = {.l = l, .place = ctx->place, .ctx = ctx, .lenient = ctx->requires};
    ret_cond->kind = COND_ALL;
    if (list)
        read_members(&w, list, ctx->list, ret_cond);
}
