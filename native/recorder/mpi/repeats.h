/* Collectives that bring what was there already: looked at now and then. */
#ifndef PERFSCOPE_REPEATS_H
#define PERFSCOPE_REPEATS_H

#include "mpi/call.h"

/* What the buffer of a call held before it; of no row where that was not looked at. */
typedef struct {
    uint64_t held;
    uint32_t row, number;
} ps_repeat;

/* Looks at a buffer into which a call is about to receive `call->received` bytes of a type in one piece. */
ps_repeat ps_before_receiving(const ps_call *call, ps_word buffer, ps_word type);
/* `result` is what the call returned. */
void ps_after_receiving(const ps_repeat *repeat, const ps_call *call, ps_word buffer, int result);

#endif
