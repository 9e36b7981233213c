/* Two programs of each pattern. The quick one is for short texts: compiled to machine code, with a limit on
 * its backtracking. But PCRE2 counts neither the characters that a repeat runs over nor the places it starts
 * from, so a long text can take time that grows with its square whatever the limit. The counted program has
 * PCRE2 call back before every item of the pattern, and each callback is charged with the distance since the
 * last one. */
#include "policy/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/check.h"
#include "base/mem.h"

#include <stdlib.h>

#define CALLOUT_STOP (-1) /* ends the match with this code */

struct policy_regex {
    pcre2_code *quick;
    pcre2_code *counted;
};

static pcre2_code *compile(struct slice pattern, uint32_t options, int *ret_code, size_t *ret_offset) {
    PCRE2_SIZE offset = 0;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)(pattern.ptr ? pattern.ptr : ""), pattern.len,
                                     options | PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C,
                                     ret_code, &offset, NULL);
    *ret_offset = offset;
    if (code)
        pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* without JIT the interpreter runs it, more slowly */
    return code;
}

struct policy_regex *policy_regex_compile(struct slice pattern, enum policy_regex_flavour flavour,
                                          struct arena *a, const char **ret_why) {
    uint32_t options = flavour == POLICY_REGEX_SCHEMA ? PCRE2_ALT_BSUX | PCRE2_MATCH_UNSET_BACKREF : 0;
    int code = 0;
    size_t offset = 0;
    if (pattern.len > POLICY_REGEX_MAX) {
        *ret_why = "the pattern is too long";
        return NULL;
    }
    struct policy_regex r = {.quick = compile(pattern, options, &code, &offset)};
    if (!r.quick) {
        PCRE2_UCHAR text[160] = "";
        pcre2_get_error_message(code, text, sizeof(text));
        *ret_why = arena_printf(a, "%s at offset %zu", (char *)text, offset).ptr;
        return NULL;
    }
    r.counted = compile(pattern, options | PCRE2_AUTO_CALLOUT, &code, &offset);
    CHECK(r.counted != NULL);
    struct policy_regex *kept = mem_alloc(sizeof(*kept));
    *kept = r;
    return kept;
}

void policy_regex_free(struct policy_regex *r) {
    if (!r)
        return;
    pcre2_code_free(r->quick);
    pcre2_code_free(r->counted);
    free(r);
}

/* ---- searching ---- */

static void *match_alloc(size_t size, void *arena) { return arena_alloc(arena, size); }
static void match_free(void *ptr, void *arena) {
    (void)ptr;
    (void)arena;
}

struct count { /* of one counted search */
    struct policy_budget *budget;
    size_t at; /* where the last callback was */
};

static int on_item(pcre2_callout_block *block, void *data) {
    struct count *count = data;
    size_t at = block->current_position;
    size_t way = at > count->at ? at - count->at : count->at - at;
    count->at = at;
    return policy_spend(count->budget, POLICY_REGEX_ITEM_STEPS + way) ? 0 : CALLOUT_STOP;
}

static pcre2_match_context *context_new(pcre2_general_context *general, uint32_t match_limit) {
    pcre2_match_context *context = pcre2_match_context_create(general);
    pcre2_set_match_limit(context, match_limit);
    pcre2_set_depth_limit(context, POLICY_REGEX_DEPTH_LIMIT);
    pcre2_set_heap_limit(context, POLICY_REGEX_HEAP_KIB);
    return context;
}

struct searcher { /* of one call, in its arena */
    pcre2_match_data *match;
    pcre2_match_context *quick;
    pcre2_match_context *counted;
    struct count count;
};

static struct searcher *searcher_for(struct policy_budget *b) {
    if (b->searcher)
        return b->searcher;
    pcre2_general_context *general = pcre2_general_context_create(match_alloc, match_free, b->arena);
    struct searcher *s = arena_alloc(b->arena, sizeof(*s));
    *s = (struct searcher){.match = pcre2_match_data_create(1, general),
                           .quick = context_new(general, POLICY_REGEX_QUICK_LIMIT),
                           .count = {.budget = b}};
    b->searcher = s;
    return s;
}

static int search_counted(const struct policy_regex *r, struct slice text, struct searcher *s,
                          struct arena *a) {
    if (!s->counted) {
        pcre2_general_context *general = pcre2_general_context_create(match_alloc, match_free, a);
        s->counted = context_new(general, POLICY_REGEX_MATCH_LIMIT);
        pcre2_set_callout(s->counted, on_item, &s->count);
    }
    s->count.at = 0;
    return pcre2_match(r->counted, (PCRE2_SPTR)text.ptr, text.len, 0, PCRE2_NO_UTF_CHECK, s->match,
                       s->counted);
}

enum policy_regex_answer policy_regex_search(const struct policy_regex *r, struct slice text,
                                             struct policy_budget *budget) {
    struct searcher *s = searcher_for(budget);
    int rc = PCRE2_ERROR_MATCHLIMIT;
    if (!text.ptr)
        text = SLICE("");
    if (!policy_spend(budget, 1 + text.len / 8))
        return POLICY_REGEX_SPENT;
    if (text.len <= POLICY_REGEX_QUICK_BYTES && budget->quick) {
        budget->quick--;
        rc = pcre2_match(r->quick, (PCRE2_SPTR)text.ptr, text.len, 0, PCRE2_NO_UTF_CHECK, s->match, s->quick);
    }
    if (rc == PCRE2_ERROR_MATCHLIMIT)
        rc = search_counted(r, text, s, budget->arena);
    return rc >= 0 ? POLICY_REGEX_YES : rc == PCRE2_ERROR_NOMATCH ? POLICY_REGEX_NO : POLICY_REGEX_SPENT;
}
