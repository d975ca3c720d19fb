"""Large collectives are looked at: whether they bring what their receivers hold already."""

from perfscope.readers.registry import open_trace
from perfscope.trace.received import received_again
from tests.support.environments import Mpi
from tests.support.recording import Recorder

CALLS, VALUES = 100, 1 << 15
SIZE = VALUES * 8
"""The least that counts as large."""

NEW, TURNS, ZEROS, REFUSED = (VALUES + (number << 10) for number in range(1, 5))
"""Hardly more, by which calls are told apart."""

PROGRAM = f"""
import numpy
from mpi4py import MPI
world = MPI.COMM_WORLD
world.Set_errhandler(MPI.ERRORS_RETURN)
kept, new, refused = map(numpy.ones, ({VALUES}, {NEW}, {REFUSED}))
strided = numpy.ones(2 * {VALUES})
large, small = numpy.full((2, {VALUES}), 3.0), numpy.ones(8)
turns = [numpy.ones({TURNS}) for _ in range(4)]
zeros = numpy.zeros({ZEROS})
kept[:] = world.rank + 1
vector = MPI.DOUBLE.Create_vector({VALUES}, 1, 2).Commit()
for call in range({CALLS}):
    world.Bcast(kept)
    new *= -1
    if world.rank:
        new[:] = 7
    world.Bcast(new)
    world.Allgather(kept, large)
    world.Bcast(small)
    world.Bcast([strided, 1, vector])
    for number, one in enumerate(turns):
        one += number > 0 and world.rank == 0
        world.Bcast(one)
    world.Bcast(zeros)
    try:
        world.Bcast(refused, root=99)
    except MPI.Exception:
        pass
assert kept[0] == 1
"""


def test_what_is_there_already_is_told_from_what_is_new(any_mpi: Mpi, record: Recorder) -> None:
    """The first broadcast brings something, as does the first gathering; small ones do not count.

    Of a type that the program has made nobody knows where its values lie; zeros tell nothing, nor
    do calls that fail; of four buffers that take turns one in four brings nothing.
    """
    done = record(any_mpi.python_command(2, "-c", PROGRAM), variables=any_mpi.variables)
    assert done.exit_code == 0, done.stderr
    root, other = (
        {(one.operation, one.bytes): one for one in received_again(rank.metadata)}
        for rank in open_trace(done.directory).ranks
    )
    gathered = root["MPI_Allgather", 2 * SIZE]
    assert (gathered.calls, gathered.same) == (CALLS, gathered.looks - 1)
    kept, new = other["MPI_Bcast", SIZE], other["MPI_Bcast", 8 * NEW]
    assert (kept.calls, kept.same) == (CALLS, kept.looks - 1)
    assert CALLS / 32 < kept.looks < CALLS / 4
    assert (new.calls, new.same) == (CALLS, 0)
    turns = other["MPI_Bcast", 8 * TURNS]
    assert turns.calls == 4 * CALLS
    assert 0.05 < turns.same / turns.looks < 0.5
    assert other["MPI_Bcast", 8 * ZEROS].looks == 0
    assert other["MPI_Bcast", 8 * REFUSED].looks == 0
