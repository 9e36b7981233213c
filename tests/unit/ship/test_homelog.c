/* The log at home as the shipper reads it, over a real log: every block once and in order, over restarts and
 * segments; a log that is not the one the database has, or that lacks a record, is noticed. */
#include "../audit/home.h"
#include "ship/homelog.h"

#define SEGMENT_BYTES 200000
#define RECORDS_MAX 20000

static struct homelog shipper;

static int set_up(void **state) {
    if (home_make(state) < 0)
        return -1;
    homelog_init(&shipper, home);
    return 0;
}

static int tear_down(void **state) {
    homelog_free(&shipper);
    return home_remove(state);
}

static int look(struct segment_meta *ret_first, uint64_t *ret_newest) {
    struct err err = {0};
    int there = homelog_look(&shipper, ret_first, ret_newest, &err);
    if (there < 0)
        fail_msg("%s", err.text);
    return there;
}

/* The chain before its first record. */
static struct state_chain begin(void) {
    struct segment_meta first;
    uint64_t newest;
    struct state_chain chain = {.id = 1};
    assert_int_equal(look(&first, &newest), 1);
    chain.base_seq = chain.seq = first.base_seq;
    memcpy(chain.hash, first.base_hash, sizeof(chain.hash));
    return chain;
}

/* Batch after batch until one is empty: how many there were. */
static int read_all(struct state_chain *chain) {
    struct err err = {0};
    struct state_batch batch;
    int batches = 0;
    state_batch_init(&batch);
    for (int quiet = 0; quiet < 2;) { /* an empty one may be the step to the next segment */
        struct state_chain end;
        if (homelog_read(&shipper, chain, &batch, &end, &err) < 0)
            fail_msg("%s", err.text);
        assert_true(end.seq >= chain->seq);
        quiet = end.seq == chain->seq ? quiet + 1 : 0;
        batches += end.seq > chain->seq;
        *chain = end;
    }
    state_batch_free(&batch);
    return batches;
}

static bool has(uint64_t seq, const unsigned char *hash) {
    struct err err = {0};
    int same = homelog_has(&shipper, seq, hash, &err);
    if (same < 0)
        fail_msg("%s", err.text);
    return same;
}

static uint64_t backlog(uint64_t seq) {
    struct err err = {0};
    uint64_t bytes = 0;
    if (homelog_backlog(&shipper, seq, &bytes, &err) < 0)
        fail_msg("%s", err.text);
    return bytes;
}

static void test_no_log(void **state) {
    (void)state;
    struct segment_meta first;
    uint64_t newest;
    struct err err = {0};
    struct state_chain chain = {.id = 1}, end;
    struct state_batch batch;
    assert_int_equal(look(&first, &newest), 0);
    state_batch_init(&batch);
    assert_int_equal(homelog_read(&shipper, &chain, &batch, &end, &err), 0);
    assert_int_equal(end.seq, 0);
    state_batch_free(&batch);
    assert_int_equal(backlog(0), 0);
}

static void test_everything_once(void **state) {
    (void)state;
    struct segment_meta first;
    uint64_t newest;
    home_fill(200);
    struct state_chain chain = begin();
    look(&first, &newest);
    assert_true(backlog(chain.seq) > 0);
    assert_true(read_all(&chain) >= 1);
    assert_int_equal(chain.seq, newest);
    assert_int_equal(chain.head.seq, newest); /* a log that was closed is signed to its end */
    assert_int_equal(backlog(chain.seq), 0);
    assert_int_equal(read_all(&chain), 0);
    /* What comes later begins where that ended. */
    const uint64_t before = newest;
    home_fill(60);
    look(&first, &newest);
    assert_true(newest > before);
    assert_true(read_all(&chain) >= 1);
    assert_int_equal(chain.seq, newest);
}

static void test_same_chain(void **state) {
    (void)state;
    home_fill(120);
    struct state_chain chain = begin();
    const struct state_chain base = chain;
    read_all(&chain);
    assert_true(has(chain.seq, chain.hash));
    assert_true(has(base.seq, base.hash)); /* nothing was shipped yet */
    assert_false(has(chain.seq - 1, chain.hash));
    assert_false(has(chain.seq + 100, chain.hash)); /* a home that was put back */
    chain.hash[0] ^= 1;
    assert_false(has(chain.seq, chain.hash));
}

static void test_segments(void **state) {
    (void)state;
    struct segment_meta first;
    uint64_t newest;
    char args[512];
    struct audit *a = home_open((struct audit_config){.segment_bytes = SEGMENT_BYTES});
    memset(args, 'x', sizeof(args) - 1);
    memcpy(args, "{\"a\":\"", 6);
    memcpy(args + sizeof(args) - 3, "\"}", 3);
    char second[128];
    snprintf(second, sizeof(second), "%s/audit/000003.sqlite", home);
    for (int i = 0; i < RECORDS_MAX && access(second, F_OK) != 0; i++) {
        for (size_t k = 6; k < sizeof(args) - 3; k++) /* nothing that a block could pack */
            args[k] = (char)('a' + (i * 7919 + (int)k * 104729 + (int)(k * k)) % 26);
        assert_int_equal(home_put(a, "read_file", "allow", args), AUDIT_OK);
        if (i % 40 == 39)
            assert_int_equal(audit_flush(a, NULL), 0);
    }
    assert_int_equal(access(second, F_OK), 0);
    audit_close(a);
    struct state_chain chain = begin();
    look(&first, &newest);
    read_all(&chain);
    assert_int_equal(chain.seq, newest);
    assert_true(has(chain.seq, chain.hash));
    homelog_close(&shipper); /* as after a failure: the place is found again */
    assert_int_equal(read_all(&chain), 0);
}

static void test_missing_record(void **state) {
    (void)state;
    struct err err = {0};
    struct state_batch batch;
    home_fill(200);
    struct state_chain chain = begin(), end;
    home_sql(1, "DELETE FROM blocks WHERE first_seq=(SELECT first_seq FROM blocks ORDER BY first_seq LIMIT 1 "
                "OFFSET 1)");
    state_batch_init(&batch);
    assert_int_equal(homelog_read(&shipper, &chain, &batch, &end, &err), -1);
    assert_non_null(strstr(err.text, "is missing in the home, or damaged"));
    state_batch_free(&batch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_log, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_everything_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_same_chain, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_segments, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing_record, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
