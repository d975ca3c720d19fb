#include "sampling/threads.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampling/affinity.h"
#include "sampling/directory.h"
#include "sampling/hidden_threads.h"
#include "sampling/numbers.h"
#include "secrets.h"
#include "text.h"

#define MAX_KNOWN 16384u
#define BUCKETS 1024u
#define OTHERS (PS_MAX_THREADS - 1) /* the last row gathers the threads that found no row of their own */
#define IDLE_PART 20u /* a thread that used less of the busiest one's CPU time does no work to speak of */
#define LEAST_WORK_NS 100000000u /* as long as a pool's threads look for work when they begin, and longer */
#define NS_PER_SECOND 1000000000u

/* A thread as it was in the last scan, to add only what is new: thread numbers are used again. */
typedef struct known_thread {
    struct known_thread *next;
    uint32_t tid;
    uint32_t row; /* in the header's table */
    uint32_t scan;
    uint64_t cpu_ns, queue_ns;
} known_thread;

typedef struct {
    char name[16];
    bool is_runnable;
    bool is_blocked; /* in uninterruptible sleep: waits for a device */
    uint32_t last_cpu;
    uint64_t cpu_ns, queue_ns;
} thread_reading;

static known_thread *buckets[BUCKETS];
static known_thread *unused; /* of threads that have ended */
static uint32_t rows_used;
static uint32_t scan_number;
static uint64_t queue_total_ns;

static uint64_t ticks_to_ns(uint64_t ticks)
{
    static uint64_t ticks_per_second;
    if (ticks_per_second == 0)
        ticks_per_second = (uint64_t)sysconf(_SC_CLK_TCK);
    return ticks * (NS_PER_SECOND / ticks_per_second);
}

/* Fields of "pid (name) state ...", whose name may hold blanks and brackets. */
static bool parse_stat(const char *text, thread_reading *reading)
{
    const char *open = strchr(text, '(');
    const char *close = strrchr(text, ')');
    if (!open || !close)
        return false;
    size_t length = (size_t)(close - open - 1);
    memset(reading->name, 0, sizeof reading->name);
    memcpy(reading->name, open + 1, length < sizeof reading->name ? length : sizeof reading->name - 1);
    ps_redact(reading->name, sizeof reading->name);
    const char *fields = close + 1;
    reading->is_runnable = *ps_field(fields, 0) == 'R';
    reading->is_blocked = *ps_field(fields, 0) == 'D';
    reading->cpu_ns = ticks_to_ns(ps_parse_u64(ps_field(fields, 11), NULL) + ps_parse_u64(ps_field(fields, 12), NULL));
    reading->last_cpu = (uint32_t)ps_parse_u64(ps_field(fields, 36), NULL);
    return true;
}

static bool read_thread(uint32_t listed, thread_reading *reading)
{
    char text[1024];
    const char *rest;
    reading->queue_ns = 0;
    if (!ps_read_of_thread("self", listed, "stat", text, sizeof text) || !parse_stat(text, reading))
        return false;
    if (ps_read_of_thread("self", listed, "schedstat", text, sizeof text)) {
        uint64_t cpu_ns = ps_parse_u64(text, &rest);
        if (cpu_ns) /* 0 where the kernel keeps no such statistics: the ticks of stat stay */
            reading->cpu_ns = cpu_ns;
        reading->queue_ns = ps_parse_u64(rest, NULL);
    }
    return true;
}

/* A free row, else the row of a thread of that name, else the common last one. */
static uint32_t choose_row(const char *name)
{
    const ps_thread *table = ps_recorder.header->threads;
    if (rows_used < OTHERS)
        return rows_used++;
    for (uint32_t row = 0; row < OTHERS; row++)
        if (strncmp(table[row].name, name, sizeof table[row].name) == 0)
            return row;
    return OTHERS;
}

static known_thread *find_known(uint32_t tid)
{
    known_thread *known = buckets[tid % BUCKETS];
    while (known && known->tid != tid)
        known = known->next;
    return known;
}

static known_thread *add_known(uint32_t tid, const thread_reading *reading)
{
    static known_thread pool[MAX_KNOWN]; /* as malloc would be this thread's first: see directory.h */
    static uint32_t taken;
    known_thread *known = unused;
    if (known)
        unused = known->next;
    else if (taken < MAX_KNOWN)
        known = &pool[taken++];
    else
        return NULL;
    *known = (known_thread){.tid = tid};
    known->row = choose_row(reading->name);
    known->next = buckets[tid % BUCKETS];
    buckets[tid % BUCKETS] = known;
    ps_thread *row = &ps_recorder.header->threads[known->row];
    if (row->seen == 0)
        row->tid = known->row == OTHERS ? 0 : tid;
    return known;
}

/* Forgets threads that the last scan did not meet. */
static void drop_ended(void)
{
    for (uint32_t b = 0; b < BUCKETS; b++) {
        known_thread **link = &buckets[b];
        while (*link) {
            known_thread *known = *link;
            if (known->scan == scan_number) {
                link = &known->next;
                continue;
            }
            *link = known->next;
            known->next = unused;
            unused = known;
        }
    }
}

static void account(known_thread *known, const thread_reading *reading)
{
    if (reading->cpu_ns < known->cpu_ns || reading->queue_ns < known->queue_ns)
        known->cpu_ns = known->queue_ns = 0; /* another thread with the number of an ended one */
    ps_thread *row = &ps_recorder.header->threads[known->row];
    uint64_t queued = reading->queue_ns - known->queue_ns;
    row->cpu_ns += reading->cpu_ns - known->cpu_ns;
    row->queue_ns += queued;
    row->last_cpu = reading->last_cpu;
    row->runnable_seen += reading->is_runnable;
    row->seen++;
    /* A thread is often named after it was started. */
    memcpy(row->name, known->row == OTHERS ? "(others)\0\0\0\0\0\0\0" : reading->name, sizeof row->name);
    queue_total_ns += queued;
    known->cpu_ns = reading->cpu_ns;
    known->queue_ns = reading->queue_ns;
    known->scan = scan_number;
}

static void scan_one(const char *name, ps_thread_counts *counts)
{
    thread_reading reading;
    uint32_t listed = (uint32_t)ps_parse_u64(name, NULL);
    uint32_t tid = listed ? ps_own_thread(listed) : 0;
    if (tid == 0 || ps_is_hidden_thread(tid) || !read_thread(listed, &reading))
        return;
    counts->threads++;
    counts->runnable += reading.is_runnable;
    counts->blocked += reading.is_blocked;
    known_thread *known = find_known(tid);
    if (!known)
        known = add_known(tid, &reading);
    if (known)
        account(known, &reading);
}

ps_thread_counts ps_scan_threads(void)
{
    ps_thread_counts counts = {0};
    ps_directory tasks;
    scan_number++;
    if (ps_directory_open(&tasks, "/proc/self/task")) {
        const char *name;
        while ((name = ps_directory_next(&tasks)))
            scan_one(name, &counts);
        ps_directory_close(&tasks);
        drop_ended();
    }
    counts.queue_ns = queue_total_ns;
    return counts;
}

static uint64_t busiest_ns(void)
{
    uint64_t most = 0;
    for (uint32_t b = 0; b < BUCKETS; b++)
        for (const known_thread *known = buckets[b]; known; known = known->next)
            most = known->cpu_ns > most ? known->cpu_ns : most;
    return most;
}

bool ps_allowed_of_threads(unsigned long *cpus, size_t bytes)
{
    static unsigned long one[PS_MOST_CPUS / 8 / sizeof(unsigned long)];
    uint64_t least_ns = busiest_ns() / IDLE_PART;
    least_ns = least_ns > LEAST_WORK_NS ? least_ns : LEAST_WORK_NS;
    bool is_known = false;
    memset(cpus, 0, bytes);
    for (uint32_t b = 0; b < BUCKETS; b++)
        for (const known_thread *known = buckets[b]; known; known = known->next) {
            if (known->cpu_ns < least_ns && known->tid != ps_recorder.header->main_tid)
                continue;
            memset(one, 0, sizeof one);
            if (syscall(SYS_sched_getaffinity, known->tid, bytes < sizeof one ? bytes : sizeof one, one) <= 0)
                continue; /* it has ended */
            is_known = true;
            for (size_t word = 0; word < bytes / sizeof *cpus; word++)
                cpus[word] |= one[word];
        }
    return is_known;
}

void ps_threads_forget(void)
{
    /* Not used again: the sampler may have been moving one when the process was forked. */
    memset(buckets, 0, sizeof buckets);
    unused = NULL;
    rows_used = scan_number = 0;
    queue_total_ns = 0;
}
