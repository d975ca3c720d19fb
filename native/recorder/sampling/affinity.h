/* The CPUs that this process may use. */
#ifndef PERFSCOPE_AFFINITY_H
#define PERFSCOPE_AFFINITY_H

#include "state.h"

#define PS_MOST_CPUS 8192u /* that Linux has */

/* Those of the calling thread, until the sampler knows those of all threads. */
void ps_note_own_affinity(void);
/* Those of all threads that do the work: programs bind themselves, runtimes of OpenMP each thread to another CPU, and
 * batch systems bind anew. Written where they changed. Called by the sampler alone, after it has seen the threads. */
void ps_note_affinity_of_threads(void);
/* Whether the threads may use a CPU, how many they may use, and how often these were seen to change; 0: not known yet.
 * Called by the sampler alone. */
bool ps_affinity_has(uint32_t cpu);
uint32_t ps_affinity_count(void);
uint32_t ps_affinity_changes(void);
/* In a forked child: what was written is in the parent's files. */
void ps_affinity_forget(void);

#endif
