/* Calls functions of the stub library and prints ns per call of each: call_cost BURSTS CALLS PAUSE_US.
 *
 * A burst calls each function in turn. With a pause between bursts the recorder's own thread keeps space ready, as in a
 * real program; without one every call pays for its part of the disk space too. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int MPI_Init(int *, char ***);
int MPI_Finalize(void);
int MPI_Barrier(int);
int MPI_Allreduce(const void *, void *, int, int, int, int);
int MPI_Send(const void *, int, int, int, int, int);
int MPI_Recv(void *, int, int, int, int, int, int *);
int MPI_Isend(const void *, int, int, int, int, int, unsigned *);
int MPI_Wait(unsigned *, int *);
int MPI_Test(unsigned *, int *, int *);

enum { WORLD = 0x44000000, DOUBLE = 0x4c00080b, SUM = 0x58000003 };
static int *const ignore_status = (int *)1;
static double a[4], b[4];

static double read_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Processor time of this thread: what other programs of the machine take away is not the recorder's. */
static double cpu_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

enum { CLOCK, BARRIER, ALLREDUCE, SEND, RECV, ISEND_WAIT, TEST, KINDS };
static const char *const names[KINDS] = {
    "clock_gettime", "MPI_Barrier", "MPI_Allreduce", "MPI_Send", "MPI_Recv", "MPI_Isend+MPI_Wait", "MPI_Test",
};
static double spent[KINDS];

#define MEASURE(kind, ...)                                                                                        \
    do {                                                                                                          \
        double before = cpu_ns();                                                                                 \
        for (long i = 0; i < calls; i++) {                                                                        \
            __VA_ARGS__;                                                                                          \
        }                                                                                                         \
        spent[kind] += cpu_ns() - before;                                                                         \
    } while (0)

static void burst(long calls)
{
    unsigned request;
    int flag;
    MEASURE(CLOCK, read_ns(CLOCK_MONOTONIC));
    MEASURE(BARRIER, MPI_Barrier(WORLD));
    MEASURE(ALLREDUCE, MPI_Allreduce(a, b, 1, DOUBLE, SUM, WORLD));
    MEASURE(SEND, MPI_Send(a, 1, DOUBLE, 0, 5, WORLD));
    MEASURE(RECV, MPI_Recv(b, 1, DOUBLE, -2, 5, WORLD, ignore_status));
    MEASURE(ISEND_WAIT, MPI_Isend(a, 1, DOUBLE, 0, 5, WORLD, &request); MPI_Wait(&request, ignore_status));
    MPI_Isend(a, 1, DOUBLE, 0, 5, WORLD, &request);
    MEASURE(TEST, MPI_Test(&request, &flag, ignore_status));
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    long bursts = atol(argv[1]), calls = atol(argv[2]);
    useconds_t pause_us = (useconds_t)atol(argv[3]);
    MPI_Init(NULL, NULL);
    for (long i = 0; i < bursts; i++) {
        burst(calls);
        usleep(pause_us);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        double calls_in_it = kind == ISEND_WAIT ? 2 : 1;
        printf("%s %.3f\n", names[kind], spent[kind] / (double)(bursts * calls) / calls_in_it);
    }
    MPI_Finalize();
    return 0;
}
