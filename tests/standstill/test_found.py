"""Whether a job stood still when it was ended, and which collectives never ended in it."""

import numpy as np
import pytest

from perfscope.schema.enums import EndKind, PhaseKind
from perfscope.standstill.found import LEAST_NS, standstill
from perfscope.standstill.pending import pending_collectives
from perfscope.standstill.ranks import is_asleep, progress_ns, ranks_now
from perfscope.trace.model import Ending, RowFlag, Trace
from perfscope.trace.samples import MAIN_SAMPLE_DTYPE
from tests.support.trace_builder import TraceBuilder

KILLED = Ending(EndKind.KILLED, 15)
LAST_S = 3.0


def stood(*last: str, end_s: float = 60.0, ending: Ending = KILLED) -> Trace:
    """Ranks that came through a barrier at 3 s and then into the call, or "" none, that is last."""
    builder = TraceBuilder(len(last), end_s=end_s)
    builder.set(exit_code=143)
    for number, name in enumerate(last):
        rank = builder.rank(number).init(1.0).op("MPI_Barrier", 2.0, LAST_S)
        if name:
            rank.op(name, LAST_S, end_s, flags=RowFlag.OPEN)
        rank.set(ending=ending)
    return builder.build()


def test_all_in_calls_for_others_is_a_deadlock() -> None:
    found = standstill(stood("MPI_Allreduce", "MPI_Barrier"))
    assert found is not None
    assert (found.is_deadlock, found.since_ns, found.length_ns) == (True, 3 * 10**9, 57 * 10**9)


def test_one_that_works_is_none() -> None:
    found = standstill(stood("MPI_Allreduce", ""))
    assert found is not None
    assert not found.is_deadlock


@pytest.mark.parametrize(
    "trace",
    [
        stood("", ""),
        stood("MPI_Barrier"),
        stood("MPI_Barrier", "MPI_Barrier", end_s=LAST_S + LEAST_NS / 2e9),
        stood("MPI_Barrier", "", ending=Ending(EndKind.FINALIZED, 0)),
    ],
    ids=["all work", "one rank", "short", "ended well"],
)
def test_others_stand_not_still(trace: Trace) -> None:
    assert standstill(trace) is None


def test_looks_whether_something_came_are_no_progress_and_steps_are() -> None:
    builder = TraceBuilder(1, end_s=60.0)
    rank = builder.rank(0).init(1.0).op("MPI_Barrier", 2.0, LAST_S)
    rank.op("MPI_Test", 30.0, 31.0)
    assert progress_ns(builder.build().ranks[0]) == 3 * 10**9
    rank.phase(PhaseKind.TRAIN, 40.0, 41.0)
    assert progress_ns(builder.build().ranks[0]) == 41 * 10**9


def test_pending_collectives_name_who_is_missing() -> None:
    trace = stood("MPI_Allreduce", "", "MPI_Allreduce")
    for rank in trace.ranks:
        rank.ending = Ending(EndKind.UNKNOWN)
    [found] = pending_collectives(trace, 60 * 10**9)
    assert (found.name, found.inside, found.missing) == ("MPI_Allreduce #1", (0, 2), (1,))
    assert found.since_s == pytest.approx(57.0)


def test_who_was_killed_waits_no_longer() -> None:
    trace = stood("MPI_Allreduce", "")
    assert pending_collectives(trace, 60 * 10**9) == []
    [first, _] = ranks_now(trace, 60 * 10**9, np.empty(0, np.int64))
    assert (first.has_ended, first.doing) == (True, "killed (15)")


@pytest.mark.parametrize(("share", "asleep"), [(0.02, True), (0.9, False)])
def test_asleep_is_who_wants_no_cpu(share: float, asleep: bool) -> None:
    [rank] = stood("").ranks
    rows = np.zeros(100, MAIN_SAMPLE_DTYPE)
    rows["t"] = np.linspace(3e9, 60e9, 100)
    rows["cpu_ns"] = rows["t"] * share
    rank.main_samples = rows
    assert is_asleep(rank, 3 * 10**9) is asleep
    assert not is_asleep(rank, 60 * 10**9)  # too few samples since then to tell
