#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/slice.h"
#include "io/conn.h"
#include "io/spawn.h"
#include "io/work.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- timers ---- */

struct alarm {
    struct io_timer timer;
    struct io_loop *loop;
    uint64_t armed_ms;
    uint64_t fired_ms;
    int *order;
    int place;
};

static void on_alarm(struct io_timer *timer) {
    struct alarm *a = container_of(timer, struct alarm, timer);
    a->fired_ms = io_now_ms(a->loop);
    a->place = ++*a->order;
}

static void test_timers(void **state) {
    (void)state;
    struct io_loop loop;
    io_loop_init(&loop);
    int order = 0;
    struct alarm alarms[4] = {0};
    const uint64_t after[] = {120, 0, 60, 200};
    for (size_t i = 0; i < ARRAY_LEN(alarms); i++) {
        alarms[i].loop = &loop;
        alarms[i].order = &order;
        alarms[i].armed_ms = io_now_ms(&loop);
        io_timer_arm(&loop, &alarms[i].timer, after[i], on_alarm);
    }
    io_timer_stop(&loop, &alarms[3].timer);
    io_timer_stop(&loop, &alarms[3].timer); /* twice is fine */
    io_loop_run(&loop);
    assert_int_equal(alarms[1].place, 1);
    assert_int_equal(alarms[2].place, 2);
    assert_int_equal(alarms[0].place, 3);
    assert_int_equal(alarms[3].place, 0);
    for (size_t i = 0; i < 3; i++)
        assert_true(alarms[i].fired_ms >= alarms[i].armed_ms + after[i]);
    io_loop_free(&loop);
}

static void on_alarm_again(struct io_timer *timer) {
    struct alarm *a = container_of(timer, struct alarm, timer);
    on_alarm(timer);
    io_timer_soon(a->loop, timer, on_alarm);
}

static void set_alarms(struct alarm alarms[4], struct io_loop *loop, int *order) {
    io_loop_init(loop);
    for (size_t i = 0; i < 4; i++)
        alarms[i] = (struct alarm){.loop = loop, .order = order};
}

/* In the next turn, not at the next tick; unless it is stopped or put off. */
static void test_timers_soon(void **state) {
    (void)state;
    struct io_loop loop;
    int order = 0;
    struct alarm alarms[4];
    set_alarms(alarms, &loop, &order);
    for (size_t i = 0; i < ARRAY_LEN(alarms); i++)
        io_timer_soon(&loop, &alarms[i].timer, i == 0 ? on_alarm_again : on_alarm);
    io_timer_stop(&loop, &alarms[1].timer);
    io_timer_arm(&loop, &alarms[2].timer, 3600000, on_alarm);
    uv_run(&loop.uv, UV_RUN_NOWAIT);
    assert_int_equal(order, 2);
    assert_int_equal(alarms[3].place, 2);
    uv_run(&loop.uv, UV_RUN_NOWAIT);
    assert_int_equal(alarms[0].place, 3);
    uv_run(&loop.uv, UV_RUN_NOWAIT);
    assert_int_equal(order, 3);
    assert_true(alarms[2].timer.due_ms > 0);
    io_timer_stop(&loop, &alarms[2].timer);
    io_loop_free(&loop);
}

/* Time passes without sleep, and then the loop has nothing left to do. */
static void test_stays_awake(void **state) {
    (void)state;
    struct io_loop loop;
    io_loop_init(&loop);
    const uint64_t before = clock_mono_us();
    io_loop_stay_awake(&loop, 300);
    io_loop_stay_awake(&loop, 200);
    assert_true(uv_is_active((uv_handle_t *)&loop.awake));
    io_loop_run(&loop);
    assert_true(clock_mono_us() - before >= 300);
    assert_false(uv_is_active((uv_handle_t *)&loop.awake));
    io_loop_free(&loop);
}

static void arm_alarm(struct alarm *a, uint64_t after_ms, void (*fire)(struct io_timer *)) {
    a->armed_ms = io_now_ms(a->loop) + after_ms;
    io_timer_arm(a->loop, &a->timer, after_ms, fire);
}

/* Puts off the one behind it, which is due in the same turn. */
static void on_alarm_before(struct io_timer *timer) {
    on_alarm(timer);
    arm_alarm(container_of(timer, struct alarm, timer) + 1, 150, on_alarm);
}

static void test_timers_moved(void **state) {
    (void)state;
    struct io_loop loop;
    int order = 0;
    struct alarm alarms[4];
    set_alarms(alarms, &loop, &order);
    arm_alarm(&alarms[0], 60, on_alarm);
    arm_alarm(&alarms[0], 350, on_alarm); /* later */
    arm_alarm(&alarms[0], 250, on_alarm); /* not so late */
    arm_alarm(&alarms[1], 400, on_alarm);
    arm_alarm(&alarms[1], 120, on_alarm); /* earlier */
    arm_alarm(&alarms[2], 60, on_alarm_before);
    arm_alarm(&alarms[3], 60, on_alarm);
    io_loop_run(&loop);
    assert_int_equal(order, 4);
    assert_int_equal(alarms[2].place, 1);
    assert_true(alarms[1].place < alarms[0].place);
    for (size_t i = 0; i < ARRAY_LEN(alarms); i++)
        assert_true(alarms[i].fired_ms >= alarms[i].armed_ms);
    io_loop_free(&loop);
}

/* ---- connections over pipes ---- */

struct echo {
    struct io_loop *loop;
    struct io_conn *reader;
    struct io_conn *writer;
    size_t seen;
    size_t expect;
    bool in_order;
    bool ended;
    int calls;
};

static size_t take_data(struct io_conn *c, void *owner, struct block *b, char *ptr, size_t len) {
    (void)c, (void)b;
    struct echo *e = owner;
    e->calls++;
    if (len < 3 && e->seen + len < e->expect)
        return 0; /* leaves a rest, which must stand in front of the next bytes */
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)ptr[i] != (unsigned char)((e->seen + i) * 31))
            e->in_order = false;
    e->seen += len;
    return len;
}

static void take_end(struct io_conn *c, void *owner, int status) {
    (void)c, (void)status;
    struct echo *e = owner;
    e->ended = true;
    io_loop_stop(e->loop);
}

static const struct io_handlers echo_handlers = {.data = take_data, .end = take_end};

static void test_pipe(void **state) {
    (void)state;
    struct io_loop loop;
    io_loop_init(&loop);
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const size_t size = 3 * 1024 * 1024 + 17;
    struct block *big = block_new(&loop.blocks, size);
    for (size_t i = 0; i < size; i++)
        big->data[i] = (char)(i * 31);
    struct echo e = {.loop = &loop, .expect = size, .in_order = true};
    e.reader = io_conn_fd(&loop, ends[0], true, &echo_handlers, &e);
    e.writer = io_conn_fd(&loop, ends[1], false, &echo_handlers, &e);
    io_conn_read(e.reader, true);
    /* Small and large pieces by turns: copied and referenced ones must keep their order. */
    for (size_t at = 0; at < size;) {
        size_t len = at % 2 ? 200000 : 37;
        if (len > size - at)
            len = size - at;
        io_conn_put_ref(e.writer, big, slice_of(big->data + at, len));
        at += len;
    }
    assert_true(io_conn_busy(e.writer));
    block_unref(big);
    io_conn_finish(e.writer);
    io_loop_run(&loop);
    assert_true(e.ended);
    assert_true(e.in_order);
    assert_int_equal(e.seen, size);
    io_loop_free(&loop);
}

/* ---- connections over TCP ---- */

static void tcp_pair(int ends[2]) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &len), 0);
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    connect(ends[0], (struct sockaddr *)&at, len);
    ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    assert_true(ends[1] >= 0);
    close(listener);
}

#define LONG_BYTES (1024u * 1024)
#define SHORT_BYTES 16

/* Takes a long message, which it announces when the first bytes are there, and then short ones. */
static size_t take_long(struct io_conn *c, void *owner, struct block *b, char *ptr, size_t len) {
    (void)b, (void)ptr;
    struct echo *e = owner;
    e->calls++;
    if (!e->seen && len < LONG_BYTES) {
        io_conn_want(c, LONG_BYTES);
        return 0;
    }
    e->seen += len;
    return len;
}

static const struct io_handlers long_handlers = {.data = take_long, .end = take_end};

/* Sends so much of a long message, in pieces. */
static void send_long(struct io_loop *loop, int to, size_t len, size_t piece) {
    static const char bytes[LONG_BYTES];
    for (size_t sent = 0; sent < len;) {
        size_t rest = len - sent;
        ssize_t n = write(to, bytes, rest < piece ? rest : piece);
        sent += n > 0 ? (size_t)n : 0;
        uv_run(&loop->uv, UV_RUN_NOWAIT);
    }
}

/* When much of a long message came at once, small pieces do not wake the loop. */
static void test_awaits_more(void **state) {
    (void)state;
    struct io_loop loop;
    struct echo e = {.loop = &loop};
    int ends[2];
    io_loop_init(&loop);
    tcp_pair(ends);
    e.reader = io_conn_socket(&loop, ends[1], &long_handlers, &e);
    io_conn_read(e.reader, true);
    send_long(&loop, ends[0], LONG_BYTES / 4, LONG_BYTES / 4);
    send_long(&loop, ends[0], LONG_BYTES * 3 / 4, LONG_BYTES / 64);
    while (e.seen < LONG_BYTES)
        uv_run(&loop.uv, UV_RUN_ONCE);
    assert_int_equal(e.seen, LONG_BYTES);
    assert_int_equal(e.calls, 2);
    assert_true(loop.arrivals < 32);
    send_long(&loop, ends[0], SHORT_BYTES, SHORT_BYTES); /* read at once */
    while (e.seen < LONG_BYTES + SHORT_BYTES)
        uv_run(&loop.uv, UV_RUN_ONCE);
    assert_false(e.ended);
    close(ends[0]);
    while (!e.ended)
        uv_run(&loop.uv, UV_RUN_ONCE);
    io_loop_free(&loop);
}

/* A sender that has room for little waits until it was read: each piece is. */
static void test_reads_small_pieces(void **state) {
    (void)state;
    struct io_loop loop;
    struct echo e = {.loop = &loop};
    int ends[2], unread = 0;
    io_loop_init(&loop);
    tcp_pair(ends);
    e.reader = io_conn_socket(&loop, ends[1], &long_handlers, &e);
    io_conn_read(e.reader, true);
    for (int i = 0; i < 8; i++) {
        send_long(&loop, ends[0], LONG_BYTES / 64, LONG_BYTES / 64);
        do
            assert_int_equal(ioctl(ends[1], FIONREAD, &unread), 0);
        while (unread && uv_run(&loop.uv, UV_RUN_ONCE));
    }
    assert_true(loop.arrivals >= 8);
    close(ends[0]);
    while (!e.ended)
        uv_run(&loop.uv, UV_RUN_ONCE);
    io_loop_free(&loop);
}

/* The end is noticed although the rest that is awaited never comes. */
static void test_rest_never_comes(void **state) {
    (void)state;
    struct io_loop loop;
    struct echo e = {.loop = &loop};
    int ends[2];
    io_loop_init(&loop);
    tcp_pair(ends);
    e.reader = io_conn_socket(&loop, ends[1], &long_handlers, &e);
    io_conn_read(e.reader, true);
    send_long(&loop, ends[0], LONG_BYTES / 2, LONG_BYTES / 4);
    assert_int_equal(e.seen, 0);
    close(ends[0]);
    while (!e.ended)
        uv_run(&loop.uv, UV_RUN_ONCE);
    assert_int_equal(e.calls, 1);
    io_loop_free(&loop);
}

/* A little waits for the end of the turn, a burst does not. */
static void test_pace(void **state) {
    (void)state;
    struct io_loop loop;
    io_loop_init(&loop);
    int ends[2], waiting;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct echo e = {.loop = &loop};
    char bytes[IO_BURST_BYTES - 1] = {0};
    e.writer = io_conn_fd(&loop, ends[1], false, &echo_handlers, &e);
    io_conn_put(e.writer, slice_of(bytes, sizeof(bytes)));
    io_loop_pace(&loop, IO_BURST_BYTES);
    assert_int_equal(ioctl(ends[0], FIONREAD, &waiting), 0);
    assert_int_equal(waiting, 0);
    io_conn_put(e.writer, slice_of(bytes, 1));
    io_loop_pace(&loop, IO_BURST_BYTES);
    assert_int_equal(ioctl(ends[0], FIONREAD, &waiting), 0);
    assert_int_equal(waiting, IO_BURST_BYTES);
    io_conn_put(e.writer, slice_of(bytes, 1)); /* counted anew */
    io_loop_pace(&loop, IO_BURST_BYTES);
    assert_int_equal(ioctl(ends[0], FIONREAD, &waiting), 0);
    assert_int_equal(waiting, IO_BURST_BYTES);
    io_loop_free(&loop);
    close(ends[0]);
}

/* ---- children ---- */

struct kid {
    struct io_loop *loop;
    struct spawn_child child;
    int status;
    bool started;
    bool exited;
};

static void kid_started(void *owner, struct spawn_child child) {
    struct kid *k = owner;
    k->child = child;
    k->started = true;
    if (!child.pid)
        io_loop_stop(k->loop);
}

static void kid_exited(void *owner, int status) {
    struct kid *k = owner;
    k->status = status;
    k->exited = true;
    io_loop_stop(k->loop);
}

static void keep_alive(uv_timer_t *timer) { (void)timer; }

static struct kid run_kid(struct spawn *s, struct io_loop *loop, const char *const *argv) {
    struct kid k = {.loop = loop, .child = {.in = -1, .out = -1, .errors = -1}};
    const char *const env[] = {"PATH=/usr/bin:/bin", "MARK=yes", NULL};
    struct spawn_request request = {.argv = argv, .envp = env, .cwd = "/"};
    struct err err;
    assert_true(spawn_child(s, &request, kid_started, kid_exited, &k, &err) != 0);
    io_loop_run(loop);
    return k;
}

static void test_spawn(void **state) {
    struct spawn *s = *state;
    struct io_loop loop;
    io_loop_init(&loop);
    struct err err;
    assert_int_equal(spawn_attach(s, &loop, &err), 0);
    uv_timer_t awake; /* the spawner's socket alone does not keep a loop running */
    uv_timer_init(&loop.uv, &awake);
    uv_timer_start(&awake, keep_alive, 60000, 0);

    const char *const say[] = {"sh", "-c", "pwd; echo $MARK; echo $HOME; exit 7", NULL};
    struct kid k = run_kid(s, &loop, say);
    assert_true(k.started && k.exited);
    assert_int_equal(WEXITSTATUS(k.status), 7);
    char text[64] = {0};
    assert_true(read(k.child.out, text, sizeof(text) - 1) > 0);
    assert_string_equal(text, "/\nyes\n\n"); /* its directory, its environment, nothing of ours */
    close(k.child.in), close(k.child.out), close(k.child.errors);

    const char *const missing[] = {"/nowhere/at/all", NULL};
    k = run_kid(s, &loop, missing);
    assert_int_equal(k.child.pid, 0);
    assert_int_equal(k.child.error, ENOENT);

    execl("/bin/true", "true", (char *)NULL); /* must fail: exec has been given up */
    assert_int_equal(errno, EPERM);
    spawn_stop(s);
    io_loop_free(&loop);
}

struct sum_work {
    struct io_work work;
    struct io_loop *loop;
    int *runs, *dones; /* how many have run, and are done */
    int at;            /* its position in the order of runs */
};

static void run_sum(struct io_work *work) {
    struct sum_work *w = container_of(work, struct sum_work, work);
    w->at = (*w->runs)++;
}

static void on_sum(struct io_work *work) {
    struct sum_work *w = container_of(work, struct sum_work, work);
    assert_int_equal(w->at, (*w->dones)++); /* in the order in which they were added */
    if (*w->dones == 2000)
        io_loop_stop(w->loop);
    free(w);
}

static void add_sums(struct io_loop *loop, int *runs, int *dones, int count) {
    for (int i = 0; i < count; i++) {
        struct sum_work *w = mem_zalloc(sizeof(*w));
        *w = (struct sum_work){{.run = run_sum, .done = on_sum}, loop, runs, dones, 0};
        io_work_add(loop, &w->work);
    }
}

static void test_work(void **state) {
    (void)state;
    struct io_loop loop;
    int runs = 0, dones = 0;
    io_loop_init(&loop);
    uv_timer_t awake;
    uv_timer_init(&loop.uv, &awake);
    uv_timer_start(&awake, keep_alive, 60000, 0);
    add_sums(&loop, &runs, &dones, 2000); /* more than may wait at the same time */
    io_loop_run(&loop);
    assert_int_equal(dones, 2000);
    add_sums(&loop, &runs, &dones, 10);
    io_work_finish(&loop);
    assert_int_equal(dones, 2010);
    add_sums(&loop, &runs, &dones, 10); /* the end of the loop finishes them */
    io_loop_free(&loop);
    assert_int_equal(dones, 2020);
}

static int start_spawner(void **state) {
    struct err err;
    *state = spawn_start(&err);
    return *state ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timers),
        cmocka_unit_test(test_timers_soon),
        cmocka_unit_test(test_stays_awake),
        cmocka_unit_test(test_timers_moved),
        cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_awaits_more),
        cmocka_unit_test(test_reads_small_pieces),
        cmocka_unit_test(test_rest_never_comes),
        cmocka_unit_test(test_pace),
        cmocka_unit_test(test_work),
        cmocka_unit_test_setup(test_spawn, start_spawner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
