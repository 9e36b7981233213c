/* Which server a bare name belongs to, and texts that leave the gate and come back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "call/principal.h"
#include "many/claim.h"
#include "many/seal.h"

#include <stdlib.h>
#include <string.h>

static struct io_loop loop;
static struct core core;
static struct principal *alice, *bob;
static struct session of_alice, of_bob;
static struct server *first, *second;
static struct arena arena;

static const struct many_sessions no_sessions;

static int set_up(void **state) {
    (void)state;
    io_loop_init(&loop);
    core = (struct core){.up = {.loop = &loop}};
    many_init(&core, &no_sessions);
    arena_init(&arena);
    first = server_new(&core);
    first->up.name = "first";
    second = server_new(&core);
    second->up.name = "second";
    alice = principal_new(PRINCIPAL_GRANT, "grant:alice");
    bob = principal_new(PRINCIPAL_GRANT, "grant:bob");
    of_alice = (struct session){.core = &core, .principal = alice};
    of_bob = (struct session){.core = &core, .principal = bob};
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    server_release(&core, first);
    server_release(&core, second);
    free(core.servers);
    many_free(&core);
    principal_unref(alice);
    principal_unref(bob);
    arena_free(&arena);
    io_loop_free(&loop);
    return 0;
}

static void test_name_belongs_to_who_listed_it_first(void **state) {
    (void)state;
    assert_true(claim_name(first, 't', SLICE("read")));
    assert_true(claim_name(first, 't', SLICE("read")));
    assert_false(claim_name(second, 't', SLICE("read")));
    assert_ptr_equal(claim_owner(&of_alice, 't', SLICE("read")), first);
    assert_null(claim_owner(&of_alice, 't', SLICE("write")));
}

static void test_earlier_server_has_its_name_back(void **state) {
    (void)state;
    assert_true(claim_name(second, 't', SLICE("read"))); /* the first one was missing */
    assert_true(claim_name(first, 't', SLICE("read")));
    assert_ptr_equal(claim_owner(&of_alice, 't', SLICE("read")), first);
    assert_false(claim_name(second, 't', SLICE("read")));
}

static void test_names_that_look_alike_are_one_and_uris_are_not(void **state) {
    (void)state;
    assert_true(claim_name(first, 't', SLICE("read")));
    assert_false(claim_name(second, 't',
                            SLICE("re\xd0\xb0"
                                  "d"))); /* a Cyrillic letter */
    assert_true(claim_name(first, 'r', SLICE("file:///read")));
    assert_true(claim_name(second, 'r',
                           SLICE("file:///re\xd0\xb0"
                                 "d")));
}

static void test_kinds_do_not_meet(void **state) {
    (void)state;
    assert_true(claim_name(first, 't', SLICE("read")));
    assert_true(claim_name(second, 'p', SLICE("read")));
    assert_ptr_equal(claim_owner(&of_alice, 'p', SLICE("read")), second);
}

static void test_owner_is_nobody_for_who_may_not_use_it(void **state) {
    (void)state;
    static const char *const servers[] = {"second"};
    bob->servers = servers;
    bob->server_count = 1;
    assert_true(claim_name(first, 't', SLICE("read")));
    assert_ptr_equal(claim_owner(&of_alice, 't', SLICE("read")), first);
    assert_null(claim_owner(&of_bob, 't', SLICE("read")));
}

static void test_template_owns_what_fits_it(void **state) {
    (void)state;
    assert_true(claim_name(second, 'T', SLICE("notes://{name}")));
    assert_ptr_equal(claim_template_owner(&of_alice, SLICE("notes://today")), second);
    assert_null(claim_template_owner(&of_alice, SLICE("mail://today")));
}

static void test_names_of_a_removed_server_are_free(void **state) {
    (void)state;
    assert_true(claim_name(first, 't', SLICE("read")));
    claim_drop(&core, first);
    assert_null(claim_owner(&of_alice, 't', SLICE("read")));
    assert_true(claim_name(second, 't', SLICE("read")));
}

static void test_sealed_text_comes_back_to_its_principal_only(void **state) {
    (void)state;
    struct slice sealed = seal_make(&of_alice, &arena, "list tools/list", SLICE("second")), text;
    assert_true(seal_open(&of_alice, "list tools/list", sealed, &text));
    assert_true(slice_is(text, "second"));
    assert_false(seal_open(&of_bob, "list tools/list", sealed, &text));
    assert_false(seal_open(&of_alice, "list prompts/list", sealed, &text));
}

static void test_changed_seal_does_not_open(void **state) {
    (void)state;
    struct slice sealed = seal_make(&of_alice, &arena, "p", SLICE("second")), text;
    for (size_t i = 0; i < sealed.len; i++) {
        char *changed = arena_alloc(&arena, sealed.len);
        memcpy(changed, sealed.ptr, sealed.len);
        changed[i] ^= 1;
        assert_false(seal_open(&of_alice, "p", slice_of(changed, sealed.len), &text));
    }
    assert_false(seal_open(&of_alice, "p", slice_upto(sealed, 10), &text));
    assert_false(seal_open(&of_alice, "p", SLICE(""), &text));
}

#define claim_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        claim_test(test_name_belongs_to_who_listed_it_first),
        claim_test(test_earlier_server_has_its_name_back),
        claim_test(test_names_that_look_alike_are_one_and_uris_are_not),
        claim_test(test_kinds_do_not_meet),
        claim_test(test_owner_is_nobody_for_who_may_not_use_it),
        claim_test(test_template_owns_what_fits_it),
        claim_test(test_names_of_a_removed_server_are_free),
        claim_test(test_sealed_text_comes_back_to_its_principal_only),
        claim_test(test_changed_seal_does_not_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
