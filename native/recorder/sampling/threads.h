/* The process's threads: what each has used, and how many want to run. */
#ifndef PERFSCOPE_THREADS_H
#define PERFSCOPE_THREADS_H

#include "state.h"

typedef struct {
    uint32_t threads;  /* without those that are ours */
    uint32_t runnable;
    uint32_t blocked;  /* wait for a device */
    uint64_t queue_ns; /* run-queue delay of all threads so far, also of those that have ended */
} ps_thread_counts;

/* Reads every thread of the process and brings the header's table up to date. Called by the sampler alone. */
ps_thread_counts ps_scan_threads(void);
/* CPUs on which the threads that do the work may run: the main one, and each that has used a tenth of a second, and a
 * twentieth of what the busiest one has. One bit a CPU. False where that is not known. Called by the sampler alone. */
bool ps_allowed_of_threads(unsigned long *cpus, size_t bytes);
/* In a forked child: the threads were the parent's. */
void ps_threads_forget(void);

#endif
