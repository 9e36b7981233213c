/* Sends one packet with descriptors over a pair of SOCK_SEQPACKET sockets: how the gate and its helper
 * processes communicate. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#define PACKET_FDS 3

/* Descriptors that are -1 are not sent. Returns 0, or -1 with errno. */
int packet_send(int sock, const void *bytes, size_t size, const int *fds, size_t count, int flags);
/* Returns the bytes read, 0 at the end, -1 with errno. Descriptors that did not come are -1; excess ones
 * are closed. */
ssize_t packet_receive(int sock, void *to, size_t size, int ret_fds[PACKET_FDS]);
