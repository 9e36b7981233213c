/* A policy document and a call: `document NUL [arguments]`. Whatever the document says, loading ends, errors
 * have texts, a loaded policy decides, and denies what it cannot evaluate. */
#include "fuzz.h"
#include "policy/memory.h"
#include "policy/policy.h"

static void check_verdict(const struct policy *p, const struct policy_verdict *v, struct arena *a) {
    struct slice text = policy_verdict_text(p, v, a);
    CHECK((v->outcome == POLICY_ALLOW) == (text.len == 0));
    CHECK(v->outcome != POLICY_DENY || v->limit_count == 0);
    CHECK(v->outcome == POLICY_ALLOW || v->rule.len || v->reason == POLICY_BY_FAULT);
    for (size_t i = 0; i < v->limit_count; i++)
        CHECK(v->limits[i].amount >= 0 && v->limits[i].key.len && v->limits[i].text.len);
}

static void decide(const struct policy *p, const struct tape *t, const char *tool, struct policy_memory *m) {
    struct arena a;
    struct policy_verdict v, again;
    uint64_t retry;
    struct policy_counters counters = policy_memory_counters(m);
    struct policy_facts f = {.method = SLICE("tools/call"),
                             .tool = slice_str(tool),
                             .tape = t,
                             .args = t != NULL,
                             .grant = SLICE("g"),
                             .counters = &counters,
                             .now_ms = 1767225600000};
    arena_init(&a);
    m->now_ms = f.now_ms;
    policy_decide(p, &f, &a, NULL, &v);
    policy_decide(p, &f, &a, NULL, &again);
    CHECK(v.outcome == again.outcome && slice_eq(v.rule, again.rule));
    check_verdict(p, &v, &a);
    if (v.outcome != POLICY_DENY && !policy_memory_reserve(m, &v, &a, &retry))
        policy_memory_settle(m, &v, POLICY_ENDED);
    arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice args = slice_of((const char *)data, size), document;
    struct policy_problems problems;
    struct policy_memory memory;
    struct policy *p = NULL;
    struct tape t;
    if (!slice_cut(&args, '\0', &document))
        args = SLICE("[{}]");
    char *copy = fuzz_copy(document);
    policy_problems_init(&problems);
    int rc = policy_load(slice_of(copy, document.len), "fuzz", &p, &problems);
    size_t errors = 0;
    for (size_t i = 0; i < problems.count; i++) {
        CHECK(problems.items[i].text.len > 0);
        errors += problems.items[i].severity == POLICY_ERROR;
    }
    CHECK((rc == 0) == (p != NULL) && (rc == 0) == (errors == 0));
    free(copy); /* the policy keeps nothing of its source */
    tape_init(&t);
    policy_memory_init(&memory);
    bool is_object = tape_parse(&t, args, NULL) == TAPE_OK && tape_is(&t, 0, TAPE_ARRAY) &&
                     tape_node(&t, 0)->count && tape_is(&t, 1, TAPE_OBJECT);
    if (p) {
        policy_lint(p, &problems);
        decide(p, is_object ? &t : NULL, "t", &memory);
        decide(p, NULL, "other", &memory);
    }
    policy_memory_free(&memory);
    tape_free(&t);
    policy_unref(p);
    policy_problems_free(&problems);
    return 0;
}
