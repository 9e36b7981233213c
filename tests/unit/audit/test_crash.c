/* Processes that write and are killed at any moment: the chain stays sound, and every decision that was
 * acknowledged before the kill is in it, durable or not. */
#include "home.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#define ROUNDS 12
#define WORKERS 2

/* One byte leaves for each decision that was taken: the call that is forwarded. */
static _Noreturn void worker(int out, const char *tool) {
    struct audit *a = NULL;
    /* Segments so small that some are sealed while the kill comes. */
    struct audit_config config = {.home = home, .segment_bytes = 200000};
    struct err err = {0};
    if (audit_open(&config, &a, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        _exit(1);
    }
    for (;;) {
        struct audit_decision d = {
            .call = audit_next_call(a), .tool = slice_str(tool), .verdict = SLICE("allow")};
        struct audit_outcome o = {.call = d.call, .status = SLICE("ok")};
        if (audit_put_decision(a, &d, NULL) == AUDIT_OK && write(out, "x", 1) != 1)
            _exit(1);
        audit_put_outcome(a, &o);
    }
}

static uint64_t drain(int in, uint64_t at_least) {
    uint64_t got = 0;
    char bytes[4096];
    for (;;) {
        ssize_t n = read(in, bytes, sizeof(bytes));
        if (n > 0)
            got += (uint64_t)n;
        else if (n == 0 || errno != EINTR)
            return got;
        if (at_least && got >= at_least)
            return got;
    }
}

static bool count(void *ctx, const struct audit_entry *e) {
    (void)e;
    ++*(uint64_t *)ctx;
    return true;
}

static uint64_t decisions(void) {
    uint64_t found = 0;
    struct err err = {0};
    cleanup_audit_log struct audit_log *log = NULL;
    struct audit_filter filter = {.kinds = 1u << AUDIT_KIND_DECISION};
    if (audit_log_open(home, &log, &err) < 0 || audit_log_walk(log, &filter, count, &found, &err) < 0)
        fail_msg("%s", err.text);
    return found;
}

static void test_killed_writers(void **state) {
    (void)state;
    uint64_t taken = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int fds[2];
        pid_t pids[WORKERS];
        assert_int_equal(pipe(fds), 0);
        for (int i = 0; i < WORKERS; i++) {
            pids[i] = fork();
            if (pids[i] == 0) {
                close(fds[0]);
                worker(fds[1], i ? "one" : "two");
            }
        }
        close(fds[1]);
        taken += drain(fds[0], 1 + (uint64_t)round * round * 40);
        for (int i = 0; i < WORKERS; i++)
            kill(pids[i], SIGKILL);
        for (int i = 0; i < WORKERS; i++) {
            int status;
            assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
            assert_true(WIFSIGNALED(status));
        }
        taken += drain(fds[0], 0);
        close(fds[0]);
        struct audit_report report;
        if (round > 0) { /* before anything was signed there may be no head yet */
            audit_verify(home, NULL, &report);
            if (!report.sound)
                fail_msg("round %d: %s", round, report.text);
        }
        audit_close(home_open((struct audit_config){0})); /* the next process takes over what they left */
        audit_verify(home, NULL, &report);
        if (!report.sound)
            fail_msg("round %d, recovered: %s", round, report.text);
        assert_in_range(decisions(), taken, taken + WORKERS * (uint64_t)(round + 1));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_killed_writers, home_make, home_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
