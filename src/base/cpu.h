/* Optional features of this processor. __builtin_cpu_supports is not used: the static build's runtime
 * lacks it. */
#pragma once

#include <stdbool.h>

extern bool cpu_avx2; /* set before main() */
