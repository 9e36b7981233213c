/* A number in a file of the home that every process maps. Each change increments it, so a process detects
 * with one load that its copy is stale. A file that was deleted or replaced is noticed and mapped again,
 * which counts as a change: otherwise this process would not notice changes by others. Private to
 * the state room. */
#pragma once

#include "base/err.h"

#include <stdint.h>

struct state_generation;

int state_generation_open(const char *home, const char *name, struct state_generation **ret_generation,
                          struct err *err);
void state_generation_close(struct state_generation *g);   /* NULL is fine */
uint64_t state_generation_get(struct state_generation *g); /* 0 for NULL */
void state_generation_raise(struct state_generation *g);
