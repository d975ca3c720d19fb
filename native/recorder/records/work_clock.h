/* What the program's thread had of a CPU, told where it begins and ends a call: between two samples of the sampler many
 * short steps may lie, and which of them waited for a CPU is not told by those. */
#ifndef PERFSCOPE_WORK_CLOCK_H
#define PERFSCOPE_WORK_CLOCK_H

#include "state.h"

/* The clock of a thread is a system call of about a microsecond: so rarely it takes less than a thousandth. */
#define PS_WORK_CLOCK_EVERY_NS 2000000u

void ps_work_clock_read(uint64_t now_ns);

/* For every begin and end of a call or phase, with the time that was read for it. */
static inline void ps_work_clock(uint64_t now_ns)
{
    if (PS_UNLIKELY(now_ns >= ps_self.clocked_ns + PS_WORK_CLOCK_EVERY_NS))
        ps_work_clock_read(now_ns);
}

#endif
