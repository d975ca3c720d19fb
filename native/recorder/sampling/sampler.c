#include "sampling/sampler.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "process/address_space.h"
#include "process/cgroup.h"
#include "records/claim.h"
#include "records/drain.h"
#include "records/run_windows.h"
#include "sampling/affinity.h"
#include "sampling/cpus.h"
#include "sampling/gpu.h"
#include "sampling/heap.h"
#include "sampling/hidden_threads.h"
#include "sampling/main_thread.h"
#include "sampling/memory.h"
#include "sampling/threads.h"
#include "text.h"

#define DEFAULT_HZ 10u
#define HIGHEST_HZ 1000u
#define NS_PER_SECOND 1000000000u
/* A scan of all threads may take this part of the time until the next one. */
#define SCAN_BUDGET_DIVISOR 2000u
#define SYSTEM_HZ 2u /* counters that only grow: nothing is lost by reading them less often */
#define STACK_BYTES (512u << 10) /* where the job limits its address space; usual are 8 MiB */
#define NODE_HZ 1u
#define TREE_EVERY_S 2u
#define GPU_DELAY_HZ 2u /* processes that end within half a second never load the driver's library */

typedef struct {
    uint64_t period_ns;
    uint64_t tick;
    uint64_t next_scan_tick;
    uint64_t next_system_tick;
    uint64_t next_node_tick;
    uint64_t next_cpus_tick;
    uint64_t next_tree_tick;
    uint64_t next_heap_tick;
    bool is_gpu_launched;
    uint32_t throttled_ms;
    uint64_t oom_kills;
    uint64_t program_cpu_ns;  /* of all threads but the recorder's own */
    ps_thread_counts threads; /* of the last scan */
} sampler_state;

static atomic_flag is_launched = ATOMIC_FLAG_INIT;

static ps_record *claim_sample(uint16_t sample, uint64_t now_ns)
{
    ps_record *record = ps_claim(PS_CONTEXT);
    if (record) {
        record->t0_ns = record->t1_ns = now_ns;
        record->op = sample;
        record->tid = ps_tid();
        record->seq = PS_NO_INDEX;
        record->peer = PS_PEER_NONE;
        record->tag = -1;
    }
    return record;
}

/* Two clocks are read one after the other: what this thread does between must not make the difference shrink. */
static uint64_t program_cpu_ns(sampler_state *state, uint64_t own_ns)
{
    uint64_t all_ns = ps_clock(CLOCK_PROCESS_CPUTIME_ID);
    if (all_ns > own_ns + state->program_cpu_ns)
        state->program_cpu_ns = all_ns - own_ns;
    return state->program_cpu_ns;
}

static void sample_process(sampler_state *state, uint64_t now_ns)
{
    uint64_t own_ns = ps_clock(CLOCK_THREAD_CPUTIME_ID) + ps_gpu_cpu_ns();
    ps_recorder.header->sampler_cpu_ns = own_ns;
    ps_record *record = claim_sample(PS_SAMPLE_PROCESS, now_ns);
    if (!record)
        return;
    record->comm = PS_NO_INDEX;
    record->sent = ps_memory_resident();
    record->received = program_cpu_ns(state, own_ns);
    record->request = state->threads.queue_ns;
    record->peer = (int32_t)state->threads.threads;
    record->seq = state->threads.blocked;
    record->tag = (int32_t)state->threads.runnable;
    ps_publish(record, PS_KIND_SAMPLE);
}

static void sample_system(const sampler_state *state, uint64_t now_ns)
{
    char io[512];
    struct rusage all = {0}, own = {0};
    ps_record *record = claim_sample(PS_SAMPLE_SYSTEM, now_ns);
    if (!record)
        return;
    ps_read_file("/proc/self/io", io, sizeof io);
    getrusage(RUSAGE_SELF, &all);
    getrusage(RUSAGE_THREAD, &own);
    record->sent = ps_find_u64(io, "rchar:", 0);
    record->received = ps_find_u64(io, "wchar:", 0);
    record->request = (uint64_t)(all.ru_nvcsw - own.ru_nvcsw);
    record->seq = (uint32_t)(all.ru_nivcsw - own.ru_nivcsw);
    record->comm = (uint32_t)all.ru_majflt;
    record->tag = (int32_t)state->oom_kills;
    ps_publish(record, PS_KIND_SAMPLE);
}

static void sample_node(uint64_t now_ns)
{
    char text[4096];
    ps_record *record = claim_sample(PS_SAMPLE_NODE, now_ns);
    if (!record)
        return;
    ps_read_file("/proc/meminfo", text, sizeof text);
    record->comm = PS_NO_INDEX;
    record->sent = ps_find_u64(text, "MemAvailable:", 0) * 1024;
    record->received = ps_find_u64(text, "MemTotal:", 0) * 1024;
    record->request = ps_cgroup_memory_used();
    /* "0.20 0.18 0.12 1/80 11206": the fourth field is runnable tasks / tasks. We are one of them. */
    ps_read_file("/proc/loadavg", text, sizeof text);
    uint64_t runnable = ps_parse_u64(ps_field(text, 3), NULL);
    record->peer = runnable ? (int32_t)(runnable - 1) : 0;
    ps_publish(record, PS_KIND_SAMPLE);
}

static uint64_t ticks_between(const sampler_state *state, uint32_t hz)
{
    uint64_t ticks = NS_PER_SECOND / hz / state->period_ns;
    return ticks ? ticks : 1;
}

/* What the CPUs did, and how much of that for this process and its descendants. */
static void sample_cpus(sampler_state *state, uint64_t now_ns)
{
    if (state->tick < state->next_cpus_tick)
        return;
    uint64_t before = ps_clock(CLOCK_THREAD_CPUTIME_ID);
    ps_cpu_use use = ps_cpus_read();
    uint64_t descendants_ns = use.cpus ? ps_cpu_of_descendants_ns() : 0;
    uint64_t cost_ns = ps_clock(CLOCK_THREAD_CPUTIME_ID) - before;
    state->next_cpus_tick = state->tick + ticks_between(state, 1) * TREE_EVERY_S +
                            cost_ns * SCAN_BUDGET_DIVISOR / state->period_ns;
    ps_record *record = use.cpus ? claim_sample(PS_SAMPLE_CPUS, now_ns) : NULL;
    if (!record)
        return;
    record->comm = ps_affinity_changes();
    record->sent = use.busy_ns;
    record->received = use.stolen_ns;
    record->request = state->program_cpu_ns + ps_recorder.header->sampler_cpu_ns + descendants_ns +
                      ps_cpu_of_ended_children_ns();
    record->peer = (int32_t)use.cpus;
    ps_publish(record, PS_KIND_SAMPLE);
}

/* Proportional memory is summed over all pages by the kernel: the more there is, the less often it is read. */
static void sample_tree(sampler_state *state, uint64_t now_ns)
{
    if (state->tick < state->next_tree_tick)
        return;
    uint64_t before = ps_clock(CLOCK_THREAD_CPUTIME_ID);
    ps_tree_memory memory = ps_memory_tree();
    uint64_t cost_ns = ps_clock(CLOCK_THREAD_CPUTIME_ID) - before;
    state->next_tree_tick = state->tick + ticks_between(state, 1) * TREE_EVERY_S +
                            cost_ns * SCAN_BUDGET_DIVISOR / state->period_ns;
    ps_record *record = memory.own_bytes ? claim_sample(PS_SAMPLE_TREE, now_ns) : NULL;
    if (!record)
        return;
    record->comm = PS_NO_INDEX;
    record->sent = memory.own_bytes;
    record->received = memory.descendants_bytes;
    record->request = memory.descendants;
    ps_publish(record, PS_KIND_SAMPLE);
}

static void sample_main_thread(const sampler_state *state, uint64_t now_ns)
{
    ps_main_thread now;
    if (!ps_read_main_thread(&now))
        return;
    ps_record *record = claim_sample(PS_SAMPLE_MAIN, now_ns);
    if (!record)
        return;
    record->tid = now.tid;
    record->sent = now.cpu_ns;
    record->received = now.queue_ns;
    record->request = now.kernel_ns;
    record->comm = now.minor_faults;
    record->seq = state->throttled_ms;
    ps_publish(record, PS_KIND_SAMPLE);
}

/* malloc walks what it has free, and its lock is held meanwhile: the more that is, the less often it is asked. */
static void sample_heap(sampler_state *state, uint64_t now_ns)
{
    if (state->tick < state->next_heap_tick)
        return;
    uint64_t before = ps_clock(CLOCK_THREAD_CPUTIME_ID);
    ps_heap heap = ps_read_heap();
    uint64_t cost_ns = ps_clock(CLOCK_THREAD_CPUTIME_ID) - before;
    state->next_heap_tick = state->tick + ticks_between(state, 1) + cost_ns * SCAN_BUDGET_DIVISOR / state->period_ns;
    ps_record *record = heap.anonymous_bytes ? claim_sample(PS_SAMPLE_HEAP, now_ns) : NULL;
    if (!record)
        return;
    record->sent = heap.allocated_bytes;
    record->received = heap.held_bytes;
    record->request = heap.anonymous_bytes;
    record->comm = heap.file_kib;
    record->seq = heap.shared_kib;
    ps_publish(record, PS_KIND_SAMPLE);
}

/* Scans the threads when it is due, and the less often the dearer it was; the first scan pays for what later ones
 * find in memory, and tells nothing of their cost. */
static void scan(sampler_state *state)
{
    if (state->tick < state->next_scan_tick)
        return;
    bool is_first = state->next_scan_tick == 0;
    uint64_t before = ps_clock(CLOCK_THREAD_CPUTIME_ID);
    state->threads = ps_scan_threads();
    uint64_t cost_ns = ps_clock(CLOCK_THREAD_CPUTIME_ID) - before;
    state->next_scan_tick = state->tick + 1 + (is_first ? 0 : cost_ns * SCAN_BUDGET_DIVISOR / state->period_ns);
}

static void take_samples(sampler_state *state)
{
    scan(state);
    uint64_t now_ns = ps_monotonic();
    ps_recorder.header->alive_ns = now_ns;
    bool is_worker = atomic_load(&ps_recorder.is_worker);
    if (!is_worker && state->tick >= state->next_node_tick) {
        state->oom_kills = ps_oom_kills();
        sample_node(now_ns);
        ps_note_affinity_of_threads();
        state->next_node_tick = state->tick + ticks_between(state, NODE_HZ);
    }
    sample_process(state, now_ns);
    sample_main_thread(state, now_ns);
    if (state->tick >= state->next_system_tick) {
        state->throttled_ms = ps_cgroup_throttled_ms();
        sample_system(state, now_ns);
        state->next_system_tick = state->tick + ticks_between(state, SYSTEM_HZ);
    }
    if (!is_worker) {
        sample_cpus(state, now_ns);
        sample_tree(state, now_ns);
        sample_heap(state, now_ns);
    }
    ps_run_window_tick(now_ns);
    ps_claims_maintain();
    ps_drain_maintain(now_ns);
    if (!is_worker && !state->is_gpu_launched && state->tick >= ticks_between(state, GPU_DELAY_HZ)) {
        state->is_gpu_launched = true;
        ps_gpu_launch();
    }
    state->tick++;
}

static void sleep_until(uint64_t time_ns)
{
    struct timespec until = {.tv_sec = (time_t)(time_ns / NS_PER_SECOND), .tv_nsec = (long)(time_ns % NS_PER_SECOND)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

static void *run(void *period)
{
    sampler_state state = {.period_ns = (uint64_t)(uintptr_t)period, .throttled_ms = UINT32_MAX};
    prctl(PR_SET_NAME, "perfscope", 0, 0, 0);
    ps_hide_thread(ps_tid());
    uint64_t next_ns = ps_monotonic();
    while (!atomic_load(&ps_recorder.is_closed)) {
        take_samples(&state);
        next_ns += state.period_ns;
        uint64_t now_ns = ps_monotonic();
        if (next_ns < now_ns)
            next_ns = now_ns + state.period_ns; /* stopped or starved: no burst to catch up */
        sleep_until(next_ns);
    }
    return NULL;
}

void ps_sampler_launch(void)
{
    uint64_t hz = ps_env_u64("PERFSCOPE_SAMPLE_HZ", DEFAULT_HZ);
    if (hz == 0)
        ps_gpu_decline("GPU samples need those of the process, which were switched off (--sample-hz 0)");
    if (hz == 0 || !pthread_create || atomic_flag_test_and_set(&is_launched))
        return;
    hz = hz > HIGHEST_HZ ? HIGHEST_HZ : hz;
    sigset_t all, before;
    pthread_t thread;
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    if (pthread_attr_setstacksize && ps_address_space_free() != UINT64_MAX)
        pthread_attr_setstacksize(&detached, STACK_BYTES);
    /* The thread inherits a mask that blocks everything: no signal of the job is ever handled on it. What it writes
     * itself may be refused, though, and a blocked SIGBUS would end the process. */
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    sigprocmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, &detached, run, (void *)(uintptr_t)(NS_PER_SECOND / hz)) == 0)
        ps_recorder.header->sampler_hz = (uint32_t)hz;
    sigprocmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&detached);
}

void ps_sampler_forget(void)
{
    atomic_flag_clear(&is_launched);
}
