"""Timelines that are cut where Python's garbage collector was heard, of few ranks at once."""

from typing import Any

import numpy as np
import pytest

from perfscope.attribution import timeline
from perfscope.attribution.activity_timeline import GARBAGE, activity_timeline
from perfscope.engine import engine
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Results
from perfscope.replay import layout
from perfscope.replay.program import Program
from perfscope.replay.segments import SegmentReplay
from tests.support.trace_builder import TraceBuilder

RANKS, STEPS, MOST = 4, 30, 16
WORK = (("main", "/job/train.py", 40), ("grow", "/job/train.py", 12))


def results_of(*, heard: tuple[int, ...], sampled: bool = True) -> Results:
    """Ranks of which some collect for 20 ms in the middle of each step of 0.1 s."""
    builder = TraceBuilder(RANKS, end_s=3.0 + 0.1 * STEPS)
    for rank, step, begin in builder.steps(STEPS, 0.1):
        if rank.number in heard:
            rank.collection(begin + 0.02, begin + 0.04)
        for tick in (0, 1, 5, 7) if sampled else ():
            rank.stack(begin + 0.01 * tick, WORK)
        rank.op("MPI_Allreduce", begin + 0.09, begin + 0.0999, seq=step)
    return compute(builder.build())


def program_of(results: Results) -> Program:
    found = SegmentReplay(results).program
    assert found is not None
    return found


def columns(program: Program) -> list[list[Any]]:
    work, fixed = program.work, program.fixed
    assert program.begin_ns is not None
    found = program.functions
    every = (work.row, work.account, work.ns, program.phase, program.stack, program.begin_ns.all())
    rest = (fixed.row, fixed.ns, found.of_piece, found.activity)
    return [np.asarray(column).tolist() for column in every + rest]


def test_few_timelines_are_cut_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    results = results_of(heard=(0, 1, 3))
    whole = columns(program_of(results))
    sizes, ranks = [], []

    def heard_of(rank: Any, line: Any, told: Any) -> Any:
        sizes.append(len(line.accounts))
        return activity_timeline(rank, line, told)

    class Engine:
        def __getattr__(self, name: str) -> Any:
            return getattr(engine, name)

        def work_pieces(self, every: Any, *rest: Any) -> Any:
            ranks.append(len(every))
            return engine.work_pieces(every, *rest)

    for module in (layout, timeline):
        monkeypatch.setattr(module, "MOST_AT_ONCE", MOST)
    monkeypatch.setattr(layout, "activity_timeline", heard_of)
    monkeypatch.setattr(layout, "engine", Engine())
    assert columns(program_of(results)) == whole
    assert max(sizes) == MOST
    assert sum(ranks) == RANKS
    assert len(ranks) >= 3


@pytest.mark.parametrize("heard", [(), (2,), (0, 1, 2, 3)])
@pytest.mark.parametrize("sampled", [False, True])
def test_what_is_collected_is_that_of_the_ranks_that_were_heard(
    *, heard: tuple[int, ...], sampled: bool
) -> None:
    program = program_of(results_of(heard=heard, sampled=sampled))
    garbage = program.functions.activity == GARBAGE
    ranks = program.row_rank[program.work.row]
    spent = np.bincount(ranks[garbage], program.work.ns[garbage], RANKS)
    assert spent.tolist() == [STEPS * 20e6 * (rank in heard) for rank in range(RANKS)]
    is_spread = program.functions.activity.strides == (0,)
    assert is_spread == (not heard and not sampled)  # then it takes no memory
