#include "base/packet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2];
static int pipes[2];

static int setup(void **state) {
    (void)state;
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) || pipe(pipes);
}

static int teardown(void **state) {
    (void)state;
    return close(ends[0]) || close(ends[1]) || close(pipes[0]) || close(pipes[1]);
}

/* The lowest number that is free: it grows when a descriptor stays open. */
static int next_fd(void) {
    const int fd = dup(0);
    close(fd);
    return fd;
}

static void test_with_descriptors(void **state) {
    (void)state;
    int fds[PACKET_FDS];
    char got[8], byte;
    assert_int_equal(packet_send(ends[0], "hello", 5, (int[]){-1, pipes[1]}, 2, 0), 0);
    assert_int_equal(packet_receive(ends[1], got, sizeof(got), fds), 5);
    assert_memory_equal(got, "hello", 5);
    assert_true(fds[0] >= 0 && fds[1] == -1 && fds[2] == -1);
    assert_int_equal(write(fds[0], "x", 1), 1);
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    assert_true(fcntl(fds[0], F_GETFD) & FD_CLOEXEC);
    close(fds[0]);
}

static void test_without(void **state) {
    (void)state;
    int fds[PACKET_FDS] = {7, 7, 7};
    char got[2];
    assert_int_equal(packet_send(ends[0], "ab", 2, NULL, 0, 0), 0);
    assert_int_equal(packet_receive(ends[1], got, sizeof(got), fds), 2);
    assert_true(fds[0] == -1 && fds[1] == -1 && fds[2] == -1);
    shutdown(ends[0], SHUT_WR);
    assert_int_equal(packet_receive(ends[1], got, sizeof(got), fds), 0);
}

/* One descriptor more than there is room for: it fits into the padding, and must neither be written nor kept.
 */
static void test_too_many(void **state) {
    (void)state;
    struct {
        int before[1];
        int fds[PACKET_FDS];
        int after[1];
    } room = {.before = {42}, .after = {42}};
    union {
        char bytes[CMSG_SPACE(4 * sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    char byte = 'x';
    struct iovec iov = {&byte, 1};
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(4 * sizeof(int));
    memcpy(CMSG_DATA(c), (int[]){0, 0, 0, 0}, 4 * sizeof(int));
    const int free_before = next_fd();
    char got[1];
    assert_int_equal(sendmsg(ends[0], &msg, 0), 1);
    assert_int_equal(packet_receive(ends[1], got, sizeof(got), room.fds), 1);
    assert_int_equal(room.before[0], 42);
    assert_int_equal(room.after[0], 42);
    for (size_t i = 0; i < PACKET_FDS; i++) {
        assert_true(room.fds[i] >= 0);
        close(room.fds[i]);
    }
    assert_int_equal(next_fd(), free_before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_with_descriptors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without, setup, teardown),
        cmocka_unit_test_setup_teardown(test_too_many, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
