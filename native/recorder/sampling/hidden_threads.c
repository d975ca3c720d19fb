#include "sampling/hidden_threads.h"

#include <sys/syscall.h>
#include <unistd.h>

#define MAX_HIDDEN 16u

static _Atomic uint32_t hidden[MAX_HIDDEN];
static _Atomic uint32_t hidden_count;

void ps_hide_thread(uint32_t tid)
{
    uint32_t index = atomic_fetch_add(&hidden_count, 1);
    if (index < MAX_HIDDEN)
        atomic_store(&hidden[index], tid);
}

bool ps_is_hidden_thread(uint32_t tid)
{
    for (uint32_t i = 0; i < MAX_HIDDEN; i++)
        if (atomic_load_explicit(&hidden[i], memory_order_relaxed) == tid)
            return true;
    return false;
}

static bool is_alive(uint32_t tid)
{
    return tid && syscall(SYS_tgkill, getpid(), tid, 0) == 0;
}

uint32_t ps_hidden_threads_alive(void)
{
    uint32_t alive = 0;
    for (uint32_t i = 0; i < MAX_HIDDEN; i++)
        alive += is_alive(atomic_load_explicit(&hidden[i], memory_order_relaxed));
    return alive;
}

void ps_hidden_threads_forget(void)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < MAX_HIDDEN; i++) {
        uint32_t tid = atomic_exchange(&hidden[i], 0);
        if (is_alive(tid)) /* of this process: it has been hidden before there were files */
            atomic_store(&hidden[kept++], tid);
    }
    atomic_store(&hidden_count, kept);
}
