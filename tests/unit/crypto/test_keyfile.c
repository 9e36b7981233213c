#include "crypto/keyfile.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define KEY 32

static char home[64], path[128];

static int setup(void **state) {
    (void)state;
    snprintf(home, sizeof(home), "/tmp/sallyport-keyfile-XXXXXX");
    if (!mkdtemp(home))
        return -1;
    snprintf(path, sizeof(path), "%s/key", home);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        execlp("rm", "rm", "-rf", home, (char *)NULL);
        _exit(1);
    }
    return waitpid(child, NULL, 0) == child ? 0 : -1;
}

static void expect(const char *why) {
    unsigned char key[KEY];
    struct err err = {0};
    int rc = crypto_keyfile_load(path, key, sizeof(key), &err);
    if (!why) {
        if (rc < 0)
            fail_msg("%s", err.text);
        return;
    }
    assert_int_equal(rc, -1);
    if (!strstr(err.text, why) || !strstr(err.text, path))
        fail_msg("expected \"%s\", got: %s", why, err.text);
}

static void test_created_once(void **state) {
    (void)state;
    struct stat st;
    struct err err = {0};
    unsigned char one[KEY], two[KEY], none[KEY] = {0};
    snprintf(path, sizeof(path), "%s/some/where/key", home);
    assert_int_equal(crypto_keyfile_load(path, one, sizeof(one), &err), 0);
    assert_int_equal(crypto_keyfile_load(path, two, sizeof(two), &err), 0);
    assert_memory_equal(one, two, KEY);
    assert_memory_not_equal(one, none, KEY);
    assert_int_equal(lstat(path, &st), 0);
    assert_int_equal(st.st_mode, S_IFREG | 0600);
    assert_int_equal(st.st_uid, geteuid());
    assert_int_equal(st.st_nlink, 1); /* the draft is gone */
}

static void test_modes(void **state) {
    (void)state;
    expect(NULL);
    for (unsigned mode = 0; mode < 0100; mode++) {
        assert_int_equal(chmod(path, 0600 | mode), 0);
        expect(mode ? "chmod 600" : NULL);
    }
    assert_int_equal(chmod(path, 0400), 0);
    expect(NULL);
}

static void test_owners(void **state) {
    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: only root can give files away\n");
        skip();
    }
    expect(NULL);
    assert_int_equal(chown(path, 12345, 0), 0);
    expect("belongs to user 12345");
    assert_int_equal(chown(path, 0, 12345), 0); /* the group has no rights */
    expect(NULL);
    /* A file owned by root is accepted for any user who can read it; one of another user is refused. */
    assert_int_equal(chown(home, 4321, 0) | chown(path, 4321, 0), 0);
    pid_t child = fork();
    if (child == 0) {
        unsigned char key[KEY];
        struct err err = {0};
        bool fine = seteuid(4321) == 0 && crypto_keyfile_load(path, key, sizeof(key), &err) == 0;
        _exit(fine ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_kinds(void **state) {
    (void)state;
    char other[160];
    snprintf(other, sizeof(other), "%s/other", home);
    expect(NULL);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
    expect("symbolic link");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect("not a regular file");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    expect("not a regular file");
}

static void test_damaged(void **state) {
    (void)state;
    for (int len = 0; len < 2 * KEY; len++) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        assert_int_equal(ftruncate(fd, len), 0);
        close(fd);
        expect(len == KEY ? NULL : "damaged");
    }
    assert_int_equal(truncate(path, CRYPTO_KEYFILE_BYTES_MAX + 1), 0);
    expect("too large");
}

static void test_first_one_wins(void **state) {
    (void)state;
    struct err err = {0};
    bool missing;
    struct buf bytes;
    assert_int_equal(crypto_keyfile_create(path, SLICE("first"), &err), 0);
    assert_int_equal(crypto_keyfile_create(path, SLICE("second"), &err), 0);
    assert_int_equal(crypto_keyfile_read(path, &bytes, NULL, &missing, &err), 0);
    assert_true(slice_is(buf_slice(&bytes), "first"));
    crypto_wipe(&bytes);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_created_once), TEST(test_modes),   TEST(test_owners),
        TEST(test_kinds),        TEST(test_damaged), TEST(test_first_one_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
