/* The functions of perfscope_recorder.h: what the Python agent writes. */
#include "perfscope_recorder.h"

#include <string.h>

#include "process/address_space.h"
#include "process/forked.h"
#include "process/process.h"
#include "records/cells.h"
#include "records/claim.h"
#include "records/event.h"
#include "records/intern.h"
#include "records/thinning.h"
#include "records/work_clock.h"
#include "sampling/hidden_threads.h"
#include "sampling/memory.h"
#include "sampling/sampler.h"

#define TOKEN_SLOT_BITS 48u /* above them: which recording the phase is of */
#define NO_SLOT UINT64_MAX

PS_EXPORT int ps_open(void)
{
    return ps_process_open() ? 0 : 1;
}

PS_EXPORT int ps_open_forked(void)
{
    return ps_open_forked_child() ? 0 : 1;
}

PS_EXPORT int ps_open_worker(void)
{
    return ps_open_for_another() ? 0 : 1;
}

PS_EXPORT void ps_is_no_worker(void)
{
    ps_work_for_oneself();
}

PS_EXPORT int ps_is_recording(void)
{
    return ps_is_open();
}

PS_EXPORT const char *ps_base_path(void)
{
    return ps_recorder.base_path;
}

PS_EXPORT uint64_t ps_now(void)
{
    return ps_monotonic();
}

PS_EXPORT uint32_t ps_name(const char *text, uint32_t bytes)
{
    return ps_is_open() ? ps_intern(PS_DEF_NAME, text, bytes) : 0;
}

PS_EXPORT uint32_t ps_stack(const uint32_t *frames, uint32_t count)
{
    return ps_is_open() ? ps_intern(PS_DEF_STACK, frames, count * (uint32_t)sizeof *frames) : 0;
}

/* A phase that was open when the process was forked is its parent's. */
static uint64_t token_of(uint64_t slot)
{
    return ((uint64_t)ps_recorder.recordings << TOKEN_SLOT_BITS) + slot + 1;
}

static uint64_t slot_of(uint64_t token)
{
    bool is_own = token >> TOKEN_SLOT_BITS == ps_recorder.recordings;
    return is_own ? (token & ((UINT64_C(1) << TOKEN_SLOT_BITS) - 1)) - 1 : NO_SLOT;
}

PS_EXPORT uint64_t ps_phase_begin(uint32_t phase, uint32_t name, uint32_t step, int32_t epoch)
{
    ps_record content = {.t0_ns = ps_monotonic(), .op = (uint16_t)phase, .comm = name, .seq = step, .tag = epoch};
    ps_record *record = ps_write_event(PS_KIND_PHASE, &content);
    uint64_t token = record ? token_of((uint64_t)(record - ps_recorder.slots)) : 0;
    if (token)
        ps_phase_enter(token, (uint16_t)phase);
    ps_work_clock(content.t0_ns);
    return token;
}

PS_EXPORT void ps_phase_end(uint64_t token)
{
    PS_STORES;
    uint64_t slot = slot_of(token);
    if (slot == NO_SLOT || !ps_is_open())
        return;
    ps_self.poll = NULL;
    ps_phase_leave(token);
    ps_record *record = &ps_recorder.slots[slot];
    uint64_t t1_ns = ps_monotonic();
    ps_totals_phase(record->op, record->comm, t1_ns - record->t0_ns);
    __atomic_store_n(&record->t1_ns, t1_ns, __ATOMIC_RELEASE);
    ps_work_clock(t1_ns);
}

static void count_phase(const ps_record *phase)
{
    PS_STORES;
    ps_totals_phase(phase->op, phase->comm, phase->t1_ns - phase->t0_ns);
}

PS_EXPORT void ps_phase(uint32_t phase, uint32_t name, uint32_t step, int32_t epoch, uint64_t t0_ns, uint64_t t1_ns)
{
    ps_record content = {.t0_ns = t0_ns, .t1_ns = t1_ns, .op = (uint16_t)phase, .comm = name, .seq = step,
                         .tag = epoch};
    if (ps_is_open())
        count_phase(&content);
    ps_write_event(PS_KIND_PHASE, &content);
}

PS_EXPORT void ps_step(uint32_t step, int32_t epoch, uint64_t samples, uint64_t global_batch, uint64_t t0_ns,
                       uint64_t t1_ns)
{
    ps_record content = {.t0_ns = t0_ns, .t1_ns = t1_ns, .comm = PS_NO_INDEX, .seq = step, .tag = epoch,
                         .sent = samples, .received = global_batch};
    PS_STORES;
    if (!ps_is_open())
        return;
    ps_totals_step(&content);
    ps_thinning_add(step, t1_ns, PS_WINDOW_STEP, ps_write_event(PS_KIND_STEP, &content));
}

PS_EXPORT void ps_metric(uint32_t name, uint32_t step, int32_t epoch, double value)
{
    uint64_t now = ps_monotonic();
    ps_record content = {.t0_ns = now, .t1_ns = now, .comm = name, .seq = step, .tag = epoch};
    memcpy(&content.sent, &value, sizeof value);
    ps_write_event(PS_KIND_METRIC, &content);
}

PS_EXPORT void ps_stack_sample(uint32_t tid, uint32_t stack, uint64_t at_ns)
{
    ps_record content = {.t0_ns = at_ns, .t1_ns = at_ns, .tid = tid, .comm = stack, .seq = PS_NO_INDEX, .tag = -1};
    ps_write_event(PS_KIND_STACK, &content);
}

PS_EXPORT void ps_calls(uint32_t name, uint32_t calls, uint32_t measured, uint32_t compiled, int64_t kept,
                        uint64_t private_now, uint64_t set_up_ns)
{
    uint64_t now = ps_monotonic();
    ps_record content = {.t0_ns = now, .t1_ns = now, .op = PS_SAMPLE_CALLS, .comm = name, .seq = calls,
                         .peer = (int32_t)compiled, .tag = (int32_t)measured, .sent = PS_KEPT_NOTHING + (uint64_t)kept,
                         .received = private_now, .request = set_up_ns};
    ps_write_event(PS_KIND_SAMPLE, &content);
}

PS_EXPORT void ps_python_blocks(uint64_t blocks)
{
    uint64_t now = ps_monotonic();
    ps_record content = {.t0_ns = now, .t1_ns = now, .op = PS_SAMPLE_PYTHON, .comm = PS_NO_INDEX, .seq = PS_NO_INDEX,
                         .peer = PS_PEER_NONE, .tag = -1, .sent = blocks};
    ps_write_event(PS_KIND_SAMPLE, &content);
}

PS_EXPORT uint64_t ps_private_bytes(void)
{
    return ps_memory_private();
}

PS_EXPORT uint64_t ps_address_space_left(void)
{
    return ps_address_space_free();
}

PS_EXPORT void ps_set_rank(int32_t rank, int32_t size)
{
    PS_STORES;
    ps_header *header = ps_recorder.header;
    if (!header || (__atomic_load_n(&header->flags, __ATOMIC_RELAXED) & PS_FLAG_MPI))
        return;
    header->rank = rank;
    header->size = size;
}

PS_EXPORT int ps_run_here(void)
{
    PS_STORES;
    ps_header *header = ps_recorder.header;
    if (!header || (__atomic_load_n(&header->flags, __ATOMIC_RELAXED) & PS_FLAG_MPI))
        return 0;
    header->main_tid = ps_tid();
    return 1;
}

PS_EXPORT void ps_set_flag(uint32_t flag)
{
    ps_set_header_flag(flag);
}

PS_EXPORT void ps_set_detail(uint32_t is_wanted)
{
    ps_claims_pause_detail(is_wanted == 0);
}

PS_EXPORT void ps_sampler_start(void)
{
    if (ps_is_open())
        ps_sampler_launch();
}

PS_EXPORT void ps_ignore_thread(uint32_t tid)
{
    ps_hide_thread(tid);
}
