#include "sampling/main_thread.h"

#include <sys/resource.h>

#include "frameworks/horovod.h"
#include "sampling/numbers.h"
#include "text.h"

static uint64_t nanoseconds(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

/* Horovod initializes MPI in a thread of its own, which does none of the program's work. */
static uint32_t program_thread(void)
{
    uint32_t tid = ps_recorder.header->main_tid;
    return tid == ps_horovod_thread() ? ps_recorder.header->pid : tid;
}

bool ps_read_main_thread(ps_main_thread *now)
{
    char text[128];
    const char *rest;
    struct rusage all = {0}, own = {0};
    now->tid = program_thread();
    uint32_t listed = ps_listed_thread(now->tid);
    if (listed == 0 || ps_read_of_thread("self", listed, "schedstat", text, sizeof text) == 0)
        return false;
    now->cpu_ns = ps_parse_u64(text, &rest);
    now->queue_ns = ps_parse_u64(rest, NULL);
    getrusage(RUSAGE_SELF, &all);
    getrusage(RUSAGE_THREAD, &own);
    uint64_t kernel_ns = nanoseconds(all.ru_stime), own_ns = nanoseconds(own.ru_stime);
    now->kernel_ns = kernel_ns > own_ns ? kernel_ns - own_ns : 0;
    now->minor_faults = (uint32_t)(all.ru_minflt - own.ru_minflt);
    return now->cpu_ns > 0; /* 0 where no statistics are kept */
}
