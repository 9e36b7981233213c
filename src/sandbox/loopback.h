/* Servers and clients of one run, connected by socket pairs inside of its process: no network is involved,
 * and nothing outside of the process can be reached or can reach it. */
#pragma once

#include <stdbool.h>

/* Called by name in a locked-down child that has no network of its own to listen in. `outward`: sockets of
 * the kernel exist too, and lead to the gate's proxy; ports that the run itself does not serve are theirs. */
__attribute__((visibility("default"))) void loopback_open(bool outward);
