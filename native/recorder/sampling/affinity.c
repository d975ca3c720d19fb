#include "sampling/affinity.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "records/definitions.h"
#include "sampling/threads.h"

#define BITS (8 * sizeof(unsigned long))

typedef struct {
    unsigned long words[PS_MOST_CPUS / BITS];
} cpu_mask;

static bool has(const cpu_mask *mask, uint32_t cpu)
{
    return cpu < PS_MOST_CPUS && (mask->words[cpu / BITS] >> (cpu % BITS) & 1u);
}

/* Writes them as the kernel does, `0-3,8`. Returns the length, 0 where it does not fit or nothing is allowed. */
static size_t as_list(const cpu_mask *mask, char *text, size_t bytes)
{
    size_t length = 0;
    for (uint32_t first = 0; first < PS_MOST_CPUS; first++) {
        if (!has(mask, first))
            continue;
        uint32_t last = first;
        while (has(mask, last + 1))
            last++;
        length += (size_t)snprintf(text + length, bytes - length, last > first ? "%s%u-%u" : "%s%u",
                                   length ? "," : "", first, last);
        if (length >= bytes)
            return 0;
        first = last;
    }
    return length;
}

static uint32_t count(const cpu_mask *mask)
{
    uint32_t found = 0;
    for (size_t word = 0; word < PS_MOST_CPUS / BITS; word++)
        found += (uint32_t)__builtin_popcountl(mask->words[word]);
    return found;
}

static char known[1024]; /* the list that was written last */

static void define(const cpu_mask *mask)
{
    char list[sizeof known];
    size_t length = as_list(mask, list, sizeof list);
    ps_recorder.header->cpus_allowed = count(mask);
    if (length == 0 || strcmp(known, list) == 0)
        return;
    memcpy(known, list, length + 1);
    ps_define_text(PS_DEF_AFFINITY, known, (uint32_t)length);
}

static ps_lock lock = ATOMIC_FLAG_INIT; /* the sampler and the thread that initializes MPI */
static bool is_of_all;

void ps_note_own_affinity(void)
{
    static cpu_mask own;
    ps_acquire(&lock);
    memset(&own, 0, sizeof own);
    if (!is_of_all && syscall(SYS_sched_getaffinity, 0, sizeof own, own.words) > 0)
        define(&own);
    ps_release(&lock);
}

static cpu_mask of_threads; /* the sampler alone */
static uint32_t changes;

void ps_note_affinity_of_threads(void)
{
    static cpu_mask all;
    if (!ps_allowed_of_threads(all.words, sizeof all) || memcmp(&all, &of_threads, sizeof all) == 0)
        return;
    of_threads = all;
    changes++;
    ps_acquire(&lock);
    is_of_all = true;
    define(&all);
    ps_release(&lock);
}

bool ps_affinity_has(uint32_t cpu)
{
    return has(&of_threads, cpu);
}

uint32_t ps_affinity_count(void)
{
    return count(&of_threads);
}

uint32_t ps_affinity_changes(void)
{
    return changes;
}

void ps_affinity_forget(void)
{
    memset(&of_threads, 0, sizeof of_threads);
    known[0] = '\0';
    is_of_all = false;
    atomic_flag_clear(&lock);
}
