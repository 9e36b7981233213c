#include "base/block.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    struct block *blocks[10];
    block_pool_init(&pool);
    for (int i = 0; i < 10; i++)
        blocks[i] = block_new(&pool, 200000);
    size_t all = pool.big_bytes;
    for (int i = 0; i < 10; i++)
        block_unref(blocks[i]);
    assert_int_equal(pool.big_kept, all);
    struct block *again = block_new(&pool, 150000), *same = block_new(&pool, 200001);
    assert_true(again->cap >= 150000);
    assert_ptr_equal(again, blocks[9]);
    assert_ptr_equal(same, blocks[8]); /* sizes are rounded: a few bytes more do not matter */
    /* What fits nowhere takes the place of what lies free. */
    struct block *larger = block_new(&pool, 1500000);
    assert_true(larger->cap >= 1500000);
    assert_true(pool.big_bytes + pool.big_kept <= all);
    struct block *largest = block_new(&pool, all);
    assert_int_equal(pool.big_kept, 0);
    block_unref(largest);
    block_unref(larger);
    block_unref(again);
    block_unref(same);
    assert_int_equal(pool.big_bytes, 0);
    block_pool_free(&pool);
}

static size_t resident_bytes(void) {
    unsigned long pages[2];
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu %lu", &pages[0], &pages[1]), 2);
    fclose(file);
    return pages[1] * (size_t)sysconf(_SC_PAGESIZE);
}

#ifdef __has_feature
#define SANITIZED __has_feature(address_sanitizer) /* which keeps what was freed for a while */
#else
#define SANITIZED 0
#endif
#define BURST 64
#define BURST_EACH (1u << 20)

static void use_up(struct block_pool *pool, struct block **blocks, void **between) {
    for (int i = 0; i < BURST; i++) {
        blocks[i] = block_new(pool, BURST_EACH);
        memset(blocks[i]->data, 1, BURST_EACH);
        between[i] = malloc(64); /* what lives on lies between them */
    }
}

/* What a burst of large messages took is not the process's for ever. */
static void test_burst_goes_back(void **state) {
    (void)state;
    struct block_pool pool;
    struct block *blocks[BURST];
    void *between[2 * BURST];
    block_pool_init(&pool);
    use_up(&pool, blocks, between); /* the first round teaches malloc to take such pieces from its heap */
    for (int i = 0; i < BURST; i++)
        block_unref(blocks[i]);
    size_t before = resident_bytes();
    use_up(&pool, blocks, between + BURST);
    assert_int_equal(pool.big_bytes, BURST * BURST_EACH);
    assert_int_equal(pool.big_peak, BURST * BURST_EACH);
    for (int i = 0; i < BURST; i++)
        block_unref(blocks[i]);
    assert_int_equal(pool.big_bytes, 0);
    assert_true(block_pool_rest(&pool)); /* just used */
    assert_int_equal(pool.big_kept, BURST * BURST_EACH);
    assert_false(block_pool_rest(&pool));
    assert_int_equal(pool.big_kept + pool.big_peak, 0);
    if (!SANITIZED)
        assert_true(resident_bytes() < before + BURST * BURST_EACH / 2);
    for (int i = 0; i < 2 * BURST; i++)
        free(between[i]);
    block_pool_free(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_pool_is_bounded),
        cmocka_unit_test(test_big),
        cmocka_unit_test(test_burst_goes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
