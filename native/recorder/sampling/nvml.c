#include "sampling/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

/* Numbers of NVML's interface, which never change. */
enum { OK = 0, GPU_IS_LOST = 15, RESET_REQUIRED = 16 };
enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, TEMPERATURE_GPU = 0 };
/* Drivers 535.43 to 535.86 write 32 bytes for each process of the newest list instead of 24: there must be room. */
#define LARGEST_PROCESS_BYTES 32u

typedef struct {
    unsigned long long total, free, used;
} memory_info;
typedef struct {
    unsigned int gpu, memory;
} utilization_info;
typedef struct {
    unsigned int pid;
    unsigned long long memory;
} process_info_1;
typedef struct {
    unsigned int pid;
    unsigned long long memory;
    unsigned int gpu_instance, compute_instance;
} process_info_2;

/* NULL where the driver is too old to have the function. */
static struct {
    int (*init)(void);
    const char *(*error_string)(int);
    int (*driver_version)(char *, unsigned int);
    int (*count)(unsigned int *);
    int (*handle)(unsigned int, void **);
    int (*uuid)(void *, char *, unsigned int);
    int (*name)(void *, char *, unsigned int);
    int (*capability)(void *, int *, int *);
    int (*memory)(void *, memory_info *);
    int (*utilization)(void *, utilization_info *);
    int (*clock)(void *, int, unsigned int *);
    int (*max_clock)(void *, int, unsigned int *);
    int (*power)(void *, unsigned int *);
    int (*power_limit)(void *, unsigned int *);
    int (*temperature)(void *, int, unsigned int *);
    int (*throttling)(void *, unsigned long long *);
    int (*processes_2)(void *, unsigned int *, process_info_2 *);
    int (*processes_1)(void *, unsigned int *, process_info_1 *);
    int (*mig_mode)(void *, unsigned int *, unsigned int *);
    int (*mig_count)(void *, unsigned int *);
    int (*mig_handle)(void *, unsigned int, void **);
} nvml;

/* Assigns a symbol's address without the cast between data and function pointers that ISO C forbids. */
static void find(void *library, void *function, const char *name, const char *older)
{
    void *found = dlsym(library, name);
    if (!found && older)
        found = dlsym(library, older);
    *(void **)function = found;
}

static void find_all(void *library)
{
    find(library, &nvml.init, "nvmlInit_v2", "nvmlInit");
    find(library, &nvml.error_string, "nvmlErrorString", NULL);
    find(library, &nvml.driver_version, "nvmlSystemGetDriverVersion", NULL);
    find(library, &nvml.count, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount");
    find(library, &nvml.handle, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex");
    find(library, &nvml.uuid, "nvmlDeviceGetUUID", NULL);
    find(library, &nvml.name, "nvmlDeviceGetName", NULL);
    find(library, &nvml.capability, "nvmlDeviceGetCudaComputeCapability", NULL);
    find(library, &nvml.memory, "nvmlDeviceGetMemoryInfo", NULL);
    find(library, &nvml.utilization, "nvmlDeviceGetUtilizationRates", NULL);
    find(library, &nvml.clock, "nvmlDeviceGetClockInfo", NULL);
    find(library, &nvml.max_clock, "nvmlDeviceGetMaxClockInfo", NULL);
    find(library, &nvml.power, "nvmlDeviceGetPowerUsage", NULL);
    find(library, &nvml.power_limit, "nvmlDeviceGetEnforcedPowerLimit", NULL);
    find(library, &nvml.temperature, "nvmlDeviceGetTemperature", NULL);
    find(library, &nvml.throttling, "nvmlDeviceGetCurrentClocksEventReasons",
         "nvmlDeviceGetCurrentClocksThrottleReasons");
    find(library, &nvml.processes_2, "nvmlDeviceGetComputeRunningProcesses_v2",
         "nvmlDeviceGetComputeRunningProcesses_v3");
    find(library, &nvml.processes_1, "nvmlDeviceGetComputeRunningProcesses", NULL);
    find(library, &nvml.mig_mode, "nvmlDeviceGetMigMode", NULL);
    find(library, &nvml.mig_count, "nvmlDeviceGetMaxMigDeviceCount", NULL);
    find(library, &nvml.mig_handle, "nvmlDeviceGetMigDeviceHandleByIndex", NULL);
}

const char *ps_nvml_load(const char *path)
{
    if (!dlopen || !dlsym)
        return "the program cannot load libraries";
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return "the driver's library libnvidia-ml.so.1 cannot be loaded";
    find_all(library);
    if (!nvml.init || !nvml.count || !nvml.handle || !nvml.uuid)
        return "the driver's library is too old";
    return NULL;
}

const char *ps_nvml_start(void)
{
    static char reason[160];
    int result = nvml.init();
    if (result == OK)
        return NULL;
    const char *text = nvml.error_string ? nvml.error_string(result) : NULL;
    snprintf(reason, sizeof reason, "the driver does not answer (NVML error %d%s%.80s)", result, text ? ": " : "",
             text ? text : "");
    return reason;
}

static bool identify(ps_nvml_device *device)
{
    return nvml.uuid(device->handle, device->uuid, sizeof device->uuid) == OK && device->uuid[0];
}

/* The instances of a divided GPU, which programs see instead of it. */
static uint32_t add_instances(const ps_nvml_device *board, ps_nvml_device *devices, uint32_t most)
{
    unsigned int slots = 0;
    uint32_t found = 0;
    if (!nvml.mig_handle || !nvml.mig_count || nvml.mig_count(board->handle, &slots) != OK)
        return 0;
    for (unsigned int slot = 0; slot < slots && found < most; slot++) {
        ps_nvml_device instance = {.board = board->handle, .index = board->index};
        ps_copy_text(instance.board_uuid, sizeof instance.board_uuid, board->uuid);
        if (nvml.mig_handle(board->handle, slot, &instance.handle) == OK && identify(&instance))
            devices[found++] = instance;
    }
    return found;
}

uint32_t ps_nvml_devices(ps_nvml_device *devices, uint32_t most)
{
    unsigned int count = 0;
    uint32_t found = 0;
    if (nvml.count(&count) != OK)
        return 0;
    for (unsigned int index = 0; index < count && found < most; index++) {
        unsigned int is_divided = 0, pending = 0;
        ps_nvml_device device = {.index = index};
        if (nvml.handle(index, &device.handle) != OK || !identify(&device))
            continue;
        device.board = device.handle;
        if (nvml.mig_mode && nvml.mig_mode(device.handle, &is_divided, &pending) == OK && is_divided == 1)
            found += add_instances(&device, devices + found, most - found);
        else
            devices[found++] = device;
    }
    return found;
}

typedef struct {
    char *text;
    size_t bytes, used;
} lines;

static void add_text(lines *out, const char *key, const char *value)
{
    int length = snprintf(out->text + out->used, out->bytes - out->used, "%s=%s\n", key, value);
    if (length > 0 && (size_t)length < out->bytes - out->used)
        out->used += (size_t)length;
}

static void add_number(lines *out, const char *key, unsigned long long value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", value);
    add_text(out, key, text);
}

size_t ps_nvml_describe(const ps_nvml_device *device, char *text, size_t bytes)
{
    lines out = {.text = text, .bytes = bytes};
    char value[PS_NVML_TEXT_BYTES] = "";
    int major = 0, minor = 0;
    unsigned int number = 0;
    memory_info memory = {0};
    add_text(&out, "uuid", device->uuid);
    add_number(&out, "index", device->index);
    if (device->board_uuid[0])
        add_text(&out, "board", device->board_uuid);
    if (nvml.name && nvml.name(device->handle, value, sizeof value) == OK)
        add_text(&out, "name", value);
    if (nvml.driver_version && nvml.driver_version(value, sizeof value) == OK)
        add_text(&out, "driver", value);
    if (nvml.capability && nvml.capability(device->board, &major, &minor) == OK) {
        snprintf(value, sizeof value, "%d.%d", major, minor);
        add_text(&out, "capability", value);
    }
    if (nvml.memory && nvml.memory(device->handle, &memory) == OK)
        add_number(&out, "memory_bytes", memory.total);
    if (nvml.max_clock && nvml.max_clock(device->board, CLOCK_SM, &number) == OK)
        add_number(&out, "sm_mhz", number);
    if (nvml.power_limit && nvml.power_limit(device->board, &number) == OK)
        add_number(&out, "power_mw", number);
    return out.used;
}

/* Whether a call succeeded; a device that has gone is remembered. */
static bool is_told(int result, bool *is_gone)
{
    *is_gone = *is_gone || result == GPU_IS_LOST || result == RESET_REQUIRED;
    return result == OK;
}

bool ps_nvml_read(const ps_nvml_device *device, ps_nvml_reading *reading)
{
    bool is_gone = false;
    memory_info memory = {0};
    utilization_info busy = {0};
    unsigned int number = 0;
    unsigned long long bits = 0;
    *reading = (ps_nvml_reading){
        .busy_percent = PS_NVML_UNKNOWN, .memory_busy_percent = PS_NVML_UNKNOWN, .sm_mhz = PS_NVML_UNKNOWN,
        .memory_mhz = PS_NVML_UNKNOWN,   .power_mw = PS_NVML_UNKNOWN,            .celsius = PS_NVML_UNKNOWN,
        .throttling = PS_NVML_THROTTLING_UNKNOWN};
    if (nvml.memory && is_told(nvml.memory(device->handle, &memory), &is_gone))
        reading->memory_used = memory.used;
    if (nvml.utilization && is_told(nvml.utilization(device->board, &busy), &is_gone)) {
        reading->busy_percent = busy.gpu;
        reading->memory_busy_percent = busy.memory;
    }
    if (nvml.clock && is_told(nvml.clock(device->board, CLOCK_SM, &number), &is_gone))
        reading->sm_mhz = number;
    if (nvml.clock && is_told(nvml.clock(device->board, CLOCK_MEMORY, &number), &is_gone))
        reading->memory_mhz = number;
    if (nvml.power && is_told(nvml.power(device->board, &number), &is_gone))
        reading->power_mw = number;
    if (nvml.temperature && is_told(nvml.temperature(device->board, TEMPERATURE_GPU, &number), &is_gone))
        reading->celsius = number;
    if (nvml.throttling && is_told(nvml.throttling(device->board, &bits), &is_gone))
        reading->throttling = bits;
    return !is_gone;
}

/* All ones, in NVML, where the system does not tell it. */
static uint64_t known_memory(unsigned long long bytes)
{
    return bytes == ~0ull ? 0 : bytes;
}

uint32_t ps_nvml_processes(const ps_nvml_device *device, ps_nvml_process *processes)
{
    static union {
        process_info_1 first[PS_NVML_MAX_PROCESSES];
        process_info_2 second[PS_NVML_MAX_PROCESSES];
        char bytes[PS_NVML_MAX_PROCESSES * LARGEST_PROCESS_BYTES];
    } found;
    unsigned int count = PS_NVML_MAX_PROCESSES;
    int result = nvml.processes_2   ? nvml.processes_2(device->handle, &count, found.second)
                 : nvml.processes_1 ? nvml.processes_1(device->handle, &count, found.first)
                                    : OK + 1;
    if (result != OK)
        return 0;
    count = count < PS_NVML_MAX_PROCESSES ? count : PS_NVML_MAX_PROCESSES;
    for (uint32_t i = 0; i < count; i++) {
        const process_info_2 *second = &found.second[i];
        const process_info_1 *first = &found.first[i];
        processes[i].pid = nvml.processes_2 ? second->pid : first->pid;
        processes[i].memory_used = known_memory(nvml.processes_2 ? second->memory : first->memory);
    }
    return count;
}
