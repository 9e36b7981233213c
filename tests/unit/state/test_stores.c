/* What every store of counters does alike: the embedded ones, and Redis, a real server that this test starts.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "io/loop.h"
#include "state/address.h"
#include "state/advice.h"
#include "state/state.h"

#include <ftw.h>
#include <glob.h>
#include <poll.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define CALL STATE_MICRO
#define HOUR_MS 3600000
#define UP_TRIES 500
#define UP_STEP_MS 20
#define PATIENT_MS 30000 /* for stores that answer: a busy machine stalls for longer than the default */
#define WINDOW_MS 2400   /* that a test waits out: long enough for some calls on a busy machine */

static char dir[64];
static char dsn[512];
static pid_t server = -1;
static struct io_loop loop;

/* ---- a server ---- */

/* The socket's file is there before its server listens. */
static bool listens(const char *path) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
    for (int i = 0; i < UP_TRIES; i++) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool up = connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0;
        close(fd);
        if (up)
            return true;
        poll(NULL, 0, UP_STEP_MS);
    }
    return false;
}

static void server_start(const char *more) {
    char config[128], at[104], text[512];
    snprintf(config, sizeof(config), "%s/redis.conf", dir);
    snprintf(at, sizeof(at), "%s/redis.sock", dir);
    cleanup_file FILE *file = fopen(config, "w");
    assert_non_null(file);
    fprintf(file, "port 0\nunixsocket %s\nsave \"\"\nappendonly no\ndir %s\n%s\n", at, dir, more);
    fflush(file);
    unlink(at);
    server = fork();
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        snprintf(text, sizeof(text), "%s/redis.log", dir);
        if (!freopen(text, "a", stdout) || !freopen(text, "a", stderr))
            _exit(126);
        execlp("redis-server", "redis-server", config, (char *)NULL);
        _exit(127);
    }
    if (!listens(at))
        fail_msg("redis-server does not come up: scripts/setup test installs it");
}

/* PostgreSQL does not run as root; its package brings a user for it. */
static pid_t run_as_postgres(const char *const argv[]) {
    const struct passwd *user = getuid() == 0 ? getpwnam("postgres") : NULL;
    if (user && chown(dir, user->pw_uid, user->pw_gid) < 0)
        return -1;
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if ((user && (setgid(user->pw_gid) < 0 || setuid(user->pw_uid) < 0)) || chdir("/") < 0 ||
        !freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
        _exit(126);
    execv(argv[0], (char *const *)argv);
    _exit(127);
}

static void postgres_start(bool fresh) {
    glob_t found;
    char path[256], data[128], at[104];
    int status = -1;
    if (glob("/usr/lib/postgresql/*/bin", 0, NULL, &found) != 0)
        fail_msg("no PostgreSQL: scripts/setup test installs it");
    const char *bin = found.gl_pathv[found.gl_pathc - 1];
    snprintf(data, sizeof(data), "%s/data", dir);
    snprintf(at, sizeof(at), "%s/.s.PGSQL.5432", dir);
    if (fresh) {
        snprintf(path, sizeof(path), "%s/initdb", bin);
        const char *argv[] = {path, "-D", data, "-U", "gate", "-A", "trust", "-N", NULL};
        waitpid(run_as_postgres(argv), &status, 0);
        assert_int_equal(status, 0);
    }
    snprintf(path, sizeof(path), "%s/postgres", bin);
    const char *argv[] = {path, "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off", NULL};
    server = run_as_postgres(argv);
    globfree(&found);
    assert_true(listens(at));
}

static void server_stop(void) {
    if (server > 0) {
        kill(server, SIGKILL);
        waitpid(server, NULL, 0);
    }
    server = -1;
}

/* ---- waiting for answers ---- */

struct waiter {
    bool done;
    enum state_result result;
};

static void on_done(void *ctx, enum state_result result, size_t refused_index, uint64_t retry_after_ms) {
    struct waiter *w = ctx;
    (void)refused_index, (void)retry_after_ms;
    w->done = true;
    w->result = result;
    io_loop_stop(&loop);
}

static void on_fetched(struct state_fetch *fetch, enum state_result result) {
    fetch->result = result;
    io_loop_stop(&loop);
}

static struct io_timer nap;
static void on_nap(struct io_timer *timer) {
    (void)timer;
    io_loop_stop(&loop);
}
static void pass_ms(uint64_t ms) {
    for (uint64_t end = clock_wall_ms() + ms, now; (now = clock_wall_ms()) < end;) {
        io_timer_arm(&loop, &nap, end - now, on_nap);
        io_loop_run(&loop);
    }
}

static struct state_store *open_mode(enum state_fail_mode mode, uint64_t timeout_ms) {
    struct state_store *store = NULL;
    struct err err = {0};
    struct state_config config = {
        .dsn = dsn, .dir = dir, .loop = &loop, .fail_mode = mode, .prefix = "t:", .timeout_ms = timeout_ms};
    if (state_open(&config, &store, &err) < 0)
        fail_msg("%s", err.text);
    return store;
}
static struct state_store *open_store(void) {
    struct state_store *store = open_mode(STATE_FAIL_CLOSED, PATIENT_MS);
    struct state_health health;
    state_health(store, &health);
    for (int i = 0; i < UP_TRIES && health.down; i++) {
        pass_ms(UP_STEP_MS);
        state_health(store, &health);
    }
    return store;
}

static enum state_result reserve(struct state_store *store, const struct state_limit *limits, size_t count,
                                 struct state_ticket *ticket) {
    struct waiter w = {0};
    if (state_reserve(store, limits, count, clock_wall_ms(), ticket, on_done, &w) == STATE_WAIT) {
        while (!w.done)
            io_loop_run(&loop);
        assert_int_equal(w.result, ticket->answer.result);
    }
    return ticket->answer.result;
}

static bool take(struct state_store *store, struct state_limit limit) {
    struct state_ticket ticket;
    enum state_result result = reserve(store, &limit, 1, &ticket);
    state_settle(&ticket, STATE_KEEP);
    return result == STATE_GRANTED;
}

/* As soon as the store can be reached. */
static bool take_soon(struct state_store *store, struct state_limit limit) {
    for (int i = 0; i < UP_TRIES; i++) {
        if (take(store, limit))
            return true;
        pass_ms(UP_STEP_MS);
    }
    return false;
}

static int64_t value_of(struct state_store *store, struct state_limit limit) {
    int64_t value = -1;
    struct state_fetch fetch = {.values = &value, .done = on_fetched};
    if (state_fetch(store, &limit, 1, clock_wall_ms(), &fetch) == STATE_WAIT)
        io_loop_run(&loop);
    assert_int_equal(fetch.result, STATE_GRANTED);
    return value;
}

static struct state_limit limit_of(const char *key, enum state_kind kind, int64_t calls) {
    return (struct state_limit){.kind = kind,
                                .key = slice_str(key),
                                .window_ms = kind == STATE_CONCURRENT ? 0 : (uint64_t)24 * HOUR_MS,
                                .max = calls * CALL,
                                .refill = 1,
                                .amount = CALL,
                                .fingerprint = 7};
}

/* ---- behaviour ---- */

static void test_exact(void **state) {
    (void)state;
    struct state_store *store = open_store();
    static const enum state_kind kinds[] = {STATE_FIXED, STATE_SLIDING, STATE_BUCKET, STATE_IDENTICAL};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct state_limit limit = limit_of(state_kind_name(kinds[i]), kinds[i], 5);
        struct state_ticket ticket;
        for (int n = 0; n < 5; n++)
            assert_true(take(store, limit));
        assert_int_equal(reserve(store, &limit, 1, &ticket), STATE_REFUSED);
        assert_int_equal(ticket.answer.refused_index, 0);
        assert_true(ticket.answer.retry_after_ms > 0);
        assert_int_equal(value_of(store, limit), 5 * CALL);
        limit.key = SLICE("another");
        assert_true(take(store, limit));
    }
    state_close(store);
}

static void test_rollback(void **state) {
    (void)state;
    struct state_store *store = open_store();
    static const enum state_kind kinds[] = {STATE_FIXED, STATE_SLIDING, STATE_BUCKET, STATE_IDENTICAL};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct state_limit limit = limit_of("back", kinds[i], 2);
        struct state_ticket kept, taken_back;
        assert_int_equal(reserve(store, &limit, 1, &kept), STATE_GRANTED);
        assert_int_equal(reserve(store, &limit, 1, &taken_back), STATE_GRANTED);
        assert_false(take(store, limit));
        state_settle(&taken_back, STATE_ROLLBACK);
        state_settle(&taken_back, STATE_ROLLBACK); /* a second time changes nothing */
        assert_int_equal(value_of(store, limit), CALL);
        state_settle(&kept, STATE_KEEP);
        assert_true(take(store, limit));
        assert_false(take(store, limit));
    }
    state_close(store);
}

struct queued {
    struct state_ticket ticket;
    struct waiter waiter;
};

/* Reserves without a turn of the loop. Where a store writes marks, the first two wait for one, and it is on
 * disk when the others come. */
static void reserve_in_turn(struct state_store *store, struct state_limit limit, struct queued *q,
                            size_t count) {
    struct state_health health;
    state_health(store, &health);
    const uint64_t commits = health.commits;
    for (size_t i = 0; i < count; i++) {
        for (int n = 0; i == 2 && n < UP_TRIES && strcmp(health.backend, "sqlite") == 0; n++) {
            state_health(store, &health);
            if (health.commits > commits)
                break;
            poll(NULL, 0, UP_STEP_MS);
        }
        q[i].waiter = (struct waiter){0};
        if (state_reserve(store, &limit, 1, clock_wall_ms(), &q[i].ticket, on_done, &q[i].waiter) ==
            STATE_DONE)
            q[i].waiter = (struct waiter){.done = true, .result = q[i].ticket.answer.result};
    }
}

static bool granted(struct queued *q) {
    while (!q->waiter.done)
        io_loop_run(&loop);
    return q->waiter.result == STATE_GRANTED;
}

static const enum state_kind windows[] = {STATE_FIXED, STATE_SLIDING, STATE_BUCKET};

static void test_in_turn(void **state) {
    (void)state;
    struct state_store *store = open_store();
    for (size_t k = 0; k < sizeof(windows) / sizeof(windows[0]); k++) {
        struct state_limit limit = limit_of("turn", windows[k], 3);
        struct queued q[5];
        reserve_in_turn(store, limit, q, 5);
        for (size_t i = 0; i < 5; i++)
            assert_int_equal(granted(&q[i]), i < 3);
        assert_int_equal(value_of(store, limit), 3 * CALL);
        for (size_t i = 0; i < 5; i++)
            state_settle(&q[i].ticket, STATE_KEEP);
    }
    state_close(store);
}

/* One that is cancelled while it waits gives its place to those behind it. */
static void test_turn_given_up(void **state) {
    (void)state;
    struct state_store *store = open_store();
    for (size_t k = 0; k < sizeof(windows) / sizeof(windows[0]); k++) {
        struct state_limit limit = limit_of("given up", windows[k], 3);
        struct queued q[5];
        reserve_in_turn(store, limit, q, 5);
        state_settle(&q[0].ticket, STATE_ROLLBACK);
        state_settle(&q[2].ticket, STATE_ROLLBACK);
        assert_true(granted(&q[1]) && granted(&q[3]) && granted(&q[4]));
        assert_false(q[0].waiter.done || q[2].waiter.done);
        assert_int_equal(value_of(store, limit), 3 * CALL);
        assert_false(take(store, limit));
        state_settle(&q[1].ticket, STATE_KEEP);
        state_settle(&q[3].ticket, STATE_KEEP);
        reserve_in_turn(store, limit_of("left waiting", windows[k], 3), q, 5);
        for (size_t i = 0; i < 5; i++)
            state_settle(&q[i].ticket, STATE_ROLLBACK); /* the store closes with them, or passes them over */
    }
    state_close(store);
}

static void test_all_or_none(void **state) {
    (void)state;
    struct state_store *store = open_store();
    struct state_limit limits[] = {limit_of("wide", STATE_FIXED, 100), limit_of("wide", STATE_SLIDING, 100),
                                   limit_of("calls", STATE_CONCURRENT, 100),
                                   limit_of("narrow", STATE_FIXED, 1)};
    struct state_ticket first, second;
    assert_int_equal(reserve(store, limits, 4, &first), STATE_GRANTED);
    assert_int_equal(reserve(store, limits, 4, &second), STATE_REFUSED);
    assert_int_equal(second.answer.refused_index, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(value_of(store, limits[i]), CALL);
    state_settle(&second, STATE_ROLLBACK);
    state_settle(&first, STATE_ROLLBACK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(value_of(store, limits[i]), 0);
    /* The same counter twice in one call counts twice. */
    struct state_limit twice[] = {limit_of("twice", STATE_FIXED, 3), limit_of("twice", STATE_FIXED, 3)};
    assert_int_equal(reserve(store, twice, 2, &first), STATE_GRANTED);
    state_settle(&first, STATE_KEEP);
    assert_int_equal(value_of(store, twice[0]), 2 * CALL);
    assert_int_equal(reserve(store, twice, 2, &second), STATE_REFUSED);
    assert_int_equal(second.answer.refused_index, 1);
    assert_int_equal(value_of(store, twice[0]), 2 * CALL);
    state_close(store);
}

static void test_shadow(void **state) {
    (void)state;
    struct state_store *store = open_store();
    struct state_limit limits[] = {limit_of("open", STATE_FIXED, 10), limit_of("shadow", STATE_FIXED, 1)};
    limits[1].shadow = true;
    struct state_ticket ticket;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(reserve(store, limits, 2, &ticket), STATE_GRANTED);
        assert_int_equal(ticket.answer.shadow_refused, i ? 2 : 0);
        state_settle(&ticket, STATE_KEEP);
    }
    assert_int_equal(value_of(store, limits[0]), 3 * CALL);
    assert_int_equal(value_of(store, limits[1]), CALL);
    state_close(store);
}

static void test_concurrent(void **state) {
    (void)state;
    struct state_store *store = open_store();
    struct state_limit limit = limit_of("flight", STATE_CONCURRENT, 2);
    struct state_ticket a, b, c;
    assert_int_equal(reserve(store, &limit, 1, &a), STATE_GRANTED);
    assert_int_equal(reserve(store, &limit, 1, &b), STATE_GRANTED);
    assert_int_equal(reserve(store, &limit, 1, &c), STATE_REFUSED);
    state_settle(&a, STATE_KEEP);
    assert_int_equal(reserve(store, &limit, 1, &c), STATE_GRANTED);
    state_settle(&b, STATE_ROLLBACK);
    state_settle(&c, STATE_KEEP);
    assert_int_equal(value_of(store, limit), 0);
    state_close(store);
}

static void test_identical(void **state) {
    (void)state;
    struct state_store *store = open_store();
    struct state_limit limit = limit_of("same", STATE_IDENTICAL, 1);
    for (uint64_t print = 100; print < 100 + STATE_RECENT; print++) {
        limit.fingerprint = print;
        assert_true(take(store, limit));
        assert_false(take(store, limit));
    }
    state_close(store);
}

/* Beyond 2^53, where a double would round. */
static void test_large(void **state) {
    (void)state;
    struct state_store *store = open_store();
    static const enum state_kind kinds[] = {STATE_FIXED, STATE_SLIDING, STATE_IDENTICAL};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct state_limit limit = limit_of("large", kinds[i], 1);
        limit.max = 1000000000000000001;
        limit.amount = 500000000000000000;
        assert_true(take(store, limit));
        assert_true(take(store, limit));
        limit.amount = 2;
        assert_false(take(store, limit));
        limit.amount = 1;
        assert_true(take(store, limit));
        assert_false(take(store, limit));
        assert_true(value_of(store, limit) == limit.max);
    }
    struct state_limit counted = limit_of("no max", STATE_FIXED, 1);
    counted.max = STATE_NO_MAX;
    for (int i = 0; i < 3; i++)
        assert_true(take(store, counted));
    state_close(store);
}

/* Windows that end while one waits. */
static void test_time(void **state) {
    (void)state;
    struct state_store *store = open_store();
    struct state_limit sliding = limit_of("slides", STATE_SLIDING, 2),
                       bucket = limit_of("drips", STATE_BUCKET, 2);
    sliding.window_ms = bucket.window_ms = WINDOW_MS;
    bucket.refill = 2 * CALL;
    struct state_limit same = limit_of("again", STATE_IDENTICAL, 1);
    same.window_ms = WINDOW_MS;
    assert_true(take(store, sliding) && take(store, sliding) && !take(store, sliding));
    assert_true(take(store, bucket) && take(store, bucket));
    assert_true(take(store, same) && !take(store, same));
    pass_ms(WINDOW_MS * 4 / 3);
    assert_true(take(store, sliding));
    assert_true(take(store, bucket) && take(store, bucket) && !take(store, bucket));
    assert_true(take(store, same));
    assert_int_equal(value_of(store, sliding), CALL);
    state_close(store);
}

/* Two gates, many concurrent calls. */
static void test_shared(void **state) {
    (void)state;
    enum { CALLS = 200, MAX = 71 };
    struct state_store *stores[2] = {open_store(), open_store()};
    struct state_limit limit = limit_of("shared", STATE_FIXED, MAX);
    static struct state_ticket tickets[CALLS];
    static struct waiter waiters[CALLS];
    memset(waiters, 0, sizeof(waiters));
    for (int i = 0; i < CALLS; i++)
        if (state_reserve(stores[i % 2], &limit, 1, clock_wall_ms(), &tickets[i], on_done, &waiters[i]) ==
            STATE_DONE)
            waiters[i] = (struct waiter){true, tickets[i].answer.result};
    int granted = 0;
    for (int i = 0; i < CALLS; i++) {
        while (!waiters[i].done)
            io_loop_run(&loop);
        granted += waiters[i].result == STATE_GRANTED;
        state_settle(&tickets[i], STATE_KEEP);
    }
    assert_int_equal(granted, strcmp(dsn, "memory:") == 0 ? 2 * MAX : MAX); /* memory is not shared */
    state_close(stores[0]);
    state_close(stores[1]);
}

static void test_cancelled(void **state) {
    (void)state;
    struct state_store *store = open_store();
    struct state_limit limit = limit_of("cancelled", STATE_FIXED, 5);
    struct waiter w = {0};
    struct state_ticket ticket;
    state_reserve(store, &limit, 1, clock_wall_ms(), &ticket, on_done, &w);
    state_settle(&ticket, STATE_ROLLBACK);
    value_of(store, limit); /* the first read may overtake the undo */
    assert_int_equal(value_of(store, limit), 0);
    assert_false(w.done);
    state_close(store);
}

/* ---- Redis only ---- */

static struct state_store *open_leasing(int64_t calls) {
    struct state_store *store = NULL;
    struct err err = {0};
    struct state_config config = {.dsn = dsn,
                                  .dir = dir,
                                  .loop = &loop,
                                  .prefix = "t:",
                                  .lease_calls = calls,
                                  .timeout_ms = PATIENT_MS};
    if (state_open(&config, &store, &err) < 0)
        fail_msg("%s", err.text);
    return store;
}

static uint64_t requests_of(struct state_store *store) {
    struct state_health health;
    state_health(store, &health);
    return health.requests;
}

/* A slice of ten is counted in advance; the rest is given back, and a refunded call returns to the slice. */
#define BATCH 64 /* counters of one call: few enough for an answer in time on a busy machine */

/* One call with so many new counters; again where the store was too slow. */
static enum state_result make_counters(struct state_store *store, const char *owner, size_t count) {
    static int serial;
    struct state_limit limits[BATCH];
    struct state_ticket ticket;
    char keys[BATCH][48];
    enum state_result result = STATE_FAULT;
    serial++;
    for (size_t i = 0; i < count; i++) {
        snprintf(keys[i], sizeof(keys[i]), "%s %d %zu", owner, serial, i);
        limits[i] = limit_of(keys[i], STATE_BUCKET, 1000);
        limits[i].owner = slice_str(owner);
    }
    for (int n = 0; n < UP_TRIES && result == STATE_FAULT; n++) {
        result = reserve(store, limits, count, &ticket);
        state_settle(&ticket, STATE_KEEP);
    }
    return result;
}

static void test_one_client_does_not_fill_the_store(void **state) {
    (void)state;
    struct state_store *store = open_store();
    struct state_limit known = limit_of("greedy", STATE_BUCKET, 1000);
    known.owner = SLICE("greedy");
    assert_true(take_soon(store, known));
    for (size_t made = BATCH; made < STATE_CLIENT_COUNTERS_MAX; made += BATCH)
        assert_int_equal(make_counters(store, "greedy", BATCH), STATE_GRANTED);
    assert_int_equal(make_counters(store, "greedy", BATCH), STATE_REFUSED); /* all of them, or none */
    assert_int_equal(make_counters(store, "greedy", BATCH - 1), STATE_GRANTED);
    assert_int_equal(make_counters(store, "greedy", 1), STATE_REFUSED);
    struct state_limit fresh = limit_of("greedy again", STATE_BUCKET, 1000);
    struct state_ticket ticket;
    fresh.owner = SLICE("greedy");
    assert_int_equal(reserve(store, &fresh, 1, &ticket), STATE_REFUSED);
    assert_int_equal(ticket.answer.retry_after_ms, fresh.window_ms);
    fresh.shadow = true;
    assert_int_equal(reserve(store, &fresh, 1, &ticket), STATE_GRANTED);
    assert_int_equal(ticket.answer.shadow_refused, 1);
    state_settle(&ticket, STATE_KEEP);
    fresh.shadow = false;
    assert_true(take_soon(store, known)); /* counters that it has go on */
    assert_int_equal(make_counters(store, "modest", BATCH), STATE_GRANTED);
    fresh.owner = (struct slice){0}; /* of no client: it has no share */
    assert_true(take_soon(store, fresh));
    state_close(store);
}

static void test_leases(void **state) {
    (void)state;
    struct state_store *store = open_leasing(10), *other = open_store();
    struct state_limit limit = limit_of("leased", STATE_FIXED, 100);
    struct state_ticket ticket;
    limit.leasable = true;
    assert_true(take_soon(store, limit));
    assert_int_equal(value_of(other, limit), 10 * CALL);
    uint64_t before = requests_of(store);
    for (int i = 0; i < 9; i++)
        assert_true(take(store, limit));
    assert_int_equal(requests_of(store), before);
    assert_int_equal(reserve(store, &limit, 1, &ticket), STATE_GRANTED); /* the next slice */
    state_settle(&ticket, STATE_ROLLBACK);
    assert_int_equal(value_of(other, limit), 20 * CALL);
    /* With a limit that is not leased beside it: all or none. */
    struct state_limit both[] = {limit, limit_of("beside", STATE_FIXED, 1)};
    assert_int_equal(reserve(store, both, 2, &ticket), STATE_GRANTED);
    state_settle(&ticket, STATE_KEEP);
    assert_int_equal(reserve(store, both, 2, &ticket), STATE_REFUSED);
    assert_int_equal(ticket.answer.refused_index, 1);
    /* Neither money, nor small limits, nor other windows. */
    struct state_limit not_leased[] = {limit_of("money", STATE_FIXED, 100),
                                       limit_of("small", STATE_FIXED, 99),
                                       limit_of("slides", STATE_SLIDING, 100)};
    not_leased[1].leasable = not_leased[2].leasable = true;
    for (size_t i = 0; i < 3; i++) {
        assert_true(take(store, not_leased[i]));
        assert_int_equal(value_of(other, not_leased[i]), CALL);
    }
    state_close(store); /* gives back what is left */
    for (int i = 0; i < UP_TRIES && value_of(other, limit) != 11 * CALL; i++)
        pass_ms(UP_STEP_MS);
    assert_int_equal(value_of(other, limit), 11 * CALL);
    state_close(other);
}

/* Two gates, one of which leases: together they allow what the limit says, also where no slice fits any more.
 */
static void test_leases_exact(void **state) {
    (void)state;
    struct state_store *store = open_leasing(10), *other = open_store();
    struct state_limit limit = limit_of("last", STATE_FIXED, 100);
    limit.leasable = true;
    int passed = 0;
    assert_true(take_soon(store, limit));
    for (int i = 0; i < 95; i++)
        passed += take(other, limit);
    assert_int_equal(passed, 90); /* ten are leased */
    for (int i = 0; i < 20; i++)
        passed += take(store, limit);
    assert_int_equal(passed, 99);
    state_close(store);
    state_close(other);
}

static void test_lease_over(void **state) {
    (void)state;
    struct state_store *store = open_leasing(10), *other = open_store();
    struct state_limit limit = limit_of("over", STATE_FIXED, 100);
    limit.leasable = true;
    assert_true(take_soon(store, limit));
    for (int i = 0; i < UP_TRIES && value_of(other, limit) != CALL; i++)
        pass_ms(UP_STEP_MS);
    assert_int_equal(value_of(other, limit), CALL);
    assert_true(take(store, limit)); /* a new slice */
    assert_int_equal(value_of(other, limit), 11 * CALL);
    state_close(store);
    state_close(other);
}

static void test_stalled(void **state) {
    (void)state;
    struct state_store *closed = open_mode(STATE_FAIL_CLOSED, 0), *open = open_mode(STATE_FAIL_OPEN, 0);
    struct state_limit limit = limit_of("stalled", STATE_FIXED, 5);
    struct state_ticket ticket;
    struct state_health health;
    assert_true(take(closed, limit) && take(open, limit));
    kill(server, SIGSTOP);
    assert_int_equal(reserve(closed, &limit, 1, &ticket), STATE_FAULT);
    assert_int_equal(reserve(open, &limit, 1, &ticket), STATE_GRANTED);
    assert_true(ticket.answer.degraded);
    state_settle(&ticket, STATE_KEEP);
    kill(server, SIGCONT);
    /* What the server still executed after it came back was refunded. */
    for (int i = 0; i < UP_TRIES && value_of(closed, limit) != 2 * CALL; i++)
        pass_ms(UP_STEP_MS);
    assert_int_equal(value_of(closed, limit), 2 * CALL);
    state_health(closed, &health);
    assert_true(health.timeouts >= 1); /* the reservation, and joining if that was under way */
    assert_int_equal(health.faults, 1);
    state_close(closed);
    state_close(open);
}

static void test_restarted(void **state) {
    (void)state;
    struct state_store *store = open_store();
    struct state_limit limit = limit_of("restarted", STATE_FIXED, 5);
    struct state_ticket ticket;
    struct state_health health;
    assert_true(take(store, limit));
    server_stop();
    pass_ms(50);
    assert_int_equal(reserve(store, &limit, 1, &ticket), STATE_FAULT);
    state_health(store, &health);
    assert_true(health.down && health.fault[0]);
    server_start("");
    /* It is back and has forgotten: what may be under-counted is refused, not counted from zero. */
    enum state_result result = STATE_FAULT;
    for (int i = 0; i < UP_TRIES && result == STATE_FAULT; i++) {
        pass_ms(UP_STEP_MS);
        result = reserve(store, &limit, 1, &ticket);
    }
    assert_int_equal(result, STATE_REFUSED);
    assert_true(ticket.answer.retry_after_ms > 0);
    state_health(store, &health);
    assert_non_null(strstr(health.fault, "lost writes"));
    state_close(store);
    server_stop();
    server_start("");
}

static void test_forgotten_script(void **state) {
    (void)state;
    struct state_store *store = open_store();
    struct state_limit limit = limit_of("script", STATE_FIXED, 5);
    char command[256];
    assert_true(take(store, limit));
    snprintf(command, sizeof(command), "%s/redis.sock", dir);
    pid_t pid = fork();
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stdout))
            _exit(126);
        execlp("redis-cli", "redis-cli", "-s", command, "SCRIPT", "FLUSH", (char *)NULL);
        _exit(127);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    assert_true(take(store, limit));
    assert_int_equal(value_of(store, limit), 2 * CALL);
    state_close(store);
}

static void test_login(void **state) {
    (void)state;
    struct state_store *store = NULL;
    struct err err = {0};
    server_stop();
    server_start("user gate on >se:cret/1 ~{t:}* +@all\nuser default off");
    struct state_config config = {.dir = dir, .loop = &loop, .prefix = "t:"};
    char text[256];
    snprintf(text, sizeof(text), "unix://gate:wrong@%s/redis.sock", dir);
    config.dsn = text;
    assert_int_equal(state_open(&config, &store, &err), -1);
    assert_non_null(strstr(err.text, "WRONGPASS"));
    assert_null(strstr(err.text, "wrong@"));
    snprintf(text, sizeof(text), "unix://gate:se%%3Acret%%2F1@%s/redis.sock?db=3&client_name=gate-1", dir);
    assert_int_equal(state_open(&config, &store, &err), 0);
    assert_true(take(store, limit_of("login", STATE_FIXED, 5)));
    state_close(store);
    server_stop();
    server_start("");
}

static void test_addresses(void **state) {
    (void)state;
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"redis:", "write redis://"},
        {"redis://h:0", "0 is not a valid port"},
        {"redis://h:99999", "is not a valid port"},
        {"redis://h/x", "is not a valid number of a database"},
        {"redis://%zz@h", "password is not"},
        {"unix://relative", "absolute path"},
        {"redis://h?a=b", "unknown option `a`"},
        {"redis://[::1", "no closing bracket"},
        {"redis://:hu?sh@h", "percent-encoded: %40"},
        {"rediss://:hu?s=h@h", "percent-encoded: %40"},
        {"host=h password=hu:sh", "has no scheme"},
    };
    struct state_dsn parsed;
    struct err err = {0};
    struct state_address address;
    const char *whole = "redis://u:hu@s/h@host:1/2?client_name=a@b";
    assert_int_equal(state_address_parse(slice_str(whole), &address, &err), 0);
    assert_string_equal(address.password, "hu@s/h");
    assert_string_equal(address.nodes[0].host, "host");
    state_address_free(&address);
    whole = "unix:///run/a@b.sock";
    assert_int_equal(state_address_parse(slice_str(whole), &address, &err), 0);
    assert_string_equal(address.path, "/run/a@b.sock");
    assert_null(address.password);
    state_address_free(&address);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(state_dsn_parse(rows[i].text, &parsed, &err), -1);
        if (!strstr(err.text, rows[i].why))
            fail_msg("%s: %s", rows[i].text, err.text);
        assert_null(strstr(err.text, "hu"));
    }
    static const char *const good[] = {"redis://h", "rediss://u:p@h:6380/2", "valkey://[::1]:1?client_name=x",
                                       "redis://", "redis+unix:///run/redis.sock?db=1"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_int_equal(state_dsn_parse(good[i], &parsed, &err), 0);
}

/* libpq would take these for a host or a port, and say so. */
static void test_postgres_dsns(void **state) {
    (void)state;
    static const char *const bad[] = {"postgres://u:hu@sh@h/d",   "postgres://u:hu/sh@h/d",
                                      "postgres://u:hu?sh@h/d",   "postgres://u:hu#sh@h/d",
                                      "postgres://u:hu%zzsh@h/d", "postgres://u:hu%"};
    static const char *const good[] = {"postgres://u:hu%40sh@h,h:1/d?sslmode=require",
                                       "postgresql:///d?host=/run", "postgres://u@/d?host=/run"};
    struct err err = {0};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(state_advice_check(bad[i], &err), -1);
        assert_null(strstr(err.text, "hu"));
    }
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_true(state_advice_is_postgres(good[i]));
        assert_int_equal(state_advice_check(good[i], &err), 0);
    }
    assert_false(state_advice_is_postgres("redis://h"));
    assert_non_null(
        strstr(state_advice("state: h:1: NOAUTH Authentication required."), "redis://:PASSWORD@HOST"));
    assert_null(state_advice("out of memory"));
}

/* ---- each store ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st, (void)type, (void)at;
    return remove(path);
}

static int setup(const char *text) {
    snprintf(dir, sizeof(dir), "/tmp/sallyport-stores-XXXXXX");
    snprintf(dsn, sizeof(dsn), "%s", text);
    io_loop_init(&loop);
    return mkdtemp(dir) ? 0 : -1;
}
static int setup_memory(void **state) { return (void)state, setup("memory:"); }
static int setup_sqlite(void **state) { return (void)state, setup("sqlite:"); }
static int setup_redis(void **state) {
    (void)state;
    if (setup("") < 0)
        return -1;
    server_start("");
    snprintf(dsn, sizeof(dsn), "unix://%s/redis.sock", dir);
    return 0;
}
#ifdef SALLYPORT_POSTGRES
/* The server takes a moment between its socket and its first connection. */
static int setup_postgres(void **state) {
    (void)state;
    if (setup("") < 0)
        return -1;
    snprintf(dsn, sizeof(dsn), "postgres://gate@/postgres?host=%s", dir);
    postgres_start(true);
    struct state_store *store = NULL;
    struct err err = {0};
    struct state_config config = {.dsn = dsn};
    for (int i = 0; i < UP_TRIES && state_open(&config, &store, &err) < 0; i++)
        poll(NULL, 0, UP_STEP_MS);
    if (!store)
        fail_msg("%s", err.text);
    state_close(store);
    return 0;
}

static void test_postgres_restarted(void **state) {
    (void)state;
    struct state_store *store = open_store();
    struct state_limit limit = limit_of("restarted", STATE_FIXED, 5);
    struct state_ticket ticket;
    assert_true(take_soon(store, limit));
    server_stop();
    pass_ms(50);
    assert_int_equal(reserve(store, &limit, 1, &ticket), STATE_FAULT);
    postgres_start(false);
    assert_true(take_soon(store, limit));
    assert_int_equal(value_of(store, limit), 2 * CALL); /* nothing was forgotten */
    state_close(store);
}
#endif

static int teardown(void **state) {
    (void)state;
    static const char *const names[] = {"state.sqlite", "state.sqlite-wal", "state.sqlite-shm", "state.live",
                                        "redis.conf",   "redis.sock",       "redis.log"};
    server_stop();
    io_loop_free(&loop);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        unlink(path);
    }
    return rmdir(dir) == 0 || nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0 ? 0 : -1;
}

#define BEHAVIOUR                                                                                            \
    cmocka_unit_test(test_exact), cmocka_unit_test(test_rollback), cmocka_unit_test(test_all_or_none),       \
        cmocka_unit_test(test_shadow), cmocka_unit_test(test_concurrent), cmocka_unit_test(test_identical),  \
        cmocka_unit_test(test_large), cmocka_unit_test(test_time), cmocka_unit_test(test_shared),            \
        cmocka_unit_test(test_cancelled), cmocka_unit_test(test_in_turn)

static int run_postgres(void) {
#ifdef SALLYPORT_POSTGRES
    const struct CMUnitTest postgres[] = {BEHAVIOUR,
                                          cmocka_unit_test(test_one_client_does_not_fill_the_store),
                                          cmocka_unit_test(test_postgres_restarted)};
    return cmocka_run_group_tests_name("postgres", postgres, setup_postgres, teardown);
#else
    return 0;
#endif
}

int main(void) {
    const struct CMUnitTest memory[] = {BEHAVIOUR};
    const struct CMUnitTest sqlite[] = {BEHAVIOUR, cmocka_unit_test(test_turn_given_up)};
    const struct CMUnitTest redis[] = {
        BEHAVIOUR,
        cmocka_unit_test(test_one_client_does_not_fill_the_store),
        cmocka_unit_test(test_leases),
        cmocka_unit_test(test_leases_exact),
        cmocka_unit_test(test_lease_over),
        cmocka_unit_test(test_stalled),
        cmocka_unit_test(test_restarted),
        cmocka_unit_test(test_forgotten_script),
        cmocka_unit_test(test_login),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_postgres_dsns),
    };
    return cmocka_run_group_tests_name("memory", memory, setup_memory, teardown) +
           cmocka_run_group_tests_name("sqlite", sqlite, setup_sqlite, teardown) +
           cmocka_run_group_tests_name("redis", redis, setup_redis, teardown) + run_postgres();
}
