/* Who this process is, on which host, since when, and with which limits. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/cgroup.h"
#include "process/process.h"
#include "records/definitions.h"
#include "sampling/affinity.h"
#include "text.h"

uint64_t ps_start_ticks(void)
{
    char text[1024];
    ps_read_file("/proc/self/stat", text, sizeof text);
    return ps_parse_u64(ps_stat_field(text, 19), NULL);
}

static uint64_t read_time_namespace(void)
{
    char link[64];
    ssize_t length = readlink("/proc/self/ns/time", link, sizeof link - 1);
    if (length <= 0)
        return 0;
    link[length] = '\0';
    const char *bracket = strchr(link, '[');
    return bracket ? ps_parse_u64(bracket + 1, NULL) : 0;
}

/* Reads the two clocks as close together as three tries allow. */
static void read_both_clocks(ps_header *header)
{
    uint64_t best = UINT64_MAX;
    for (int try = 0; try < 3; try++) {
        uint64_t before = ps_monotonic();
        uint64_t real = ps_clock(CLOCK_REALTIME);
        uint64_t after = ps_monotonic();
        if (after - before < best) {
            best = after - before;
            header->mono0_ns = before + (after - before) / 2;
            header->real0_ns = real;
        }
    }
}

void ps_fill_identity(ps_header *header)
{
    memcpy(header->magic, PS_MAGIC, sizeof header->magic);
    header->version = PS_FORMAT_VERSION;
    header->header_bytes = PS_HEADER_BYTES;
    header->record_bytes = PS_RECORD_BYTES;
    header->pid = (uint32_t)getpid();
    header->start_ticks = ps_start_ticks();
    header->process_start_ns = ps_recorder.loaded_ns;
    header->time_namespace = read_time_namespace();
    ps_read_file("/proc/sys/kernel/random/boot_id", header->boot_id, 37);
    gethostname(header->host, sizeof header->host - 1);
    header->rank = -1;
    header->size = -1;
    header->main_tid = header->pid;
    header->thinning.is_total_in_cells = 1;
    read_both_clocks(header);
    header->alive_ns = header->mono0_ns;
}

void ps_note_limits(void)
{
    ps_header *header = ps_recorder.header;
    header->cgroup_cpu_quota_us = ps_cgroup_cpu_quota_us();
    header->cgroup_memory_limit = ps_cgroup_memory_limit();
    ps_note_own_affinity();
}
