/* What the tests of this room share: JSON on a tape that lives until the test ends. */
#pragma once

#include "base/buf.h"
#include "base/mem.h"
#include "wire/tape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct arena arena;
static struct tape tape;

static int setup(void **state) {
    (void)state;
    arena_init(&arena);
    tape_init(&tape);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    arena_free(&arena);
    tape_free(&tape);
    return 0;
}

__attribute__((unused)) static void read_into(struct tape *t, const char *json) {
    size_t at = 0;
    enum tape_fault fault = tape_parse(t, slice_str(json), &at);
    if (fault)
        fail_msg("`%s` at %zu: %s", json, at, tape_fault_text(fault));
}

__attribute__((unused)) static void read_json(const char *json) { read_into(&tape, json); }
