"""Large collectives are looked at: whether they bring what their receivers hold already."""

from perfscope.readers.registry import open_trace
from perfscope.trace.received import ReceivedAgain, received_again
from tests.support.environments import Mpi
from tests.support.recording import Recorder

CALLS, VALUES, FIRST, EACH = 80, 1 << 14, 8, 16
SIZE = VALUES * 8
LOOKS = FIRST + len(range(EACH, CALLS, EACH))
PROGRAM = f"""
import numpy
from mpi4py import MPI
world = MPI.COMM_WORLD
kept, new = numpy.empty({VALUES}), numpy.empty(2 * {VALUES})
large, small = numpy.empty((2, {VALUES})), numpy.ones(8)
kept[:] = world.rank == 0
vector = MPI.DOUBLE.Create_vector({VALUES}, 1, 2).Commit()
for call in range({CALLS}):
    world.Bcast(kept)
    new[:] = call + world.rank
    world.Bcast(new)
    world.Allgather(kept, large)
    world.Bcast(small)
    world.Bcast([new, 1, vector])
assert kept[0] == 1 and new[-1] == {CALLS} - 1
"""


def test_what_is_there_already_is_told_from_what_is_new(mpi: Mpi, record: Recorder) -> None:
    """The first broadcast brings something, as does the first gathering; small ones do not count.

    Of a type that the program has made nobody knows where its values lie.
    """
    done = record(mpi.python_command(2, "-c", PROGRAM), variables=mpi.variables)
    assert done.exit_code == 0, done.stderr
    root, other = (set(received_again(r.metadata)) for r in open_trace(done.directory).ranks)
    gathered = ReceivedAgain("MPI_Allgather", 2 * SIZE, LOOKS, LOOKS - 1)
    assert root == {gathered}
    assert other == {
        gathered,
        ReceivedAgain("MPI_Bcast", SIZE, LOOKS, LOOKS - 1),
        ReceivedAgain("MPI_Bcast", 2 * SIZE, LOOKS, 0),
    }
