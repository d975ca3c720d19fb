"""Random valid MPI programs: what they do, as C and as mpi4py, and what a recording must hold."""
