/* Limits that a control group (version 1 or 2) puts on this process. */
#ifndef PERFSCOPE_CGROUP_H
#define PERFSCOPE_CGROUP_H

#include <stdint.h>

/* CPU time per second of time in us, the tightest on the way to the root; -1 without a limit. */
int64_t ps_cgroup_cpu_quota_us(void);
/* Bytes, the tightest on the way to the root; -1 without a limit. */
int64_t ps_cgroup_memory_limit(void);
/* Milliseconds in which CPUs were withheld from the group, or one above it, by its limit; UINT32_MAX unknown. */
uint32_t ps_cgroup_throttled_ms(void);
/* Bytes charged to the group now; 0 unknown. */
uint64_t ps_cgroup_memory_used(void);
/* Processes killed for memory in the group, else on the node; 0 unknown. */
uint64_t ps_oom_kills(void);

#endif
