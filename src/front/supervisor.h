/* Several workers behind one port: one gate per process, one home, and a supervisor above them. */
#pragma once

#include "base/err.h"
#include "front/gate_config.h"

/* Environment variable for a program that takes over: the listening socket, and the workers that will
 * exit. */
#define SUPERVISOR_HANDOVER "SALLYPORT_HANDOVER"
/* Environment variable for a program that only checks whether it would start. */
#define SUPERVISOR_TRIAL "SALLYPORT_TRIAL"
/* The number of workers that `workers:` asks for; 0: a gate of one process without a supervisor. */
int supervisor_count(const char *text, const char *bind, unsigned *ret_count, struct err *err);
/* As gate_run(), with that many workers under a supervisor, which this process becomes. */
int supervisor_run(const struct gate_config *config, unsigned count, int *ret_exit, struct err *err);
