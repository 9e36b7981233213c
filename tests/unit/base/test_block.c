#include "base/block.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_reuse(void **state) {
    (void)state;
    struct block_pool pool;
    block_pool_init(&pool);
    struct block *a = block_new(&pool, 10);
    assert_true(a->cap >= 10);
    assert_ptr_equal(block_ref(a), a);
    block_unref(a);
    struct block *b = block_new(&pool, 10);
    assert_ptr_not_equal(a, b); /* a is still held once */
    block_unref(a);
    assert_ptr_equal(block_new(&pool, BLOCK_SMALL), a);
    block_unref(a);
    block_unref(b);
    block_unref(NULL);
    block_pool_free(&pool);
}

static void test_pool_is_bounded(void **state) {
    (void)state;
    struct block_pool pool;
    struct block *blocks[BLOCK_POOL_MAX + 10];
    block_pool_init(&pool);
    for (int i = 0; i < BLOCK_POOL_MAX + 10; i++)
        blocks[i] = block_new(&pool, BLOCK_BYTES);
    for (int i = 0; i < BLOCK_POOL_MAX + 10; i++)
        block_unref(blocks[i]);
    assert_int_equal(pool.usual.count, BLOCK_POOL_MAX);
    block_pool_free(&pool);
}

static void test_big(void **state) {
    (void)state;
    struct block_pool pool;
    struct block *blocks[BLOCK_BIG_POOL_MAX + 2];
    block_pool_init(&pool);
    for (int i = 0; i < BLOCK_BIG_POOL_MAX + 2; i++)
        blocks[i] = block_new(&pool, 200000);
    for (int i = 0; i < BLOCK_BIG_POOL_MAX + 2; i++)
        block_unref(blocks[i]);
    struct block *again = block_new(&pool, 150000);
    assert_true(again->cap >= 150000);
    block_unref(again);
    block_pool_free(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_pool_is_bounded),
        cmocka_unit_test(test_big),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
