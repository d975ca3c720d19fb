#include "state.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

ps_state ps_recorder;
__thread ps_thread_state ps_self __attribute__((tls_model("initial-exec")));

uint32_t ps_read_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

void ps_acquire(ps_lock *lock)
{
    while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire))
        sched_yield();
}

void ps_release(ps_lock *lock)
{
    atomic_flag_clear_explicit(lock, memory_order_release);
}
