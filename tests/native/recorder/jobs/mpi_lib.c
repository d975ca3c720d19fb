/* Stands in for Horovod's library: what calls MPI here is taken for Horovod's thread. */
typedef unsigned long W;
extern int MPI_Allreduce(W, W, W, W, W, W) __attribute__((weak));

int agree(W words, W count, W type, W op, W comm, W in_place)
{
    volatile int result = MPI_Allreduce(in_place, words, count, type, op, comm);
    return result;
}
