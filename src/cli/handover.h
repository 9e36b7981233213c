#pragma once

#include "front/gate.h"
#include "front/settings.h"

/* Could a gate start with this? Nothing is changed. */
int cli_handover_check(const struct gate_config *config, const struct settings *s, struct err *err);
