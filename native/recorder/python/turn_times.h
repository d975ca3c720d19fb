#ifndef PS_TURN_TIMES_H
#define PS_TURN_TIMES_H

#include <stdint.h>

#include "python/python_functions.h"

/* Has the main thread, which calls this from a pending call and was noted at that moment, time the turns that follow. */
void ps_time_turns(const ps_python_functions *python, uint64_t noted_ns);

/* Drops what was seen; a child of a fork times nothing of its parent's. */
void ps_forget_turns(void);

#endif
