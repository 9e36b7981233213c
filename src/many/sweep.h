/* Checks that run once a second: idle and silent servers, unused pools. */
#pragma once

#include "many/many.h"

/* From now on servers that were unused for their idle time are ended, and silent ones are checked. */
void sweep_start(struct core *core);
