#include "sampling/gpu.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "process/process.h"
#include "records/claim.h"
#include "records/definitions.h"
#include "sampling/gpu_claim.h"
#include "sampling/hidden_threads.h"
#include "sampling/nvml.h"
#include "text.h"

#define LIBRARY "libnvidia-ml.so.1"
#define DEFAULT_HZ 2u
#define HIGHEST_HZ 20u /* the driver itself measures utilization at most about that often */
#define NS_PER_SECOND 1000000000u
#define MAX_DEVICES 64u
/* A round over all devices may take this part of the time until the next one. */
#define ROUND_BUDGET_DIVISOR 200u
#define PROCESS_HZ 1u
#define CLAIM_HZ 1u
#define UNKNOWN_PERCENT 255u
/* Of 1 ms each, that the end of the process, and that a fork, waits for a call that is under way. A library whose
 * destructors run below a call would crash the job; nvmlInit takes a second or two. */
#define LEAVE_TRIES 2000
#define FORK_TRIES 20
#define RUNTIME_LOOK_NS 1000000000u

typedef struct {
    ps_nvml_device device;
    ps_gpu_claim claim;
    bool is_mine; /* this process samples it for all processes of the job on this node */
    bool is_lost;
} watched;

static atomic_flag is_launched = ATOMIC_FLAG_INIT;
static _Atomic uint64_t cpu_ns;
static atomic_bool is_leaving, is_forking, is_inside;
static watched devices[MAX_DEVICES];
static uint32_t device_count;

uint64_t ps_gpu_cpu_ns(void)
{
    return atomic_load_explicit(&cpu_ns, memory_order_relaxed);
}

/* Definition 0 of the devices says why there are none, and whether there is a driver that may have some. */
static void tell(const char *why, bool may_have_devices)
{
    char text[256];
    int length = snprintf(text, sizeof text, "%sreason=%s\n", may_have_devices ? "driver=1\n" : "", why);
    ps_define(PS_DEF_DEVICE, 0, text, (uint32_t)length, NULL, 0);
}

static void claim_devices(void)
{
    for (uint32_t i = 0; i < device_count; i++) {
        char text[512];
        if (devices[i].is_mine || !ps_gpu_claim_device(devices[i].device.uuid, &devices[i].claim))
            continue;
        devices[i].is_mine = true;
        size_t length = ps_nvml_describe(&devices[i].device, text, sizeof text);
        ps_define(PS_DEF_DEVICE, i + 1, text, (uint32_t)length, NULL, 0);
    }
}

static ps_record *claim_sample(uint16_t sample, uint32_t device, uint64_t now_ns)
{
    ps_record *record = ps_claim(PS_CONTEXT);
    if (record) {
        record->t0_ns = record->t1_ns = now_ns;
        record->op = sample;
        record->tid = ps_tid();
        record->comm = device;
        record->seq = PS_NO_INDEX;
        record->peer = PS_PEER_NONE;
        record->tag = -1;
    }
    return record;
}

static uint32_t percent(uint32_t value)
{
    return value <= 100 ? value : UNKNOWN_PERCENT;
}

static uint64_t megahertz(uint32_t value)
{
    return value == PS_NVML_UNKNOWN ? 0 : value & 0xfffffu;
}

static void write_reading(uint32_t device, const ps_nvml_reading *reading, uint64_t now_ns)
{
    ps_record *record = claim_sample(PS_SAMPLE_DEVICE, device, now_ns);
    if (!record)
        return;
    record->sent = reading->memory_used;
    record->received = reading->throttling;
    record->request = megahertz(reading->sm_mhz) | megahertz(reading->memory_mhz) << 32;
    record->seq = reading->power_mw;
    record->peer = (int32_t)(percent(reading->busy_percent) | percent(reading->memory_busy_percent) << 8);
    record->tag = reading->celsius == PS_NVML_UNKNOWN ? -1 : (int32_t)reading->celsius;
    ps_publish(record, PS_KIND_SAMPLE);
}

static void write_processes(uint32_t device, const ps_nvml_device *asked, uint64_t now_ns)
{
    static ps_nvml_process found[PS_NVML_MAX_PROCESSES]; /* one thread alone is ever here */
    uint32_t count = ps_nvml_processes(asked, found);
    for (uint32_t i = 0; i < count; i++) {
        ps_record *record = claim_sample(PS_SAMPLE_DEVICE_PROCESS, device, now_ns);
        if (!record)
            return;
        record->seq = found[i].pid;
        record->sent = found[i].memory_used;
        ps_publish(record, PS_KIND_SAMPLE);
    }
}

static bool may_go_on(void)
{
    return !atomic_load(&is_leaving) && !atomic_load(&is_forking) && !atomic_load(&ps_recorder.is_closed);
}

static void sample_devices(bool with_processes)
{
    for (uint32_t i = 0; i < device_count && may_go_on(); i++) {
        watched *one = &devices[i];
        ps_nvml_reading reading;
        if (!one->is_mine || one->is_lost)
            continue;
        uint64_t now_ns = ps_monotonic();
        one->is_lost = !ps_nvml_read(&one->device, &reading);
        if (one->is_lost) {
            char text[256];
            int length = snprintf(text, sizeof text, "uuid=%s\nlost_ns=%llu\n", one->device.uuid,
                                  (unsigned long long)now_ns);
            ps_define(PS_DEF_DEVICE, i + 1, text, (uint32_t)length, NULL, 0);
            continue;
        }
        write_reading(i + 1, &reading, now_ns);
        if (with_processes)
            write_processes(i + 1, &one->device, now_ns);
    }
}

/* Whether no call of the driver's library is under way, at the latest after so many milliseconds. */
static bool is_outside_within(int tries)
{
    struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < tries && atomic_load(&is_inside); i++)
        nanosleep(&pause, NULL);
    return !atomic_load(&is_inside);
}

/* Registered after the library's own handlers, it runs before them: nobody is inside when they clean up. Where a call
 * does not return, the process ends here, with its own exit code, as destructors below that call would crash it. */
static void leave(int code, void *unused)
{
    (void)unused;
    if (getpid() != ps_recorder.pid)
        return;
    atomic_store(&is_leaving, true);
    if (is_outside_within(LEAVE_TRIES))
        return;
    fflush(NULL);
    ps_process_end(code);
}

/* A child of fork has the driver's locks as they are now, and nobody who would release them. */
static void before_fork(void)
{
    atomic_store(&is_forking, true);
    is_outside_within(FORK_TRIES);
}

static void after_fork(void)
{
    atomic_store(&is_forking, false);
}

static void in_forked_child(void)
{
    atomic_store(&is_inside, false);
    atomic_store(&is_forking, false);
    for (uint32_t i = 0; i < device_count; i++)
        ps_gpu_drop_claim(&devices[i].claim);
}

static void find_devices(void)
{
    static ps_nvml_device found[MAX_DEVICES];
    const char *path = getenv("PERFSCOPE_NVML");
    on_exit(leave, NULL); /* for an end while the library is being loaded */
    const char *why = ps_nvml_load(path && *path ? path : LIBRARY);
    on_exit(leave, NULL); /* for one behind the handlers of its constructors */
    if (!why && !atomic_load(&is_leaving))
        why = ps_nvml_start();
    on_exit(leave, NULL); /* and behind those that it has registered since */
    uint32_t count = why || atomic_load(&is_leaving) ? 0 : ps_nvml_devices(found, MAX_DEVICES);
    for (uint32_t i = 0; i < count; i++)
        devices[i].device = found[i];
    device_count = count;
    if (!count && !atomic_load(&is_leaving))
        tell(why ? why : "the driver shows no device", true);
}

static void sleep_for(uint64_t ns)
{
    struct timespec pause = {.tv_sec = (time_t)(ns / NS_PER_SECOND), .tv_nsec = (long)(ns % NS_PER_SECOND)};
    while (nanosleep(&pause, &pause) == -1 && errno == EINTR)
        ;
}

/* What the round has cost decides when the next one may be. */
static uint64_t pause_after(uint64_t period_ns)
{
    uint64_t used_ns = ps_clock(CLOCK_THREAD_CPUTIME_ID);
    uint64_t cost_ns = used_ns - atomic_exchange_explicit(&cpu_ns, used_ns, memory_order_relaxed);
    uint64_t least_ns = cost_ns * ROUND_BUDGET_DIVISOR;
    return least_ns > period_ns ? least_ns : period_ns;
}

static int is_runtime(struct dl_phdr_info *image, size_t bytes, void *stand_in)
{
    static const char *const names[] = {"libcuda.so", "libcudart.so", "libtorch_cuda.so"};
    (void)bytes;
    if (!image->dlpi_name)
        return 0;
    if (stand_in)
        return strstr(image->dlpi_name, stand_in) != NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(image->dlpi_name, names[i]))
            return 1;
    return 0;
}

/* A process that has not loaded CUDA uses no GPU: it does not ask a driver either, which may not answer, and whose
 * calls no signal ends. A stand-in is asked at once, unless the test names a library to wait for. */
static bool has_runtime(void)
{
    char *stand_in = getenv("PERFSCOPE_NVML"), *runtime = getenv("PERFSCOPE_GPU_RUNTIME");
    bool is_named = runtime && *runtime;
    if (stand_in && *stand_in && !is_named)
        return true;
    return dl_iterate_phdr(is_runtime, is_named ? runtime : NULL) != 0;
}

static bool is_open(void)
{
    return !atomic_load(&is_leaving) && !atomic_load(&ps_recorder.is_closed);
}

static bool wait_for_runtime(void)
{
    if (has_runtime())
        return true;
    tell("no process of this rank has loaded CUDA", false);
    while (is_open() && !has_runtime())
        sleep_for(RUNTIME_LOOK_NS);
    if (is_open())
        tell("", false);
    return is_open();
}

static void *run(void *period)
{
    uint64_t period_ns = (uint64_t)(uintptr_t)period;
    uint64_t rounds_per_second = NS_PER_SECOND / period_ns ? NS_PER_SECOND / period_ns : 1;
    bool is_asked = false;
    prctl(PR_SET_NAME, "perfscope-gpu", 0, 0, 0);
    ps_hide_thread(ps_tid());
    if (!wait_for_runtime())
        return NULL;
    for (uint64_t round = 0; is_open(); round++) {
        bool is_first = false;
        atomic_store(&is_inside, true);
        if (may_go_on()) {
            is_first = !is_asked;
            is_asked = true;
            if (is_first)
                find_devices();
            if (is_first || round % (rounds_per_second / CLAIM_HZ) == 0)
                claim_devices();
            sample_devices(is_first || round % (rounds_per_second / PROCESS_HZ) == 0);
        }
        atomic_store(&is_inside, false);
        if (is_asked && device_count == 0)
            return NULL;
        uint64_t pause_ns = pause_after(period_ns);
        sleep_for(is_first ? period_ns : pause_ns); /* loading the library happens once */
    }
    return NULL;
}

static bool has_driver(void)
{
    const char *path = getenv("PERFSCOPE_NVML");
    if (path && *path)
        return true;
    return access("/proc/driver/nvidia/version", F_OK) == 0 || access("/dev/nvidiactl", F_OK) == 0 ||
           access("/dev/dxg", F_OK) == 0;
}

void ps_gpu_decline(const char *why)
{
    if (!atomic_flag_test_and_set(&is_launched))
        tell(why, has_driver());
}

void ps_gpu_launch(void)
{
    uint64_t hz = ps_env_u64("PERFSCOPE_GPU_HZ", DEFAULT_HZ);
    pthread_t thread;
    pthread_attr_t detached;
    if (atomic_flag_test_and_set(&is_launched))
        return;
    if (hz == 0) {
        tell("GPU samples were switched off (--gpu-hz 0)", has_driver());
        return;
    }
    if (!has_driver()) {
        tell("no NVIDIA driver is loaded on this node", false);
        return;
    }
    hz = hz > HIGHEST_HZ ? HIGHEST_HZ : hz;
    pthread_atfork(before_fork, after_fork, in_forked_child);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    /* Started by the sampler thread, whose mask it inherits: no signal of the job is ever handled on it. */
    if (pthread_create(&thread, &detached, run, (void *)(uintptr_t)(NS_PER_SECOND / hz)) != 0)
        tell("no thread could be made to sample GPUs", true);
    pthread_attr_destroy(&detached);
}
