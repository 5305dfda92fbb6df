/* Detection of instructions that not every processor of a platform has. */
#include "workspace.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* Whether the processor has AVX2, and the system saves its registers (Intel 64 manual, volume 1, section 14.3). */
EXPORTED int has_avx2(void)
{
    unsigned a, b, c, d, saved;
    if (!__get_cpuid_count(1, 0, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return 0;
    __asm__("xgetbv" : "=a"(saved), "=d"(d) : "c"(0));
    return (saved & 6) == 6 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2);
}
#else
EXPORTED int has_avx2(void)
{
    return 0;
}
#endif
