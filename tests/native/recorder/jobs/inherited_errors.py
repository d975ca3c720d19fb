"""Uses an ended communicator where MPI_COMM_WORLD alone has an error handler; says what it hears.

The handles are integers, as in MPICH.
"""

import sys

import mpi4py

mpi4py.rc.errors = "default"

from mpi4py import MPI  # noqa: E402

heard: list[bool] = []


def listen(_handle: MPI.Comm, _code: int) -> None:
    heard.append(True)


ended = MPI.COMM_WORLD.Dup()
MPI.COMM_WORLD.Set_errhandler(MPI.Comm.Create_errhandler(listen))
same = MPI.Intracomm.fromhandle(ended.handle)
ended.Free()
try:
    same.Barrier()
except MPI.Exception as error:
    sys.stdout.write(f"{MPI.Get_error_string(error.Get_error_class())}\n")
sys.stdout.write(f"heard {len(heard)}\n")
