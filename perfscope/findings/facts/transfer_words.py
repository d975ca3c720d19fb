"""What to do about data that ranks move, and where the saving of that comes from."""

import numpy as np

FEWER = "Send half as many values: only those that other ranks use"
HALO = " (of a split grid the halo, to its neighbors)"
"""What that is in most programs that compute with MPI."""

NARROWER = ", or float32 instead of float64 (half the bytes, but less accurate)"
NARROWER_TENSORS = (
    ", or bfloat16 instead of float32, float32 instead of float64 (half the bytes, less accurate)"
)
OF_TRANSFER = "That is for half as much transfer"
OF_BYTES = (
    "That is what half as many bytes save of the {} that bytes take, of {} of transfer; in the "
    "rest ranks may wait for CPUs"
)
"""How half of the transfer, or of what bytes take of it, leads to what is saved."""

SINGLE_BYTES = np.dtype(np.float32).itemsize
"""Of a value in single precision, than which MPI adds up nothing narrower that is common."""

MORE_RARELY = (
    "Make half as many calls: put what several of them exchange, one after the other or in several "
    "steps, into one array. So few bytes take next to no time beside the call itself, so that "
    "fewer calls save more. Or start the exchange without waiting (MPI_I...) and complete it where "
    "its result is needed"
)
AS_ONE = "Send what goes to the same rank one after the other as one buffer."
AT_ONCE = (
    "Exchange several as one buffer, where none of them needs what another one brings. Each sends "
    "and receives at once."
)
PICKLED = (
    "Send arrays as they are, with mpi4py's calls with a capital letter ({calls}): what is sent "
    "now are pickled objects."
)
MESSAGES, COLLECTIVES = "Send, Recv, Sendrecv", "Bcast, Allgather, Allreduce"
"""Such calls."""
