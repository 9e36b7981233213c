/* The spawner's side and the packets between it and the gate. */
#pragma once

#include "io/limits.h"

#include <stdint.h>
#include <sys/types.h>

enum spawner_order_kind { SPAWNER_SPAWN, SPAWNER_SIGNAL, SPAWNER_PING };

struct spawner_order {
    uint32_t kind;
    int32_t signal;
    uint64_t token;
    uint32_t argc;
    uint32_t envc;
    uint32_t no_network;
    uint32_t pad;
    /* then argc + envc + 1 NUL-terminated texts */
};

enum spawner_report_kind {
    SPAWNER_STARTED,
    SPAWNER_EXITED,
    SPAWNER_PONG,      /* the response to a ping */
    SPAWNER_SUCCESSOR, /* sent on the succession socket: `pid` is the new spawner, and the descriptor leads to
                          it */
};

struct spawner_report {
    uint32_t kind;
    int32_t pid; /* 0: not started */
    uint64_t token;
    int32_t value; /* errno, or the wait status */
    uint32_t pad;
};

/* Signals every process below this one except `but`, adopted orphans included, using the kernel's list of
 * children. Returns their number. Ended processes are reaped. */
int spawner_signal_offspring(int sig, pid_t but);
/* Both sockets lead to the gate; a successor announces itself on `line`. */
_Noreturn void spawner_main(int sock, int line, pid_t gate);
