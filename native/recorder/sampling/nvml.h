/* NVIDIA's management library, opened at run time: what it says of the devices. For the GPU thread alone. */
#ifndef PERFSCOPE_NVML_H
#define PERFSCOPE_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PS_NVML_TEXT_BYTES 96
#define PS_NVML_MAX_PROCESSES 256u

/* A GPU, or an instance of one that is divided (MIG). */
typedef struct {
    void *handle; /* of what a program sees as a device: its memory and processes */
    void *board;  /* of the whole GPU: utilization, clocks, power, temperature; the same unless it is divided */
    uint32_t index;
    char uuid[PS_NVML_TEXT_BYTES];
    char board_uuid[PS_NVML_TEXT_BYTES]; /* "" unless it is an instance of a divided GPU */
} ps_nvml_device;

/* What is not known is PS_NVML_UNKNOWN in 32-bit fields and 0 in `memory_used`. */
#define PS_NVML_UNKNOWN UINT32_MAX
#define PS_NVML_THROTTLING_UNKNOWN (1ull << 62)
typedef struct {
    uint64_t memory_used;
    uint64_t throttling; /* bits as NVML numbers its reasons, or PS_NVML_THROTTLING_UNKNOWN */
    uint32_t busy_percent, memory_busy_percent;
    uint32_t sm_mhz, memory_mhz;
    uint32_t power_mw;
    uint32_t celsius;
} ps_nvml_reading;

typedef struct {
    uint32_t pid;
    uint64_t memory_used; /* 0 unknown */
} ps_nvml_process;

/* Loads the library; then asks it for its devices. NULL, or why none can be asked, as part of a sentence. */
const char *ps_nvml_load(const char *path);
const char *ps_nvml_start(void);
uint32_t ps_nvml_devices(ps_nvml_device *devices, uint32_t most);
/* What never changes about a device, as lines of key=value. Returns the bytes. */
size_t ps_nvml_describe(const ps_nvml_device *device, char *text, size_t bytes);
/* False when the device is gone and need not be asked again. */
bool ps_nvml_read(const ps_nvml_device *device, ps_nvml_reading *reading);
/* Fills at most PS_NVML_MAX_PROCESSES. */
uint32_t ps_nvml_processes(const ps_nvml_device *device, ps_nvml_process *processes);

#endif
