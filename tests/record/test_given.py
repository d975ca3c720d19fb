"""What ranks give to large collectives of MPI is looked at: whether it is the same on all."""

from pathlib import Path

from perfscope.readers.registry import open_trace
from perfscope.trace.given import given
from tests.findings.analyzed import analyze_trace
from tests.support.environments import Mpi
from tests.support.recording import Recorder

CALLS, VALUES = 100, 1 << 15
KEPT, OWN, TURNS, GATHERED, PLACE, HALF, SPARSE, RANKS = (
    VALUES + (number << 10) for number in range(8)
)
"""By which calls are told apart; the least counts as large."""

PROGRAM = f"""
import numpy
from mpi4py import MPI
world = MPI.COMM_WORLD
half = world.Split(world.rank % 2)
common, own = numpy.random.default_rng(1), numpy.random.default_rng(2 + world.rank)
into = numpy.empty(4 * {HALF})
small, endless = numpy.ones(8), numpy.full({VALUES} + 512, numpy.inf)
for call in range({CALLS}):
    world.Allreduce(common.random({KEPT}), into[:{KEPT}])
    world.Allreduce(own.random({OWN}), into[:{OWN}])
    world.Allreduce(common.random({TURNS}), into[:{TURNS}])
    world.Allreduce(own.random({TURNS}), into[:{TURNS}])
    world.Allgather(common.random({GATHERED}), into[: world.size * {GATHERED}])
    held = common.random({PLACE})
    world.Allreduce(MPI.IN_PLACE, held)
    half.Allreduce(common.random({HALF}) + world.rank % 2, into[:{HALF}])
    world.Allreduce(common.random({SPARSE}) * (world.rank == 1), into[:{SPARSE}])
    world.Allreduce(numpy.full({RANKS}, world.rank + 1.0), into[:{RANKS}])
    world.Allreduce(small, into[:8])
    world.Allreduce(endless, into[: len(endless)])
"""


def test_what_all_ranks_give_is_told_from_what_differs(any_mpi: Mpi, record: Recorder) -> None:
    """Of two lines with as much the one is told from the other; groups only ask their members."""
    done = record(any_mpi.python_command(4, "-c", PROGRAM), variables=any_mpi.variables)
    assert done.exit_code == 0, done.stderr
    rows = [one for one in given(open_trace(done.directory).ranks) if one.rank == 0]
    looks = {(one.operation, one.bytes): one.is_same for one in rows if one.bytes != 8 * TURNS}
    assert looks.pop(("MPI_Allreduce", 8 * VALUES + 4096)) == ()  # one value throughout
    same = [one for one, found in looks.items() if all(found)]
    assert same == [
        ("MPI_Allreduce", 8 * KEPT),
        ("MPI_Allgather", 8 * GATHERED),
        ("MPI_Allreduce", 8 * PLACE),
        ("MPI_Allreduce", 8 * HALF),
    ]
    assert looks.keys() - same == {("MPI_Allreduce", 8 * size) for size in (OWN, SPARSE, RANKS)}
    assert not any(looks["MPI_Allreduce", 8 * OWN])
    assert not any(looks["MPI_Allreduce", 8 * SPARSE])  # zeros on all ranks but one
    assert not any(looks["MPI_Allreduce", 8 * RANKS])  # one value on each, and not the same
    assert all(8 <= len(found) < CALLS / 4 for found in looks.values())
    assert all(one.calls == CALLS for one in rows)
    shared, own = (one.is_same for one in rows if one.bytes == 8 * TURNS)
    assert all(shared)
    assert not any(own)


JOB = """
import numpy
from mpi4py import MPI
world = MPI.COMM_WORLD
common = numpy.random.default_rng(1).random(1 << 21)
own = numpy.random.default_rng(2 + world.rank).random(1 << 19)
into = numpy.empty(len(common))

def agree(value):
    world.Allreduce(value, into)

def add_up(value):
    world.Allreduce(value, into[: len(value)])

def work():
    for step in range(120):
        numpy.negative(common, common)
        agree(common)
        add_up(own)

work()
"""


def test_the_line_that_exchanges_what_all_hold_is_told(
    mpich: Mpi, record: Recorder, tmp_path: Path
) -> None:
    """Another line has as many calls of the same operation, which bring something."""
    job = tmp_path / "job.py"
    job.write_text(JOB, encoding="utf-8")
    done = record(mpich.python_command(2, job), variables=mpich.variables)
    assert done.exit_code == 0, done.stderr
    analyzed = analyze_trace(open_trace(done.directory))
    found = analyzed.findings["identical_exchange"]
    line = JOB.splitlines().index("    world.Allreduce(value, into)") + 1
    # a note where other jobs have the CPUs: its title tells the fault as well
    assert found.title == (
        f"Ranks exchange what all of them hold already, in agree() (job.py:{line})"
    )
    assert [one.line for one in found.where] == [line]
    assert found.ranks == (0, 1)
