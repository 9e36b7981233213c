/* The running gate: one or many servers behind it, one transport in front. */
#pragma once

#include "base/err.h"
#include "front/gate_config.h"

enum { GATE_STORE_FAILED = 4 };
/* Runs until a signal stops it or the wrapped server exits. *ret_exit is the exit status. When the gate
 * cannot start, it is set only if a store is the reason. */
int gate_run(const struct gate_config *config, int *ret_exit, struct err *err);
