/* Numbers of this process and its threads as /proc has them. It may be that of an outer PID namespace, as where a container or a
 * sandbox has no /proc of its own: what stands there below the numbers that the process itself sees is of others. */
#ifndef PERFSCOPE_NUMBERS_H
#define PERFSCOPE_NUMBERS_H

#include <stdint.h>

/* The number of this process in /proc; 0 where it is not told. */
uint32_t ps_listed_process(void);
/* The number of a thread of this process in /proc; 0 where it is not found. */
uint32_t ps_listed_thread(uint32_t tid);
/* The number that a thread has for itself, of one that /proc lists below this process; 0 where it has gone. */
uint32_t ps_own_thread(uint32_t listed);

#endif
