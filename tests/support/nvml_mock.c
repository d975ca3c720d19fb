/* A stand-in for libnvidia-ml.so.1, as a driver would install it: values that a test knows, and failures on request.
 *
 *   NVML_MOCK_DEVICES      how many GPUs there are (1)
 *   NVML_MOCK_MIG          how many instances GPU 0 is divided into (0: it is not)
 *   NVML_MOCK_INIT         what nvmlInit returns (0)
 *   NVML_MOCK_INIT_MS      how long that takes (0)
 *   NVML_MOCK_READ_MS      how long a reading of its memory holds the library's lock (0)
 *   NVML_MOCK_UNSUPPORTED  1: utilization, power and throttling are not supported
 *   NVML_MOCK_LOST_AFTER   GPU 0 has gone after so many readings of its memory
 *   NVML_MOCK_HANG         1: reading a temperature never returns
 *   NVML_MOCK_USERS        file in which each process adds "pid device", which process lists then show
 *
 * -DOLD_DRIVER leaves out what drivers of before 2020 lack. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST 16
#define GIB (1ull << 30)

typedef struct {
    unsigned int index;
    int instance; /* -1: the whole GPU */
} device;

static device boards[MOST];
static device instances[MOST];
static volatile int *volatile table; /* which the destructor takes away from calls that are under way */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int told(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text && *text ? atoi(text) : otherwise;
}

__attribute__((constructor)) static void on_load(void)
{
    for (unsigned int i = 0; i < MOST; i++) {
        boards[i] = (device){.index = i, .instance = -1};
        instances[i] = (device){.index = 0, .instance = (int)i};
    }
    table = calloc(1, sizeof *table);
}

__attribute__((destructor)) static void on_unload(void)
{
    table = NULL;
    usleep(50000);
}

static void work(int ms)
{
    for (; ms > 0; ms--) {
        usleep(1000);
        table[0]++;
    }
}

int nvmlInit_v2(void)
{
    work(told("NVML_MOCK_INIT_MS", 0));
    return told("NVML_MOCK_INIT", 0);
}

const char *nvmlErrorString(int result)
{
    return result == 18 ? "Driver/library version mismatch" : "Unknown Error";
}

int nvmlDeviceGetCount_v2(unsigned int *count)
{
    *count = (unsigned int)told("NVML_MOCK_DEVICES", 1);
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **handle)
{
    *handle = &boards[index];
    return 0;
}

int nvmlDeviceGetUUID(void *handle, char *uuid, unsigned int bytes)
{
    const device *of = handle;
    if (of->instance >= 0)
        snprintf(uuid, bytes, "MIG-00000000-0000-0000-0000-00000000000%x", (unsigned)of->instance);
    else
        snprintf(uuid, bytes, "GPU-00000000-0000-0000-0000-00000000000%x", of->index);
    return 0;
}

int nvmlDeviceGetName(void *handle, char *name, unsigned int bytes)
{
    (void)handle;
    snprintf(name, bytes, "Mock GPU");
    return 0;
}

int nvmlDeviceGetMemoryInfo(void *handle, unsigned long long *info)
{
    static int readings;
    pthread_mutex_lock(&lock);
    work(told("NVML_MOCK_READ_MS", 0));
    pthread_mutex_unlock(&lock);
    const device *of = handle;
    int last = told("NVML_MOCK_LOST_AFTER", 0);
    if (of->index == 0 && last && ++readings > last + 1) /* the first one only describes it */
        return 15;
    info[0] = 80 * GIB;
    info[2] = (of->index + 1 + (of->instance >= 0 ? 10 + (unsigned)of->instance : 0)) * GIB;
    info[1] = info[0] - info[2];
    return 0;
}

int nvmlDeviceGetUtilizationRates(void *handle, unsigned int *rates)
{
    const device *of = handle;
    if (told("NVML_MOCK_UNSUPPORTED", 0) || of->instance >= 0)
        return 3;
    rates[0] = 40 + of->index;
    rates[1] = 7;
    return 0;
}

int nvmlDeviceGetClockInfo(void *handle, int clock, unsigned int *mhz)
{
    *mhz = clock == 1 ? 1200 + ((device *)handle)->index : 5000;
    return 0;
}

int nvmlDeviceGetMaxClockInfo(void *handle, int clock, unsigned int *mhz)
{
    (void)handle;
    *mhz = clock == 1 ? 1980 : 5001;
    return 0;
}

int nvmlDeviceGetPowerUsage(void *handle, unsigned int *mw)
{
    if (told("NVML_MOCK_UNSUPPORTED", 0))
        return 3;
    *mw = 200000 + ((device *)handle)->index;
    return 0;
}

int nvmlDeviceGetTemperature(void *handle, int sensor, unsigned int *celsius)
{
    while (told("NVML_MOCK_HANG", 0))
        pause();
    *celsius = sensor == 0 ? 50 + ((device *)handle)->index : 0;
    return 0;
}

#ifndef OLD_DRIVER
int nvmlSystemGetDriverVersion(char *version, unsigned int bytes)
{
    snprintf(version, bytes, "999.01");
    return 0;
}

int nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor)
{
    (void)handle;
    *major = 9;
    *minor = 0;
    return 0;
}

int nvmlDeviceGetEnforcedPowerLimit(void *handle, unsigned int *mw)
{
    (void)handle;
    *mw = 700000;
    return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *handle, unsigned long long *reasons)
{
    if (told("NVML_MOCK_UNSUPPORTED", 0))
        return 3;
    *reasons = ((device *)handle)->index == 1 ? 0x40 : 0;
    return 0;
}

int nvmlDeviceGetMigMode(void *handle, unsigned int *current, unsigned int *pending)
{
    *current = *pending = ((device *)handle)->index == 0 && told("NVML_MOCK_MIG", 0) > 0;
    return 0;
}

int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned int *count)
{
    (void)handle;
    *count = 7;
    return 0;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned int slot, void **instance)
{
    (void)handle;
    if ((int)slot >= told("NVML_MOCK_MIG", 0))
        return 6;
    *instance = &instances[slot];
    return 0;
}

typedef struct {
    unsigned int pid;
    unsigned long long memory;
    unsigned int gpu_instance, compute_instance;
} process_info;

/* Drivers 535.43 to 535.86 write their newest entries further apart than is agreed. */
typedef struct {
    process_info told;
    unsigned long long more;
} wide_process_info;

static int list_processes(const device *of, unsigned int *count, process_info *found, wide_process_info *wide)
{
    const char *path = getenv("NVML_MOCK_USERS");
    FILE *file = path && *path ? fopen(path, "re") : NULL;
    unsigned int pid, index, known = 0, room = *count;
    while (file && fscanf(file, "%u %u", &pid, &index) == 2) {
        process_info one = {.pid = pid, .memory = (index + 1) * GIB / 2};
        if (index != of->index)
            continue;
        if (known < room && wide)
            wide[known] = (wide_process_info){.told = one};
        else if (known < room)
            found[known] = one;
        known++;
    }
    if (file)
        fclose(file);
    *count = known;
    return known > room ? 7 : 0;
}

int nvmlDeviceGetComputeRunningProcesses_v2(void *handle, unsigned int *count, process_info *found)
{
    return list_processes(handle, count, found, NULL);
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned int *count, wide_process_info *found)
{
    return list_processes(handle, count, NULL, found);
}
#endif
