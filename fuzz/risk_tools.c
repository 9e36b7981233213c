/* Any JSON as a server's tools: everything written about it reads back, policies included, and a list that
 * was accepted is found unchanged. */
#include "base/buf.h"
#include "fuzz.h"
#include "risk/survey.h"
#include "wire/tree_parse.h"

static void check_json(const struct risk_survey *s, struct arena *a) {
    cleanup_buf struct buf out;
    cleanup_tape struct tape back;
    buf_init(&out, RISK_POLICY_BYTES_MAX);
    tape_init(&back);
    risk_survey_json(s, a, &out);
    CHECK(tape_parse(&back, slice_trim(buf_slice(&out)), NULL) == TAPE_OK);
    CHECK(tape_node(&back, 0)->count == s->count);
    buf_reset(&out);
    risk_sarif_write(&s, 1, "0", SLICE("x"), a, &out);
    CHECK(tape_parse(&back, slice_trim(buf_slice(&out)), NULL) == TAPE_OK);
}

static void check_policy(const struct risk_survey *s, enum risk_dialect dialect, struct arena *a) {
    cleanup_buf struct buf out;
    buf_init(&out, RISK_POLICY_BYTES_MAX);
    CHECK(risk_survey_policy(s, dialect, a, &out));
    const struct tree *root;
    struct err err;
    CHECK(tree_parse(buf_slice(&out), a, &root, &err) == 0);
    const struct tree *tools = tree_get(root, "tools"), *standard = tree_get(root, "default");
    CHECK(tools && tools->count <= s->count && standard && slice_is(standard->text, "deny"));
}

static void check_lock(const struct tape *t, uint32_t tools, const struct risk_survey *s, struct arena *a) {
    cleanup_buf struct buf out;
    buf_init(&out, RISK_LOCK_BYTES_MAX);
    cleanup_lock struct risk_lock *none = NULL, *lock = NULL;
    struct err err;
    CHECK(risk_lock_load((struct slice){0}, &none, &err) == 0);
    struct risk_server_facts who = {.name = SLICE("s")};
    if (risk_lock_accept(none, &who, &(struct risk_lists){.t = t, .tools = tools}, NULL, a, &out, &err))
        return;
    CHECK(risk_lock_load(buf_slice(&out), &lock, &err) == 0);
    for (size_t i = 0; i < s->count; i++) {
        struct risk_pin_verdict verdict;
        risk_lock_check(lock, RISK_PIN_TOOL, who.name, t, s->tools[i].entry.node, a, &verdict);
        CHECK(verdict.pin != RISK_PIN_NEW);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cleanup_free char *text = fuzz_copy(slice_of((const char *)data, size));
    cleanup_tape struct tape t;
    cleanup_arena struct arena a;
    tape_init(&t);
    arena_init(&a);
    if (tape_parse(&t, slice_of(text, size), NULL) != TAPE_OK)
        return 0;
    uint32_t tools = tape_is(&t, 0, TAPE_OBJECT) ? tape_get_str(&t, 0, "tools") : 0;
    struct risk_survey s;
    struct risk_survey_input in = {.t = &t, .tools = tools, .server = SLICE("s"), .package = SLICE("p")};
    risk_survey_run(&in, &a, &s);
    for (size_t i = 0; i < s.count; i++)
        CHECK(s.tools[i].entry.report.cls != RISK_NONE && s.tools[i].entry.report.evidence_count > 0);
    check_json(&s, &a);
    check_policy(&s, RISK_DIALECT_INTERCEPT, &a);
    check_policy(&s, RISK_DIALECT_POLICYLAYER, &a);
    if (tape_is(&t, tools, TAPE_ARRAY))
        check_lock(&t, tools, &s, &a);
    return 0;
}
