/* One packet, with descriptors, over a pair of SOCK_SEQPACKET sockets: how the gate and its own helper
 * processes talk. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#define PACKET_FDS 3

/* Descriptors that are -1 stay behind. 0, or -1 with errno. */
int packet_send(int sock, const void *bytes, size_t size, const int *fds, size_t count, int flags);
/* Bytes, 0 at the end, -1 with errno. Descriptors that did not come are -1; more than fit are closed. */
ssize_t packet_receive(int sock, void *to, size_t size, int ret_fds[PACKET_FDS]);
