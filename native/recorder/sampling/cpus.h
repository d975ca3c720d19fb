/* What the CPUs that the process may use did, for whomever. */
#ifndef PERFSCOPE_CPUS_H
#define PERFSCOPE_CPUS_H

#include "state.h"

typedef struct {
    uint64_t busy_ns;   /* so far, of all these CPUs: with processes, the kernel and interrupts */
    uint64_t stolen_ns; /* withheld by the host of the virtual machine */
    uint32_t cpus;      /* 0: not known */
} ps_cpu_use;

/* Called by the sampler alone. */
ps_cpu_use ps_cpus_read(void);
/* CPU time of children that have ended, and of theirs. */
uint64_t ps_cpu_of_ended_children_ns(void);
/* CPU time of another process, and of its children that have ended; 0 unknown. */
uint64_t ps_cpu_of_process_ns(uint32_t pid);

#endif
