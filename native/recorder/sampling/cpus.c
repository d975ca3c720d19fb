#include "sampling/cpus.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sampling/affinity.h"
#include "text.h"

#define STAT_BYTES (96u << 10) /* some 900 CPUs; of later ones nothing is known */
#define NS_PER_S 1000000000ull
#define NS_PER_US 1000ull

enum { USER, NICE, SYSTEM, IDLE, IO_WAIT, INTERRUPT, SOFT_INTERRUPT, STOLEN, FIELDS };

static uint64_t ns_of_ticks(uint64_t ticks)
{
    long hz = sysconf(_SC_CLK_TCK);
    return hz > 0 ? ticks * (NS_PER_S / (uint64_t)hz) : 0;
}

/* Adds a line "cpu3 <ticks by field>" if the process may use that CPU. Guests count as their host process's time. */
static void add(ps_cpu_use *use, const char *line)
{
    const char *next;
    uint64_t cpu = ps_parse_u64(line + strlen("cpu"), &next), ticks[FIELDS];
    if (cpu >= PS_MOST_CPUS || !ps_affinity_has((uint32_t)cpu))
        return;
    for (int field = 0; field < FIELDS; field++)
        ticks[field] = ps_parse_u64(next, &next);
    use->busy_ns += ns_of_ticks(ticks[USER] + ticks[NICE] + ticks[SYSTEM] + ticks[INTERRUPT] + ticks[SOFT_INTERRUPT]);
    use->stolen_ns += ns_of_ticks(ticks[STOLEN]);
    use->cpus++;
}

ps_cpu_use ps_cpus_read(void)
{
    static char text[STAT_BYTES];
    ps_cpu_use use = {0};
    ps_read_file("/proc/stat", text, sizeof text);
    const char *line = strchr(text, '\n'), *end; /* the first one is of all CPUs, and the last may be cut off */
    for (; line && strncmp(line + 1, "cpu", 3) == 0 && (end = strchr(line + 1, '\n')) != NULL; line = end)
        add(&use, line + 1);
    /* some were not reached, or a container counts its CPUs in another way: those seen are not those allowed */
    return use.cpus == ps_affinity_count() ? use : (ps_cpu_use){0};
}

static uint64_t ns_of_time(struct timeval time)
{
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_usec * NS_PER_US;
}

uint64_t ps_cpu_of_ended_children_ns(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_CHILDREN, &usage) != 0)
        return 0;
    return ns_of_time(usage.ru_utime) + ns_of_time(usage.ru_stime);
}

uint64_t ps_cpu_of_process_ns(uint32_t pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    if (ps_read_file(path, text, sizeof text) == 0)
        return 0;
    const char *next = ps_stat_field(text, 11); /* utime, stime, cutime, cstime */
    uint64_t ticks = 0;
    for (int field = 0; field < 4; field++)
        ticks += ps_parse_u64(next, &next);
    return ns_of_ticks(ticks);
}
