#include "policy/op.h"

#include "base/fold.h"
#include "policy/match.h"
#include "policy/path.h"
#include "policy/regex.h"
#include "policy/schema.h"
#include "wire/emit.h"
#include "wire/host.h"

#define SPELT_BYTES_MIN                                                                                      \
    1024                    /* longer strings are searched without decoding; decoding short ones is cheaper */
#define EQUAL_STEPS 128     /* what comparing with one constant costs, where texts may be numbers */
#define EQUAL_TEXT_STEPS 16 /* the same where both are texts */
#define SQL_BYTE_STEPS 32   /* of a statement whose tokens are looked at */
#define SQL_GRAMMAR_STEPS 64 /* of one that PostgreSQL's grammar reads */
#define UNDER_BYTE_STEPS 100 /* what resolving one byte of a path costs: directories are looked up */

static enum truth spent(struct eval *e) { return policy_eval_fault(e, "the call takes too long to judge"); }

static bool is_node(const struct value *v, enum tape_type type) {
    return v->kind == VALUE_NODE && tape_is(v->tape, v->node, type);
}

/* A long string whose escapes are each the only spelling of their character: comparing the spelling is
 * enough. */
static bool is_spelt(const struct value *v, struct slice *ret_spelling) {
    if (!is_node(v, TAPE_STRING))
        return false;
    const struct tape_node *n = tape_node(v->tape, v->node);
    *ret_spelling = slice_of(v->tape->src.ptr + n->start, n->len);
    return (n->flags & (TAPE_ESCAPED | TAPE_RESPELT)) == TAPE_ESCAPED && n->len >= SPELT_BYTES_MIN;
}

static struct slice behind_space(struct slice spelling) {
    for (;;) {
        bool escape = spelling.len > 1 && spelling.ptr[0] == '\\' && strchr("ntr", spelling.ptr[1]);
        if (!escape && !(spelling.len && spelling.ptr[0] == ' '))
            return spelling;
        spelling = slice_from(spelling, escape ? 2 : 1);
    }
}

/* What such a text begins with behind blanks; 0: it has to be decoded. */
static char first_spelt(const struct value *v) {
    struct slice spelling;
    if (!is_spelt(v, &spelling))
        return '\0';
    spelling = behind_space(spelling);
    return spelling.len && spelling.ptr[0] != '\\' ? spelling.ptr[0] : '\0';
}

/* Servers that parse a string where they expect a list or an object (the official Python SDK does) may parse
 * this text; not where the tool's schema requires a string. */
static bool may_be_parsed(const struct eval *e, const struct cond *c, const struct value *v,
                          struct slice text) {
    return v->kind == VALUE_NODE && policy_value_may_be_json(text) &&
           !(e->facts->schema && policy_schema_is_text(e->facts->schema, &c->path, true));
}

static bool begins_json(struct eval *e, const struct cond *c, const struct value *v) {
    const char first = first_spelt(v);
    return may_be_parsed(e, c, v, first ? slice_of(&first, 1) : policy_value_text(v, e->arena));
}

/* The same for the text `null`, which they take for a missing value. */
static bool may_be_null(struct eval *e, const struct cond *c, const struct value *v) {
    const char first = is_node(v, TAPE_STRING) ? first_spelt(v) : '-';
    return (!first || first == 'n') && slice_is(slice_trim(policy_value_text(v, e->arena)), "null") &&
           !(e->facts->schema && policy_schema_is_text(e->facts->schema, &c->path, false));
}

/* The format of the texts there, if the tool's schema names one. */
static enum policy_format format_of(const struct eval *e, const struct cond *c, const struct value *v) {
    return is_node(v, TAPE_STRING) && e->facts->schema ? policy_schema_format(e->facts->schema, &c->path)
                                                       : POLICY_FORMAT_NONE;
}

/* The same for the elements of a list there. */
static enum policy_format element_format(const struct eval *e, const struct cond *c) {
    struct step steps[POLICY_PATH_STEPS_MAX + 1];
    const uint32_t count = c->path.step_count;
    if (!e->facts->schema)
        return POLICY_FORMAT_NONE;
    memcpy(steps, c->path.steps, count * sizeof(*steps));
    steps[count] = (struct step){.kind = STEP_EACH};
    return policy_schema_format(e->facts->schema, &(struct path){.steps = steps, .step_count = count + 1});
}

/* May a server read the text as this value, which is spelt otherwise? */
static bool is_respelt(enum policy_format format, struct slice text, struct slice want) {
    return format != POLICY_FORMAT_NONE &&
           (!policy_spelling_is_usual(format, text) || policy_spelling_alike(format, text, want));
}

/* The text to judge. false: servers may see different texts, and the result is UNSURE. */
static bool judged_text(struct eval *e, const struct cond *c, const struct value *v, struct slice *ret_text) {
    if (!policy_value_is_text(v))
        return false;
    *ret_text = policy_value_text(v, e->arena);
    return !may_be_parsed(e, c, v, *ret_text) && policy_spelling_is_usual(format_of(e, c, v), *ret_text);
}

/* ---- comparing ---- */

static enum truth negated(enum truth truth) {
    return truth == TRUTH_YES ? TRUTH_NO : truth == TRUTH_NO ? TRUTH_YES : truth;
}

/* May a server read the text as one of the values, which it spells otherwise? */
static bool may_be_one(const struct eval *e, const struct cond *c, const struct value *v, struct slice text) {
    const enum policy_format format = format_of(e, c, v);
    for (size_t i = 0; i < c->list_count; i++)
        if (is_respelt(format, text, c->list[i].text))
            return true;
    return !c->list_count && is_respelt(format, text, c->value.text);
}

/* A text that is equal to nothing may still be parsed to a list whose element is. */
static enum truth unless_parsed(struct eval *e, const struct cond *c, const struct value *v,
                                enum truth truth) {
    if (truth != TRUTH_NO || !is_node(v, TAPE_STRING))
        return truth;
    if (begins_json(e, c, v))
        return TRUTH_UNSURE;
    return format_of(e, c, v) && may_be_one(e, c, v, policy_value_text(v, e->arena)) ? TRUTH_UNSURE
                                                                                     : TRUTH_NO;
}

static enum truth judge_equal(struct eval *e, const struct cond *c, const struct value *v) {
    return unless_parsed(e, c, v, policy_value_equals(v, &c->value, e->arena));
}

/* The list of most rules contains strings, and against a string only its bytes count. */
static bool in_strings(struct eval *e, const struct cond *c, const struct value *v, enum truth *ret_truth) {
    const bool is_string = is_node(v, TAPE_STRING);
    struct slice text = is_string ? (struct slice){0} : policy_value_text(v, e->arena);
    *ret_truth = TRUTH_NO;
    for (size_t i = 0; i < c->list_count; i++) {
        struct slice one = c->list[i].text;
        if (c->list[i].type != TREE_STRING)
            return false;
        if (is_string ? tape_eq(v->tape, v->node, one) : slice_eq(text, one)) {
            *ret_truth = TRUTH_YES;
            return true;
        }
    }
    return true;
}

static enum truth judge_in(struct eval *e, const struct cond *c, const struct value *v) {
    enum truth truth = TRUTH_NO;
    if (!policy_spend(&e->budget, 1 + c->list_count / 4))
        return spent(e);
    if (policy_value_is_text(v) && in_strings(e, c, v, &truth))
        return unless_parsed(e, c, v, truth);
    truth = TRUTH_NO;
    for (size_t i = 0; i < c->list_count; i++) {
        if (!policy_spend(&e->budget, EQUAL_STEPS))
            return spent(e);
        enum truth one = policy_value_equals(v, &c->list[i], e->arena);
        if (one == TRUTH_YES)
            return one;
        truth = one == TRUTH_UNSURE ? one : truth;
    }
    return unless_parsed(e, c, v, truth);
}

static bool order_holds(enum op op, int order) {
    switch (op) {
    case OP_LT:
        return order < 0;
    case OP_LTE:
        return order <= 0;
    case OP_GT:
        return order > 0;
    default:
        return order >= 0;
    }
}

static enum truth judge_order(struct eval *e, const struct cond *c, const struct value *v) {
    struct policy_order order;
    if (!policy_value_order(v, &c->value, e->arena, &order))
        return TRUTH_UNSURE;
    bool exact = order_holds(c->op, order.exact);
    return exact == order_holds(c->op, order.rounded) ? truth_of(exact) : TRUTH_UNSURE;
}

/* ---- texts and lists ---- */

static enum truth judge_regex(struct eval *e, const struct cond *c, const struct value *v) {
    struct slice text;
    if (!judged_text(e, c, v, &text))
        return TRUTH_UNSURE;
    if (v->kind == VALUE_TEXT && !tape_utf8_valid(text))
        return TRUTH_UNSURE;
    switch (policy_regex_search(c->regex, text, &e->budget)) {
    case POLICY_REGEX_NO:
        return TRUTH_NO;
    case POLICY_REGEX_YES:
        return TRUTH_YES;
    case POLICY_REGEX_SPENT:
        break;
    }
    return policy_eval_fault(e, "the pattern took too many steps");
}

/* Does the spelling of `want` begin in it at a character boundary: behind an even number of backslashes? */
static bool spelling_contains(struct slice spelling, struct slice want) {
    cleanup_buf struct buf spelt;
    buf_init(&spelt, TAPE_BYTES_MAX);
    emit_escape(&spelt, want);
    const char *at = spelling.ptr, *end = spelling.ptr + spelling.len;
    while ((at = slice_search(slice_of(at, (size_t)(end - at)), buf_slice(&spelt)))) {
        const char *run = at;
        while (run > spelling.ptr && run[-1] == '\\')
            run--;
        if ((at - run) % 2 == 0)
            return true;
        at++;
    }
    return false;
}

static enum truth judge_contains(struct eval *e, const struct cond *c, const struct value *v) {
    struct slice text, want = c->value.text;
    if (want.len && c->value.type == TREE_STRING && is_spelt(v, &text) && !format_of(e, c, v) &&
        !may_be_parsed(e, c, v, behind_space(text)))
        return truth_of(spelling_contains(text, want));
    if (judged_text(e, c, v, &text)) {
        if (c->value.type != TREE_STRING)
            return TRUTH_NO;
        return truth_of(want.len == 0 || slice_search(text, want));
    }
    if (!is_node(v, TAPE_ARRAY))
        return TRUTH_UNSURE;
    enum truth truth = TRUTH_NO;
    const enum policy_format format = element_format(e, c);
    TAPE_FOR_ELEM(v->tape, v->node, i) {
        struct value element = {.kind = VALUE_NODE, .tape = v->tape, .node = i};
        if (!policy_spend(&e->budget, c->value.type == TREE_STRING ? EQUAL_TEXT_STEPS : EQUAL_STEPS))
            return spent(e);
        enum truth one = policy_value_equals(&element, &c->value, e->arena);
        if (one == TRUTH_YES)
            return one;
        if (policy_value_is_text(&element) && is_respelt(format, policy_value_text(&element, e->arena), want))
            one = TRUTH_UNSURE;
        truth = one == TRUTH_UNSURE ? one : truth;
    }
    return truth;
}

static enum truth judge_affix(struct eval *e, const struct cond *c, const struct value *v) {
    struct slice text;
    if (!judged_text(e, c, v, &text))
        return TRUTH_UNSURE;
    for (size_t i = 0; i < c->list_count; i++) {
        struct slice want = c->list[i].text;
        if (c->op == OP_STARTS_WITH ? slice_starts(text, want) : slice_ends(text, want))
            return TRUTH_YES;
    }
    return TRUTH_NO;
}

static enum truth judge_glob(struct eval *e, const struct cond *c, const struct value *v) {
    struct slice text;
    enum truth truth = TRUTH_NO;
    if (!judged_text(e, c, v, &text))
        return TRUTH_UNSURE;
    for (size_t i = 0; i < c->list_count; i++) {
        switch (policy_glob_match(c->list[i].text, text, '/', &e->budget.left)) {
        case POLICY_GLOB_YES:
            return TRUTH_YES;
        case POLICY_GLOB_NO:
            break;
        case POLICY_GLOB_BROKEN:
            truth = TRUTH_UNSURE;
            break;
        case POLICY_GLOB_SPENT:
            return spent(e);
        }
    }
    return truth;
}

static bool length_holds(enum op op, double n, double want) {
    switch (op) {
    case OP_LEN_EQ:
        return n == want;
    case OP_LEN_LT:
        return n < want;
    case OP_LEN_LTE:
        return n <= want;
    case OP_LEN_GT:
        return n > want;
    default:
        return n >= want;
    }
}

/* A text that a server may parse has no more elements than characters: only a result that also holds for
 * shorter values is certain. */
static enum truth judge_length(struct eval *e, const struct cond *c, const struct value *v) {
    uint64_t length;
    struct slice text = policy_value_is_text(v) ? policy_value_text(v, e->arena) : (struct slice){0};
    if (!policy_spend(&e->budget, 1 + text.len / 16))
        return spent(e);
    if (!policy_value_length(v, &length, e->arena))
        return TRUTH_UNSURE;
    bool holds = length_holds(c->op, (double)length, c->value.number);
    bool sure = holds ? c->op == OP_LEN_LT || c->op == OP_LEN_LTE : c->op == OP_LEN_GT || c->op == OP_LEN_GTE;
    return sure || !may_be_parsed(e, c, v, text) ? truth_of(holds) : TRUTH_UNSURE;
}

static bool type_holds(const struct cond *c, const struct value *v) {
    const char *name = policy_value_type_name(v);
    for (size_t i = 0; i < c->list_count; i++)
        if (slice_is(c->list[i].text, name) || (slice_is(c->list[i].text, "integer") &&
                                                strcmp(name, "number") == 0 && policy_value_is_integer(v)))
            return true;
    return false;
}

static enum truth judge_type(struct eval *e, const struct cond *c, const struct value *v) {
    bool is_parsed = is_node(v, TAPE_STRING) && begins_json(e, c, v);
    return is_parsed || may_be_null(e, c, v) ? TRUTH_UNSURE : truth_of(type_holds(c, v));
}

static enum truth judge_exists(struct eval *e, const struct cond *c, const struct value *v) {
    if (may_be_null(e, c, v))
        return TRUTH_UNSURE;
    return truth_of((v->kind != VALUE_ABSENT && !policy_value_is_null(v)) == (c->value.number != 0));
}

/* ---- what a text refers to ---- */

static bool real_under(struct eval *e, struct slice path, struct slice real_dir) {
    const struct policy_files *files = e->facts->files;
    struct slice real;
    return files->realpath(files->ctx, path, e->arena, &real) && policy_under_holds(real, real_dir, e->arena);
}

/* As file systems see it that ignore case, forms of letters, and dots and blanks at the end of a name. */
static struct slice loosened(struct slice path, struct arena *a) {
    path = fold_text(path, a);
    char *out = arena_alloc(a, path.len + 1);
    size_t len = 0;
    for (size_t i = 0; i <= path.len; i++) {
        if (i == path.len || path.ptr[i] == '/')
            while (len && (out[len - 1] == '.' || out[len - 1] == ' '))
                len--;
        if (i < path.len)
            out[len++] = path.ptr[i];
    }
    return slice_of(out, len);
}

/* A server may resolve `..` itself or leave it to the kernel, which goes up from the target of a link: the
 * path must be inside in both cases. */
static bool is_really_under(struct eval *e, struct slice path, struct slice clean, struct slice dir,
                            bool in_any) {
    const struct policy_files *files = e->facts->files;
    struct slice real_dir;
    if (!files->realpath(files->ctx, dir, e->arena, &real_dir))
        return false;
    bool by_name = real_under(e, clean, real_dir), by_link = by_name;
    if (!slice_eq(clean, path) && by_name != in_any)
        by_link = real_under(e, path, real_dir);
    return in_any ? by_name || by_link : by_name && by_link;
}

/* In a rule that denies, a path that may be inside cannot be judged: by a link, by letters that a file system
 * does not distinguish, or where links cannot be followed. */
static enum truth judge_under(struct eval *e, const struct cond *c, const struct value *v) {
    const struct policy_files *files = e->facts->files;
    struct slice path, clean;
    enum truth outside = TRUTH_NO;
    if (!policy_value_is_text(v))
        return TRUTH_UNSURE;
    path = policy_value_text(v, e->arena);
    if (!policy_under_clean(path, e->arena, &clean))
        return TRUTH_UNSURE;
    for (size_t i = 0; i < c->list_count; i++) {
        struct slice dir = c->list[i].text;
        if (!policy_spend(&e->budget, 1 + clean.len))
            return spent(e);
        const bool is_named = policy_under_holds(clean, dir, e->arena);
        if (is_named && !files)
            return TRUTH_YES;
        if (!is_named && c->lenient)
            continue;
        if (files && !policy_spend(&e->budget, UNDER_BYTE_STEPS * (path.len + dir.len)))
            return spent(e);
        if (is_named && is_really_under(e, path, clean, dir, false))
            return TRUTH_YES;
        if (!c->lenient && (is_named || (files && is_really_under(e, path, clean, dir, true)) ||
                            policy_under_holds(loosened(clean, e->arena), loosened(dir, e->arena), e->arena)))
            outside = TRUTH_UNSURE;
    }
    return outside;
}

/* In a rule that allows, an internal address passes only if the list contains exactly that host. In one that
 * denies, every pattern counts, and so does an IPv4 address inside of an IPv6 one. */
static enum truth judge_host(struct eval *e, const struct cond *c, const struct value *v) {
    struct slice host;
    bool is_ip;
    if (!policy_value_is_text(v))
        return TRUTH_UNSURE;
    struct slice text = policy_value_text(v, e->arena);
    if (!policy_spend(&e->budget, 1 + text.len + c->list_count))
        return spent(e);
    enum host_fault found = host_of_url(text, e->arena, &host, &is_ip);
    if (found != HOST_OK && found != HOST_PRIVATE)
        return TRUTH_UNSURE;
    bool is_inside = found == HOST_PRIVATE && c->lenient;
    struct slice inner = is_ip && !c->lenient ? host_inner_v4(host, e->arena) : (struct slice){0};
    for (size_t i = 0; i < c->list_count; i++) {
        struct slice want = c->list[i].text;
        bool is_exact = is_inside || (is_ip && !slice_is(want, "*"));
        if (is_exact ? slice_eq_nocase(host, want) : host_matches(host, want))
            return TRUTH_YES;
        if (inner.len && slice_eq(inner, want))
            return TRUTH_YES;
    }
    return TRUTH_NO;
}

static enum truth judge_text_test(struct eval *e, const struct cond *c, const struct value *v) {
    struct slice text;
    if (!judged_text(e, c, v, &text))
        return TRUTH_UNSURE;
    uint64_t of_byte = c->op != OP_SQL                     ? 1
                       : c->dialect == POLICY_SQL_POSTGRES ? SQL_GRAMMAR_STEPS
                       : c->dialect == POLICY_SQL_ANY      ? SQL_BYTE_STEPS + SQL_GRAMMAR_STEPS
                                                           : SQL_BYTE_STEPS;
    if (!policy_spend(&e->budget, 1 + of_byte * text.len))
        return spent(e);
    switch (c->op) {
    case OP_SQL: {
        enum policy_sql_answer answer = policy_sql_judge(text, c->dialect);
        return answer == POLICY_SQL_UNCLEAR ? TRUTH_UNSURE : truth_of(answer == POLICY_SQL_READS);
    }
    case OP_NO_SHELL_META:
        return truth_of(policy_shell_clean(text, e->arena));
    default:
        return truth_of(!policy_shell_is_option(text));
    }
}

static enum truth judge_schema(struct eval *e, const struct cond *c, const struct value *v) {
    const struct policy_schema *schema = c->schema ? c->schema : e->facts->schema;
    if (!schema)
        return policy_eval_fault(e, "the tool's schema is not known");
    if (v->kind != VALUE_NODE)
        return TRUTH_UNSURE;
    switch (policy_schema_judge(schema, v->tape, v->node, &e->budget, NULL, NULL)) {
    case POLICY_SCHEMA_VALID:
        return TRUTH_YES;
    case POLICY_SCHEMA_INVALID:
    case POLICY_SCHEMA_CLASH:
        return TRUTH_NO;
    case POLICY_SCHEMA_FAULT:
        break;
    }
    return policy_eval_fault(e, "the schema took too many steps");
}

/* The value at the path and everything inside it. */
static enum truth judge_finds(struct eval *e, const struct cond *c, const struct value *v) {
    const struct policy_detector *d = e->facts->detector;
    struct policy_finds finds = {0};
    if (!d || v->kind != VALUE_NODE)
        return policy_eval_fault(e, "there is no detector for personal data here");
    if (!policy_spend(&e->budget, 1 + tape_raw(v->tape, v->node).len))
        return spent(e);
    if (!d->find(d->ctx, v->tape, v->node, c->kinds, c->kind_count, e->arena, &finds))
        return policy_eval_fault(e, "the detector does not know the kind, or the arguments contain too much");
    if (!policy_spend(&e->budget, finds.work))
        return spent(e);
    if (finds.count > c->over) {
        e->found_kind = finds.kind;
        e->found_path = policy_path_name(v->tape, e->facts->args, finds.node, e->arena);
    }
    return truth_of((finds.count > c->over) != c->wants_none);
}

static bool within_holds(const struct eval *e, const struct within *w) {
    uint64_t now = e->facts->now_ms;
    int minute = (int)policy_time_minute(now, w->offset_min);
    unsigned day = policy_time_weekday(now, w->offset_min);
    if (w->from_min <= w->to_min)
        return (w->days >> day & 1) && minute >= w->from_min && minute < w->to_min;
    /* Past midnight: the early part belongs to the previous day. */
    if (minute >= w->from_min)
        return w->days >> day & 1;
    return minute < w->to_min && (w->days >> ((day + 6) % 7) & 1);
}

/* ---- dispatch ---- */

/* A long text with escapes is decoded for each operator that reads it. */
static bool pays_for_text(struct eval *e, const struct cond *c, const struct value *v) {
    struct slice spelling;
    if (!is_node(v, TAPE_STRING) || !(tape_node(v->tape, v->node)->flags & TAPE_ESCAPED) ||
        (c->op == OP_CONTAINS && is_spelt(v, &spelling)))
        return true;
    return policy_spend(&e->budget, tape_node(v->tape, v->node)->len / 4);
}

enum truth policy_op_judge(struct eval *e, const struct cond *c, const struct value *v) {
    if (!pays_for_text(e, c, v))
        return spent(e);
    if (c->op == OP_EXISTS)
        return judge_exists(e, c, v);
    bool finds = c->op == OP_PII || c->op == OP_CONTAINS_SECRET;
    if (v->kind == VALUE_ABSENT)
        return truth_of(finds && !c->has_missing ? c->wants_none : c->absent);
    switch (c->op) {
    case OP_EQ:
        return judge_equal(e, c, v);
    case OP_NEQ:
        return negated(judge_equal(e, c, v));
    case OP_IN:
        return judge_in(e, c, v);
    case OP_NOT_IN:
        return negated(judge_in(e, c, v));
    case OP_LT:
    case OP_LTE:
    case OP_GT:
    case OP_GTE:
        return judge_order(e, c, v);
    case OP_REGEX:
        return judge_regex(e, c, v);
    case OP_CONTAINS:
        return judge_contains(e, c, v);
    case OP_STARTS_WITH:
    case OP_ENDS_WITH:
        return judge_affix(e, c, v);
    case OP_GLOB:
        return judge_glob(e, c, v);
    case OP_LEN_EQ:
    case OP_LEN_LT:
    case OP_LEN_LTE:
    case OP_LEN_GT:
    case OP_LEN_GTE:
        return judge_length(e, c, v);
    case OP_TYPE:
        return judge_type(e, c, v);
    case OP_UNDER:
        return judge_under(e, c, v);
    case OP_HOST:
        return judge_host(e, c, v);
    case OP_SQL:
    case OP_NO_SHELL_META:
    case OP_NO_LEADING_DASH:
        return judge_text_test(e, c, v);
    case OP_SCHEMA:
        return judge_schema(e, c, v);
    case OP_CONTAINS_SECRET:
    case OP_PII:
        return judge_finds(e, c, v);
    case OP_WITHIN:
        return truth_of(within_holds(e, &c->within));
    case OP_EXISTS:
    case OP_COUNT:
        break;
    }
    return policy_eval_fault(e, "unknown operator");
}
