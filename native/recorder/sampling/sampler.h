/* The recorder's own thread: samples of the process, its threads and its node. */
#ifndef PERFSCOPE_SAMPLER_H
#define PERFSCOPE_SAMPLER_H

#include "state.h"

/* Starts the thread once, unless $PERFSCOPE_SAMPLE_HZ is 0. */
void ps_sampler_launch(void);
/* In a forked child: the thread is the parent's. */
void ps_sampler_forget(void);

#endif
