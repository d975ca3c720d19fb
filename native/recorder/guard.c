/* Disk space that was obtained can still be refused when a page is written: a file system that copies on write needs
 * new space for it, a failed one turns read-only, and somebody else may shorten the file. The kernel then sends
 * SIGBUS to whichever thread of the job stored a record. That signal alone is caught, and only for addresses of the
 * recorder's own; for all others the job's action applies, which the job sets and reads as if there were no other. */
#include "guard.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

typedef int (*sigaction_function)(int, const struct sigaction *, struct sigaction *);
typedef void (*signal_handler)(int);

/* The C library's own, for programs that are linked without dlsym. */
extern int __sigaction(int, const struct sigaction *, struct sigaction *) __attribute__((weak));

static struct {
    char *mapping;
    size_t bytes;
    const char *path;
    const ps_header *kept;
    void (*on_loss)(void);
    atomic_bool is_lost;
    bool is_installed;
    struct sigaction job; /* what the job wants to happen */
    ps_lock replacing;
    ps_lock changing;
} guard = {.replacing = ATOMIC_FLAG_INIT, .changing = ATOMIC_FLAG_INIT};

static int real_sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    static sigaction_function real;
    if (!real && dlsym)
        *(void **)&real = dlsym(RTLD_NEXT, "sigaction");
    if (!real)
        real = __sigaction;
    if (real)
        return real(number, action, before);
    errno = ENOSYS;
    return -1;
}

/* No signal may arrive while the lock is held: its handler might want to change the action, too. */
static void begin_change(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, before);
    ps_acquire(&guard.changing);
}

static void end_change(const sigset_t *before)
{
    ps_release(&guard.changing);
    sigprocmask(SIG_SETMASK, before, NULL);
}

/* Only calls that may be made in a signal handler; the file's pages are read by the kernel, which sends no signal. */
static bool replace_mapping(void)
{
    void *memory = mmap(NULL, guard.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    int file = open(guard.path, O_RDONLY | O_CLOEXEC);
    bool is_read = file >= 0 && pread(file, memory, sizeof *guard.kept, 0) == (ssize_t)sizeof *guard.kept;
    if (!is_read || memcmp(memory, PS_MAGIC, sizeof guard.kept->magic) != 0)
        memcpy(memory, guard.kept, sizeof *guard.kept);
    if (file >= 0)
        close(file);
    return mremap(memory, guard.bytes, guard.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, guard.mapping) != MAP_FAILED;
}

static bool is_guarded(const siginfo_t *info)
{
    const char *address = info->si_addr;
    return info->si_code > 0 && guard.mapping && address >= guard.mapping && address < guard.mapping + guard.bytes;
}

/* The store is repeated when the handler returns. */
static bool absorb(const siginfo_t *info)
{
    if (!is_guarded(info))
        return false;
    ps_acquire(&guard.replacing);
    if (!atomic_load(&guard.is_lost) && replace_mapping()) {
        atomic_store(&guard.is_lost, true);
        guard.on_loss();
    }
    ps_release(&guard.replacing);
    return atomic_load(&guard.is_lost);
}

static bool is_repeated(const siginfo_t *info)
{
    return info->si_code == BUS_ADRALN || info->si_code == BUS_ADRERR || info->si_code == BUS_OBJERR;
}

/* Ends the process as the kernel would have: by the same signal, and for a fault at the same instruction. */
static void act_by_default(int number, const siginfo_t *info)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    real_sigaction(number, &action, NULL);
    if (!is_repeated(info))
        syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), number);
}

/* Blocks or unblocks SIGBUS for the calling thread, or with neither asks; whether it was blocked. */
static bool change_bus_mask(int how, bool is_question)
{
    uint64_t bus = UINT64_C(1) << (SIGBUS - 1), before = 0;
    syscall(SYS_rt_sigprocmask, how, is_question ? NULL : &bus, &before, sizeof before);
    return before & bus;
}

/* A signal that somebody sent while it was let through only for the recorder's stores: it waits again, as it would
 * have waited if they had not been made. */
static bool postpone(int number, siginfo_t *info, ucontext_t *context)
{
    if (!ps_self.is_bus_lifted || info->si_code > 0)
        return false;
    change_bus_mask(SIG_BLOCK, false);
    sigaddset(&context->uc_sigmask, SIGBUS);
    pid_t thread = (pid_t)syscall(SYS_gettid);
    bool is_threads = info->si_code == SI_TKILL;
    if (is_threads ? syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, number, info) != 0
                   : syscall(SYS_rt_sigqueueinfo, getpid(), number, info) != 0)
        kill(getpid(), number); /* only the first thread may say who sent it */
    return true;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    bool is_done = absorb(info) || postpone(number, info, context);
    errno = saved_errno;
    if (is_done)
        return;
    ps_acquire(&guard.changing);
    struct sigaction action = guard.job;
    if (action.sa_flags & (int)SA_RESETHAND)
        guard.job = (struct sigaction){.sa_handler = SIG_DFL};
    ps_release(&guard.changing);
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(number, info, context);
    else if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN)
        action.sa_handler(number);
    else
        act_by_default(number, info);
}

/* The handler that stands for the job's action, under the job's mask and flags. */
static int install(const struct sigaction *job)
{
    struct sigaction action = *job;
    bool is_handler = (job->sa_flags & SA_SIGINFO) || (job->sa_handler != SIG_DFL && job->sa_handler != SIG_IGN);
    /* A program that replaces the process inherits this one action, so it must be the real one. */
    if (!is_handler && job->sa_handler == SIG_IGN)
        return real_sigaction(SIGBUS, job, NULL);
    if (!is_handler) {
        sigemptyset(&action.sa_mask);
        action.sa_flags = SA_ONSTACK | SA_RESTART;
    }
    action.sa_sigaction = on_signal;
    action.sa_flags = (action.sa_flags | SA_SIGINFO) & ~(int)SA_RESETHAND;
    return real_sigaction(SIGBUS, &action, NULL);
}

static bool is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_signal;
}

PS_EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    if (number != SIGBUS || !guard.is_installed)
        return real_sigaction(number, action, before);
    struct sigaction wanted = action ? *action : (struct sigaction){0}, known;
    sigset_t mask;
    begin_change(&mask);
    int result = real_sigaction(SIGBUS, NULL, &known);
    if (is_ours(&known))
        known = guard.job;
    if (result == 0 && action) {
        guard.job = wanted;
        result = install(&wanted);
    }
    end_change(&mask);
    if (result == 0 && before)
        *before = known;
    return result;
}

PS_EXPORT signal_handler signal(int number, signal_handler handler)
{
    static signal_handler (*real)(int, signal_handler);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, before;
    if (!real && dlsym)
        *(void **)&real = dlsym(RTLD_NEXT, "signal");
    if (real && (number != SIGBUS || !guard.is_installed))
        return real(number, handler);
    if (handler == SIG_ERR || number < 1) {
        errno = EINVAL;
        return SIG_ERR;
    }
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, number);
    return sigaction(number, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
}

/* What a thread blocks changes here, and is asked for before its next record. */
static int change_mask(int how, const sigset_t *wanted, sigset_t *before, bool is_threads)
{
    typedef int (*mask_function)(int, const sigset_t *, sigset_t *);
    static mask_function real[2];
    static const char *const names[2] = {"sigprocmask", "pthread_sigmask"};
    if (!real[is_threads] && dlsym)
        *(void **)&real[is_threads] = dlsym(RTLD_NEXT, names[is_threads]);
    if (wanted)
        ps_self.bus_mask = PS_BUS_UNKNOWN;
    int saved_errno = errno;
    int result = real[is_threads] ? real[is_threads](how, wanted, before)
                                  : (int)syscall(SYS_rt_sigprocmask, how, wanted, before, sizeof(uint64_t));
    if (wanted)
        ps_self.bus_mask = PS_BUS_UNKNOWN; /* again: a handler may have recorded meanwhile */
    if (real[is_threads])
        return result;
    if (!is_threads || result == 0)
        return result;
    int error = errno;
    errno = saved_errno;
    return error;
}

PS_EXPORT int sigprocmask(int how, const sigset_t *wanted, sigset_t *before)
{
    return change_mask(how, wanted, before, false);
}

PS_EXPORT int pthread_sigmask(int how, const sigset_t *wanted, sigset_t *before)
{
    return change_mask(how, wanted, before, true);
}

bool ps_guard_lift(void)
{
    struct sigaction action;
    int saved_errno = errno;
    if (ps_self.bus_mask == PS_BUS_UNKNOWN)
        ps_self.bus_mask = change_bus_mask(SIG_BLOCK, true) ? PS_BUS_BLOCKED : PS_BUS_OPEN;
    /* Where the job's own action stands, the signal must not come. */
    bool is_lifted = ps_self.bus_mask == PS_BUS_BLOCKED && guard.is_installed &&
                     real_sigaction(SIGBUS, NULL, &action) == 0 && is_ours(&action);
    if (is_lifted) {
        ps_self.is_bus_lifted = true;
        ps_self.bus_mask = PS_BUS_OPEN;
        /* sigrelse, siglongjmp and the like are not watched: a thread that unblocked it that way keeps it so. */
        is_lifted = change_bus_mask(SIG_UNBLOCK, false);
        ps_self.is_bus_lifted = is_lifted;
    }
    errno = saved_errno;
    return is_lifted;
}

void ps_guard_shut(void)
{
    int saved_errno = errno;
    change_bus_mask(SIG_BLOCK, false);
    ps_self.bus_mask = PS_BUS_BLOCKED;
    ps_self.is_bus_lifted = false;
    errno = saved_errno;
}

void ps_guard_begin(void *mapping, size_t bytes, const char *path, const ps_header *kept, void (*on_loss)(void))
{
    sigset_t mask;
    guard.bytes = bytes;
    guard.kept = kept;
    guard.path = path;
    guard.on_loss = on_loss;
    guard.mapping = mapping;
    begin_change(&mask);
    guard.is_installed = real_sigaction(SIGBUS, NULL, &guard.job) == 0 && install(&guard.job) == 0;
    end_change(&mask);
}

bool ps_guard_is_lost(void)
{
    return atomic_load_explicit(&guard.is_lost, memory_order_relaxed);
}

void ps_guard_end(void)
{
    guard.mapping = NULL;
    atomic_store(&guard.is_lost, false);
    atomic_flag_clear(&guard.replacing);
}

void ps_set_header_flag(uint32_t flag)
{
    PS_STORES;
    ps_header *header = ps_recorder.header;
    if (header)
        __atomic_fetch_or(&header->flags, flag, __ATOMIC_RELAXED);
}
