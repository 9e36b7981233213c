/* Whatever is done to a log, verify notices, and names the first record that is wrong. */
#include "home.h"

#include "audit/chain.h"
#include "base/mem.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#define CALLS 90

static struct audit_report verify(void) {
    struct audit_report report;
    audit_verify(home, NULL, &report);
    return report;
}

static int setup(void **state) {
    if (home_make(state) < 0)
        return -1;
    home_fill(CALLS);
    return 0;
}

static void expect_bad(uint64_t first_bad, const char *text) {
    struct audit_report report = verify();
    assert_false(report.sound);
    if (!strstr(report.text, text))
        fail_msg("`%s` does not say `%s`", report.text, text);
    if (first_bad)
        assert_int_equal(report.first_bad, first_bad);
}

static void test_untouched(void **state) {
    (void)state;
    struct audit_report report = verify();
    if (!report.sound)
        fail_msg("%s", report.text);
    assert_int_equal(report.records, CALLS + CALLS * 2 / 3 + 2);
    assert_int_equal(report.last_seq, report.records);
    assert_int_equal(report.signed_seq, report.records);
    assert_true(report.checkpoints >= 1);
}

/* Changes the byte at the n-th place where `needle` stands in some block; what was there must be equally
 * long. */
static void edit(const char *needle, const char *with) {
    char path[128];
    sqlite3 *db = NULL;
    sqlite3_stmt *get = NULL;
    sqlite3_blob *blob = NULL;
    snprintf(path, sizeof(path), "%s/audit/000001.sqlite", home);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(
                         db, "SELECT first_seq, instr(body, CAST(?1 AS BLOB)) AS at FROM blocks WHERE at > 0",
                         -1, &get, NULL),
                     SQLITE_OK);
    sqlite3_bind_text(get, 1, needle, -1, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(get), SQLITE_ROW);
    sqlite3_int64 row = sqlite3_column_int64(get, 0);
    int at = sqlite3_column_int(get, 1) - 1;
    sqlite3_finalize(get);
    assert_int_equal(sqlite3_blob_open(db, "main", "blocks", "body", row, 1, &blob), SQLITE_OK);
    assert_int_equal(sqlite3_blob_write(blob, with, (int)strlen(with), at), SQLITE_OK);
    sqlite3_blob_close(blob);
    sqlite3_close(db);
}

static bool find_args(void *ctx, const struct audit_entry *e) {
    *(uint64_t *)ctx = e->seq;
    return false;
}

static uint64_t seq_of(const char *text) {
    uint64_t seq = 0;
    cleanup_audit_log struct audit_log *log = NULL;
    struct audit_filter filter = {.search = slice_str(text)};
    assert_int_equal(audit_log_open(home, &log, NULL), 0);
    assert_int_equal(audit_log_walk(log, &filter, find_args, &seq, NULL), 0);
    assert_true(seq > 0);
    return seq;
}

static void test_edit(void **state) {
    (void)state;
    uint64_t seq = seq_of("/srv/44");
    edit("/srv/44", "/etc/44");
    expect_bad(seq, "was changed");
}

static void test_edit_of_a_verdict(void **state) {
    (void)state;
    uint64_t seq = seq_of("write_file");
    edit("deny", "Deny");
    expect_bad(seq, "was changed");
}

/* Every byte of a block matters: lengths and tags too. */
static void test_every_byte_of_a_block(void **state) {
    (void)state;
    char path[128];
    sqlite3 *db = NULL;
    sqlite3_blob *blob = NULL;
    snprintf(path, sizeof(path), "%s/audit/000001.sqlite", home);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_blob_open(db, "main", "blocks", "body", 2, 1, &blob), SQLITE_OK);
    int len = sqlite3_blob_bytes(blob);
    for (int at = 0; at < len; at += at < 200 ? 1 : 97) {
        unsigned char byte, changed;
        assert_int_equal(sqlite3_blob_read(blob, &byte, 1, at), SQLITE_OK);
        changed = byte ^ 0x20;
        assert_int_equal(sqlite3_blob_write(blob, &changed, 1, at), SQLITE_OK);
        sqlite3_blob_close(blob);
        struct audit_report report = verify();
        assert_false(report.sound);
        assert_in_range(report.first_bad, 2, 120);
        assert_int_equal(sqlite3_blob_open(db, "main", "blocks", "body", 2, 1, &blob), SQLITE_OK);
        assert_int_equal(sqlite3_blob_write(blob, &byte, 1, at), SQLITE_OK);
    }
    sqlite3_blob_close(blob);
    sqlite3_close(db);
    assert_true(verify().sound);
}

static void test_removed_block(void **state) {
    (void)state;
    home_sql(1, "DELETE FROM blocks WHERE first_seq=2");
    expect_bad(2, "record 2 is missing");
}

static void test_removed_end(void **state) {
    (void)state;
    uint64_t last = verify().records;
    home_sql(1, "DELETE FROM blocks WHERE first_seq=(SELECT max(first_seq) FROM blocks)");
    struct audit_report report = verify();
    assert_false(report.sound);
    assert_in_range(report.first_bad, 2, last);
    assert_non_null(strstr(report.text, "missing"));
}

/* The same by an attacker who knows the tables: the head row and the checkpoints go back as well. */
static void test_careful_truncation(void **state) {
    (void)state;
    home_sql(1, "DELETE FROM blocks WHERE first_seq=(SELECT max(first_seq) FROM blocks);"
                "UPDATE head SET (seq, hash)=(SELECT first_seq+count-1, hash FROM blocks ORDER BY first_seq "
                "DESC LIMIT 1);"
                "DELETE FROM checkpoints WHERE seq>(SELECT seq FROM head)");
    struct audit_report report = verify();
    assert_false(report.sound);
    assert_non_null(strstr(report.text, "signed"));
}

/* And then a gate runs on it, signs, and ends: what was cut off stays a finding. */
static void test_truncation_is_not_forgotten(void **state) {
    test_careful_truncation(state);
    uint64_t last = verify().last_seq;
    audit_close(home_open((struct audit_config){0}));
    expect_bad(last + 1, "was signed");
    audit_close(home_open((struct audit_config){0}));
    expect_bad(last + 1, "was signed");
}

static void test_lost_head_is_not_forgotten(void **state) {
    (void)state;
    char path[128];
    uint64_t last = verify().last_seq;
    snprintf(path, sizeof(path), "%s/audit/head", home);
    assert_int_equal(unlink(path), 0);
    audit_close(home_open((struct audit_config){0}));
    expect_bad(last + 1, "head was missing");
}

static void test_reordered(void **state) {
    (void)state;
    home_sql(1, "CREATE TEMP TABLE t AS SELECT * FROM blocks ORDER BY first_seq LIMIT 2;"
                "UPDATE blocks SET body=(SELECT body FROM t WHERE t.first_seq<>blocks.first_seq),"
                " count=(SELECT count FROM t WHERE t.first_seq<>blocks.first_seq) WHERE first_seq IN (SELECT "
                "first_seq FROM t)");
    expect_bad(1, "was changed");
}

static void test_added(void **state) {
    (void)state;
    home_sql(1, "INSERT INTO blocks SELECT (SELECT seq FROM head)+1, count, hash, body FROM blocks LIMIT 1");
    struct audit_report report = verify();
    assert_false(report.sound);
    assert_int_equal(report.first_bad, CALLS + CALLS * 2 / 3 + 3);
}

static void test_other_key(void **state) {
    (void)state;
    char path[128];
    snprintf(path, sizeof(path), "%s/audit.pub", home);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof(path), "%s/audit.key", home);
    assert_int_equal(unlink(path), 0);
    struct audit *a = home_open((struct audit_config){0}); /* makes new ones */
    audit_close(a);
    expect_bad(0, "not by this key");
}

static void test_forged_signature(void **state) {
    (void)state;
    home_sql(1, "UPDATE checkpoints SET signature=zeroblob(64)");
    expect_bad(0, "not by this key");
}

static void test_missing_head(void **state) {
    (void)state;
    char path[128];
    snprintf(path, sizeof(path), "%s/audit/head", home);
    assert_int_equal(unlink(path), 0);
    expect_bad(0, "head is missing");
    FILE *half = fopen(path, "w");
    assert_true(half && fputs("{\"log\":", half) > 0 && fclose(half) == 0);
    expect_bad(0, "head is damaged");
    assert_false(verify().unreadable);
}

static void test_missing_everything(void **state) {
    (void)state;
    char path[128];
    snprintf(path, sizeof(path), "%s/audit/000001.sqlite", home);
    assert_int_equal(unlink(path), 0);
    expect_bad(0, "no segments");
}

static void test_base_moved(void **state) {
    (void)state;
    home_sql(1, "UPDATE meta SET base_seq=2");
    expect_bad(1, "does not begin the chain");
}

/* A gate that is killed at this point; its instance's ring stays. */
static void kill_gate(char ring[160]) {
    struct audit_rings before;
    audit_rings_count(home, &before);
    pid_t child = fork();
    if (child == 0) {
        struct audit *a = home_open((struct audit_config){0});
        home_put(a, "tool", "allow", "{}");
        audit_flush(a, NULL);
        home_put(a, "tool", "allow", "{}");
        raise(SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    char dir[128];
    snprintf(dir, sizeof(dir), "%s/audit", home);
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d));)
        if (slice_starts(slice_str(e->d_name), SLICE("ring-")))
            snprintf(ring, 160, "%s/%.20s", dir, e->d_name);
    closedir(d);
}

static void expect_ring_missed(const char *why) {
    struct audit_report report;
    audit_verify(home, NULL, &report);
    assert_false(report.sound);
    if (!strstr(report.text, why))
        fail_msg("expected \"%s\", got: %s", why, report.text);
}

/* Records that a killed gate left count, and deleting, emptying or zeroing them is detected. */
static void test_rings_of_killed_gates(void **state) {
    (void)state;
    char ring[160], none[RING_HEAD_BYTES] = {0};
    struct audit_report report;
    home_fill(3);
    kill_gate(ring);
    audit_verify(home, NULL, &report);
    if (!report.sound)
        fail_msg("%s", report.text);
    assert_int_equal(report.rings.left, 1);
    assert_true(report.rings.waiting > 0);
    home_fill(1); /* the next one takes over */
    audit_verify(home, NULL, &report);
    assert_true(report.sound);
    assert_int_equal(report.rings.left, 0);
    assert_int_equal(report.gaps, 0);

    kill_gate(ring);
    assert_int_equal(unlink(ring), 0);
    expect_ring_missed("gone or damaged");
    home_fill(1); /* on record now */
    audit_verify(home, NULL, &report);
    if (!report.sound)
        fail_msg("%s", report.text);
    assert_int_equal(report.gaps, 1);

    kill_gate(ring);
    assert_int_equal(truncate(ring, 5000), 0);
    expect_ring_missed("gone or damaged");
    assert_int_equal(truncate(ring, 0), 0);
    expect_ring_missed("gone or damaged");
    home_fill(1);
    audit_verify(home, NULL, &report);
    assert_int_equal(report.rings.aside, 1);

    kill_gate(ring);
    int fd = open(ring, O_WRONLY);
    assert_int_equal(write(fd, none, sizeof(none)), sizeof(none));
    close(fd);
    expect_ring_missed("gone or damaged");
    home_fill(1);
    audit_verify(home, NULL, &report);
    assert_true(report.sound);
    assert_int_equal(report.rings.aside, 2);
}

/* Two processes sign one log: the one that is late does not replace what the other signed. */
static void test_an_older_signature_replaces_no_newer_one(void **state) {
    (void)state;
    struct crypto_signer *key = NULL;
    struct chain_point newest, older;
    struct err err = {0};
    char dir[80];
    snprintf(dir, sizeof(dir), "%s/audit", home);
    assert_int_equal(audit_chain_key_load(home, &key, &err), 0);
    assert_int_equal(audit_chain_head_read(dir, &newest, &err), CHAIN_HEAD_READ);
    older = newest;
    older.seq -= 1;
    audit_chain_sign(key, &older);
    assert_int_equal(audit_chain_head_write(dir, key, &older, &err), 0);
    assert_int_equal(audit_chain_head_read(dir, &older, &err), CHAIN_HEAD_READ);
    assert_int_equal(older.seq, newest.seq);
    assert_true(audit_chain_promise_read(dir, &older));
    assert_int_equal(older.seq, newest.seq);
    crypto_signer_free(key);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rings_of_killed_gates, home_make, home_remove),
        cmocka_unit_test_setup_teardown(test_untouched, setup, home_remove),
        cmocka_unit_test_setup_teardown(test_edit, setup, home_remove),
        cmocka_unit_test_setup_teardown(test_edit_of_a_verdict, setup, home_remove),
        cmocka_unit_test_setup_teardown(test_every_byte_of_a_block, setup, home_remove),
        cmocka_unit_test_setup_teardown(test_removed_block, setup, home_remove),
        cmocka_unit_test_setup_teardown(test_removed_end, setup, home_remove),
        cmocka_unit_test_setup_teardown(test_careful_truncation, setup, home_remove),
        cmocka_unit_test_setup_teardown(test_truncation_is_not_forgotten, setup, home_remove),
        cmocka_unit_test_setup_teardown(test_lost_head_is_not_forgotten, setup, home_remove),
        cmocka_unit_test_setup_teardown(test_reordered, setup, home_remove),
        cmocka_unit_test_setup_teardown(test_added, setup, home_remove),
        cmocka_unit_test_setup_teardown(test_other_key, setup, home_remove),
        cmocka_unit_test_setup_teardown(test_forged_signature, setup, home_remove),
        cmocka_unit_test_setup_teardown(test_missing_head, setup, home_remove),
        cmocka_unit_test_setup_teardown(test_missing_everything, setup, home_remove),
        cmocka_unit_test_setup_teardown(test_base_moved, setup, home_remove),
        cmocka_unit_test_setup_teardown(test_an_older_signature_replaces_no_newer_one, setup, home_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
