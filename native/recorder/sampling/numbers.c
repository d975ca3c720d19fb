#include "sampling/numbers.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sampling/directory.h"
#include "text.h"

#define NUMBERS_OF_LEVELS "NSpid:"

/* The own number above the listed one: a forked child, which has another one, asks anew. */
static _Atomic uint64_t known_process;
static _Atomic uint64_t known_thread;

static uint64_t pair(uint32_t own, uint32_t listed)
{
    return (uint64_t)own << 32 | listed;
}

uint32_t ps_listed_process(void)
{
    uint32_t own = (uint32_t)getpid();
    uint64_t known = atomic_load_explicit(&known_process, memory_order_relaxed);
    if (known >> 32 == own)
        return (uint32_t)known;
    char link[24];
    ssize_t length = readlink("/proc/self", link, sizeof link - 1);
    link[length > 0 ? length : 0] = '\0';
    uint32_t listed = (uint32_t)ps_parse_u64(link, NULL);
    atomic_store_explicit(&known_process, pair(own, listed), memory_order_relaxed);
    return listed;
}

static bool is_own_proc(void)
{
    return ps_listed_process() == (uint32_t)getpid();
}

uint32_t ps_own_thread(uint32_t listed)
{
    if (is_own_proc())
        return listed;
    char path[48], text[4096];
    snprintf(path, sizeof path, "/proc/self/task/%u/status", listed);
    ps_read_file(path, text, sizeof text);
    const char *number = strstr(text, "\n" NUMBERS_OF_LEVELS);
    if (!number)
        return 0; /* it has gone */
    uint32_t innermost = 0;
    number += 1 + strlen(NUMBERS_OF_LEVELS);
    for (uint64_t next = ps_parse_u64(number, &number); next; next = ps_parse_u64(number, &number))
        innermost = (uint32_t)next;
    return innermost;
}

static uint32_t search(uint32_t tid)
{
    ps_directory tasks;
    uint32_t found = 0;
    if (!ps_directory_open(&tasks, "/proc/self/task"))
        return 0;
    const char *name;
    while (!found && (name = ps_directory_next(&tasks)) != NULL) {
        uint32_t listed = (uint32_t)ps_parse_u64(name, NULL);
        if (listed && ps_own_thread(listed) == tid)
            found = listed;
    }
    ps_directory_close(&tasks);
    return found;
}

uint32_t ps_listed_thread(uint32_t tid)
{
    if (is_own_proc() || tid == (uint32_t)getpid())
        return tid == (uint32_t)getpid() ? ps_listed_process() : tid;
    uint64_t known = atomic_load_explicit(&known_thread, memory_order_relaxed);
    if (known >> 32 == tid)
        return (uint32_t)known;
    uint32_t found = search(tid);
    if (found)
        atomic_store_explicit(&known_thread, pair(tid, found), memory_order_relaxed);
    return found;
}
