#include "home.h"

#include "audit/format.h"
#include "audit/writer.h"
#include "base/mem.h"
#include "wire/tape.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct seen {
    uint64_t count;
    uint64_t outcomes;
    uint64_t first, last;
    char tool[64];
};

static bool see(void *ctx, const struct audit_entry *e) {
    struct seen *s = ctx;
    if (s->count++ == 0)
        s->first = e->seq;
    s->last = e->seq;
    s->outcomes += e->outcome != NULL;
    snprintf(s->tool, sizeof(s->tool), "%.*s", SLICE_FMT(e->record->text[AUDIT_TOOL]));
    return true;
}

static struct seen walk(struct audit_filter filter, bool back) {
    struct seen s = {0};
    struct err err = {0};
    cleanup_audit_log struct audit_log *log = NULL;
    assert_int_equal(audit_log_open(home, &log, &err), 0);
    int rc =
        back ? audit_log_walk_back(log, &filter, see, &s, &err) : audit_log_walk(log, &filter, see, &s, &err);
    if (rc < 0)
        fail_msg("%s", err.text);
    return s;
}

static void test_walks_and_filters(void **state) {
    (void)state;
    home_fill(90);
    assert_int_equal(walk((struct audit_filter){0}, false).count, 90 + 60 + 2); /* and start, stop */
    struct seen s = walk((struct audit_filter){.kinds = 1u << AUDIT_KIND_DECISION}, true);
    assert_int_equal(s.count, 90);
    assert_int_equal(s.outcomes, 60);
    assert_true(s.first > s.last);
    struct audit_filter denied = {.limit = 5};
    denied.text[AUDIT_VERDICT] = SLICE("deny");
    s = walk(denied, true);
    assert_int_equal(s.count, 5);
    assert_string_equal(s.tool, "write_file");
    struct audit_filter tool = {0};
    tool.text[AUDIT_TOOL] = SLICE("read_*");
    assert_int_equal(walk(tool, true).count, 60);
    assert_int_equal(walk((struct audit_filter){.search = SLICE("word7 HERE")}, true).count, 11);
    assert_int_equal(walk((struct audit_filter){.search = SLICE("word7 \"/srv/77\"")}, true).count, 1);
    assert_int_equal(walk((struct audit_filter){.from_seq = 3, .to_seq = 7}, false).count, 5);
    assert_int_equal(walk((struct audit_filter){.from_seq = 100, .to_seq = 100}, false).first, 100);
    assert_int_equal(walk((struct audit_filter){.since_us = UINT64_MAX / 2}, true).count, 0);
}

static uint64_t count_blocks(struct segment *segment, uint64_t *ret_records) {
    sqlite3_stmt *rows = audit_segment_blocks(segment, 0, 0, false);
    uint64_t blocks = 0;
    for (*ret_records = 0; sqlite3_step(rows) == SQLITE_ROW; blocks++)
        *ret_records += (uint64_t)sqlite3_column_int64(rows, 1);
    sqlite3_finalize(rows);
    return blocks;
}

/* A commit takes several blocks, but not without end; what is behind is the next one's. */
static void test_commits_have_a_ceiling(void **state) {
    (void)state;
    enum { RECORDS = 5000 };
    struct err err = {0};
    struct ring ring;
    struct writer w = {.segment_bytes = AUDIT_SEGMENT_BYTES, .instance = "abcdef01"};
    char dir[128], wide[1000];
    snprintf(dir, sizeof(dir), "%s/audit", home);
    memset(wide, 'w', sizeof(wide));
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(audit_ring_create(&ring, dir, w.instance, &err), 0);
    for (uint64_t i = 1; i <= RECORDS; i++) {
        struct audit_record r = {.kind = AUDIT_KIND_DECISION, .number[AUDIT_CALL] = i};
        r.text[AUDIT_TEXT] = slice_of(wide, sizeof(wide) - i % 7);
        char *to = audit_ring_reserve(&ring, audit_record_fit(&r), 0);
        assert_non_null(to);
        audit_ring_publish(&ring, audit_record_write(&r, to));
    }
    assert_int_equal(audit_writer_open(&w, home, dir, &err), 0);
    uint64_t at, records, commits = 0, blocks = 0;
    for (; audit_ring_used(&ring) > 0; commits++) {
        assert_int_equal(audit_writer_write(&w, &ring, 0, &at, &err), 0);
        audit_ring_release(&ring, at);
        uint64_t now = count_blocks(&w.segment, &records);
        assert_in_range(now - blocks, 1, AUDIT_COMMIT_BLOCKS);
        assert_int_equal(records, w.written);
        blocks = now;
    }
    assert_int_equal(records, RECORDS);
    assert_int_equal(commits, 2);
    assert_int_equal(w.commits, commits);
    assert_true(blocks > AUDIT_COMMIT_BLOCKS);
    audit_writer_close(&w);
    audit_ring_remove(&ring);
    struct seen s = walk((struct audit_filter){0}, false);
    assert_int_equal(s.count, RECORDS);
    assert_int_equal(s.last, RECORDS);
}

static void expect_key_refused(const char *why) {
    struct audit *a = NULL;
    struct err err = {0};
    assert_int_equal(audit_open(&(struct audit_config){.home = home}, &a, &err), -1);
    if (!strstr(err.text, why))
        fail_msg("expected \"%s\", got: %s", why, err.text);
}

/* Homes of version 0.1.0 have the key as PEM. A damaged key stops the start, before any call is recorded. */
static void test_key_as_pem(void **state) {
    (void)state;
    char path[128];
    snprintf(path, sizeof(path), "%s/audit.key", home);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    FILE *file = fdopen(fd, "w");
    assert_non_null(file);
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    fprintf(file, "# kept by us\n");
    assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    EVP_PKEY_free(key);
    assert_int_equal(fclose(file), 0);
    home_fill(3);
    struct audit_report report;
    audit_verify(home, NULL, &report);
    if (!report.sound)
        fail_msg("%s", report.text);
    assert_int_equal(report.signed_seq, report.records);
    file = fopen(path, "r+e");
    fseek(file, 50, SEEK_SET); /* the first bytes say of which kind it is */
    fprintf(file, "AAAA");
    assert_int_equal(fclose(file), 0);
    expect_key_refused("damaged");
    assert_int_equal(chmod(path, 0640), 0);
    expect_key_refused("chmod 600");
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 12345, 0), 0);
        expect_key_refused("12345");
    }
    assert_int_equal(unlink(path), 0);
    expect_key_refused("is missing");
}

static void test_private_files(void **state) {
    (void)state;
    home_fill(1);
    const char *names[] = {"audit", "audit.key", "audit/000001.sqlite", "audit/head"};
    for (size_t i = 0; i < 4; i++) {
        char path[128];
        struct stat st;
        snprintf(path, sizeof(path), "%s/%s", home, names[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 077, 0);
    }
}

/* Two instances write to one chain. */
static void test_two_writers(void **state) {
    (void)state;
    struct audit *a = home_open((struct audit_config){0}), *b = home_open((struct audit_config){0});
    for (int i = 0; i < 300; i++) {
        assert_int_equal(home_put(a, "one", "allow", "{}"), AUDIT_OK);
        assert_int_equal(home_put(b, "two", "allow", "{}"), AUDIT_OK);
        if (i % 50 == 0)
            assert_int_equal(audit_flush(i % 100 ? a : b, NULL), 0);
    }
    assert_int_equal(walk((struct audit_filter){.kinds = 1u << AUDIT_KIND_DECISION}, true).outcomes, 600);
    audit_close(a);
    audit_close(b);
    struct audit_report report;
    audit_verify(home, NULL, &report);
    assert_true(report.sound);
    assert_int_equal(report.records, 1200 + 4);
}

/* What a gate of another version left behind is not passed over in silence, and not said twice. */
static void test_foreign_ring(void **state) {
    (void)state;
    char ring[160], aside[160];
    audit_close(home_open((struct audit_config){0}));
    snprintf(ring, sizeof(ring), "%s/audit/ring-aaaaaaaa", home);
    snprintf(aside, sizeof(aside), "%s/audit/unread-ring-aaaaaaaa", home);
    FILE *file = fopen(ring, "w");
    assert_non_null(file);
    const uint32_t older[] = {0x53505247u, 1}; /* the magic and the layout before this one */
    assert_int_equal(fwrite(older, sizeof(older), 1, file), 1);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(truncate(ring, 4096 + (off_t)AUDIT_RING_BYTES), 0);
    for (int start = 0; start < 2; start++)
        audit_close(home_open((struct audit_config){0}));
    assert_int_equal(access(ring, F_OK), -1);
    assert_int_equal(access(aside, F_OK), 0);
    struct audit_filter unread = {0};
    unread.text[AUDIT_EVENT] = SLICE("unread");
    assert_int_equal(walk(unread, false).count, 1);
    struct audit_report report;
    audit_verify(home, NULL, &report);
    assert_true(report.sound);
}

static void test_full_refuses_or_passes(void **state) {
    (void)state;
    char *big = mem_alloc(AUDIT_ARGS_MAX + 1);
    memset(big, 'x', AUDIT_ARGS_MAX);
    big[AUDIT_ARGS_MAX] = '\0';
    for (int mode = AUDIT_REFUSE; mode <= AUDIT_PASS; mode++) {
        struct audit *a = home_open((struct audit_config){.on_full = (enum audit_on_full)mode});
        enum audit_result result = AUDIT_OK;
        struct audit_health health = {0};
        /* Another process locks the database, so nothing leaves the ring. */
        char path[128];
        sqlite3 *db = NULL;
        snprintf(path, sizeof(path), "%s/audit/000001.sqlite", home);
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        sqlite3_busy_timeout(db, 5000);
        assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
        for (int i = 0; i < 100 && result == AUDIT_OK && health.gaps == 0; i++) {
            result = home_put(a, "big", "deny", big);
            audit_health(a, &health);
        }
        assert_int_equal(result, mode == AUDIT_REFUSE ? AUDIT_FULL : AUDIT_OK);
        struct audit_outcome o = {.call = 5, .status = SLICE("ok")};
        assert_int_equal(audit_put_outcome(a, &o), AUDIT_OK); /* the reserve */
        assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        assert_int_equal(audit_flush(a, NULL), 0);
        audit_close(a);
        struct audit_filter gap = {0};
        gap.text[AUDIT_EVENT] = SLICE("gap");
        assert_int_equal(walk(gap, true).count, mode + 1); /* refused calls are on record, too */
    }
    free(big);
}

static void test_failing_writer_refuses_and_recovers(void **state) {
    (void)state;
    struct audit *a = home_open((struct audit_config){0});
    home_sql(1, "ALTER TABLE blocks RENAME TO stolen");
    struct audit_decision d = {.call = 1, .verdict = SLICE("allow")};
    struct err err = {0};
    assert_int_equal(audit_put_decision(a, &d, NULL), AUDIT_OK);
    assert_int_equal(audit_flush(a, &err), -1);
    assert_non_null(strstr(err.text, "blocks"));
    assert_int_equal(audit_put_decision(a, &d, NULL), AUDIT_FAILED);
    home_sql(1, "ALTER TABLE stolen RENAME TO blocks");
    struct audit_health health;
    do { /* it tries again by itself */
        audit_flush(a, NULL);
        audit_health(a, &health);
    } while (health.failed || health.unrecorded);
    assert_int_equal(audit_put_decision(a, &d, NULL), AUDIT_OK);
    audit_close(a);
    struct audit_report report;
    audit_verify(home, NULL, &report);
    assert_true(report.sound);
    assert_int_equal(report.gaps, 1);
    struct audit_filter resumed = {0};
    resumed.text[AUDIT_EVENT] = SLICE("resumed");
    assert_int_equal(walk(resumed, false).count, 1);
}

static void wait_until_failed(struct audit *a, bool failed) {
    struct audit_health health;
    do {
        audit_flush(a, NULL);
        audit_health(a, &health);
    } while (health.failed != failed);
}

static uint64_t count_calls(void) {
    return walk((struct audit_filter){.kinds = 1u << AUDIT_KIND_DECISION}, true).count;
}

/* What was in the ring goes into the next log, which says what is missing. */
static void test_files_deleted_in_use(void **state) {
    static const char *const tails[] = {"", "-wal"};
    (void)state;
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        char path[128];
        struct audit_health health;
        struct audit *a = home_open((struct audit_config){0});
        assert_int_equal(home_put(a, "tool", "allow", "{}"), AUDIT_OK);
        assert_int_equal(audit_flush(a, NULL), 0);
        snprintf(path, sizeof(path), "%s/audit/000001.sqlite%s", home, tails[i]);
        assert_int_equal(i ? truncate(path, 0) : unlink(path), 0);
        const bool accepted = home_put(a, "after", "allow", "{}") == AUDIT_OK; /* not noticed yet */
        do { /* it fails until the log is open again, but the text stays */
            audit_flush(a, NULL);
            audit_health(a, &health);
        } while (!health.fault[0]);
        assert_non_null(
            strstr(health.fault, i ? "cut short while it was in use" : "deleted while it was in use"));
        wait_until_failed(a, false);
        audit_health(a, &health);
        assert_non_null(strstr(health.finding, "signed head"));
        audit_close(a);
        struct audit_report report;
        audit_verify(home, NULL, &report);
        assert_false(report.sound);
        assert_int_equal(count_calls(), accepted);
        home_remove(NULL);
        home_make(NULL);
    }
}

static void remove_rings(void) {
    char dir[128];
    snprintf(dir, sizeof(dir), "%s/audit", home);
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d));) {
        char path[400];
        snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
        if (strncmp(e->d_name, "ring-", 5) == 0)
            assert_int_equal(unlink(path), 0);
    }
    closedir(d);
}

static void test_ring_deleted_in_use(void **state) {
    (void)state;
    struct audit *a = home_open((struct audit_config){0});
    remove_rings();
    const bool accepted = home_put(a, "tool", "allow", "{}") == AUDIT_OK; /* not noticed yet */
    wait_until_failed(a, true);
    struct audit_health health;
    audit_health(a, &health);
    assert_non_null(strstr(health.fault, "restart the gate"));
    assert_int_equal(home_put(a, "refused", "allow", "{}"), AUDIT_FAILED);
    audit_close(a);
    struct audit_report report;
    audit_verify(home, NULL, &report);
    assert_true(report.sound);
    assert_int_equal(report.gaps, 1);
    assert_int_equal(count_calls(), accepted);
}

struct durable {
    struct audit_wait wait;
    int *left;
    bool written;
};

static void on_written(struct audit_wait *wait, bool written) {
    struct durable *d = container_of(wait, struct durable, wait);
    d->written = written;
    --*d->left;
}

static void test_durable(void **state) {
    (void)state;
    struct io_loop loop;
    io_loop_init(&loop);
    struct audit *a = home_open((struct audit_config){.durable = true, .loop = &loop});
    struct durable waits[200];
    int left = 200;
    for (int i = 0; i < 200; i++) {
        struct audit_decision d = {.call = audit_next_call(a), .verdict = SLICE("allow")};
        waits[i] = (struct durable){.wait.done = on_written, .left = &left};
        assert_int_equal(audit_put_decision(a, &d, &waits[i].wait), AUDIT_WAIT);
    }
    audit_cancel(a, &waits[7].wait);
    left--;
    /* The log alone does not keep a loop running. */
    assert_int_equal(uv_run(&loop.uv, UV_RUN_NOWAIT), 0);
    uv_async_t keep;
    uv_async_init(&loop.uv, &keep, NULL);
    while (left > 0)
        uv_run(&loop.uv, UV_RUN_ONCE);
    for (int i = 0; i < 200; i++)
        assert_int_equal(waits[i].written, i != 7);
    struct audit_decision d = {.call = 1, .verdict = SLICE("allow")};
    left = 1;
    waits[0].written = false;
    assert_int_equal(audit_put_decision(a, &d, &waits[0].wait), AUDIT_WAIT);
    audit_close(a); /* calls back the waiting callers */
    assert_int_equal(left, 0);
    assert_true(waits[0].written);
    io_loop_free(&loop);
}

static bool is_written(struct audit *a, struct io_loop *loop) {
    int left = 1;
    struct durable d = {.wait.done = on_written, .left = &left};
    struct audit_decision decision = {.call = audit_next_call(a), .verdict = SLICE("allow")};
    if (audit_put_decision(a, &decision, &d.wait) != AUDIT_WAIT)
        return false;
    while (left > 0)
        uv_run(&loop->uv, UV_RUN_ONCE);
    return d.written;
}

/* What a power cut leaves of a durable ring: the copy that was written to disk, but nothing of what only lay
 * in memory, neither the first copy nor where it begins and ends. */
static void cut_power(const char *image) {
    char from[128], to[128], command[512];
    DIR *d;
    /* The ring first: a database that is older than the ring beside it is nothing that a disk leaves. */
    snprintf(command, sizeof(command),
             "mkdir %s/audit && cp %s/audit/ring-* %s/audit && cp %s/audit.* %s && cp %s/audit/head "
             "%s/audit/*.sqlite %s/audit/*-wal %s/audit",
             image, home, image, home, image, home, home, home, image);
    pid_t child = fork();
    if (child == 0) {
        execlp("sh", "sh", "-c", command, (char *)NULL);
        _exit(1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    snprintf(from, sizeof(from), "%s/audit", image);
    assert_non_null(d = opendir(from));
    for (struct dirent *e; (e = readdir(d));) {
        if (!slice_starts(slice_str(e->d_name), SLICE("ring-")))
            continue;
        snprintf(to, sizeof(to), "%s/%.20s", from, e->d_name);
        int fd = open(to, O_RDWR);
        struct ring_head head;
        assert_int_equal(pread(fd, &head, sizeof(head), 0), sizeof(head));
        head.tail = head.end = 0;
        assert_int_equal(pwrite(fd, &head, sizeof(head), 0), sizeof(head));
        for (size_t at = 0; at < AUDIT_RING_BYTES; at += sizeof(from))
            assert_int_equal(pwrite(fd, (char[sizeof(from)]){0}, sizeof(from), (off_t)(RING_HEAD_BYTES + at)),
                             sizeof(from));
        close(fd);
    }
    closedir(d);
}

/* Decisions that were acknowledged before the power went are in the log after it, wherever in the ring they
 * lay: behind others, or at its start because it had been empty. */
static void test_durable_power_cut(void **state) {
    (void)state;
    struct io_loop loop;
    uv_async_t keep;
    char live[64], image[64];
    struct err err = {0};
    io_loop_init(&loop);
    uv_async_init(&loop.uv, &keep, NULL);
    struct audit *a = home_open((struct audit_config){.durable = true, .loop = &loop});
    uint64_t acknowledged = 0;
    memcpy(live, home, sizeof(live));
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i <= round; i++)
            acknowledged += is_written(a, &loop);
        if (round % 2)
            assert_int_equal(audit_flush(a, &err), 0); /* the ring is empty and begins again */
        acknowledged += is_written(a, &loop);
        snprintf(image, sizeof(image), "/tmp/sallyport-image-XXXXXX");
        assert_non_null(mkdtemp(image));
        cut_power(image);
        memcpy(home, image, sizeof(home));
        audit_close(home_open((struct audit_config){.durable = true}));
        struct audit_report report;
        audit_verify(home, NULL, &report);
        assert_true(report.sound);
        assert_int_equal(walk((struct audit_filter){.kinds = 1u << AUDIT_KIND_DECISION}, false).count,
                         acknowledged);
        home_remove(NULL);
        memcpy(home, live, sizeof(home));
    }
    audit_close(a);
    io_loop_free(&loop);
}

static void expect_sound(struct audit_report *ret_report) {
    audit_verify(home, NULL, ret_report);
    if (!ret_report->sound)
        fail_msg("%s", ret_report->text);
}

static void segment_name(int number, const char *tail, char name[128]) {
    snprintf(name, 128, "%s/audit/%06d.sqlite%s", home, number, tail);
}

/* So small that every signature ends a segment: each home_open leaves two. */
static void put_segments(int count, uint64_t retain_ms) {
    for (int i = 0; i < count; i++) {
        struct audit *a = home_open((struct audit_config){.segment_bytes = 1, .retain_ms = retain_ms});
        home_put(a, "tool", "allow", "{}");
        audit_close(a);
    }
}

static void test_segments_and_retention(void **state) {
    (void)state;
    struct audit_report report;
    char kept[128], name[128];
    put_segments(6, 0);
    expect_sound(&report);
    assert_true(report.segments >= 5);
    assert_int_equal(walk((struct audit_filter){.kinds = 1u << AUDIT_KIND_DECISION}, true).outcomes, 6);
    for (int i = 1; i <= (int)report.segments; i++) {
        segment_name(i, ".kept", kept);
        segment_name(i, "", name);
        assert_int_equal(link(name, kept), 0);
    }
    /* Old ones are looked for at the start too: this segment does not end. */
    struct audit *a = home_open((struct audit_config){.retain_ms = 1});
    home_put(a, "tool", "allow", "{}");
    audit_close(a);
    expect_sound(&report);
    assert_true(report.retired >= 4);
    assert_true(report.first_seq > 1);
    /* As if a gate had ended with a file still there that it had retired: the record is there already. */
    int last = (int)report.retired;
    segment_name(last, ".kept", kept);
    segment_name(last, "", name);
    assert_int_equal(rename(kept, name), 0);
    expect_sound(&report);
    assert_int_equal(report.retired, last - 1);
    assert_int_equal(unlink(name), 0);
    put_segments(1, 0);
    expect_sound(&report);
    /* An unrecorded deletion is still detected, also of the segment that lists the retired ones. */
    segment_name(last + 1, "", name);
    assert_int_equal(unlink(name), 0);
    audit_verify(home, NULL, &report);
    assert_false(report.sound);
    assert_int_equal(report.first_bad, 1);
    assert_non_null(strstr(report.text, "no record says that they were retired"));
}

/* One that sleeps while others go on and retire what they have left behind continues where they are. */
static void test_sleeper_follows_retention(void **state) {
    (void)state;
    struct audit_report report;
    struct audit *sleeper = home_open((struct audit_config){.segment_bytes = 1});
    home_put(sleeper, "early", "allow", "{}");
    assert_int_equal(audit_flush(sleeper, NULL), 0);
    put_segments(3, 0);
    struct audit *a = home_open((struct audit_config){.retain_ms = 1});
    audit_close(a);
    audit_verify(home, NULL, &report);
    assert_true(report.retired >= 3);
    assert_int_equal(home_put(sleeper, "late", "allow", "{}"), AUDIT_OK);
    audit_close(sleeper);
    audit_verify(home, NULL, &report);
    if (!report.sound)
        fail_msg("%s", report.text);
    assert_string_equal(
        walk((struct audit_filter){.kinds = 1u << AUDIT_KIND_DECISION, .limit = 1}, true).tool, "late");
    /* Nobody is taken for killed who has ended. */
    a = home_open((struct audit_config){0});
    audit_close(a);
    audit_verify(home, NULL, &report);
    assert_int_equal(report.gaps, 0);
}

static uint64_t count_gaps(void) {
    struct audit_report report;
    audit_verify(home, NULL, &report);
    return report.gaps;
}

/* The next segment was begun by a process that died before it had written anything into it. */
static void test_a_blank_segment_knows_the_gates(void **state) {
    (void)state;
    struct audit_report report;
    char next[128];
    put_segments(1, 0);
    expect_sound(&report);
    home_sql((int)report.segments, "INSERT INTO gates VALUES('0123456789abcdef0123456789abcdef')");
    segment_name((int)report.segments + 1, "", next);
    const int fd = open(next, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    audit_close(home_open((struct audit_config){0}));
    assert_int_equal(count_gaps(), 1);
}

static pid_t fork_gate(void (*work)(void)) {
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* also where it is stopped */
        work();
        _exit(0);
    }
    return pid;
}

static void race_through_segments(void) { put_segments(4, 0); }

static void record_and_wait(void) {
    struct audit *a = home_open((struct audit_config){0});
    for (;;) {
        home_put(a, "killed", "allow", "{}");
        audit_flush(a, NULL);
        raise(SIGSTOP);
    }
}

/* Its writer may have been stopped within a transaction, which others cannot wait for. */
static bool is_locked(int segment) {
    char path[128];
    sqlite3 *db = NULL;
    segment_name(segment, "", path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    const bool locked = sqlite3_exec(db, "BEGIN IMMEDIATE; ROLLBACK", NULL, NULL, NULL) != SQLITE_OK;
    sqlite3_close(db);
    return locked;
}

static void wait_for_stop(pid_t pid) {
    int status;
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
}

/* However many processes change segments at once, a killed gate is known until its ring was taken over. */
static void test_racing_segments_know_the_gates(void **state) {
    (void)state;
    pid_t racers[6];
    int status;
    const pid_t killed = fork_gate(record_and_wait);
    for (wait_for_stop(killed); is_locked(1); wait_for_stop(killed))
        assert_int_equal(kill(killed, SIGCONT), 0);
    for (size_t i = 0; i < ARRAY_LEN(racers); i++)
        racers[i] = fork_gate(race_through_segments);
    for (size_t i = 0; i < ARRAY_LEN(racers); i++) {
        assert_int_equal(waitpid(racers[i], &status, 0), racers[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(kill(killed, SIGKILL), 0);
    assert_int_equal(waitpid(killed, &status, 0), killed);
    remove_rings();
    audit_close(home_open((struct audit_config){0}));
    assert_int_equal(count_gaps(), 1);
}

static void test_stolen_segment(void **state) {
    (void)state;
    struct audit_report report;
    put_segments(3, 0);
    expect_sound(&report);
    uint64_t records = report.records;
    char first[128];
    snprintf(first, sizeof(first), "%s/audit/000001.sqlite", home);
    assert_int_equal(access(first, F_OK), 0);
    assert_int_equal(unlink(first), 0);
    audit_verify(home, NULL, &report);
    assert_false(report.sound);
    assert_non_null(strstr(report.text, "no record says that they were retired"));
    assert_int_equal(report.first_bad, 1);
    assert_true(report.records < records);
}

/* No write beyond the ring's mapped half. A commit of the writer's may be faster than the refusal: then the
 * record is safe, and it is tried once more. */
static void test_durable_disk_fails(void **state) {
    (void)state;
    struct io_loop loop;
    struct rlimit all, less;
    uv_async_t keep;
    io_loop_init(&loop);
    uv_async_init(&loop.uv, &keep, NULL);
    struct audit *a = home_open((struct audit_config){.durable = true, .loop = &loop});
    signal(SIGXFSZ, SIG_IGN);
    assert_true(is_written(a, &loop));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
    less = (struct rlimit){.rlim_cur = AUDIT_RING_BYTES, .rlim_max = all.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
    while (is_written(a, &loop))
        ;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    while (!is_written(a, &loop))
        ;
    audit_close(a);
    io_loop_free(&loop);
    struct audit_report report;
    audit_verify(home, NULL, &report);
    assert_true(report.sound);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_walks_and_filters, home_make, home_remove),
        cmocka_unit_test_setup_teardown(test_commits_have_a_ceiling, home_make, home_remove),
        cmocka_unit_test_setup_teardown(test_key_as_pem, home_make, home_remove),
        cmocka_unit_test_setup_teardown(test_private_files, home_make, home_remove),
        cmocka_unit_test_setup_teardown(test_two_writers, home_make, home_remove),
        cmocka_unit_test_setup_teardown(test_foreign_ring, home_make, home_remove),
        cmocka_unit_test_setup_teardown(test_full_refuses_or_passes, home_make, home_remove),
        cmocka_unit_test_setup_teardown(test_failing_writer_refuses_and_recovers, home_make, home_remove),
        cmocka_unit_test_setup_teardown(test_durable, home_make, home_remove),
        cmocka_unit_test_setup_teardown(test_durable_disk_fails, home_make, home_remove),
        cmocka_unit_test_setup_teardown(test_durable_power_cut, home_make, home_remove),
        cmocka_unit_test_setup_teardown(test_segments_and_retention, home_make, home_remove),
        cmocka_unit_test_setup_teardown(test_stolen_segment, home_make, home_remove),
        cmocka_unit_test_setup_teardown(test_a_blank_segment_knows_the_gates, home_make, home_remove),
        cmocka_unit_test_setup_teardown(test_racing_segments_know_the_gates, home_make, home_remove),
        cmocka_unit_test_setup_teardown(test_files_deleted_in_use, home_make, home_remove),
        cmocka_unit_test_setup_teardown(test_ring_deleted_in_use, home_make, home_remove),
        cmocka_unit_test_setup_teardown(test_sleeper_follows_retention, home_make, home_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
