/* Custom rules. A pattern only sees a window around its literal, with JIT if available, and with match and
 * depth limits. Reaching a limit counts as a match of the window's literal, so that an expensive text cannot
 * evade the rule. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/mem.h"
#include "filter/detect.h"
#include "filter/rules.h"

struct rule {
    char name[PII_RULE_NAME_MAX + 1];
    char *literal;
    size_t literal_len;
    pcre2_code *code; /* NULL: the literal alone */
    uint8_t score;
};

struct rules {
    struct rule at[PII_RULES_MAX];
    size_t count;
    pcre2_match_context *limits;
};

const char *pii_rules_name(const struct rules *r, size_t i) { return r->at[i].name; }
size_t pii_rules_count(const struct rules *r) { return r ? r->count : 0; }

void pii_rules_free(struct rules *r) {
    if (!r)
        return;
    for (size_t i = 0; i < r->count; i++) {
        free(r->at[i].literal);
        pcre2_code_free(r->at[i].code);
    }
    pcre2_match_context_free(r->limits);
    free(r);
}

static int compile(struct rule *out, const struct pii_rule *in, struct err *err) {
    const size_t len = in->name ? strlen(in->name) : 0;
    if (len < 2 || len > PII_RULE_NAME_MAX || !ch_is(in->name[0], CH_UPPER))
        return err_set(err, "a rule's name has 2 to %d of A-Z, 0-9 and _", PII_RULE_NAME_MAX);
    for (size_t i = 0; i < len; i++)
        if (!ch_is(in->name[i], CH_UPPER | CH_DIGIT) && in->name[i] != '_')
            return err_set(err, "rule `%s`: its name may hold only A-Z, 0-9 and _", in->name);
    if (pii_kind_from(slice_str(in->name)) >= 0)
        return err_set(err, "rule `%s`: there is a built-in kind of this name", in->name);
    if (!in->literal || strlen(in->literal) < PII_RULE_LITERAL_MIN)
        return err_set(err, "rule `%s`: needs a literal of %d characters or more that every match contains",
                       in->name, PII_RULE_LITERAL_MIN);
    if (in->pattern && strlen(in->pattern) > PII_RULE_PATTERN_MAX)
        return err_set(err, "rule `%s`: pattern over %d bytes", in->name, PII_RULE_PATTERN_MAX);
    memcpy(out->name, in->name, len + 1);
    out->literal_len = strlen(in->literal);
    out->literal = mem_dup(in->literal, out->literal_len);
    out->score = in->score ? in->score : 80;
    if (!in->pattern)
        return 0;
    int code;
    PCRE2_SIZE at;
    out->code =
        pcre2_compile((PCRE2_SPTR)in->pattern, PCRE2_ZERO_TERMINATED,
                      PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C, &code, &at, NULL);
    if (!out->code) {
        PCRE2_UCHAR text[128];
        pcre2_get_error_message(code, text, sizeof(text));
        return err_set(err, "rule `%s`: pattern, at %zu: %s", in->name, (size_t)at, (const char *)text);
    }
    pcre2_jit_compile(out->code, PCRE2_JIT_COMPLETE);
    return 0;
}

static const char *find_nocase(const char *p, size_t n, const char *literal, size_t len) {
    const char low = ch_lower(literal[0]), up = ch_upper(literal[0]);
    for (size_t i = 0; i + len <= n; i++) {
        if (p[i] != low && p[i] != up)
            continue;
        if (slice_eq_nocase(slice_of(p + i, len), slice_of(literal, len)))
            return p + i;
    }
    return NULL;
}

/* All matches of one rule; returns the offset where scanning continues. */
static uint32_t rule_window(struct detect *d, const struct rule *r, unsigned kind,
                            pcre2_match_context *limits, pcre2_match_data *data, uint32_t hit,
                            uint32_t done) {
    uint32_t from = hit > PII_RULE_WINDOW ? hit - PII_RULE_WINDOW : 0;
    const uint32_t to = d->n - hit > PII_RULE_WINDOW ? hit + PII_RULE_WINDOW : d->n;
    if (from < done)
        from = done;
    PCRE2_SIZE at = 0;
    uint32_t last = hit + (uint32_t)r->literal_len;
    while (at <= to - from) {
        const int rc =
            pcre2_match(r->code, (PCRE2_SPTR)(d->p + from), to - from, at, PCRE2_NOTEMPTY, data, limits);
        if (rc == PCRE2_ERROR_NOMATCH)
            break;
        if (rc < 0) {
            pii_detect_add(d, hit, last, kind, r->score, r->name);
            break;
        }
        const PCRE2_SIZE *v = pcre2_get_ovector_pointer(data);
        const PCRE2_SIZE start = rc > 1 && v[2] != PCRE2_UNSET ? v[2] : v[0],
                         end = rc > 1 && v[2] != PCRE2_UNSET ? v[3] : v[1];
        if (end > start) {
            pii_detect_add(d, from + (uint32_t)start, from + (uint32_t)end, kind, r->score, r->name);
            if (from + end > last)
                last = from + (uint32_t)end;
        }
        at = v[1] > at ? v[1] : at + 1;
    }
    return last;
}

void pii_rules_scan(struct detect *d) {
    const struct rules *rules = d->eng->rules;
    if (!rules || !(d->kinds & PII_BIT_CUSTOM))
        return;
    pcre2_match_data *data = pcre2_match_data_create(16, NULL);
    for (size_t i = 0; i < rules->count; i++) {
        const struct rule *r = &rules->at[i];
        uint32_t at = 0;
        while (at < d->n) {
            const char *hit = find_nocase(d->p + at, d->n - at, r->literal, r->literal_len);
            if (!hit)
                break;
            const uint32_t pos = (uint32_t)(hit - d->p);
            if (r->code) {
                at = rule_window(d, r, PII_BUILTIN + (unsigned)i, rules->limits, data, pos, at);
            } else {
                pii_detect_add(d, pos, pos + (uint32_t)r->literal_len, PII_BUILTIN + (unsigned)i, r->score,
                               r->name);
                at = pos + (uint32_t)r->literal_len;
            }
        }
    }
    pcre2_match_data_free(data);
}

static bool rule_finds(struct rules *rules, size_t i, const char *text) {
    struct pii_engine e = {.rules = rules};
    cleanup_pii_spans struct pii_spans found;
    pii_spans_init(&found);
    struct detect d = {
        .eng = &e, .kinds = PII_BIT_CUSTOM, .p = text, .n = (uint32_t)strlen(text), .out = &found};
    pii_rules_scan(&d);
    for (uint32_t k = 0; k < found.count; k++)
        if (found.at[k].kind == PII_BUILTIN + i)
            return true;
    return false;
}

static int run_tests(struct rules *rules, size_t i, const struct pii_rule *in, struct err *err) {
    for (size_t k = 0; in->match && in->match[k]; k++) {
        if (k >= PII_RULE_TESTS_MAX)
            return err_set(err, "rule `%s`: over %d tests", in->name, PII_RULE_TESTS_MAX);
        if (!rule_finds(rules, i, in->match[k]))
            return err_set(err, "rule `%s`: does not find its own test `%s`", in->name, in->match[k]);
    }
    for (size_t k = 0; in->nomatch && in->nomatch[k]; k++) {
        if (k >= PII_RULE_TESTS_MAX)
            return err_set(err, "rule `%s`: over %d tests", in->name, PII_RULE_TESTS_MAX);
        if (rule_finds(rules, i, in->nomatch[k]))
            return err_set(err, "rule `%s`: finds something in `%s`, where it should not", in->name,
                           in->nomatch[k]);
    }
    return 0;
}

struct rules *pii_rules_new(const struct pii_rule *in, size_t count, struct err *err) {
    if (count > PII_RULES_MAX) {
        err_set(err, "over %d custom rules", PII_RULES_MAX);
        return NULL;
    }
    struct rules *r = mem_zalloc(sizeof(*r));
    r->limits = pcre2_match_context_create(NULL);
    pcre2_set_match_limit(r->limits, PII_RULE_MATCH_LIMIT);
    pcre2_set_depth_limit(r->limits, PII_RULE_DEPTH_LIMIT);
    for (size_t i = 0; i < count; i++) {
        r->count = i + 1;
        if (compile(&r->at[i], &in[i], err) < 0 || run_tests(r, i, &in[i], err) < 0) {
            pii_rules_free(r);
            return NULL;
        }
        for (size_t k = 0; k < i; k++)
            if (strcmp(r->at[k].name, r->at[i].name) == 0) {
                err_set(err, "rule `%s` is defined twice", in[i].name);
                pii_rules_free(r);
                return NULL;
            }
    }
    return r;
}
