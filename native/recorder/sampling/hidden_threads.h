/* Threads of the recorder and of the agent, which are none of the program's. */
#ifndef PERFSCOPE_HIDDEN_THREADS_H
#define PERFSCOPE_HIDDEN_THREADS_H

#include "state.h"

/* Leaves a thread out of the thread counts. */
void ps_hide_thread(uint32_t tid);
bool ps_is_hidden_thread(uint32_t tid);
/* How many of them run. */
uint32_t ps_hidden_threads_alive(void);
/* In a forked child: those of the parent are no longer. */
void ps_hidden_threads_forget(void);

#endif
