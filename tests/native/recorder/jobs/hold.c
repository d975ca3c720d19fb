/* The parent of a vfork sleeps uninterruptibly until its child has ended. */
#include <sys/wait.h>
#include <unistd.h>

int hold(unsigned microseconds)
{
    int status = -1;
    pid_t child = vfork();
    if (child == 0) {
        usleep(microseconds);
        _exit(0);
    }
    return waitpid(child, &status, 0) == child ? status : -1;
}
