/* What the whole library shares: the state of recording, the state of a thread, the clock. */
#ifndef PERFSCOPE_STATE_H
#define PERFSCOPE_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "format.h"

#define PS_EXPORT __attribute__((visibility("default")))
#define PS_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
/* Apart from the path of every call, which then saves no registers for it. */
#define PS_RARE __attribute__((noinline, cold))
#define PS_NO_INDEX UINT32_MAX
#define PS_PATH_BYTES 4096
#define PS_NESTED_PHASES 8u /* innermost ones that a thread knows by kind */

typedef struct {
    ps_header *header;  /* NULL until a file is open, and in forked children */
    ps_record *slots;
    atomic_bool is_mpi_recorded; /* between MPI_Init and MPI_Finalize of a recorded process */
    atomic_bool is_reusing;      /* slots whose records were thinned away are handed out again */
    atomic_bool is_closed;       /* the process is ending: no slot may be claimed any more */
    atomic_bool is_shared;       /* several threads may call MPI at once */
    bool is_forked_child;        /* of a process that was recording */
    bool is_mpi_inherited;       /* the parent had initialized MPI when it forked */
    atomic_bool is_worker;       /* works for another process, which tells of the node, the GPUs and the memory */
    uint16_t recordings;         /* that this process and those it was forked from began anew */
    int pid;                     /* of the process that opened the files */
    uint64_t loaded_ns;
    char base_path[PS_PATH_BYTES]; /* of the process's files, without ending; "" when there are none */
} ps_state;

/* Whether a thread blocks SIGBUS, which is asked before its next record. */
enum ps_bus_mask { PS_BUS_UNKNOWN, PS_BUS_OPEN, PS_BUS_BLOCKED };

typedef struct {
    uint32_t tid;
    uint32_t depth;        /* of MPI calls: only the outermost is the program's own */
    ps_record *poll;       /* record that the next unsuccessful test may join, NULL none */
    uint32_t phases;       /* open on this thread */
    uint64_t phase_tokens[PS_NESTED_PHASES];
    uint8_t phase_kinds[PS_NESTED_PHASES];
    uint8_t bus_mask;      /* ps_bus_mask */
    uint64_t clocked_ns;   /* when its CPU time was asked for last */
    bool is_bus_lifted;    /* SIGBUS is let through for a moment, although the job blocks it */
} ps_thread_state;

extern ps_state ps_recorder;
extern __thread ps_thread_state ps_self __attribute__((tls_model("initial-exec")));

static inline uint64_t ps_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t ps_monotonic(void)
{
    return ps_clock(CLOCK_MONOTONIC);
}

uint32_t ps_read_tid(void);

static inline uint32_t ps_tid(void)
{
    if (PS_UNLIKELY(ps_self.tid == 0))
        ps_self.tid = ps_read_tid();
    return ps_self.tid;
}

/* A lock for short sections outside the path of every call: no dependency on libpthread. */
typedef atomic_flag ps_lock;
void ps_acquire(ps_lock *lock);
void ps_release(ps_lock *lock);

#endif
