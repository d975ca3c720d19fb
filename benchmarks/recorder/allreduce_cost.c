/* Reductions of 8 bytes over all ranks; rank 0 prints us per call: allreduce_cost CALLS. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    long calls = argc > 1 ? atol(argv[1]) : 20000;
    double in = 1, out = 0;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (long i = 0; i < calls / 10; i++)
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double before = MPI_Wtime();
    for (long i = 0; i < calls; i++)
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double spent = MPI_Wtime() - before;
    if (rank == 0)
        printf("%.4f\n", spent / (double)calls * 1e6);
    MPI_Finalize();
    return 0;
}
