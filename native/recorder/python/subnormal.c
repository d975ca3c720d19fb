/* How much longer this CPU takes for numbers so near to zero that they lose digits: many hand them to microcode. */
#include <stdint.h>

#include "perfscope_recorder.h"
#include "state.h"

#define SPACE_BYTES 65536
#define TRIES 4
#define HUNDRED 100

#if defined(__x86_64__)
#define ALL_MASKED 0x1f80u
#define ANY_SET 0x3fu

static uint32_t without_traps(void)
{
    uint32_t before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr((before | ALL_MASKED) & ~ANY_SET);
    return before;
}

static void as_before(uint32_t before)
{
    __builtin_ia32_ldmxcsr(before);
}
#define IS_KNOWN 1
#elif defined(__aarch64__)
#define ALL_TRAPS 0x9f00ull

static uint64_t without_traps(void)
{
    uint64_t before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"(before & ~ALL_TRAPS));
    return before;
}

static void as_before(uint64_t before)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(before));
}
#define IS_KNOWN 1
#else
#define IS_KNOWN 0
#endif

#if IS_KNOWN
/* More than the nearest cache holds: libraries read whole arrays and write others. The caller holds a lock. */
static double space[2][SPACE_BYTES / sizeof(double)];

/* The least time of a pass over the space: in other passes the thread may have lost its CPU. */
#define TIMED(name, type)                                                                                     \
    static uint64_t name(type value, type factor, type more)                                                  \
    {                                                                                                         \
        const int count = SPACE_BYTES / sizeof(type);                                                         \
        type *from = (type *)space[0], *into = (type *)space[1];                                              \
        for (int i = 0; i < count; i++)                                                                       \
            from[i] = value;                                                                                  \
        uint64_t least = UINT64_MAX;                                                                          \
        for (int try = 0; try < TRIES; try++) {                                                               \
            uint64_t begin = ps_now();                                                                        \
            for (int i = 0; i < count; i++)                                                                   \
                into[i] = from[i] * factor + more;                                                            \
            uint64_t took = ps_now() - begin;                                                                 \
            least = took < least ? took : least;                                                              \
            __asm__ volatile("" : : "r"(from), "r"(into) : "memory");                                         \
        }                                                                                                     \
        return least;                                                                                         \
    }

TIMED(of_singles, float)
TIMED(of_doubles, double)
#endif

PS_EXPORT uint32_t ps_subnormal_times(uint32_t value_bytes)
{
#if IS_KNOWN
    uint64_t usual = 0, slow = 0;
    __typeof__(without_traps()) before = without_traps();
    if (value_bytes == sizeof(float)) {
        usual = of_singles(1.0f, 0.5f, 1.0f);
        slow = of_singles(1e-42f, 0.5f, 1e-42f);
    } else if (value_bytes == sizeof(double)) {
        usual = of_doubles(1.0, 0.5, 1.0);
        slow = of_doubles(1e-312, 0.5, 1e-312);
    }
    as_before(before);
    uint64_t times = usual ? HUNDRED * slow / usual : 0;
    return times > UINT32_MAX ? UINT32_MAX : (uint32_t)times;
#else
    (void)value_bytes;
    return 0;
#endif
}
