"""Makes calls with handles that are none; says what they return and what the error handlers hear.

The handles are integers, as in MPICH.
"""

import sys

from mpi4py import MPI

heard: dict[str, int] = {"world": 0, "self": 0}


def listen(name: str) -> MPI.Errhandler:
    def count(_handle: MPI.Comm, _code: int) -> None:
        heard[name] += 1

    return MPI.Comm.Create_errhandler(count)


def attempt(name: str, call: object, *arguments: object) -> None:
    """Says how a call ends, and what was heard of it."""
    before = dict(heard)
    try:
        call(*arguments)  # type: ignore[operator]
        outcome = "returned"
    except MPI.Exception as error:
        outcome = MPI.Get_error_string(error.Get_error_class())
    told = {key: heard[key] - before[key] for key in heard}
    sys.stdout.write(f"{name}: {outcome}, heard {told}\n")


MPI.COMM_WORLD.Set_errhandler(listen("world"))
MPI.COMM_SELF.Set_errhandler(listen("self"))
world = MPI.COMM_WORLD
data, other = bytearray(64), bytearray(64)

ended_type = MPI.INT.Create_contiguous(3).Commit()
same_type = MPI.Datatype.fromhandle(ended_type.handle)
request = world.Irecv([other, 2, ended_type], source=0, tag=1)
attempt("send of a made type", world.Send, [data, 2, ended_type], 0, 1)
request.Wait()
ended_type.Free()
attempt("broadcast of an ended type", world.Bcast, [data, 1, same_type])
again = MPI.DOUBLE.Create_contiguous(5).Commit()  # may get the handle of the ended one
request = world.Irecv([other, 1, again], source=0, tag=2)
attempt("send of a new type", world.Send, [data, 1, again], 0, 2)
request.Wait()
again.Free()

none = MPI.Datatype.fromhandle(0x0C000007)
attempt("broadcast of no type", world.Bcast, [data, 1, none])
attempt("send of no type", world.Send, [data, 1, none], 0)

ended = world.Dup()
same = MPI.Intracomm.fromhandle(ended.handle)
ended.Free()
attempt("barrier of an ended communicator", same.Barrier)
attempt("broadcast in an ended communicator", same.Bcast, data)
attempt("send in an ended communicator", same.Send, data, 0)
attempt("barrier of no communicator", MPI.COMM_NULL.Barrier)
attempt("send to nobody", world.Send, data, 99)
attempt("barrier", world.Barrier)
