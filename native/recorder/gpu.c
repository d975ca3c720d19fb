#include "gpu.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "buffer.h"
#include "definitions.h"
#include "nvml.h"
#include "sampler.h"
#include "text.h"

#define LIBRARY "libnvidia-ml.so.1"
#define DEFAULT_HZ 2u
#define HIGHEST_HZ 20u /* the driver itself measures utilisation at most about that often */
#define NS_PER_SECOND 1000000000u
#define MAX_DEVICES 64u
#define MAX_PROCESSES 64u
/* A round over all devices may take this part of the time until the next one. */
#define ROUND_BUDGET_DIVISOR 200u
#define PROCESS_HZ 1u
#define CLAIM_HZ 1u
#define LOWEST_DESCRIPTOR 200 /* out of the way of programs that count on small numbers */
#define UNKNOWN_PERCENT 255u
#define LEAVE_TRIES 50 /* of 1 ms each, that the end of the process waits for a call that is under way */

typedef struct {
    ps_nvml_device device;
    bool is_mine; /* this process samples it for all processes of the job on this node */
    bool is_lost;
} watched;

static atomic_flag is_launched = ATOMIC_FLAG_INIT;
static _Atomic uint64_t cpu_ns;
static atomic_bool is_leaving, is_inside;
static watched devices[MAX_DEVICES];
static uint32_t device_count;

uint64_t ps_gpu_cpu_ns(void)
{
    return atomic_load_explicit(&cpu_ns, memory_order_relaxed);
}

/* Definition 0 of the devices says why there are none. */
static void tell_reason(const char *why)
{
    char text[256];
    int length = snprintf(text, sizeof text, "reason=%s\n", why);
    ps_define(PS_DEF_DEVICE, 0, text, (uint32_t)length, NULL, 0);
}

/* Equal for the processes of one job on one node, which write into one directory. */
static uint64_t hash_directory(void)
{
    const char *end = strrchr(ps_recorder.base_path, '/');
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *at = ps_recorder.base_path; end && at < end; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
    return hash;
}

/* One process of the job samples a device: the one that has bound a name of it in the kernel's own name space, which
 * ends with the process. Where that cannot be found out, several do, and the reader takes one. */
static bool claim(const ps_nvml_device *device)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int low = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (low < 0)
        return true;
    /* The C library's own fcntl is of a newer version than may be needed. */
    int file = (int)syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, LOWEST_DESCRIPTOR);
    close(low);
    if (file < 0)
        return true;
    int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "perfscope-gpu/%016llx/%.60s",
                          (unsigned long long)hash_directory(), device->uuid);
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    if (bind(file, (struct sockaddr *)&name, bytes) == 0)
        return true; /* the descriptor stays open for the life of the process */
    bool is_taken = errno == EADDRINUSE;
    close(file);
    return !is_taken;
}

static void claim_devices(void)
{
    for (uint32_t i = 0; i < device_count; i++) {
        char text[512];
        if (devices[i].is_mine || !claim(&devices[i].device))
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
    ps_nvml_process found[MAX_PROCESSES];
    uint32_t count = ps_nvml_processes(asked, found, MAX_PROCESSES);
    for (uint32_t i = 0; i < count; i++) {
        ps_record *record = claim_sample(PS_SAMPLE_DEVICE_PROCESS, device, now_ns);
        if (!record)
            return;
        record->seq = found[i].pid;
        record->sent = found[i].memory_used;
        ps_publish(record, PS_KIND_SAMPLE);
    }
}

static void sample_devices(bool with_processes)
{
    for (uint32_t i = 0; i < device_count && !atomic_load(&is_leaving); i++) {
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

/* Runs before the library's own clean-up, as it was registered later: the library is let go of first. */
static void leave(int code, void *unused)
{
    (void)code;
    (void)unused;
    struct timespec pause = {.tv_nsec = 1000000};
    atomic_store(&is_leaving, true);
    for (int i = 0; i < LEAVE_TRIES && getpid() == ps_recorder.pid && atomic_load(&is_inside); i++)
        nanosleep(&pause, NULL);
}

static bool may_go_on(void)
{
    return !atomic_load(&is_leaving) && !atomic_load(&ps_recorder.is_closed);
}

static bool find_devices(void)
{
    static ps_nvml_device found[MAX_DEVICES];
    const char *path = getenv("PERFSCOPE_NVML");
    const char *why = ps_nvml_open(path && *path ? path : LIBRARY);
    on_exit(leave, NULL);
    device_count = why ? 0 : ps_nvml_devices(found, MAX_DEVICES);
    for (uint32_t i = 0; i < device_count; i++)
        devices[i].device = found[i];
    if (device_count == 0)
        tell_reason(why ? why : "the driver shows no device");
    return device_count > 0;
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

static void *run(void *period)
{
    uint64_t period_ns = (uint64_t)(uintptr_t)period;
    uint64_t rounds_per_second = NS_PER_SECOND / period_ns ? NS_PER_SECOND / period_ns : 1;
    bool is_found = false;
    prctl(PR_SET_NAME, "perfscope-gpu", 0, 0, 0);
    ps_sampler_ignore(ps_tid());
    for (uint64_t round = 0; may_go_on(); round++) {
        atomic_store(&is_inside, true);
        if (may_go_on()) {
            is_found = round == 0 ? find_devices() : is_found;
            if (is_found && round % (rounds_per_second / CLAIM_HZ) == 0)
                claim_devices();
            sample_devices(round % (rounds_per_second / PROCESS_HZ) == 0);
        }
        atomic_store(&is_inside, false);
        if (!is_found)
            return NULL;
        uint64_t pause_ns = pause_after(period_ns);
        sleep_for(round == 0 ? period_ns : pause_ns); /* loading the library happens once */
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

void ps_gpu_launch(void)
{
    uint64_t hz = ps_env_u64("PERFSCOPE_GPU_HZ", DEFAULT_HZ);
    pthread_t thread;
    pthread_attr_t detached;
    if (atomic_flag_test_and_set(&is_launched))
        return;
    if (hz == 0) {
        tell_reason("GPU samples were switched off (--gpu-hz 0)");
        return;
    }
    if (!has_driver()) {
        tell_reason("no NVIDIA driver is loaded on this node");
        return;
    }
    hz = hz > HIGHEST_HZ ? HIGHEST_HZ : hz;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    /* Started by the sampler thread, whose mask it inherits: no signal of the job is ever handled on it. */
    if (pthread_create(&thread, &detached, run, (void *)(uintptr_t)(NS_PER_SECOND / hz)) != 0)
        tell_reason("no thread could be made to sample GPUs");
    pthread_attr_destroy(&detached);
}
