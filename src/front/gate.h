/* The running gate: one server behind it, or many; one transport in front. */
#pragma once

#include "base/err.h"
#include "front/gate_config.h"

/* What the settings say about the gate itself; what is in the config already stays. */
void gate_config_from(struct gate_config *config, struct settings *take_settings);
enum { GATE_STORE_FAILED = 4 };
/* Runs until told to stop or the wrapped server ends. *ret_exit is the status to exit with; of a gate that
 * does not come up it is set when a store is the reason. */
int gate_run(const struct gate_config *config, int *ret_exit, struct err *err);
