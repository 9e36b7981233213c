#include "base/buf.h"
#include "base/mem.h"
#include "policy/memory.h"
#include "policy/policy.h"
#include "policy/trace.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct policy *load(const char *text) {
    struct policy_problems problems;
    struct policy *p = NULL;
    policy_problems_init(&problems);
    if (policy_load(slice_str(text), NULL, &p, &problems) < 0)
        fail_msg("%.*s", SLICE_FMT(problems.items[0].text));
    policy_problems_free(&problems);
    return p;
}

struct world {
    struct policy *policy;
    struct arena arena;
    struct tape tape;
    struct policy_facts facts;
    struct policy_verdict verdict;
};

static void world_init(struct world *w, const char *policy, const char *tool, const char *args) {
    *w = (struct world){.policy = load(policy)};
    arena_init(&w->arena);
    tape_init(&w->tape);
    if (args)
        assert_int_equal(tape_parse(&w->tape, arena_printf(&w->arena, "[%s]", args), NULL), TAPE_OK);
    w->facts = (struct policy_facts){.method = SLICE("tools/call"),
                                     .tool = slice_str(tool),
                                     .tape = &w->tape,
                                     .args = args != NULL,
                                     .now_ms = 1767225600000};
}

static enum policy_outcome decide(struct world *w) {
    policy_decide(w->policy, &w->facts, &w->arena, NULL, &w->verdict);
    return w->verdict.outcome;
}

static void world_free(struct world *w) {
    policy_unref(w->policy);
    arena_free(&w->arena);
    tape_free(&w->tape);
}

#define COUNTED                                                                                              \
    "version: \"1\"\ntools: {t: {rules: [{name: r, conditions: [{path: state.t.c, op: lte, value: 10}], "    \
    "state: {counter: c, window: day}, on_deny: over}]}}\n"

static void test_without_a_store_state_passes(void **state) {
    (void)state;
    struct world w;
    world_init(&w, COUNTED, "t", "{}");
    assert_int_equal(decide(&w), POLICY_ALLOW);
    assert_int_equal(w.verdict.limit_count, 0);
    world_free(&w);
}

static bool read_fixed(void *ctx, const struct policy_limit *limit, int64_t *ret_micro) {
    assert_true(slice_is(limit->key, "t.c"));
    *ret_micro = *(int64_t *)ctx;
    return *ret_micro >= 0;
}

static void test_counters_are_seen(void **state) {
    (void)state;
    struct world w;
    int64_t value = 10 * (int64_t)POLICY_MICRO;
    struct policy_counters counters = {read_fixed, &value};
    world_init(&w, COUNTED, "t", "{}");
    w.facts.counters = &counters;
    assert_int_equal(decide(&w), POLICY_ALLOW); /* the reservation decides, not the look before it */
    assert_int_equal(w.verdict.limit_count, 1);
    assert_int_equal(w.verdict.limits[0].max, 10 * (int64_t)POLICY_MICRO);
    value = 11 * (int64_t)POLICY_MICRO;
    assert_int_equal(decide(&w), POLICY_DENY);
    assert_true(slice_is(w.verdict.text, "over"));
    value = -1; /* the store cannot say */
    assert_int_equal(decide(&w), POLICY_DENY);
    assert_int_equal(w.verdict.reason, POLICY_BY_FAULT);
    world_free(&w);
}

static void test_scoped_keys_cannot_be_forged(void **state) {
    (void)state;
    static const char text[] =
        "{\"version\":\"1\",\"default\":\"deny\",\"tools\":{\"t\":{\"limits\":[{\"counter\":\"c\","
        "\"window\":\"day\",\"max\":1}]}}}";
    struct world w;
    struct policy_memory memory;
    policy_memory_init(&memory);
    struct policy_counters counters = policy_memory_counters(&memory);
    world_init(&w, text, "t", NULL);
    w.facts.counters = &counters;
    w.facts.grant = SLICE("a");
    assert_int_equal(decide(&w), POLICY_ALLOW);
    struct slice first = arena_dup(&w.arena, w.verdict.limits[0].key);
    w.facts.grant = SLICE("a/c");
    assert_int_equal(decide(&w), POLICY_ALLOW);
    assert_false(slice_eq(first, w.verdict.limits[0].key));
    assert_true(slice_is(w.verdict.limits[0].label, "grant.c"));
    policy_memory_free(&memory);
    world_free(&w);
}

static bool fake_realpath(void *ctx, struct slice path, struct arena *a, struct slice *ret_path) {
    (void)ctx;
    (void)a;
    if (slice_is(path, "/srv/data/link"))
        *ret_path = SLICE("/etc/passwd");
    else if (slice_is(path, "/srv/data"))
        *ret_path = SLICE("/mnt/disk");
    else if (slice_is(path, "/srv/data/file"))
        *ret_path = SLICE("/mnt/disk/file");
    else
        return false;
    return true;
}

static void test_links_are_followed(void **state) {
    (void)state;
    static const char text[] =
        "version: \"1\"\ntools: {t: {rules: [{name: r, conditions: [{path: args.p, op: under, "
        "value: /srv/data}]}]}}\n";
    static const struct {
        const char *args;
        enum policy_outcome want;
    } rows[] = {
        {"{\"p\":\"/srv/data/file\"}", POLICY_ALLOW},
        {"{\"p\":\"/srv/data/link\"}", POLICY_DENY},
        {"{\"p\":\"/srv/data/unknown\"}", POLICY_DENY},
    };
    struct policy_files files = {fake_realpath, NULL};
    for (size_t i = 0; i < 3; i++) {
        struct world w;
        world_init(&w, text, "t", rows[i].args);
        assert_int_equal(decide(&w), POLICY_ALLOW); /* lexically */
        w.facts.files = &files;
        assert_int_equal(decide(&w), rows[i].want);
        world_free(&w);
    }
}

static bool fake_realpath_of_disk(void *ctx, struct slice path, struct arena *a, struct slice *ret_path) {
    if (!slice_is(path, "/mnt/disk"))
        return fake_realpath(ctx, path, a, ret_path);
    *ret_path = path;
    return true;
}

static void test_denied_directory(void **state) {
    (void)state;
    static const char text[] =
        "version: \"1\"\ndefault: deny\ntools: {t: {deny_if: [{conditions: [{path: args.p, op: under, "
        "value: [/mnt/disk, /srv/gone]}]}]}}\n";
    static const struct {
        const char *args;
        enum policy_outcome named, followed;
    } rows[] = {
        {"{\"p\":\"/mnt/disk/x\"}", POLICY_DENY, POLICY_DENY},
        {"{\"p\":\"/mnt/DISK/x\"}", POLICY_DENY, POLICY_DENY},
        {"{\"p\":\"/mnt/disk. /x\"}", POLICY_DENY, POLICY_DENY},
        {"{\"p\":\"/srv/data/file\"}", POLICY_ALLOW, POLICY_DENY},
        {"{\"p\":\"/srv/./data/file\"}", POLICY_ALLOW, POLICY_DENY},
        {"{\"p\":\"/srv/data/link\"}", POLICY_ALLOW, POLICY_ALLOW},
        {"{\"p\":\"/srv/gone/x\"}", POLICY_DENY, POLICY_DENY}, /* it cannot be resolved */
        {"{\"p\":\"/srv/unknown\"}", POLICY_ALLOW, POLICY_ALLOW},
    };
    struct policy_files files = {fake_realpath_of_disk, NULL};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct world w;
        world_init(&w, text, "t", rows[i].args);
        assert_int_equal(decide(&w), rows[i].named);
        w.facts.files = &files;
        assert_int_equal(decide(&w), rows[i].followed);
        world_free(&w);
    }
}

static void test_hides(void **state) {
    (void)state;
    struct policy *p = load("version: \"1\"\ndefault: deny\nprune: true\nhide: [a, 'x_*', '@money']\n"
                            "tools: {b: {rules: []}, 'g_*': {rules: []}}\n");
    const struct policy_traits none = {0}, money = {.tags = POLICY_MONEY};
    assert_true(policy_hides(p, SLICE("a"), &none));
    assert_true(policy_hides(p, SLICE("x_1"), &none));
    assert_false(policy_hides(p, SLICE("b"), &none));
    assert_true(policy_hides(p, SLICE("b"), &money));
    assert_false(policy_hides(p, SLICE("g_1"), &none));
    assert_true(policy_hides(p, SLICE("unlisted"), &none));
    assert_true(policy_hides(p, SLICE("b\xe2\x80\x8b"), &none));
    policy_unref(p);
}

static bool wants(const char *text) {
    struct policy *p = load(text);
    bool answer = policy_wants_traits(p);
    policy_unref(p);
    return answer;
}

static void test_wants(void **state) {
    (void)state;
    assert_false(wants("version: \"1\"\ntools: {'a_*': {rules: []}}\n"));
    assert_true(wants("version: \"1\"\ntools: {'@sink': {rules: []}}\n"));
    assert_true(wants("version: \"1\"\nhide: ['@money']\n"));
    assert_true(wants("version: \"1\"\npresets: [protect_agent_config]\n"));
    assert_true(wants("version: \"1\"\nflows: [{after: [exec], deny: [sink]}]\n"));
    assert_true(
        wants("version: \"1\"\ntools: {t: {rules: [{name: r, conditions: [{not: {path: tool.class, op: eq, "
              "value: read}}]}]}}\n"));
    struct policy *p =
        load("version: \"1\"\ntools: {a: {rules: [{name: r, conditions: [{path: args, op: schema, value: "
             "true}]}]}, b: {rules: [{name: r, conditions: [{path: args, op: schema, value: {}}]}]}}\n");
    assert_true(policy_wants_schema(p, SLICE("a"), &(struct policy_traits){0}));
    assert_true(policy_wants_schema(p, SLICE("b"), &(struct policy_traits){0})); /* it reads arguments */
    assert_false(policy_wants_schema(p, SLICE("c"), &(struct policy_traits){0}));
    policy_unref(p);
    p = load("version: \"1\"\npresets: [protect_agent_config]\n"); /* which texts a server parses */
    assert_true(policy_wants_schema(p, SLICE("c"), &(struct policy_traits){0}));
    policy_unref(p);
    p = load(
        "version: \"1\"\ntools: {a: {arguments: loose, rules: [{name: r, conditions: [{path: args.x, op: "
        "eq, value: 1}]}]}, b: {arguments: strict, rules: []}, c: {rules: []}}\n");
    assert_false(policy_wants_schema(p, SLICE("a"), &(struct policy_traits){0}));
    assert_true(policy_wants_schema(p, SLICE("b"), &(struct policy_traits){0}));
    assert_false(policy_wants_schema(p, SLICE("c"), &(struct policy_traits){0}));
    policy_unref(p);
}

static void test_approval_carries_its_terms(void **state) {
    (void)state;
    struct world w;
    world_init(
        &w,
        "version: \"1\"\ntools: {t: {rules: [{name: ask, action: require_approval, approval_timeout: 10m, "
        "approvers: [ann, bob], on_pending: wait}]}}\n",
        "t", "{}");
    assert_int_equal(decide(&w), POLICY_APPROVE);
    assert_int_equal(w.verdict.approval_timeout_ms, 600000);
    assert_int_equal(w.verdict.approver_count, 2);
    assert_true(slice_is(w.verdict.approvers[1], "bob"));
    assert_true(slice_is(w.verdict.pointer, "/tools/t/rules/0"));
    world_free(&w);
}

static void test_result_caps(void **state) {
    (void)state;
    struct world w;
    world_init(&w,
               "version: \"1\"\ntools: {t: {max_result_bytes: 100, rules: []}, '*': {max_result_bytes: 50, "
               "rules: []}}\n",
               "t", "{}");
    assert_int_equal(decide(&w), POLICY_ALLOW);
    assert_int_equal(w.verdict.result_bytes_max, 50);
    world_free(&w);
}

static void test_escapes_are_decoded_before_deciding(void **state) {
    (void)state;
    struct world w;
    world_init(&w,
               "version: \"1\"\ntools: {t: {rules: [{name: r, conditions: [{path: args.name, op: neq, value: "
               "rm}]}]}}\n",
               "t", "{\"n\\u0061me\":\"\\u0072m\"}");
    assert_int_equal(decide(&w), POLICY_DENY);
    world_free(&w);
}

/* A long text is searched as it is spelt: the verdict is that of a short one, which is decoded first. */
static void test_long_texts_are_searched_alike(void **state) {
    (void)state;
    static const char *const wants[] = {"n",        "\\\\n",       "\\n", "\\\"",
                                        "\\\\\\\\", "\xc3\xa9\\t", "/",   "\\u0008"};
    static const char *const texts[] = {
        "\\n",       "\\\\n", "\\\\\\n",   "\\\\\\\\n",   "\\\"", "\\\\\\\"",
        "\\b",       "\\/",   "\\u006e",   "\xc3\xa9\\t", "[1]",  " \\n\\t {\\\"a\\\":1}",
        "x\\\\\\\\", "",      "\\\\u0008", "\\u00e9\\t"};
    char padding[1200];
    memset(padding, '.', sizeof(padding));
    for (size_t i = 0; i < ARRAY_LEN(wants) * ARRAY_LEN(texts); i++) {
        struct world w;
        cleanup_buf struct buf policy, args;
        buf_init(&policy, 4096);
        buf_init(&args, 4096);
        buf_printf(&policy,
                   "version: \"1\"\ntools: {t: {rules: [{name: r, conditions: [{path: args.a, op: contains, "
                   "value: \"%s\"}, {path: args.b, op: exists, value: true}]}]}}\n",
                   wants[i % ARRAY_LEN(wants)]);
        enum policy_outcome outcomes[2];
        for (int is_long = 0; is_long < 2; is_long++) {
            const char *text = texts[i / ARRAY_LEN(wants)];
            buf_reset(&args);
            buf_printf(&args, "{\"a\":\"%s\\r%.*s\",\"b\":1}", text, is_long ? (int)sizeof(padding) : 0,
                       padding);
            world_init(&w, policy.ptr, "t", args.ptr);
            outcomes[is_long] = decide(&w);
            world_free(&w);
        }
        if (outcomes[0] != outcomes[1])
            fail_msg("%s in %s", wants[i % ARRAY_LEN(wants)], texts[i / ARRAY_LEN(wants)]);
    }
}

static void test_trace_follows_the_decision(void **state) {
    (void)state;
    struct world w;
    world_init(
        &w,
        "version: \"1\"\ntools: {t: {rules: [{name: r, conditions: [{path: args.n, op: lte, value: 5}]}]}}\n",
        "t", "{\"n\":7}");
    struct policy_trace trace = {.arena = &w.arena};
    policy_decide(w.policy, &w.facts, &w.arena, &trace, &w.verdict);
    assert_int_equal(trace.count, 4);
    assert_int_equal(trace.lines[3].kind, POLICY_TRACE_LEAF);
    assert_true(slice_is(trace.lines[3].got, "7"));
    assert_string_equal(trace.lines[3].answer, "no");
    assert_string_equal(trace.lines[1].answer, "denies");
    world_free(&w);
}

/* One policy, many threads: it never changes, so nothing may race. */
static void *decide_often(void *policy) {
    struct arena a;
    struct tape t;
    arena_init(&a);
    tape_init(&t);
    tape_parse(&t, SLICE("[{\"x\":\"ann@example.com\"}]"), NULL);
    struct policy_facts f = {.method = SLICE("tools/call"), .tool = SLICE("t"), .tape = &t, .args = 1};
    size_t allowed = 0;
    for (int i = 0; i < 2000; i++) {
        struct policy_verdict v;
        arena_reset(&a);
        policy_decide(policy, &f, &a, NULL, &v);
        allowed += v.outcome == POLICY_ALLOW;
    }
    tape_free(&t);
    arena_free(&a);
    policy_unref(policy);
    return (void *)(uintptr_t)allowed;
}

static void test_threads_share_a_policy(void **state) {
    (void)state;
    struct policy *p =
        load("version: \"1\"\ntools: {t: {rules: [{name: r, conditions: [{path: args.x, op: regex, value: "
             "'^[a-z]+@example\\.com$'}]}]}}\n");
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, decide_often, policy_ref(p)), 0);
    for (size_t i = 0; i < 4; i++) {
        void *allowed;
        pthread_join(threads[i], &allowed);
        assert_int_equal((uintptr_t)allowed, 2000);
    }
    policy_unref(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_store_state_passes),
        cmocka_unit_test(test_counters_are_seen),
        cmocka_unit_test(test_scoped_keys_cannot_be_forged),
        cmocka_unit_test(test_links_are_followed),
        cmocka_unit_test(test_denied_directory),
        cmocka_unit_test(test_hides),
        cmocka_unit_test(test_wants),
        cmocka_unit_test(test_approval_carries_its_terms),
        cmocka_unit_test(test_result_caps),
        cmocka_unit_test(test_escapes_are_decoded_before_deciding),
        cmocka_unit_test(test_long_texts_are_searched_alike),
        cmocka_unit_test(test_trace_follows_the_decision),
        cmocka_unit_test(test_threads_share_a_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
