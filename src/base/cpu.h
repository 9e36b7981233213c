/* What this processor can do beyond the least of its kind. Not the compiler's __builtin_cpu_supports: the
 * runtime of the static build does not have it. */
#pragma once

#include <stdbool.h>

extern bool cpu_avx2; /* known before main() */
