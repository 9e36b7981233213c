/* The value of --network: hosts that code may connect to. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "egress/limits.h"

/* The entries that stand between commas; they live as long as the arena. NULL has none. What they are is
 * checked by egress_open(). */
int hosts_split(const char *text, struct arena *a, const char *ret_hosts[EGRESS_RULES_MAX], size_t *ret_count,
                struct err *err);
