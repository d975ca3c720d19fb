/* Of what the memory of this process consists. */
#ifndef PERFSCOPE_HEAP_H
#define PERFSCOPE_HEAP_H

#include "state.h"

typedef struct {
    uint64_t allocated_bytes; /* with malloc and not freed; 0 where malloc does not tell */
    uint64_t held_bytes;      /* that malloc has of the system; 0 unknown */
    uint64_t anonymous_bytes; /* resident; 0 unknown */
    uint32_t file_kib;        /* resident, of mapped files */
    uint32_t shared_kib;      /* resident, of shared memory and tmpfs */
} ps_heap;

/* Called by the sampler alone. */
ps_heap ps_read_heap(void);

#endif
