/* Who this process is, on which host, since when, and with which limits. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cgroup.h"
#include "definitions.h"
#include "process.h"
#include "text.h"

uint64_t ps_start_ticks(void)
{
    char text[1024];
    ps_read_file("/proc/self/stat", text, sizeof text);
    /* The command in field 2 may hold blanks and brackets: count from the last one. */
    const char *behind_command = strrchr(text, ')');
    return behind_command ? ps_parse_u64(ps_field(behind_command + 1, 19), NULL) : 0;
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
    read_both_clocks(header);
    header->alive_ns = header->mono0_ns;
}

static uint32_t count_allowed_cpus(void)
{
    size_t bytes = 128;
    uint32_t count = 0;
    /* The kernel refuses a mask smaller than its own: enlarge until it fits. */
    for (int try = 0; try < 8 && count == 0; try++, bytes *= 4) {
        cpu_set_t *mask = calloc(1, bytes);
        if (mask && sched_getaffinity(0, bytes, mask) == 0)
            count = (uint32_t)CPU_COUNT_S(bytes, mask);
        free(mask);
    }
    return count;
}

/* The affinity of a thread, where it is not the one that was defined last. True when it was. */
static bool define_affinity(const char *path)
{
    static ps_lock lock; /* the sampler and the thread that initializes MPI */
    static char known[1024];
    char status[8192];
    ps_read_file(path, status, sizeof status);
    const char *list = strstr(status, "\nCpus_allowed_list:");
    if (!list)
        return false;
    list = strchr(list, '\t');
    size_t length = list ? strcspn(++list, "\n") : 0;
    if (length == 0 || length >= sizeof known)
        return false;
    ps_acquire(&lock);
    bool is_new = strncmp(known, list, length) != 0 || known[length] != '\0';
    if (is_new) {
        memcpy(known, list, length);
        known[length] = '\0';
        ps_define_text(PS_DEF_AFFINITY, known, (uint32_t)length);
    }
    ps_release(&lock);
    return is_new;
}

void ps_note_affinity(void)
{
    /* As many words as Linux has CPUs at most; what malloc gives would be this thread's first: see directory.h. */
    static unsigned long known[8192 / 8 / sizeof(unsigned long)], now[8192 / 8 / sizeof(unsigned long)];
    char path[64];
    uint32_t tid = ps_recorder.header->main_tid;
    long bytes = syscall(SYS_sched_getaffinity, tid, sizeof now, now);
    if (bytes <= 0 || memcmp(known, now, (size_t)bytes) == 0)
        return;
    memcpy(known, now, (size_t)bytes);
    snprintf(path, sizeof path, "/proc/self/task/%u/status", tid);
    if (!define_affinity(path))
        return;
    uint32_t count = 0;
    for (size_t word = 0; word < (size_t)bytes / sizeof now[0]; word++)
        count += (uint32_t)__builtin_popcountl(now[word]);
    ps_recorder.header->cpus_allowed = count;
}

void ps_note_limits(void)
{
    ps_header *header = ps_recorder.header;
    header->cpus_allowed = count_allowed_cpus();
    header->cgroup_cpu_quota_us = ps_cgroup_cpu_quota_us();
    header->cgroup_memory_limit = ps_cgroup_memory_limit();
    define_affinity("/proc/thread-self/status");
}
