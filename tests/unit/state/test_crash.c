/* Processes that count and are killed at any moment. What they had reported before they were killed must be
 * on the books, in the table they shared and in what a restart of the machine would find. */
#include "base/clock.h"
#include "state/state.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define CALL STATE_MICRO
#define ROUNDS 30
#define WORKERS 3
#define WORKER_LIMIT 1000000

static char dir[64];
static uint64_t now;

static struct state_limit limits[] = {
    {.kind = STATE_FIXED, .window_ms = 86400000, .max = WORKER_LIMIT * (int64_t)CALL, .amount = CALL},
    {.kind = STATE_SLIDING, .window_ms = 86400000, .max = WORKER_LIMIT * (int64_t)CALL, .amount = CALL},
    {.kind = STATE_FIXED, .window_ms = 3600000, .max = STATE_NO_MAX, .amount = 3 * CALL},
    {.kind = STATE_CONCURRENT, .max = WORKER_LIMIT * (int64_t)CALL, .amount = CALL},
};

static int setup(void **state) {
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/sallyport-crash-XXXXXX");
    now = clock_wall_ms(); /* stands still, so no window ends during a test */
    for (size_t i = 0; i < 4; i++)
        limits[i].key = SLICE("crash");
    return mkdtemp(dir) ? 0 : -1;
}

static void path_of(char path[128], const char *name) { snprintf(path, 128, "%s/%s", dir, name); }

static int teardown(void **state) {
    (void)state;
    const char *names[] = {"stores", "state.sqlite", "state.sqlite-wal", "state.sqlite-shm", "state.live"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[128];
        path_of(path, names[i]);
        unlink(path);
    }
    return rmdir(dir);
}

static struct state_store *open_store(void) {
    struct state_store *store = NULL;
    struct err err = {0};
    struct state_config config = {.dir = dir};
    if (state_open(&config, &store, &err) < 0)
        fail_msg("%s", err.text);
    return store;
}

/* One byte leaves for every reservation that was granted: the call that is forwarded. */
static _Noreturn void worker(int out) {
    struct state_store *store = NULL;
    struct state_config config = {.dir = dir};
    struct err err = {0};
    if (state_open(&config, &store, &err) < 0) {
        print_error("worker: %s\n", err.text);
        _exit(1);
    }
    for (int i = 0;; i++) {
        struct state_ticket ticket;
        state_reserve(store, limits, 4, now, &ticket, NULL, NULL);
        if (ticket.answer.result != STATE_GRANTED || write(out, "x", 1) != 1) {
            print_error("worker: result %d at limit %zu\n", ticket.answer.result,
                        ticket.answer.refused_index);
            _exit(1);
        }
        if (i % 7) /* some stay in flight */
            state_settle(&ticket, STATE_KEEP);
    }
}

static int64_t drain(int in, int64_t at_least) {
    int64_t got = 0;
    char bytes[4096];
    for (;;) {
        ssize_t n = read(in, bytes, sizeof(bytes));
        if (n > 0)
            got += n;
        else if (n == 0 || errno != EINTR)
            return got;
        if (at_least && got >= at_least)
            return got;
    }
}

static int64_t value_of(struct state_store *store, size_t i) {
    int64_t value = -1;
    assert_int_equal(state_read(store, &limits[i], now, &value), STATE_GRANTED);
    return value;
}

static void test_killed_workers(void **state) {
    (void)state;
    int64_t granted = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int fds[2];
        pid_t pids[WORKERS];
        assert_int_equal(pipe(fds), 0);
        for (int i = 0; i < WORKERS; i++) {
            pids[i] = fork();
            if (pids[i] == 0) {
                close(fds[0]);
                worker(fds[1]);
            }
        }
        close(fds[1]);
        granted += drain(fds[0], 1 + round * 37 % 500);
        for (int i = 0; i < WORKERS; i++)
            kill(pids[i], SIGKILL);
        for (int i = 0; i < WORKERS; i++) {
            int status;
            assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
            assert_true(WIFSIGNALED(status));
        }
        granted += drain(fds[0], 0);
        close(fds[0]);
        if (round % 5 == 4) { /* and sometimes the machine goes down with them */
            char path[128];
            path_of(path, "state.live");
            assert_int_equal(unlink(path), 0);
        }
        struct state_store *store = open_store();
        assert_true(value_of(store, 0) >= granted * CALL);
        assert_true(value_of(store, 1) >= granted * CALL);
        assert_true(value_of(store, 2) >= granted * 3 * CALL);
        assert_int_equal(value_of(store, 3), 0); /* the dead hold no calls in flight */
        if (round < 4)                           /* exact up to the call that each was about to make */
            assert_in_range(value_of(store, 0), granted * CALL, (granted + WORKERS * (round + 1)) * CALL);
        state_close(store);
    }
    assert_true(granted > ROUNDS);
}

/* A place in the table is given back when its process dies while others go on. */
static void test_dead_neighbour(void **state) {
    (void)state;
    struct state_store *store = open_store();
    struct state_limit cap = {.kind = STATE_CONCURRENT, .key = SLICE("cap"), .max = CALL, .amount = CALL};
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct state_store *own = NULL;
        struct state_config config = {.dir = dir};
        struct state_ticket ticket;
        if (state_open(&config, &own, NULL) < 0)
            _exit(1);
        state_reserve(own, &cap, 1, now, &ticket, NULL, NULL);
        if (write(fds[1], ticket.answer.result == STATE_GRANTED ? "y" : "n", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    char answer;
    assert_int_equal(read(fds[0], &answer, 1), 1);
    assert_int_equal(answer, 'y');
    struct state_ticket ticket;
    state_reserve(store, &cap, 1, now, &ticket, NULL, NULL);
    assert_int_equal(ticket.answer.result, STATE_REFUSED);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    state_reserve(store, &cap, 1, now, &ticket, NULL, NULL);
    assert_int_equal(ticket.answer.result, STATE_GRANTED);
    state_settle(&ticket, STATE_KEEP);
    close(fds[0]);
    close(fds[1]);
    state_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_killed_workers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dead_neighbour, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
