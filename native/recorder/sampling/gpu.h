/* A thread of its own that samples GPUs: a driver that hangs holds up nothing else. */
#ifndef PERFSCOPE_GPU_H
#define PERFSCOPE_GPU_H

#include "state.h"

/* For the sampler thread: starts the thread once where there is a driver, unless $PERFSCOPE_GPU_HZ is 0. */
void ps_gpu_launch(void);
/* Instead of the launch: notes why no GPU is sampled. */
void ps_gpu_decline(const char *why);
/* CPU time that the thread has used, to be left out of the job's. */
uint64_t ps_gpu_cpu_ns(void);

#endif
