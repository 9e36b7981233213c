/* Requests to stores on the network: when one counts as late. */
#include "base/clock.h"
#include "base/mem.h"
#include "io/conn.h"
#include "state/remote_link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

#define TIMEOUT_MS 60

struct line {
    struct remote_link link;
    struct remote_want want;
    struct io_conn *conn;
    int other; /* the server's end */
    int late, answered;
};

static void line_connect(struct remote_link *link) { link->phase = REMOTE_UP; }

static void line_drop(struct remote_link *link) { (void)link; }

static void on_late(struct remote_want *want) {
    struct line *l = container_of(want, struct line, want);
    l->late++;
    io_loop_stop(l->link.loop);
}

static void on_answered(struct remote_want *want, const void *reply) {
    struct line *l = container_of(want, struct line, want);
    if (!reply)
        return;
    l->answered++;
    io_loop_stop(l->link.loop);
}

static size_t on_data(struct io_conn *c, void *owner, struct block *b, char *ptr, size_t len) {
    struct line *l = owner;
    (void)c, (void)b;
    state_remote_link_answer(&l->link, ptr);
    return len;
}

static void on_end(struct io_conn *c, void *owner, int status) { (void)c, (void)owner, (void)status; }

static const struct io_handlers handlers = {.data = on_data, .end = on_end};

static void line_open(struct line *l, struct io_loop *loop) {
    int ends[2];
    io_loop_init(loop);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    *l = (struct line){.other = ends[1], .link = {.connect = line_connect, .drop = line_drop}};
    state_remote_link_start(&l->link, loop, TIMEOUT_MS);
    l->conn = io_conn_fd(loop, ends[0], true, &handlers, l);
    io_conn_read(l->conn, true);
    l->want = (struct remote_want){.late = on_late, .answered = on_answered};
    state_remote_link_queue(&l->link, &l->want);
}

static void line_close(struct line *l, struct io_loop *loop) {
    state_remote_link_end(&l->link);
    io_conn_close(l->conn);
    close(l->other);
    io_loop_free(loop);
}

/* The process had no processor while the answer came: it is there, so it is in time. */
static void test_answer_that_waits_is_not_late(void **state) {
    (void)state;
    struct io_loop loop;
    struct line l;
    line_open(&l, &loop);
    assert_int_equal(write(l.other, "x", 1), 1);
    for (uint64_t end = clock_mono_ms() + 2 * TIMEOUT_MS; clock_mono_ms() < end;)
        ;
    io_loop_run(&loop);
    assert_int_equal(l.answered, 1);
    assert_int_equal(l.late, 0);
    assert_int_equal(l.link.health.timeouts, 0);
    line_close(&l, &loop);
}

static void test_no_answer_is_late(void **state) {
    (void)state;
    struct io_loop loop;
    struct line l;
    line_open(&l, &loop);
    uint64_t began_ms = clock_mono_ms();
    io_loop_run(&loop);
    assert_true(clock_mono_ms() - began_ms >= TIMEOUT_MS - 1);
    assert_int_equal(l.late, 1);
    assert_int_equal(l.answered, 0);
    assert_int_equal(l.link.health.timeouts, 1);
    line_close(&l, &loop);
}

/* Behind one that is late, and that the server still owes. */
static void test_next_request_is_late_too(void **state) {
    (void)state;
    struct io_loop loop;
    struct line l, next = {.want = {.late = on_late, .answered = on_answered}};
    line_open(&l, &loop);
    next.link.loop = &loop;
    io_loop_run(&loop);
    assert_int_equal(l.late, 1);
    state_remote_link_queue(&l.link, &next.want);
    io_loop_run(&loop);
    assert_int_equal(next.late, 1);
    assert_int_equal(l.link.health.timeouts, 2);
    line_close(&l, &loop);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answer_that_waits_is_not_late),
        cmocka_unit_test(test_no_answer_is_late),
        cmocka_unit_test(test_next_request_is_late_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
