/* A C program linked to the MPI library itself, not position-independent: its copies of the library's variables are
 * the ones that count. Ring of messages, a collective, a status that is ignored, then the end asked for. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, provided;
    double out[4] = {0}, in[4] = {0};
    MPI_Request requests[2];
    MPI_Comm half;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Irecv(in, 4, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 3, MPI_DOUBLE, (rank + 1) % size, 9, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(out, 1, MPI_INT, (rank + 1) % size, 3, in, 8, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Allreduce(MPI_IN_PLACE, in, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Barrier(half);
    if (argc > 1 && strcmp(argv[1], "abort") == 0 && rank == 1) {
        MPI_Abort(MPI_COMM_WORLD, 7);
        for (;;) /* MPICH may return from it, and is killed a little later: the other rank waits on */
            pause();
    }
    if (argc > 1 && strcmp(argv[1], "abort") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return argc > 1 ? atoi(argv[1]) : 0;
}
