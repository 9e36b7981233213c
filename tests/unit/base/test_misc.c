/* The small ones: list, clock, rand, nearest, log, sha. */
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/rand.h"
#include "base/sha.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct item {
    int number;
    struct list node;
};

/* RFC 4231, test case 2; whatever pieces the text comes in, and again under the same key. */
static void test_hmac(void **state) {
    (void)state;
    static const unsigned char want[SHA_BYTES] = {
        0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e, 0x6a, 0x04, 0x24, 0x26, 0x08, 0x95, 0x75, 0xc7,
        0x5a, 0x00, 0x3f, 0x08, 0x9d, 0x27, 0x39, 0x83, 0x9d, 0xec, 0x58, 0xb9, 0x64, 0xec, 0x38, 0x43};
    const struct slice text = SLICE("what do ya want for nothing?");
    struct sha_hmac *h = sha_hmac_new(SLICE("Jefe"));
    for (size_t cut = 0; cut <= text.len; cut++) {
        const struct slice parts[] = {slice_upto(text, cut), slice_from(text, cut)};
        unsigned char sum[SHA_BYTES];
        sha_hmac_sum(h, parts, ARRAY_LEN(parts), sum);
        assert_memory_equal(sum, want, SHA_BYTES);
    }
    sha_hmac_free(h);
    sha_hmac_free(NULL);
}

static void test_list(void **state) {
    (void)state;
    struct list head;
    struct item items[4] = {{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};
    list_init(&head);
    assert_true(list_empty(&head));
    assert_null(list_pop(&head));
    list_remove(&items[0].node); /* never linked: nothing happens */
    for (int i = 0; i < 4; i++)
        list_push(&head, &items[i].node);
    list_remove(&items[2].node);
    assert_false(list_linked(&items[2].node));
    list_remove(&items[2].node);
    int want[] = {0, 1, 3}, at = 0;
    LIST_FOR_SAFE (n, next, &head) {
        assert_int_equal(container_of(n, struct item, node)->number, want[at++]);
        list_remove(n);
    }
    assert_int_equal(at, 3);
    assert_true(list_empty(&head));
}

static void test_clock_text(void **state) {
    (void)state;
    char text[CLOCK_TEXT_MAX];
    clock_text(0, text);
    assert_string_equal(text, "1970-01-01T00:00:00.000Z");
    clock_text(1767323045678u, text);
    assert_string_equal(text, "2026-01-02T03:04:05.678Z");
    assert_true(clock_mono_us() <= clock_mono_us());
}

static void test_rand(void **state) {
    (void)state;
    char a[33], b[33];
    rand_token(a, 32);
    rand_token(b, 32);
    assert_int_equal(strlen(a), 32);
    assert_string_not_equal(a, b);
    assert_int_equal(strspn(a, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"), 32);
}

static void test_nearest(void **state) {
    (void)state;
    const char *const words[] = {"hide", "tools", "default", "version", NULL};
    assert_string_equal(nearest_word(SLICE("hiden"), words), "hide");
    assert_string_equal(nearest_word(SLICE("tolos"), words), "tools"); /* a swap is one step */
    assert_string_equal(nearest_word(SLICE("defualt"), words), "default");
    assert_null(nearest_word(SLICE("xyzzy"), words));
    assert_int_equal(nearest_distance(SLICE("ab"), SLICE("ba")), 1);
    assert_int_equal(nearest_distance(SLICE(""), SLICE("abc")), 3);
    char overlong[100];
    memset(overlong, 'a', sizeof(overlong));
    assert_null(nearest_word(slice_of(overlong, sizeof(overlong)), words));
}

/* What a line is about ends it, unless the text names it; in JSON it is always a member. */
static void test_log_about(void **state) {
    (void)state;
    int fds[2], kept = dup(STDERR_FILENO);
    char text[16384], overlong[5000];
    const struct log_field about[] = {{"server", SLICE("fi")}, {"tool", SLICE("read")}, {"rule", SLICE("")}};
    memset(overlong, 'a', sizeof(overlong));
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
    log_about(LOG_WARN, about, 3, "final");
    log_about(LOG_INFO, about, 3, "server `fi` is gone");
    log_set_timed(true);
    log_about(LOG_WARN, about, 1, "[fi] late");
    log_set_timed(false);
    log_about(LOG_DEBUG, about, 3, "not said");
    log_set_json(true);
    log_about(LOG_INFO, about, 3, "server `fi` is gone");
    log_set_json(false);
    log_about(LOG_INFO, about, 3, "%.*s", (int)sizeof(overlong), overlong);
    ssize_t got = read(fds[0], text, sizeof(text) - 1);
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(fds[0]);
    close(fds[1]);
    assert_true(got > 4000 && got < 5000);
    text[got] = '\0';
    assert_memory_equal(
        text,
        "sallyport: warn: final server=fi tool=read\nsallyport: server `fi` is gone tool=read\nsallyport: 2",
        96);
    assert_non_null(strstr(text, " warn: [fi] late\n{\"time\":\""));
    assert_non_null(strstr(
        text, "\"message\":\"server `fi` is gone\",\"server\":\"fi\",\"tool\":\"read\"}\nsallyport: aaa"));
    assert_null(strstr(text, "not said"));
}

/* A repeated line is counted until the count is read or another line comes. */
static void test_log_often(void **state) {
    (void)state;
    int fds[2], kept = dup(STDERR_FILENO);
    char text[4096];
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
    log_often(LOG_INFO, SLICE("no"));
    log_often(LOG_INFO, SLICE("no"));
    bool early = log_counts();
    log_hold(true);
    for (int i = 0; i < 5; i++)
        log_often(LOG_INFO, SLICE("no"));
    log_often(LOG_WARN, SLICE("no"));
    log_often(LOG_WARN, SLICE("never"));
    log_often(LOG_WARN, SLICE("never"));
    bool counts = log_counts();
    log_write_count();
    bool late = log_counts();
    log_often(LOG_WARN, SLICE("never"));
    log_hold(false);
    ssize_t got = read(fds[0], text, sizeof(text));
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(fds[0]);
    close(fds[1]);
    assert_true(!early && counts && !late);
    assert_true(slice_is(slice_of(text, (size_t)got), "sallyport: no\n"
                                                      "sallyport: no\n"
                                                      "sallyport: no\n"
                                                      "sallyport: no (4 more of these)\n"
                                                      "sallyport: warn: no\n"
                                                      "sallyport: warn: never\n"
                                                      "sallyport: warn: never (1 more of these)\n"
                                                      "sallyport: warn: never\n"));
}

/* Held lines leave together and in order; a long one goes before its time rather than being cut. */
static void test_log_hold(void **state) {
    (void)state;
    int fds[2], kept = dup(STDERR_FILENO);
    char text[4096], large[3000];
    memset(large, 'x', sizeof(large));
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
    log_hold(true);
    log_info("one %d", 1);
    log_warn("two\n");
    ssize_t early = read(fds[0], text, sizeof(text));
    log_flush();
    ssize_t got = read(fds[0], text, sizeof(text));
    size_t long_lines = 0;
    for (int i = 0; i < 12; i++) {
        log_info("%.*s", (int)sizeof(large), large);
        long_lines += sizeof("sallyport: ") + sizeof(large);
    }
    log_hold(false);
    size_t all = 0;
    for (ssize_t n; (n = read(fds[0], text, sizeof(text))) > 0;)
        all += (size_t)n;
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(fds[0]);
    close(fds[1]);
    assert_int_equal(early, -1);
    assert_int_equal(got, sizeof("sallyport: one 1\nsallyport: warn: two \n") - 1);
    assert_int_equal(all, long_lines);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),      cmocka_unit_test(test_clock_text), cmocka_unit_test(test_rand),
        cmocka_unit_test(test_nearest),   cmocka_unit_test(test_log_hold),   cmocka_unit_test(test_log_often),
        cmocka_unit_test(test_log_about), cmocka_unit_test(test_hmac),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
