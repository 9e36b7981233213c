/* Files of a home: keys are under the rule of crypto/keyfile.h, formats of newer versions are refused. */
#include "state/approvals.h"
#include "state/sealed.h"

#include "base/mem.h"
#include "io/file.h"
#include "state/home_format.h"
#include "state/state.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

static char home[64];

static int setup(void **state) {
    (void)state;
    snprintf(home, sizeof(home), "/tmp/sallyport-keys-XXXXXX");
    return mkdtemp(home) ? 0 : -1;
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

static int open_approvals(struct err *err) {
    struct state_approvals *s = NULL;
    int rc = state_approvals_open(home, &s, err);
    if (rc == 0)
        state_approvals_close(s);
    return rc;
}

static int open_sealed(struct err *err) {
    return state_sealed_write(home, "logins", "a", SLICE("text"), err);
}

static void expect(int (*open)(struct err *err), const char *why) {
    struct err err = {0};
    assert_int_equal(open(&err), -1);
    if (!strstr(err.text, why))
        fail_msg("expected \"%s\", got: %s", why, err.text);
}

static void test_modes_owners_and_damage(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int (*open)(struct err *err);
    } files[] = {
        {"approvals.key", open_approvals},
        {"secret.key", open_sealed},
    };
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct err err = {0};
        struct stat st;
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", home, files[i].name);
        if (files[i].open(&err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(lstat(path, &st), 0);
        assert_int_equal(st.st_mode, S_IFREG | 0600);
        assert_int_equal(chmod(path, 0604), 0);
        expect(files[i].open, "chmod 600");
        assert_int_equal(chmod(path, 0600), 0);
        if (geteuid() == 0) {
            assert_int_equal(chown(path, 12345, 0), 0);
            expect(files[i].open, "12345");
            assert_int_equal(chown(path, 0, 0), 0);
        }
        assert_int_equal(truncate(path, 0), 0);
        expect(files[i].open, "damaged");
    }
}

/* An older program must not touch what a newer one wrote, and says why. */
static void test_newer_formats(void **state) {
    (void)state;
    struct err err = {0};
    char path[128];
    assert_int_equal(state_home_format_open(home, &err), 0);
    assert_int_equal(state_home_format_check(home, &err), 0);
    snprintf(path, sizeof(path), "%s/format", home);
    static const struct {
        const char *text, *why;
    } rows[] = {{"sallyport home 2\n", "newer version"}, {"sallyport home x\n", "damaged"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(io_file_replace(path, slice_str(rows[i].text), 0600, &err), 0);
        assert_int_equal(state_home_format_check(home, &err), -1);
        assert_non_null(strstr(err.text, rows[i].why));
        assert_int_equal(state_home_format_open(home, &err), -1);
    }
    /* The power failed while the home was made. */
    assert_int_equal(io_file_replace(path, (struct slice){0}, 0600, &err), 0);
    assert_int_equal(state_home_format_open(home, &err), 0);
    assert_int_equal(state_home_format_check(home, &err), 0);
    assert_int_equal(open_approvals(&err), 0);
    sqlite3 *db = NULL;
    snprintf(path, sizeof(path), "%s/approvals.sqlite", home);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA user_version=0", NULL, NULL, NULL), SQLITE_OK); /* 0.1.0 */
    assert_int_equal(open_approvals(&err), 0);
    assert_int_equal(sqlite3_exec(db, "PRAGMA user_version=2", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    expect(open_approvals, "newer version");
}

/* Deleted counters are noticed: the store says that it is new. */
static void test_new_counters(void **state) {
    (void)state;
    struct err err = {0};
    struct state_health health;
    char path[128];
    snprintf(path, sizeof(path), "%s/state.sqlite", home);
    for (int round = 0; round < 4; round++) {
        struct state_store *s = NULL;
        assert_int_equal(state_open(&(struct state_config){.dir = home}, &s, &err), 0);
        state_health(s, &health);
        assert_int_equal(health.created, round % 2 == 0);
        state_close(s);
        if (round == 1)
            assert_int_equal(unlink(path), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_modes_owners_and_damage, setup, teardown),
        cmocka_unit_test_setup_teardown(test_newer_formats, setup, teardown),
        cmocka_unit_test_setup_teardown(test_new_counters, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
