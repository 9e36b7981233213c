/* Problems of a document: messages, hints for misspelt words, unknown keys. */
#include "policy/load.h"

#include "base/mem.h"
#include "base/nearest.h"

#include <stdarg.h>
#include <stdlib.h>

void policy_problems_init(struct policy_problems *p) {
    *p = (struct policy_problems){0};
    arena_init(&p->arena);
}

void policy_problems_free(struct policy_problems *p) {
    arena_free(&p->arena);
    free(p->items);
    *p = (struct policy_problems){0};
}

static struct policy_problem *problem_add(struct policy_problems *p) {
    if (p->count >= POLICY_PROBLEMS_MAX)
        return NULL;
    if (p->count == p->cap) {
        p->cap = p->cap ? p->cap * 2 : 16;
        p->items = mem_realloc(p->items, p->cap * sizeof(*p->items));
    }
    p->items[p->count] = (struct policy_problem){0};
    return &p->items[p->count++];
}

void policy_problem(struct loader *l, const struct tree *at, struct slice pointer, struct slice hint,
                    const char *fmt, ...) {
    struct policy_problem *problem = problem_add(l->problems);
    if (!problem)
        return;
    char text[POLICY_TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    int len = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    size_t kept = len < 0 ? 0 : (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1;
    struct arena *a = &l->problems->arena;
    problem->severity = POLICY_ERROR;
    problem->text = arena_dup(a, slice_of(text, kept));
    problem->pointer = arena_dup(a, pointer);
    problem->hint = arena_dup(a, hint);
    problem->line = at ? at->line : 0;
    problem->column = at ? at->column : 0;
}

void policy_warn(struct policy_problems *problems, const struct tree *at, struct slice pointer,
                 struct slice hint, struct slice text) {
    struct loader as_loader = {.problems = problems, .arena = &problems->arena};
    size_t before = problems->count;
    policy_problem(&as_loader, at, pointer, hint, "%.*s", SLICE_FMT(text));
    if (problems->count > before)
        problems->items[before].severity = POLICY_WARNING;
}

/* Operators of other languages, which differ too much from ours to be found as misspellings. */
static const struct {
    const char *word, *meant;
} policy_synonyms[] = {
    {"equals", "eq"},
    {"equal", "eq"},
    {"is", "eq"},
    {"==", "eq"},
    {"=", "eq"},
    {"not_equals", "neq"},
    {"not_equal", "neq"},
    {"ne", "neq"},
    {"!=", "neq"},
    {"less_than", "lt"},
    {"<", "lt"},
    {"<=", "lte"},
    {"le", "lte"},
    {"greater_than", "gt"},
    {">", "gt"},
    {">=", "gte"},
    {"ge", "gte"},
    {"max", "lte"},
    {"min", "gte"},
    {"matches", "regex"},
    {"match", "regex"},
    {"pattern", "regex"},
    {"like", "glob"},
    {"includes", "contains"},
    {"prefix", "starts_with"},
    {"startsWith", "starts_with"},
    {"suffix", "ends_with"},
    {"endsWith", "ends_with"},
    {"one_of", "in"},
    {"any_of", "in"},
    {"none_of", "not_in"},
    {"within", "under"},
    {"path", "under"},
    {"domain", "host"},
    {"length", "len_lte"},
    {"min_length", "len_gte"},
    {"max_length", "len_lte"},
    {"m", "minute"},
    {"min", "minute"},
    {"mins", "minute"},
    {"minutely", "minute"},
    {"h", "hour"},
    {"hr", "hour"},
    {"hrs", "hour"},
    {"hourly", "hour"},
    {"d", "day"},
    {"24h", "day"},
    {"daily", "day"},
    {"w", "week"},
    {"weekly", "week"},
};

static const char *hint_word(struct slice word, const char *const *words) {
    for (size_t i = 0; i < ARRAY_LEN(policy_synonyms); i++)
        for (size_t k = 0; slice_is(word, policy_synonyms[i].word) && words[k]; k++)
            if (strcmp(words[k], policy_synonyms[i].meant) == 0)
                return words[k];
    return nearest_word(word, words);
}

struct slice policy_hint(struct loader *l, struct slice word, const char *const *words) {
    const char *near = hint_word(word, words);
    return near ? arena_printf(l->arena, "did you mean \"%s\"?", near) : (struct slice){0};
}

static void unknown_key(struct loader *l, const struct tree *member, struct place place,
                        const char *const *known) {
    struct tree at = {.line = member->key_line, .column = member->key_column};
    struct slice hint = policy_hint(l, member->key, known);
    struct slice pointer = policy_place_key(l, place, member->key).pointer;
    if (place.prefix.len)
        policy_problem(l, &at, pointer, hint, "%.*s: unknown key \"%.*s\"", SLICE_FMT(place.prefix),
                       SLICE_FMT(member->key));
    else
        policy_problem(l, &at, pointer, hint, "unknown key \"%.*s\"", SLICE_FMT(member->key));
}

void policy_check_keys(struct loader *l, const struct tree *map, struct place place,
                       const char *const *known) {
    for (const struct tree *member = map->child; member; member = member->next) {
        bool found = false;
        for (size_t i = 0; known[i] && !found; i++)
            found = slice_is(member->key, known[i]);
        if (!found)
            unknown_key(l, member, place, known);
    }
}
