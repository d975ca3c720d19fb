/* Memory of this process and of its descendants. */
#ifndef PERFSCOPE_MEMORY_H
#define PERFSCOPE_MEMORY_H

#include "state.h"

typedef struct {
    uint64_t own_bytes; /* proportional: a page that n processes share counts 1/n; 0 unknown */
    uint64_t descendants_bytes;
    uint32_t descendants;
} ps_tree_memory;

/* Resident bytes of this process, without what is kept of its recording. */
uint64_t ps_memory_resident(void);
/* Resident bytes that are no file's and not shared. */
uint64_t ps_memory_private(void);
/* Proportional memory of the process and its descendants. */
ps_tree_memory ps_memory_tree(void);
/* The CPU time of its descendants, with that of their children that have ended. */
uint64_t ps_cpu_of_descendants_ns(void);

#endif
