/* What the tests of this room share. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "filter/filter.h"

/* One scope with its vault. */
struct rig {
    struct pii_engine *engine;
    struct filter_memory *memory;
    struct filter_scope *scope;
    struct filter_options opt;
    struct filter_rules rules;
    struct filter_report report;
};

static inline void rig_init(struct rig *r, uint8_t seed) {
    struct err err;
    const uint8_t key[32] = {seed};
    *r = (struct rig){0};
    assert_int_equal(pii_engine_new(NULL, 0, &r->engine, &err), 0);
    r->memory = filter_memory_new();
    r->scope = filter_scope_new(r->engine, key, filter_memory_vault(r->memory));
    r->opt = (struct filter_options){.depth = PII_DEPTH_MAX, .origin = SLICE("files")};
    filter_options_set(&r->opt, FILTER_TOKENIZE);
    r->rules = (struct filter_rules){.server = SLICE("files"), .kinds = UINT64_MAX};
}

static inline void rig_free(struct rig *r) {
    filter_scope_free(r->scope);
    filter_memory_free(r->memory);
    pii_engine_free(r->engine);
}

/* malloc'ed, NUL-terminated; NULL when the text was refused. */
static inline char *rig_take(enum filter_result result, struct slice in, struct buf *out) {
    const struct slice s = result == FILTER_SAME ? in : buf_slice(out);
    char *text = result <= FILTER_CHANGED ? mem_dup(s.ptr ? s.ptr : "", s.len) : NULL;
    buf_free(out);
    return text;
}

static inline char *rig_hide(struct rig *r, const char *text) {
    struct buf out;
    buf_init(&out, FILTER_OUT_MAX);
    return rig_take(filter_text(r->scope, &r->opt, slice_str(text), (struct slice){0}, &out, &r->report),
                    slice_str(text), &out);
}

static inline char *rig_back(struct rig *r, const char *text) {
    struct buf out;
    buf_init(&out, FILTER_OUT_MAX);
    return rig_take(filter_restore_text(r->scope, &r->rules, slice_str(text), &out, &r->report),
                    slice_str(text), &out);
}

static inline char *rig_json(struct rig *r, const char *json, bool back) {
    cleanup_tape struct tape t;
    struct buf out;
    buf_init(&out, FILTER_OUT_MAX);
    tape_init(&t);
    if (tape_parse(&t, slice_str(json), NULL) != TAPE_OK)
        fail_msg("no JSON");
    return rig_take(back ? filter_restore_json(r->scope, &r->rules, &t, 0, &out, &r->report)
                         : filter_json(r->scope, &r->opt, &t, 0, &out, &r->report),
                    slice_str(json), &out);
}

/* The first find of a kind in a text: its bytes, or NULL. malloc'ed. */
static inline char *rig_find(const struct pii_engine *e, const char *text, enum pii_kind kind,
                             const char *key) {
    cleanup_pii_spans struct pii_spans s;
    const struct pii_options opt = {.kinds = PII_ALL, .depth = PII_DEPTH_MAX};
    const struct pii_context ctx = {.key = slice_str(key)};
    pii_spans_init(&s);
    pii_engine_scan(e, &opt, slice_str(text), &ctx, &s);
    for (uint32_t i = 0; i < s.count; i++)
        if (s.at[i].kind == kind)
            return mem_dup(text + s.at[i].start, s.at[i].end - s.at[i].start);
    return NULL;
}
