/* What NCCL expects of a profiler plugin, as far as it is used: the structures of its `profiler_v4.h` and
 * `profiler_v5.h`. Both have the same members at the same places; only the type of an event grew from 8 to 64 bits, and
 * `init` takes its arguments in another order. */
#ifndef PERFSCOPE_NCCL_PROFILER_H
#define PERFSCOPE_NCCL_PROFILER_H

#include <stddef.h>
#include <stdint.h>

enum ps_nccl_event { PS_NCCL_COLLECTIVE = 1 << 1, PS_NCCL_KERNEL_CHANNEL = 1 << 6 };
enum ps_nccl_state { PS_NCCL_KERNEL_CHANNEL_STOPS = 22 };

typedef struct {
    uint64_t type; /* of version 4 the first byte alone */
    void *parent;  /* of a channel of a kernel: the collective's handle */
    int rank;
    union {
        struct {
            uint64_t number; /* of this function on its communicator */
            const char *function;
            const void *send;
            void *receive;
            size_t count;
            int root;
            const char *type;
            uint8_t channels, warps;
        } collective;
        struct {
            uint8_t channel;
            uint64_t device_ns; /* of the GPU's own clock */
        } kernel;
    } of;
} ps_nccl_descriptor;

typedef union {
    uint64_t device_ns;
} ps_nccl_arguments;

typedef int (*ps_nccl_starts)(void *context, void **handle, ps_nccl_descriptor *event);
typedef int (*ps_nccl_changes)(void *handle, int state, ps_nccl_arguments *arguments);

typedef struct {
    const char *name;
    int (*init)(void **context, int *events, const char *name, uint64_t identity, int nodes, int ranks, int rank,
                void *log);
    ps_nccl_starts start;
    int (*stop)(void *handle);
    ps_nccl_changes change;
    int (*finalize)(void *context);
} ps_nccl_profiler_v4;

typedef struct {
    const char *name;
    int (*init)(void **context, uint64_t identity, int *events, const char *name, int nodes, int ranks, int rank,
                void *log);
    ps_nccl_starts start;
    int (*stop)(void *handle);
    ps_nccl_changes change;
    int (*finalize)(void *context);
} ps_nccl_profiler_v5;

#endif
