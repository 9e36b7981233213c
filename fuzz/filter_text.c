/* Any text: tokenized values are restored unchanged. */
#include "filter/filter.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct pii_engine *engine;
    const uint8_t key[32] = {1};
    struct filter_report report = {0};
    const struct filter_rules rules = {.server = SLICE("s"), .kinds = UINT64_MAX};
    struct filter_options opt = {.depth = PII_DEPTH_MAX, .origin = SLICE("s")};
    const struct slice in = slice_of((const char *)data, size);
    if (!engine)
        CHECK(pii_engine_new(NULL, 0, &engine, NULL) == 0);
    filter_options_set(&opt, FILTER_TOKENIZE);
    opt.modes[PII_PERSON] = opt.modes[PII_STREET_ADDRESS] = opt.modes[PII_URL] = FILTER_TOKENIZE;
    struct filter_memory *memory = filter_memory_new();
    struct filter_scope *scope = filter_scope_new(engine, key, filter_memory_vault(memory));
    cleanup_buf struct buf hidden;
    cleanup_buf struct buf back;
    buf_init(&hidden, FILTER_OUT_MAX);
    buf_init(&back, FILTER_OUT_MAX);
    const enum filter_result result = filter_text(scope, &opt, in, (struct slice){0}, &hidden, &report);
    if (result <= FILTER_CHANGED) {
        const struct slice seen = result == FILTER_SAME ? in : buf_slice(&hidden);
        const bool same = filter_restore_text(scope, &rules, seen, &back, &report) == FILTER_SAME;
        CHECK(slice_eq(same ? seen : buf_slice(&back), in));
    }
    filter_scope_free(scope);
    filter_memory_free(memory);
    return 0;
}
