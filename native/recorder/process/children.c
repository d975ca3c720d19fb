#include "process/children.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/run_directory.h"
#include "records/disk.h"
#include "state.h"

#define MAX_LINES 4096 /* a shell whose tests fail all the time must not fill the disk */

static bool is_noting;
static atomic_int lines;
static struct {
    pid_t (*wait)(int *);
    pid_t (*waitpid)(pid_t, int *, int);
    pid_t (*wait3)(int *, int, struct rusage *);
    pid_t (*wait4)(pid_t, int *, int, struct rusage *);
    int (*waitid)(idtype_t, id_t, siginfo_t *, int);
} real;

/* Assigns a symbol's address without the cast between data and function pointers that ISO C forbids. */
static void find_real(void *function, const char *name)
{
    if (dlsym)
        *(void **)function = dlsym(RTLD_NEXT, name);
}

void ps_children_prepare(bool is_recording)
{
    is_noting = is_recording;
    find_real(&real.wait, "wait");
    find_real(&real.waitpid, "waitpid");
    find_real(&real.wait3, "wait3");
    find_real(&real.wait4, "wait4");
    find_real(&real.waitid, "waitid");
}

static pid_t call_wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
    return real.wait4 ? real.wait4(pid, status, options, usage)
                      : (pid_t)syscall(SYS_wait4, pid, status, options, usage);
}

static void append_line(const char *line, size_t bytes)
{
    char directory[PS_PATH_BYTES - 64];
    char path[PS_PATH_BYTES];
    if (!ps_host_directory(directory, sizeof directory))
        return;
    snprintf(path, sizeof path, "%s/%ld.ends", directory, (long)getpid());
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0)
        return;
    off_t end = lseek(file, 0, SEEK_END);
    if (end >= 0 && ps_disk_may_reach((uint64_t)end + bytes)) {
        ssize_t ignored = write(file, line, bytes);
        (void)ignored;
    }
    close(file);
}

/* Ordinary ends leave nothing, so that shells do not litter the run directory. */
static void note_end(pid_t pid, int status)
{
    bool is_abnormal = WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) != 0);
    if (!is_noting || pid <= 0 || !is_abnormal || atomic_fetch_add(&lines, 1) >= MAX_LINES)
        return;
    int saved_errno = errno;
    char line[96];
    int length = snprintf(line, sizeof line, "%ld 0 %d %llu\n", (long)pid, status,
                          (unsigned long long)ps_monotonic());
    append_line(line, (size_t)length);
    errno = saved_errno;
}

PS_EXPORT pid_t waitpid(pid_t pid, int *status, int options)
{
    int own = 0;
    int *seen = status ? status : &own;
    pid_t child = real.waitpid ? real.waitpid(pid, seen, options) : call_wait4(pid, seen, options, NULL);
    if (child > 0)
        note_end(child, *seen);
    return child;
}

PS_EXPORT pid_t wait(int *status)
{
    int own = 0;
    int *seen = status ? status : &own;
    pid_t child = real.wait ? real.wait(seen) : call_wait4(-1, seen, 0, NULL);
    if (child > 0)
        note_end(child, *seen);
    return child;
}

PS_EXPORT pid_t wait3(int *status, int options, struct rusage *usage)
{
    int own = 0;
    int *seen = status ? status : &own;
    pid_t child = real.wait3 ? real.wait3(seen, options, usage) : call_wait4(-1, seen, options, usage);
    if (child > 0)
        note_end(child, *seen);
    return child;
}

PS_EXPORT pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
    int own = 0;
    int *seen = status ? status : &own;
    pid_t child = call_wait4(pid, seen, options, usage);
    if (child > 0)
        note_end(child, *seen);
    return child;
}

PS_EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    siginfo_t own = {0};
    siginfo_t *seen = info ? info : &own;
    pid_t before = seen->si_pid;
    seen->si_pid = 0;
    int result = real.waitid ? real.waitid(type, id, seen, options)
                             : (int)syscall(SYS_waitid, type, id, seen, options, NULL);
    if (result != 0)
        seen->si_pid = before;
    if (result != 0 || seen->si_pid == 0 || (options & WNOWAIT))
        return result;
    if (seen->si_code == CLD_EXITED)
        note_end(seen->si_pid, (seen->si_status & 0xff) << 8);
    else if (seen->si_code == CLD_KILLED || seen->si_code == CLD_DUMPED)
        note_end(seen->si_pid, seen->si_status | (seen->si_code == CLD_DUMPED ? 0x80 : 0));
    return result;
}
