/* The recording format: what lies in a process's .rec and .def files.
 *
 * Everything is little-endian. A .rec file is one ps_header followed by 64-byte ps_record slots; a .def file is
 * PS_DEF_MAGIC followed by ps_definition entries, each with its payload. docs/trace-format.md explains the meaning;
 * perfscope/readers/recording/layout.py mirrors it for numpy, and a test compares the two. */
#ifndef PERFSCOPE_FORMAT_H
#define PERFSCOPE_FORMAT_H

#include <stdint.h>

#define PS_MAGIC "PERFSCP1"
#define PS_DEF_MAGIC "PERFSCD1"
#define PS_FORMAT_VERSION 1u
#define PS_HEADER_BYTES 65536u
#define PS_RECORD_BYTES 64u
#define PS_MAX_OPERATIONS 256u
#define PS_MAX_THREADS 256u
#define PS_MAX_CELLS 512u  /* a power of two */
#define PS_MAX_BLOCKS 128u /* even */

enum ps_kind {
    PS_KIND_NONE = 0,       /* slot claimed, not yet written */
    PS_KIND_OPERATION = 1,  /* an MPI call; op is a code of operations.def */
    PS_KIND_COMPLETION = 2, /* a request completed inside a wait or test; op is the operation that created it */
    PS_KIND_PHASE = 3,      /* op is a ps_phase */
    PS_KIND_STEP = 4,       /* one iteration of the training loop */
    PS_KIND_SAMPLE = 5,     /* op is a ps_sample */
    PS_KIND_STACK = 6,      /* comm = stack id (PS_DEF_STACK), tid = the thread sampled */
    PS_KIND_METRIC = 7,     /* comm = name id, sent = the bits of an IEEE double */
    PS_KIND_READINESS = 8,  /* a control cycle of Horovod in which something changed; op = 1 when a tensor it has not
                               met before waited, sent = tensors that became ready on this rank since the last one,
                               received = tensors that all ranks had ready, request = tensors ready on this rank */
    PS_KIND_WINDOW = 9,     /* a window that is no step: op is a ps_window, seq its number */
    PS_KIND_THINNED = 10,   /* its record was taken out: free for another one */
};

/* What a part of the run that is kept or thinned as a whole ends with, on all ranks alike. */
enum ps_window {
    PS_WINDOW_NONE = 0,
    PS_WINDOW_TIME = 1,       /* an eighth of a second or a second of CLOCK_REALTIME, in a process that has told nothing better */
    PS_WINDOW_COLLECTIVE = 2, /* PS_WINDOW_COLLECTIVES collectives on MPI_COMM_WORLD */
    PS_WINDOW_STEP = 3,       /* a step, with what lies between it and the one before */
};
#define PS_WINDOW_COLLECTIVES 32u
#define PS_WINDOW_KINDS 4u

enum ps_phase {
    PS_PHASE_TRAIN = 1, /* the training loop as a whole: fit(), an epoch of a hand-written loop */
    PS_PHASE_FORWARD = 2,
    PS_PHASE_BACKWARD = 3,
    PS_PHASE_OPTIMIZER = 4,
    PS_PHASE_INPUT = 5, /* waiting for input */
    PS_PHASE_EVALUATE = 6,
    PS_PHASE_PREDICT = 7,
    PS_PHASE_CHECKPOINT = 8,
    PS_PHASE_IO = 9,
    PS_PHASE_DEVICE_WAIT = 10,
    PS_PHASE_COMMUNICATION = 11, /* the exposed part of a communication that is not an MPI call of this thread */
    PS_PHASE_USER = 12,          /* a name of the user's own */
};

enum ps_sample {
    PS_SAMPLE_PROCESS = 1, /* sent = resident bytes, received = CPU ns of the process, request = run-queue delay ns
                              summed over threads, peer = threads, tag = runnable threads, seq = threads that wait
                              for a device (the sampler excluded), UINT32_MAX unknown */
    PS_SAMPLE_SYSTEM = 2,  /* sent = bytes read, received = bytes written (rchar, wchar), request = voluntary switches,
                              seq = involuntary switches (summed over threads), comm = major faults, tag = oom kills */
    PS_SAMPLE_NODE = 3,    /* sent = bytes available, received = bytes in total on the node, request = bytes charged to
                              the cgroup, peer = runnable tasks on the node */
    PS_SAMPLE_DEVICE = 4, /* comm = device (PS_DEF_DEVICE), sent = bytes of its memory in use (0 unknown), received =
                             reasons of throttling as NVML numbers their bits (bit 62 alone: not told), request = MHz of
                             its processors and, from bit 32, of its memory (0 unknown), seq = milliwatts (UINT32_MAX
                             unknown), peer = percent of time with a kernel and, from bit 8, with memory traffic (255
                             unknown), tag = degrees Celsius */
    PS_SAMPLE_DEVICE_PROCESS = 5, /* comm = device, seq = process id, sent = bytes of the device's memory (0 unknown) */
    PS_SAMPLE_TREE = 6,    /* sent = proportional bytes (PSS) of the process, received = of its descendants together,
                              request = how many descendants */
    PS_SAMPLE_CALLS = 7,   /* a function of a framework so far: comm = name id, seq = calls, tag = calls whose memory
                              was measured, sent = PS_KEPT_NOTHING + bytes by which memory of the process's own was
                              larger after these than before them, received = that memory now, request = ns before
                              their first compiled function began, peer = compiled functions called */
    PS_SAMPLE_PYTHON = 8,  /* sent = blocks that Python's own allocator has given out */
    PS_SAMPLE_MAIN = 9,    /* of the main thread so far: sent = CPU ns, received = run-queue delay in ns; of the process:
                              request = ns of CPU in the kernel, comm = minor faults, seq = ms in which its cgroup was
                              throttled (UINT32_MAX unknown) */
    PS_SAMPLE_HEAP = 10,   /* sent = bytes allocated with malloc, received = bytes that malloc holds of the system (both
                              0 unknown), request = anonymous resident bytes, comm = KiB of mapped files and seq = KiB
                              of shared memory that are resident */
    PS_SAMPLE_COLLECTION = 11, /* a garbage collection of Python from t0 to t1: seq = generation, sent = ns of shorter ones since the last such record,
                                  received = how many these were */
    PS_SAMPLE_CPUS = 12,   /* of the CPUs that the process may use so far: sent = ns in which they were busy, for
                              whomever, received = ns withheld by the host of the virtual machine, request = CPU ns of
                              the process with the recorder, and of its descendants; peer = CPUs, comm = how often
                              these were seen to change */
    PS_SAMPLE_CLOCK = 13,  /* at the begin or end of a call or phase: sent = CPU ns of the main thread so far, exactly */
};

#define PS_KEPT_NOTHING (1ull << 40) /* so that what calls let go needs no sign */

/* peer: */
#define PS_PEER_NONE (-1)
#define PS_PEER_UNKNOWN (-2)
#define PS_PEER_PROC_NULL (-3)

typedef struct {
    uint64_t t0_ns;    /* CLOCK_MONOTONIC at enter; of an instant: its moment */
    uint64_t t1_ns;    /* at exit; 0 while open, so a killed rank shows what it was in */
    uint16_t kind;     /* ps_kind, stored last with release order */
    uint16_t op;       /* see ps_kind */
    uint32_t tid;      /* kernel thread id */
    uint32_t comm;     /* operation: index of the communicator (PS_DEF_COMMUNICATOR), UINT32_MAX none; phase: name id */
    uint32_t seq;      /* collective: ordinal on its communicator from 0; phase, step: step number, UINT32_MAX none;
                          combined send and receive: world rank of the source, or PS_PEER_* as 32 bits */
    int32_t peer;      /* world rank of the peer or root, or PS_PEER_* */
    int32_t tag;       /* operation: tag; phase, step, metric: epoch, -1 none */
    uint64_t sent;     /* operation: bytes this rank contributes; step: samples processed by this rank, 0 unknown */
    uint64_t received; /* operation: bytes this rank obtains; step: global batch size if known, else 0 */
    uint64_t request;  /* step: when its window began, 0 none; nonblocking and completion: request id (never reused,
                          from 1); wait on several: how many requests; coalesced test or probe: how many calls; combined send and receive: tag of the
                          message received plus 1, 0 unknown; else 0 */
} ps_record;
_Static_assert(sizeof(ps_record) == PS_RECORD_BYTES, "a record is 64 bytes");

typedef struct {
    uint64_t count, ns, sent, received;
} ps_total;

typedef struct {
    uint32_t tid;
    uint32_t seen; /* samples in which the thread existed */
    char name[16];
    uint64_t cpu_ns;
    uint64_t queue_ns;      /* run-queue delay */
    uint32_t runnable_seen; /* samples in which it was runnable */
    uint32_t last_cpu;
} ps_thread;
_Static_assert(sizeof(ps_thread) == 48, "a thread entry is 48 bytes");

/* Totals of one operation on one communicator in one phase, or of one phase. */
typedef struct {
    uint64_t key; /* ps_cell_key, 0 free, atomic */
    ps_total total;
} ps_cell;
_Static_assert(sizeof(ps_cell) == 40, "a cell is 40 bytes");

enum ps_cell_flag {
    PS_CELL_USED = 1,
    PS_CELL_MAIN = 2,  /* by the main thread */
    PS_CELL_PHASE = 4, /* of the phase itself, not of calls in it: op is a ps_phase, comm a name id */
};

/* Neighboring steps together. When all blocks are full, each holds twice as many from then on. */
typedef struct {
    uint64_t t0_ns, t1_ns; /* begin of the first, end of the last one */
    uint64_t count, ns, samples;
    uint64_t shortest_ns, longest_ns;
    uint32_t first, longest; /* numbers of the first one and of the longest one */
} ps_block;
_Static_assert(sizeof(ps_block) == 64, "a block is 64 bytes");

typedef struct {
    uint32_t level;        /* of the windows between the first and the last ones one in 2^level is kept */
    uint32_t sample_level; /* the same of samples outside kept windows, by time */
    uint32_t source;       /* ps_window of the last window */
    uint32_t is_reusing;   /* slots are filled again: their order is not that of time */
    uint64_t cursor;       /* then: behind the slot filled last */
    uint64_t windows[PS_WINDOW_KINDS]; /* that ended, by ps_window */
    uint64_t records;      /* taken out */
    uint64_t broken;       /* windows without some of their records: not kept */
    uint64_t lost_calls;   /* counted in no cell: all were taken */
    uint32_t block_steps;  /* that a full block holds */
    uint32_t blocks;       /* in use */
    uint32_t merging;      /* blocks are being put together just now: they tell nothing */
    uint32_t is_total_in_cells; /* `totals` of the header hold only calls that are counted in no cell */
} ps_thinning;

enum ps_flag {
    PS_FLAG_MPI = 1,              /* MPI was initialized */
    PS_FLAG_FINALIZE_ENTERED = 2, /* MPI_Finalize was entered */
    PS_FLAG_FINALIZED = 4,        /* and left */
    PS_FLAG_ABORTED = 8,          /* MPI_Abort was called; exit_code is its code */
    PS_FLAG_EXITED = 16,          /* exit() was reached; exit_code is its status */
    PS_FLAG_DISK_FULL = 32,       /* detail stopped because the file system had no room */
    PS_FLAG_SIZE_LIMIT = 64,      /* detail stopped at the size limit */
    PS_FLAG_AGENT = 128,          /* the Python agent is active */
    PS_FLAG_MPI_PROVIDED_MULTIPLE = 256,
};

enum ps_abi { PS_ABI_UNKNOWN = 0, PS_ABI_OPENMPI = 1, PS_ABI_MPICH = 2, PS_ABI_STANDARD = 3 };

typedef struct {
    char magic[8];
    uint32_t version, header_bytes, record_bytes, pid;
    uint64_t start_ticks;      /* field 22 of /proc/self/stat: with pid and boot id, the identity of the process */
    uint64_t process_start_ns; /* when the recorder was loaded, CLOCK_MONOTONIC */
    uint64_t mono0_ns, real0_ns; /* the two clocks read together when the file was opened */
    uint64_t time_namespace;     /* inode of /proc/self/ns/time, 0 unknown */
    char boot_id[40];
    char host[64];
    int32_t rank, size; /* in MPI_COMM_WORLD or as the agent told; -1 unknown */
    uint32_t abi;       /* ps_abi */
    uint32_t flags;     /* ps_flag, atomic */
    int32_t exit_code;
    uint32_t main_tid; /* thread that initialized MPI, else the first that trained or the process's first thread */
    uint64_t capacity; /* records that may ever be written */
    uint64_t claimed;  /* atomic: slots claimed; may exceed capacity */
    uint64_t dropped;  /* records that found no slot */
    uint64_t first_drop_ns;
    uint64_t init_exit_ns;      /* exit of MPI_Init, 0 none */
    uint64_t finalize_enter_ns; /* enter of MPI_Finalize, 0 none */
    uint64_t alive_ns;          /* last sign of life (sampler tick) */
    uint64_t exit_ns;           /* when exit() was reached, 0 none */
    uint32_t cpus_allowed;      /* CPUs in the affinity mask at opening */
    uint32_t sampler_hz;
    int64_t cgroup_cpu_quota_us; /* per 1 s of time, -1 none: 1500000 is one and a half CPUs */
    int64_t cgroup_memory_limit; /* bytes, -1 none */
    uint64_t sampler_cpu_ns;     /* CPU the recorder's own threads have used */
    ps_total totals[PS_MAX_OPERATIONS]; /* by operation code, of all threads: never dropped; see is_total_in_cells */
    ps_thread threads[PS_MAX_THREADS];
    /* Zero in recordings from before windows were thinned. */
    ps_thinning thinning;
    ps_cell cells[PS_MAX_CELLS];
    ps_block blocks[PS_MAX_BLOCKS];
} ps_header;
_Static_assert(sizeof(ps_header) <= PS_HEADER_BYTES, "the header fits its pages");

/* (communicator or name + 1) << 32 | operation << 16 | phase << 8 | ps_cell_flag */
static inline uint64_t ps_cell_key(uint32_t comm, uint16_t op, uint8_t phase, uint8_t flags)
{
    return (uint64_t)(comm + 1u) << 32 | (uint64_t)op << 16 | (uint64_t)phase << 8 | flags;
}

enum ps_definition_type {
    PS_DEF_NAME = 1,         /* UTF-8 text */
    PS_DEF_COMMUNICATOR = 2, /* ps_communicator, then u32 world ranks of its members in rank order */
    PS_DEF_STACK = 3,        /* u32 name ids, outermost frame first; a frame's name is function \x1f file \x1f line */
    PS_DEF_LIBRARY = 4,      /* path of the MPI library, \n, its version text where known */
    PS_DEF_AFFINITY = 5,     /* CPU list text, as in 0-3,8 */
    PS_DEF_NOTE = 6,         /* why recording was limited or failed, one sentence */
    PS_DEF_DEVICE = 7,       /* a GPU as lines of key=value, a later one adds to it; 0: why none is sampled */
};

typedef struct {
    uint16_t type;
    uint16_t reserved;
    uint32_t id;
    uint32_t bytes; /* of the payload that follows */
} ps_definition;
_Static_assert(sizeof(ps_definition) == 12, "a definition head is 12 bytes");

typedef struct {
    uint64_t identity; /* equal on all member ranks, different for any other communicator of the run */
    uint32_t parent;   /* index of the communicator it was made from, UINT32_MAX for MPI_COMM_WORLD */
    uint32_t ordinal;  /* how many-th creation on the parent */
    uint32_t size, my_rank;
} ps_communicator;

#endif
