#include "frameworks/horovod.h"

#include <dlfcn.h>
#include <string.h>

#include "mpi/call.h"
#include "records/claim.h"

#define MAX_WORDS 256u /* of 64 tensors each; what lies beyond is not looked at */
#define JOINED_NS 100000000u /* one record stands for so much time at most, so that a window can be cut out */

/* The first bits of the exchanged words. They are inverted: a cleared one says that there is something. */
enum status_bit { SHUT_DOWN = 0, UNCACHED_WAITING = 1, INVALID_WAITING = 2, STATUS_BITS = 3 };

/* Only Horovod's one thread gets here. */
static struct {
    uint64_t known[MAX_WORDS]; /* tensors of this rank that were seen to be ready and are not yet reduced */
    const void *callers[4];    /* addresses that were found to belong to Horovod */
    uint32_t caller_count;
} horovod;

/* Its libraries are horovod/tensorflow/mpi_lib.*.so and horovod/torch/mpi_lib_v2.*.so. */
static bool is_horovod_library(const char *path)
{
    const char *name = strrchr(path, '/');
    return name && strncmp(name + 1, "mpi_lib", 7) == 0 && strstr(path, "/horovod/");
}

static bool is_horovod_address(const void *caller)
{
    Dl_info info = {0};
    for (uint32_t i = 0; i < horovod.caller_count; i++)
        if (horovod.callers[i] == caller)
            return true;
    if (!dladdr || !dladdr(caller, &info) || !info.dli_fname || !is_horovod_library(info.dli_fname))
        return false;
    if (horovod.caller_count < sizeof horovod.callers / sizeof *horovod.callers)
        horovod.callers[horovod.caller_count++] = caller;
    return true;
}

bool ps_is_horovod_control(ps_word op, const void *caller)
{
    ps_word handle = ps_handle(op);
    return ps_is_recorded() && (handle == ps_abi.op_band || handle == ps_abi.op_bor) && is_horovod_address(caller);
}

static uint32_t count_tensors(const uint64_t *words, uint32_t count)
{
    uint32_t tensors = 0;
    for (uint32_t i = 0; i < count; i++)
        tensors += (uint32_t)__builtin_popcountll(i ? words[i] : words[i] >> STATUS_BITS);
    return tensors;
}

/* Records that tensors of this rank have become ready since the last cycle, or that all ranks agreed on some. */
static void note_readiness(const ps_call *call, const uint64_t *own, const uint64_t *agreed, uint32_t count)
{
    PS_STORES;
    uint64_t fresh[MAX_WORDS];
    bool is_uncached = count && !(own[0] >> UNCACHED_WAITING & 1);
    uint32_t ready = count_tensors(own, count), common = count_tensors(agreed, count);
    for (uint32_t i = 0; i < count; i++) {
        fresh[i] = own[i] & ~horovod.known[i];
        horovod.known[i] = own[i] & ~agreed[i];
    }
    uint32_t arrived = count_tensors(fresh, count) + is_uncached;
    ps_record *record = arrived || common ? ps_claim(PS_DETAIL) : NULL;
    if (!record)
        return;
    *record = (ps_record){.t0_ns = call->t0_ns, .t1_ns = call->t1_ns, .op = is_uncached, .tid = ps_tid(),
                          .comm = ps_comm_index(call->comm), .seq = call->seq, .peer = PS_PEER_NONE, .tag = -1,
                          .sent = arrived, .received = common, .request = ready};
    ps_publish(record, PS_KIND_READINESS);
}

/* A cycle joins the one before when nothing of this thread was recorded between them. */
static void write_cycle(ps_call *call)
{
    PS_STORES;
    ps_record *cycles = ps_self.poll;
    uint64_t spent = call->t1_ns - call->t0_ns;
    if (cycles && cycles->op == call->op && call->t1_ns - cycles->t0_ns <= JOINED_NS) {
        cycles->request++;
        cycles->sent += call->sent;
        cycles->received += spent;
        __atomic_store_n(&cycles->t1_ns, call->t1_ns, __ATOMIC_RELEASE);
        ps_call_count(call);
        return;
    }
    ps_call first = *call;
    first.seq = PS_NO_INDEX;
    first.request = 1;
    ps_call_write(&first);
    if (first.record)
        first.record->received = spent;
    ps_self.poll = first.record;
}

static _Atomic(uint32_t) horovod_tid;

uint32_t ps_horovod_thread(void)
{
    return atomic_load_explicit(&horovod_tid, memory_order_relaxed);
}

int ps_horovod_control(ps_function *real, ps_word send, ps_word receive, ps_word count, ps_word type, ps_word op,
                       ps_word comm)
{
    uint64_t own[MAX_WORDS];
    uint64_t words = ps_count(real, count);
    uint32_t kept = words < MAX_WORDS ? (uint32_t)words : MAX_WORDS;
    bool is_agreement = ps_handle(op) == ps_abi.op_band && ps_type_bytes(type) == sizeof *own;
    ps_call call = PS_NEW_CALL(PS_OP_Horovod_control, ps_comm_of(comm));
    call.seq = ps_next_collective(call.comm);
    call.sent = ps_bytes(words, type);
    if (is_agreement)
        memcpy(own, (const void *)(send == ps_abi.in_place ? receive : send), kept * sizeof *own);
    atomic_store_explicit(&horovod_tid, ps_tid(), memory_order_relaxed);
    ps_self.depth++;
    call.t0_ns = ps_monotonic();
    int result = PS_CALL(real, ps_call_6, send, receive, count, type, op, comm);
    call.t1_ns = ps_monotonic();
    ps_self.depth--;
    if (!ps_recorder.header)
        return result;
    write_cycle(&call);
    if (is_agreement && result == 0)
        note_readiness(&call, own, (const uint64_t *)receive, kept);
    return result;
}
