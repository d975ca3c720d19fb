/* What the main thread has used, and what it had to wait for. */
#ifndef PERFSCOPE_MAIN_THREAD_H
#define PERFSCOPE_MAIN_THREAD_H

#include "state.h"

typedef struct {
    uint32_t tid;
    uint64_t cpu_ns;
    uint64_t queue_ns;     /* in which it could run and had no CPU */
    uint64_t kernel_ns;    /* CPU of the whole process spent in the kernel */
    uint32_t minor_faults; /* of the whole process, modulo 2^32 */
} ps_main_thread;

/* False where the kernel keeps no statistics of its scheduler. Called by the sampler alone. */
bool ps_read_main_thread(ps_main_thread *now);

#endif
