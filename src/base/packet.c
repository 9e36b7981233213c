#include "base/packet.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
    char bytes[CMSG_SPACE(PACKET_FDS * sizeof(int))];
    struct cmsghdr align;
};

int packet_send(int sock, const void *bytes, size_t size, const int *fds, size_t count, int flags) {
    union control control = {0};
    struct iovec iov = {(void *)(uintptr_t)bytes, size};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    int sent[PACKET_FDS];
    size_t n = 0;
    for (size_t i = 0; i < count && n < PACKET_FDS; i++)
        if (fds[i] >= 0)
            sent[n++] = fds[i];
    if (n) {
        msg.msg_control = &control;
        msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(n * sizeof(int));
        memcpy(CMSG_DATA(c), sent, n * sizeof(int));
    }
    ssize_t done;
    while ((done = sendmsg(sock, &msg, MSG_NOSIGNAL | flags)) < 0 && errno == EINTR)
        ;
    return done == (ssize_t)size ? 0 : -1;
}

/* The control buffer is padded to words, so the kernel may deliver one descriptor more than it was made for.
 */
static void take_fds(const struct cmsghdr *c, int ret_fds[PACKET_FDS]) {
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
        int fd;
        memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
        if (i < PACKET_FDS)
            ret_fds[i] = fd;
        else
            close(fd);
    }
}

ssize_t packet_receive(int sock, void *to, size_t size, int ret_fds[PACKET_FDS]) {
    union control control;
    struct iovec iov = {to, size};
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    for (size_t i = 0; i < PACKET_FDS; i++)
        ret_fds[i] = -1;
    ssize_t got;
    while ((got = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
        ;
    const struct cmsghdr *c = got < 0 ? NULL : CMSG_FIRSTHDR(&msg);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        take_fds(c, ret_fds);
    return got;
}
