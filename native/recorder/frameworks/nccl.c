/* The recorder as a profiler plugin of NCCL, which loads it where NCCL_PROFILER_PLUGIN names it.
 *
 * Each collective becomes a phase of kind communication, from the begin of its kernel to the end, as far as NCCL tells
 * them, else the moment of its launch. A kernel's channels are told by another thread than the one that launches; the
 * GPU's clock says how long they ran, the host's when the last one was seen to end. Everything lies in tables of a fixed
 * size, nothing is ever returned to NCCL but success, and nothing of NCCL's is called. */
#include <stdio.h>
#include <string.h>

#include "frameworks/nccl_profiler.h"
#include "perfscope_recorder.h"
#include "records/event.h"
#include "records/intern.h"
#include "state.h"

#define COMMUNICATORS 256u /* at a time; nothing is told of more */
#define IN_FLIGHT 4096u /* a collective that is not over when so many more have begun is written as it is */
#define INDEX_BITS 16
#define LABEL_BYTES 48
#define NAME_BYTES 160
#define CHANNEL ((uintptr_t)1 << 63) /* in a handle: of a channel of the collective */

typedef struct {
    int ranks;
    bool is_used;
    char label[LABEL_BYTES];
} communicator;

typedef struct {
    const communicator *comm; /* NULL: free */
    uint64_t number, launched_ns, ended_ns, device_begin_ns, device_end_ns;
    uint32_t name, generation;
    int32_t root;
    uint8_t channels, ended, is_launched;
} collective;

static ps_lock using = ATOMIC_FLAG_INIT;
static communicator communicators[COMMUNICATORS];
static collective collectives[IN_FLIGHT];
static uint32_t begun;

static uint32_t bytes_of(const char *type)
{
    static const struct {
        const char *name;
        uint32_t bytes;
    } types[] = {{"ncclFloat32", 4}, {"ncclBfloat16", 2}, {"ncclFloat16", 2}, {"ncclInt64", 8}, {"ncclUint64", 8},
                 {"ncclInt32", 4},   {"ncclUint32", 4},   {"ncclFloat64", 8}, {"ncclInt8", 1},  {"ncclUint8", 1},
                 {"ncclFloat8e4m3", 1}, {"ncclFloat8e5m2", 1}};
    for (uint32_t i = 0; type && i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i].name) == 0)
            return types[i].bytes;
    return 0;
}

/* What the collective is called in the recording; 0 where there is none. */
static uint32_t name_of(const communicator *comm, const ps_nccl_descriptor *event)
{
    const char *function = event->of.collective.function ? event->of.collective.function : "unknown";
    uint64_t bytes = bytes_of(event->of.collective.type) * (uint64_t)event->of.collective.count;
    uint64_t all = bytes * (uint64_t)(comm->ranks > 0 ? comm->ranks : 1);
    bool gathers = strcmp(function, "AllGather") == 0, scatters = strcmp(function, "ReduceScatter") == 0;
    char name[NAME_BYTES];
    int length = snprintf(name, sizeof name, "nccl\x1e%.40s\x1e%s\x1e", function, comm->label);
    if (bytes && length > 0 && length < NAME_BYTES)
        length += snprintf(name + length, sizeof name - (size_t)length, "\x1e%llu:%llu",
                           (unsigned long long)(scatters ? all : bytes), (unsigned long long)(gathers ? all : bytes));
    return length > 0 && length < NAME_BYTES ? ps_name(name, (uint32_t)length) : 0;
}

static void write_and_free(collective *one)
{
    bool is_timed = one->ended && one->device_end_ns > one->device_begin_ns;
    uint64_t end_ns = is_timed ? one->ended_ns : one->launched_ns;
    uint64_t spent_ns = is_timed ? one->device_end_ns - one->device_begin_ns : 0;
    if (one->name)
        ps_phase(PS_PHASE_COMMUNICATION, one->name, (uint32_t)one->number, one->root,
                 end_ns - (spent_ns < end_ns ? spent_ns : 0), end_ns);
    one->comm = NULL;
    one->generation++;
}

static void *handle_of(const collective *one)
{
    return (void *)((uintptr_t)(one->generation & 0x7fffffff) << INDEX_BITS | ((uintptr_t)(one - collectives) + 1));
}

/* The collective of a handle, NULL where it has been written meanwhile. */
static collective *behind(void *handle)
{
    uintptr_t bits = (uintptr_t)handle & ~CHANNEL;
    uintptr_t place = bits & ((1u << INDEX_BITS) - 1);
    if (!place || place > IN_FLIGHT)
        return NULL;
    collective *one = &collectives[place - 1];
    return one->comm && handle_of(one) == (void *)bits ? one : NULL;
}

static void end_if_complete(collective *one)
{
    if (one->is_launched && one->ended >= one->channels)
        write_and_free(one);
}

static void *begin_collective(const communicator *comm, const ps_nccl_descriptor *event)
{
    uint32_t name = name_of(comm, event);
    if (!name)
        return NULL;
    ps_acquire(&using);
    collective *one = &collectives[begun++ % IN_FLIGHT];
    if (one->comm)
        write_and_free(one);
    *one = (collective){.comm = comm, .number = event->of.collective.number, .launched_ns = ps_monotonic(),
                        .device_begin_ns = UINT64_MAX, .name = name, .generation = one->generation,
                        .root = event->of.collective.root, .channels = event->of.collective.channels};
    void *handle = handle_of(one);
    ps_release(&using);
    return handle;
}

static void *begin_channel(const ps_nccl_descriptor *event)
{
    ps_acquire(&using);
    collective *one = behind(event->parent);
    if (one && event->of.kernel.device_ns < one->device_begin_ns)
        one->device_begin_ns = event->of.kernel.device_ns;
    ps_release(&using);
    return one ? (void *)((uintptr_t)event->parent | CHANNEL) : NULL;
}

static int begin(void *context, void **handle, ps_nccl_descriptor *event, uint64_t type)
{
    *handle = NULL;
    if (!context || !ps_is_recording())
        return 0;
    if (type == PS_NCCL_COLLECTIVE)
        *handle = begin_collective(context, event);
    else if (type == PS_NCCL_KERNEL_CHANNEL)
        *handle = begin_channel(event);
    return 0;
}

static int begin_v4(void *context, void **handle, ps_nccl_descriptor *event)
{
    return begin(context, handle, event, event->type & 0xff);
}

static int begin_v5(void *context, void **handle, ps_nccl_descriptor *event)
{
    return begin(context, handle, event, event->type);
}

static int stop(void *handle)
{
    if (!handle || !ps_is_recording())
        return 0;
    ps_acquire(&using);
    collective *one = behind(handle);
    if (one && (uintptr_t)handle & CHANNEL) {
        one->ended++;
        one->ended_ns = ps_monotonic();
    } else if (one) {
        one->is_launched = 1;
    }
    if (one)
        end_if_complete(one);
    ps_release(&using);
    return 0;
}

static int change(void *handle, int state, ps_nccl_arguments *arguments)
{
    if (!((uintptr_t)handle & CHANNEL) || state != PS_NCCL_KERNEL_CHANNEL_STOPS || !arguments || !ps_is_recording())
        return 0;
    ps_acquire(&using);
    collective *one = behind(handle);
    if (one && arguments->device_ns > one->device_end_ns)
        one->device_end_ns = arguments->device_ns;
    ps_release(&using);
    return 0;
}

static int finalize(void *context)
{
    if (!context || !ps_is_recording())
        return 0;
    ps_acquire(&using);
    for (uint32_t i = 0; i < IN_FLIGHT; i++)
        if (collectives[i].comm == context)
            write_and_free(&collectives[i]);
    ((communicator *)context)->is_used = false;
    ps_release(&using);
    return 0;
}

static int init(void **context, int *events, uint64_t identity, int ranks)
{
    *context = NULL;
    *events = 0;
    if (!ps_is_recording())
        return 0;
    ps_acquire(&using);
    communicator *comm = communicators;
    while (comm < communicators + COMMUNICATORS && comm->is_used)
        comm++;
    if (comm < communicators + COMMUNICATORS) {
        *comm = (communicator){.ranks = ranks, .is_used = true};
        snprintf(comm->label, sizeof comm->label, "%d ranks (%llx)", ranks, (unsigned long long)identity);
        *context = comm;
        *events = PS_NCCL_COLLECTIVE | PS_NCCL_KERNEL_CHANNEL;
    }
    ps_release(&using);
    return 0;
}

static int init_v4(void **context, int *events, const char *name, uint64_t identity, int nodes, int ranks, int rank,
                   void *log)
{
    (void)name, (void)nodes, (void)rank, (void)log;
    return init(context, events, identity, ranks);
}

static int init_v5(void **context, uint64_t identity, int *events, const char *name, int nodes, int ranks, int rank,
                   void *log)
{
    (void)name, (void)nodes, (void)rank, (void)log;
    return init(context, events, identity, ranks);
}

PS_EXPORT ps_nccl_profiler_v4 ncclProfiler_v4 = {"perfscope", init_v4, begin_v4, stop, change, finalize};
PS_EXPORT ps_nccl_profiler_v5 ncclProfiler_v5 = {"perfscope", init_v5, begin_v5, stop, change, finalize};
