#include "base/cpu.h"

bool cpu_avx2;

#ifdef __x86_64__
#include <cpuid.h>

#define CPU_WIDE_STATE 6 /* bits of XCR0: the system saves the registers of SSE and AVX */

__attribute__((constructor)) static void cpu_detect(void) {
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & CPU_WIDE_STATE) == CPU_WIDE_STATE && __get_cpuid_count(7, 0, &a, &b, &c, &d))
        cpu_avx2 = b & bit_AVX2;
}
#endif
