/* Where the windows of a run end that have no step to end them: they get a record of their own. */
#ifndef PERFSCOPE_RUN_WINDOWS_H
#define PERFSCOPE_RUN_WINDOWS_H

#include "state.h"

/* Ends a window, with a record of its own: at a collective on the world, or at a second of the wall clock. */
void ps_run_window_end(enum ps_window source, uint32_t number, uint64_t t1_ns);
/* For the sampler thread: ends a window where nothing else ever does. */
void ps_run_window_tick(uint64_t now_ns);
/* In a forked child that begins a file of its own. */
void ps_run_windows_forget(void);

#endif
