#include "sampling/memory.h"

#include <stdio.h>
#include <unistd.h>

#include "records/claim.h"
#include "sampling/cpus.h"
#include "sampling/directory.h"
#include "sampling/numbers.h"
#include "text.h"

#define MAX_PROCESSES 256u /* descendants that are looked at */
#define MAX_THREADS_ASKED 4096u
/* The kernel walks all pages of a process, about 15 ms a GiB, and holds the map of its memory meanwhile: mmap and
   munmap of its threads wait for that. */
#define MAX_WALKED_BYTES (2ull << 30)

static uint64_t statm_bytes(unsigned field)
{
    char text[256];
    ps_read_file("/proc/self/statm", text, sizeof text);
    return ps_parse_u64(ps_field(text, field), NULL) * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t ps_memory_resident(void)
{
    uint64_t all = statm_bytes(1), recording = ps_claims_resident();
    return all > recording ? all - recording : all;
}

uint64_t ps_memory_private(void)
{
    char text[256];
    ps_read_file("/proc/self/statm", text, sizeof text);
    uint64_t all = ps_parse_u64(ps_field(text, 1), NULL), shared = ps_parse_u64(ps_field(text, 2), NULL);
    return (all > shared ? all - shared : 0) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Of a large process all but what it shares by files or shared memory. 0 where the kernel has no such file (before
   Linux 4.14) or the process has gone or is another user's. */
static uint64_t proportional_bytes(uint32_t pid)
{
    char path[64], text[2048];
    snprintf(path, sizeof path, "/proc/%u/statm", pid);
    if (ps_read_file(path, text, sizeof text) == 0)
        return 0;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t resident = ps_parse_u64(ps_field(text, 1), NULL) * page, shared = ps_parse_u64(ps_field(text, 2), NULL) * page;
    if (resident > MAX_WALKED_BYTES)
        return resident > shared ? resident - shared : 0;
    snprintf(path, sizeof path, "/proc/%u/smaps_rollup", pid);
    if (ps_read_file(path, text, sizeof text) == 0)
        return 0;
    return ps_find_u64(text, "Pss:", 0) * 1024;
}

/* Appends the children that the threads of a process started; the kernel may have no such list. */
static uint32_t add_children(uint32_t pid, uint32_t *pids, uint32_t count)
{
    char process[16], path[32], text[4096];
    snprintf(process, sizeof process, "%u", pid);
    snprintf(path, sizeof path, "/proc/%s/task", process);
    ps_directory threads;
    if (!ps_directory_open(&threads, path))
        return count;
    const char *name;
    for (uint32_t asked = 0; asked < MAX_THREADS_ASKED && (name = ps_directory_next(&threads)) != NULL; asked++) {
        uint64_t tid = ps_parse_u64(name, NULL);
        if (tid == 0)
            continue;
        ps_read_of_thread(process, (uint32_t)tid, "children", text, sizeof text);
        const char *next = text;
        for (uint64_t child = ps_parse_u64(next, &next); child && count < MAX_PROCESSES;
             child = ps_parse_u64(next, &next))
            pids[count++] = (uint32_t)child;
    }
    ps_directory_close(&threads);
    return count;
}

/* The processes that descend from one. */
static uint32_t descendants_of(uint32_t pid, uint32_t *pids)
{
    uint32_t count = add_children(pid, pids, 0);
    for (uint32_t i = 0; i < count; i++)
        count = add_children(pids[i], pids, count);
    return count;
}

uint64_t ps_cpu_of_descendants_ns(void)
{
    uint32_t pids[MAX_PROCESSES], count = descendants_of(ps_listed_process(), pids);
    uint64_t used_ns = 0;
    for (uint32_t i = 0; i < count; i++)
        used_ns += ps_cpu_of_process_ns(pids[i]);
    return used_ns;
}

ps_tree_memory ps_memory_tree(void)
{
    uint32_t pids[MAX_PROCESSES];
    uint32_t own = ps_listed_process();
    ps_tree_memory memory = {.own_bytes = proportional_bytes(own)};
    uint64_t recording = ps_claims_resident();
    if (memory.own_bytes > recording)
        memory.own_bytes -= recording;
    uint32_t count = descendants_of(own, pids);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t bytes = proportional_bytes(pids[i]);
        memory.descendants_bytes += bytes;
        memory.descendants += bytes > 0;
    }
    return memory;
}
