/* Logins at servers that two homes share over PostgreSQL; without it there is nothing to share. */
#include "base/buf.h"
#include "database.h"
#include "io/file.h"
#include "state/fleet_logins.h"
#include "state/sealed.h"

#include <ftw.h>
#include <string.h>
#include <sys/stat.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NAME "0123456789abcdef0123456789abcdef"
#define OTHER "ffffffffffffffffffffffffffffffff"

static char dir[64], homes[2][80];

static void write_login(int at, const char *name, const char *text) {
    struct err err = {0};
    if (state_sealed_write(homes[at], STATE_LOGINS_DIR, name, slice_str(text), &err) < 0)
        fail_msg("%s", err.text);
}

static bool has_login(int at, const char *name, const char *text) {
    cleanup_buf struct buf out;
    struct err err = {0};
    bool absent = false;
    buf_init(&out, STATE_SEALED_MAX);
    bool fine = state_sealed_read(homes[at], STATE_LOGINS_DIR, name, &out, &absent, &err) == 0;
    return text ? fine && slice_is(buf_slice(&out), text) : absent;
}

static bool claims(int at, const char *name) {
    struct err err = {0};
    bool claimed = false;
    if (state_fleet_logins_claim(homes[at], name, &claimed, &err) < 0)
        fail_msg("%s", err.text);
    return claimed;
}

static void run_sql(const char *text) {
    struct db *db;
    struct err err = {0};
    if (db_open(homes[0], "server_logins", false, "", &db, &err) < 0 ||
        db_run(db_prepare(db, text), &err) < 0)
        fail_msg("%s", err.text);
    db_close(db);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static int teardown(void **state) {
    (void)state;
    return nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Both homes have the key of the fleet. */
static int setup(void **state) {
    (void)state;
    cleanup_buf struct buf key;
    char path[128];
    snprintf(dir, sizeof(dir), "/tmp/sallyport-logins-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    for (int i = 0; i < 2; i++) {
        snprintf(homes[i], sizeof(homes[i]), "%s/%c", dir, 'a' + i);
        if (mkdir(homes[i], 0700) < 0 || database_setup(homes[i]) < 0)
            return -1;
    }
    write_login(0, OTHER, "makes the key");
    state_sealed_remove(homes[0], STATE_LOGINS_DIR, OTHER, NULL);
    buf_init(&key, 4096);
    snprintf(path, sizeof(path), "%s/secret.key", homes[0]);
    if (io_file_read(path, &key, NULL, NULL) < 0)
        return -1;
    snprintf(path, sizeof(path), "%s/secret.key", homes[1]);
    return io_file_replace(path, buf_slice(&key), 0600, NULL);
}

static void test_one_gate_at_a_time_refreshes(void **state) {
    (void)state;
    if (!database_is_remote()) {
        assert_false(state_fleet_logins_shared(homes[0]));
        return;
    }
    write_login(0, NAME, "first");
    assert_true(claims(0, NAME));
    assert_true(claims(0, NAME)); /* the same gate, again */
    assert_false(claims(1, NAME));
    assert_true(has_login(1, NAME, "first"));
    write_login(0, NAME, "refreshed");
    assert_false(claims(1, NAME)); /* not stored yet */
    assert_true(claims(0, NAME));
    run_sql("UPDATE server_logins SET lease_ms=1"); /* a minute later */
    assert_true(claims(1, NAME));
    assert_true(has_login(1, NAME, "refreshed"));
    assert_false(claims(0, OTHER)); /* nobody logged in there */
}

static void test_what_was_forgotten_or_changed_at_both(void **state) {
    (void)state;
    if (!database_is_remote())
        return;
    write_login(0, NAME, "first");
    claims(0, NAME);
    claims(1, NAME);
    assert_int_equal(state_sealed_remove(homes[1], STATE_LOGINS_DIR, NAME, NULL), 0);
    claims(1, NAME);
    claims(0, NAME);
    assert_true(has_login(0, NAME, NULL));
    write_login(0, NAME, "again");
    claims(0, NAME);
    write_login(1, NAME, "too late");
    claims(1, NAME);
    assert_true(has_login(1, NAME, "again"));
    /* A home that joins with a login of its own for a server whose login was forgotten. */
    write_login(0, OTHER, "old");
    claims(0, OTHER);
    state_sealed_remove(homes[0], STATE_LOGINS_DIR, OTHER, NULL);
    claims(0, OTHER);
    write_login(1, OTHER, "new");
    claims(1, OTHER);
    claims(0, OTHER);
    assert_true(has_login(0, OTHER, "new"));
}

static void test_a_database_that_lost_rows_or_has_foreign_ones(void **state) {
    (void)state;
    struct err err = {0};
    bool claimed;
    if (!database_is_remote())
        return;
    write_login(0, NAME, "first");
    claims(0, NAME);
    write_login(0, NAME, "second");
    claims(0, NAME);
    claims(1, NAME);
    run_sql("DELETE FROM server_logins");
    claims(1, NAME);
    assert_true(has_login(1, NAME, "second"));
    write_login(0, NAME, "third");
    claims(0, NAME);
    claims(1, NAME);
    assert_true(has_login(0, NAME, "second") && has_login(1, NAME, "second")); /* what was stored first */
    run_sql("UPDATE server_logins SET number=number+1,sealed='\\x5350'");
    assert_int_equal(state_fleet_logins_claim(homes[1], NAME, &claimed, &err), -1);
    assert_non_null(strstr(err.text, "not encrypted"));
    assert_true(has_login(1, NAME, "second"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_gate_at_a_time_refreshes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_was_forgotten_or_changed_at_both, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_database_that_lost_rows_or_has_foreign_ones, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
