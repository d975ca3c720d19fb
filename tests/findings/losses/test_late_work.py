"""Ranks that are late are told by what makes them so, where that has a cure of its own."""

from dataclasses import replace

import pytest

from perfscope.attribution.stack_rules import BUILT_IN
from perfscope.findings.core.finding import Finding, Gain
from perfscope.findings.losses.late_work import told_by_their_work
from perfscope.schema.enums import Status
from perfscope.trace.model import Frame, Trace
from tests.findings.analyzed import analyze_trace, faults
from tests.support.trace_builder import TraceBuilder

STEPS = 80
WORK_S = 0.1
LATE_S = 0.04
MAIN = ("main", "/job/train.py", 40)
BATCH = ("mixed", "/job/train.py", 12)
LOAD = ("day", "/job/train.py", 6)
UNPACKING = [MAIN, BATCH, LOAD, ("zlib.decompress", BUILT_IN, 0)]
TAKING = [MAIN, BATCH, ("numpy.take", BUILT_IN, 0)]
COMPUTING = [MAIN, ("numpy.dot", BUILT_IN, 0)]


def run(*, unpacks: int) -> Trace:
    """Two ranks take a batch and compute in each step; rank 1 unpacks it first in all of them.

    Rank 0 takes its batches with the same function, and unpacks in the first `unpacks` steps.
    """
    builder = TraceBuilder(2, end_s=3.0 + (WORK_S + LATE_S) * STEPS)
    ranks = [builder.rank(number).init(1.0) for number in (0, 1)]
    begin = 1.0
    for step in range(STEPS):
        end = begin + WORK_S + LATE_S
        for number, rank in enumerate(ranks):
            late_s = LATE_S if number or step < unpacks else 0.0
            for part in range(round(100 * (late_s + WORK_S))):
                stack = UNPACKING if 0.01 * part < late_s - 0.005 else COMPUTING
                stack = TAKING if 0.01 * part > late_s + WORK_S - 0.025 else stack
                rank.stack(begin + 0.01 * part + 0.005, stack)
            rank.op("MPI_Allreduce", begin + late_s + WORK_S, end, seq=step)
            rank.step(step, begin, end)
            rank.process_sample(end, cpu_s=end, runnable=1)
        begin = end
    for rank in ranks:
        rank.finalize(begin)
    return builder.build()


def test_what_others_that_do_the_same_need_none_of_is_not_to_be_dealt_out() -> None:
    findings = analyze_trace(run(unpacks=4)).findings
    assert faults(findings) == {"lost_to_unpacking"}
    cause = findings["lost_to_unpacking"]
    assert cause.ranks == (1,)
    assert cause.gain is not None
    assert cause.gain.is_bound
    assert cause.gain_s == pytest.approx(LATE_S * (STEPS - 4), rel=0.06)
    assert cause.actions[0].startswith("Rank 0 runs ")
    assert "spends only 5.0 % as long on it: have rank 1 keep results" in cause.actions[0]
    assert LOAD[2] in {one.line for one in cause.where}


def test_what_others_need_a_part_of_is_to_be_dealt_out() -> None:
    findings = analyze_trace(run(unpacks=STEPS // 4)).findings
    assert faults(findings) & {"load_imbalance", "straggler"}
    assert "lost_to_unpacking" not in faults(findings)


def fault(name: str, gain_s: float, ranks: tuple[int, ...], line: str) -> Finding:
    where = (Frame(line, "train.py", 3),)
    gain = Gain(gain_s, 0.1)
    told = Finding(id=name, status=Status.FAIL, title=name, summary="", gain=gain)
    return replace(told, ranks=ranks, where=where)


def test_ranks_are_late_for_the_work_that_is_theirs_alone() -> None:
    late = fault("straggler", 4.0, (1,), "record")
    grows = fault("growing_steps", 3.0, (1,), "record")
    kinds = {"straggler"}, {"growing_steps"}
    told, cause = told_by_their_work([late, grows], *kinds)
    assert (told.status, told.gain, told.overlaps[-1]) == (Status.INFO, None, "growing_steps")
    assert cause == grows
    for other in (
        fault("growing_steps", 3.0, (0, 1), "record"),  # others do it as well
        fault("growing_steps", 3.0, (1,), "load"),  # they are late elsewhere
        fault("growing_steps", 1.9, (1,), "record"),  # it explains less than half
        fault("memory_growth", 3.0, (1,), "record"),  # it is not about work
        replace(grows, status=Status.INFO),
    ):
        assert told_by_their_work([late, other], *kinds) == (late, other)
    everybody = replace(late, ranks=()), replace(grows, ranks=())
    assert told_by_their_work(everybody, *kinds) == everybody
