"""Loader workers of a rank that waits for its batches: what they do, and what follows from it."""

import pytest

from perfscope.attribution.stack_rules import BUILT_IN, SYSTEM_CALL
from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Activity, PhaseKind, Status
from perfscope.trace.model import Trace
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

LOOP = ("_worker_loop", "/env/lib/site-packages/torch/utils/data/_utils/worker.py", 349)
ITEM = ("Scans.__getitem__", "/job/train.py", 36)
DECODING = [LOOP, ITEM, (".decompress", BUILT_IN, 0)]
READING = [LOOP, ITEM, ("io.BufferedReader.read", BUILT_IN, 0), ("read", SYSTEM_CALL, 0)]
QUEUE = ("Queue.get", "/usr/lib/python3.12/multiprocessing/queues.py", 113)
WAITING = [LOOP, QUEUE, ("poll", SYSTEM_CALL, 0)]
STEPS, WAIT_S, WORK_S = 100, 0.06, 0.04
WORKERS = (71, 72)


def starved(
    doing: list[tuple[str, str, int]], idle: int, cpu: float, queue: float = 0.0, epochs: int = 1
) -> Trace:
    """Of ten looks at each worker `idle` find it waiting, and the others in what it does.

    Each epoch has workers of its own.
    """
    builder = TraceBuilder(1, end_s=1e6)
    rank = builder.rank(0)
    clock = 1.0
    for number in range(STEPS):
        begin = clock
        rank.phase(PhaseKind.INPUT, clock, clock + WAIT_S, name="DataLoader")
        clock += WAIT_S
        rank.phase(PhaseKind.FORWARD, clock, clock + WORK_S)
        clock += WORK_S
        rank.step(number, begin, clock)
        for place, first in enumerate(WORKERS):
            pid = first + 10 * (number * epochs // STEPS)
            at_s = begin + 0.01 + 0.001 * place
            rank.worker_stack(pid, at_s, WAITING if number % 10 < idle else doing)
            rank.worker_sample(pid, at_s, cpu * at_s, queue * at_s)
    loader = {"workers": 2, "prefetch_factor": 2, "persistent_workers": True, "training": True}
    rank.set(metadata={"frameworks": {"torch": {"loaders": [loader]}}})
    return builder.ended(clock, init_s=1.0)


def judged(trace: Trace) -> Finding:
    return analyze_trace(trace).findings["data_stall"]


def test_busy_workers_are_named_with_their_function_and_line() -> None:
    finding = judged(starved(DECODING, idle=1, cpu=0.95))
    assert finding.status is Status.FAIL
    told = "worker processes produce in Scans.__getitem__() (train.py:36)"
    assert told in finding.title
    assert finding.where[0].line == 36
    first, *_ = finding.actions
    assert "Scans.__getitem__() (train.py:36)" in first
    assert "use or want a CPU 95.0 % of the time" in first
    evidence = {one.label: one.value for one in finding.evidence}
    assert evidence["Worker processes seen"] == 2
    assert str(evidence["A worker uses a CPU"]).startswith("95.0 %")


def test_workers_that_want_a_cpu_are_busy() -> None:
    first, *_ = judged(starved(DECODING, idle=1, cpu=0.5, queue=0.45)).actions
    assert "use or want a CPU 95.0 % of the time" in first


def test_workers_that_wait_in_their_function_are_told_from_busy_ones() -> None:
    first, *_ = judged(starved(READING, idle=1, cpu=0.1)).actions
    assert "Scans.__getitem__() (train.py:36) waits for" in first
    assert "use a CPU only 10.0 % of the time" in first


def test_of_idle_workers_more_bring_nothing() -> None:
    finding = judged(starved(DECODING, idle=8, cpu=0.2))
    assert "produce in" not in finding.title
    first, *_ = finding.actions
    assert "wait for work or for room in a queue 80.0 % of the time" in first
    assert "more of them would not help" in first


def test_workers_of_other_epochs_are_not_counted_as_working_at_once() -> None:
    finding = judged(starved(DECODING, idle=8, cpu=0.2, epochs=5))
    first, *_ = finding.actions
    assert first.startswith("2 worker processes wait for work")
    evidence = {one.label: one.value for one in finding.evidence}
    assert evidence["Worker processes seen"] == "10, of which 2 at once"


def test_nothing_is_told_of_workers_that_were_not_seen() -> None:
    trace = starved(DECODING, idle=1, cpu=0.9)
    trace.ranks[0].worker_stacks = trace.ranks[0].worker_stacks[:0]
    finding = judged(trace)
    assert "worker process" not in finding.title + " ".join(finding.actions)


@pytest.mark.parametrize(("idle", "working"), [(1, 180), (8, 40)])
def test_their_samples_are_counted(idle: int, working: int) -> None:
    [use] = analyze_trace(starved(DECODING, idle=idle, cpu=0.9)).results.worker_use
    assert (use.working, use.waiting) == (working, 200 - working)
    assert list(use.activities) == [Activity.DATA_PREPARATION]
    assert (use.processes, use.at_place) == (2, working)
    assert use.cpu_share == pytest.approx(0.9)
