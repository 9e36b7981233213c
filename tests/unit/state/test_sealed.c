#include "state/sealed.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char home[64];

static int setup(void **state) {
    (void)state;
    snprintf(home, sizeof(home), "/tmp/sallyport-sealed-XXXXXX");
    return mkdtemp(home) ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    const char *names[] = {"things/a", "things/b", "things", "secret.key", ""};
    for (size_t i = 0; i < 5; i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", home, names[i]);
        remove(path);
    }
    return access(home, F_OK) == 0 ? -1 : 0;
}

static void put(const char *name, const char *text) {
    struct err err = {0};
    if (state_sealed_write(home, "things", name, slice_str(text), &err) < 0)
        fail_msg("%s", err.text);
}

static int get(const char *name, struct buf *out, struct err *err) {
    buf_init(out, 4096);
    return state_sealed_read(home, "things", name, out, NULL, err);
}

static void test_round_trip(void **state) {
    (void)state;
    struct err err = {0};
    struct buf out;
    put("a", "first");
    put("a", "a secret that is longer");
    put("b", "");
    assert_int_equal(get("a", &out, &err), 0);
    assert_true(slice_is(buf_slice(&out), "a secret that is longer"));
    buf_free(&out);
    assert_int_equal(get("b", &out, &err), 0);
    assert_int_equal(out.len, 0);
    buf_free(&out);
    bool absent = false;
    buf_init(&out, 4096);
    assert_int_equal(state_sealed_read(home, "things", "c", &out, &absent, &err), -1);
    assert_true(absent);
    buf_free(&out);
    assert_int_equal(state_sealed_remove(home, "things", "a", &err), 0);
    assert_int_equal(state_sealed_remove(home, "things", "a", &err), -1);
}

static void test_nothing_but_the_owner_and_the_key(void **state) {
    (void)state;
    struct err err = {0};
    struct buf out;
    struct stat st;
    char path[128], key[128];
    put("a", "a secret");
    snprintf(path, sizeof(path), "%s/things/a", home);
    snprintf(key, sizeof(key), "%s/secret.key", home);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(stat(key, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    int fd = open(key, O_WRONLY | O_TRUNC);
    assert_int_equal(write(fd, "0123456789abcdef0123456789abcdef", 32), 32);
    close(fd);
    assert_int_equal(get("a", &out, &err), -1);
    assert_non_null(strstr(err.text, "cannot be decrypted"));
    buf_free(&out);
}

static void test_changed_or_swapped(void **state) {
    (void)state;
    struct err err = {0};
    struct buf out;
    char a[128], b[128], bytes[256];
    put("a", "secret of a");
    put("b", "secret of b");
    snprintf(a, sizeof(a), "%s/things/a", home);
    snprintf(b, sizeof(b), "%s/things/b", home);
    int fd = open(a, O_RDWR);
    ssize_t len = read(fd, bytes, sizeof(bytes));
    assert_true(len > 36);
    for (ssize_t at = 0; at < len; at++) {
        char bent = (char)(bytes[at] ^ 1);
        assert_int_equal(pwrite(fd, &bent, 1, at), 1);
        assert_int_equal(get("a", &out, &err), -1);
        buf_free(&out);
        assert_int_equal(pwrite(fd, &bytes[at], 1, at), 1);
    }
    for (ssize_t at = 0; at < len; at++) {
        assert_int_equal(ftruncate(fd, at), 0);
        assert_int_equal(get("a", &out, &err), -1);
        buf_free(&out);
    }
    close(fd);
    assert_int_equal(rename(b, a), 0);
    assert_int_equal(get("a", &out, &err), -1);
    buf_free(&out);
}

static void test_names(void **state) {
    (void)state;
    struct err err = {0};
    const char *bad[] = {"", ".", "..", "../x", "a/b", ".hidden"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(state_sealed_write(home, "things", bad[i], SLICE("x"), &err), -1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_round_trip),
        TEST(test_nothing_but_the_owner_and_the_key),
        TEST(test_changed_or_swapped),
        TEST(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
