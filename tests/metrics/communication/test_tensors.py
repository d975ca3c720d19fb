"""Readiness and transfers of tensors: closed formulas, and what must always hold."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfscope.document.tensors import sentence
from perfscope.metrics.communication.tensors import ONE_RANK, tensor_times, union_ns
from perfscope.metrics.compute import compute
from perfscope.readers.horovod.reader import open_horovod_timeline
from perfscope.schema.horovod import Spread, Tensors
from tests.support.trace_builder import TraceBuilder

Event = dict[str, Any]
Reference = Callable[[str], Path]


def negotiation(tensor: int, arrivals: dict[int, int], *, op: str = "ALLREDUCE") -> list[Event]:
    """A negotiation of one tensor, with when (us) each rank was ready."""
    order = sorted(arrivals.items(), key=lambda item: item[1])
    return [
        {"ph": "B", "name": f"NEGOTIATE_{op}", "ts": order[0][1], "pid": tensor},
        *({"ph": "X", "name": str(r), "ts": t, "pid": tensor, "dur": 0} for r, t in order),
        {"ph": "E", "ts": order[-1][1], "pid": tensor},
    ]


def fused(tensors: list[int], start: int, end: int, *, op: str = "ALLREDUCE") -> list[Event]:
    """One operation that carries tensors of 100 float32."""
    end_args = {"dtype": "float32", "shape": "[100]"}
    begin = [{"ph": "B", "name": op, "ts": start + i, "pid": t} for i, t in enumerate(tensors)]
    ends = [{"ph": "E", "ts": end + i, "pid": t, "args": end_args} for i, t in enumerate(tensors)]
    return begin + ends


def result(tmp_path: Path, events: list[Event]) -> Tensors:
    path = tmp_path / "timeline.json"
    path.write_text(json.dumps([{"ph": "i", "name": "CYCLE_START", "ts": 0}, *events]))
    found = tensor_times(open_horovod_timeline(path))
    assert found is not None
    return found


def test_who_was_last_and_how_long_each_waited(tmp_path: Path) -> None:
    """Two tensors are negotiated at once: the waits overlap and count once."""
    found = result(
        tmp_path,
        [
            *negotiation(1, {0: 1000, 1: 1500, 2: 51_000}),
            *negotiation(2, {0: 1200, 1: 1500, 2: 51_500}),
            *negotiation(3, {1: 100_000, 0: 110_000, 2: 100_000}),
            *negotiation(3, {2: 0, 0: 7000}, op="BROADCAST"),
        ],
    )
    assert found.last_by_rank == (2, 0, 2)
    assert found.first_by_rank == (2, 1, 1)
    assert found.wait_s_by_rank["ALLREDUCE"] == pytest.approx((0.0505, 0.06, 0.01))
    assert found.wait_s_by_rank["BROADCAST"] == pytest.approx((0.0, 0.0, 0.007))
    assert found.negotiations.skew_s == pytest.approx(0.05 + 0.0503 + 0.01 + 0.007)
    assert found.negotiations.skew_s_most == pytest.approx(0.0503)
    assert found.tensors[0].last_rank == 2
    assert found.tensors[0].last_share == 1.0


def test_fused_tensors_count_once(tmp_path: Path) -> None:
    """Five operations of six tensors each: the sum is six times the union, nearly."""
    events = []
    for number in range(5):
        events += fused([1, 2, 3, 4, 5, 6], number * 20_000, number * 20_000 + 10_000)
    events += fused([1], 200_000, 203_000, op="BROADCAST")
    found = result(tmp_path, events)
    allreduce, broadcast = found.activities
    assert allreduce.summed_s == pytest.approx(0.3)
    assert allreduce.seconds == pytest.approx(5 * 0.010005)
    assert broadcast.seconds == broadcast.summed_s == pytest.approx(0.003)
    assert found.fusions.operations == 6
    assert found.fusions.tensors == Spread(1, 6.0, 6)
    assert found.fusions.bytes == Spread(400, 2400.0, 2400)
    assert found.wait_s_by_rank == {}
    assert found.reason is not None


def test_the_rank_that_costs_most_is_named_and_not_the_one_that_is_last_most_often(
    tmp_path: Path,
) -> None:
    """Rank 5 is last 60 times by 1 ms; rank 7 six times by 1 s, of which two overlap."""
    events: list[Event] = []
    for turn in range(66):
        start = 2_000_000 * turn
        late = {5: start + 1000} if turn % 11 else {7: start + 1_000_000}
        events += negotiation(1, {4: start, 5: start, 7: start} | late)
    start = 2_000_000 * 66
    events += negotiation(2, {4: start, 5: start, 7: start + 1_000_000})
    events += negotiation(3, {4: start, 5: start + 10, 7: start + 1_000_000})
    found = result(tmp_path, events)
    assert found.ranks == (4, 5, 7)
    assert found.last_by_rank == (0, 60, 8)
    assert found.late_s_by_rank == pytest.approx((0.0, 0.06, 6.0))
    assert found.start_late_s_by_rank == pytest.approx((0.0, 0.0, 1.0))
    assert found.tensors[0].last_rank == 7
    assert found.tensors[0].last_share == pytest.approx(6 / 6.06)
    assert said(tmp_path).startswith(
        "Other ranks waited 6.00 s for rank 7 to have a tensor ready (99.0 % of all such waiting "
        "after the start)"
    )


def test_a_start_that_costs_more_than_all_the_rest_is_named(tmp_path: Path) -> None:
    events = negotiation(1, {0: 0, 1: 5_000_000})
    for turn in range(1, 9):
        events += negotiation(1, {1: 10_000_000 * turn, 0: 10_000_000 * turn + 100})
    found = result(tmp_path, events)
    assert found.late_s_by_rank == pytest.approx((8e-4, 0.0))
    assert said(tmp_path).startswith("At the start, other ranks waited 5.00 s for rank 1")


def test_nobody_is_blamed_for_microseconds(tmp_path: Path) -> None:
    """Rank 1 is last every time, by 3 us of 4 s."""
    events: list[Event] = []
    for turn in range(30):
        events += negotiation(1, {0: 4_000_000 * turn, 1: 4_000_000 * turn + 3})
    result(tmp_path, events)
    assert said(tmp_path) == (
        "No rank kept the others waiting: between the first rank that has a tensor ready and the "
        "last, 90.0 µs of 116 s pass."
    )


def test_one_rank_alone_is_blamed_for_nothing(tmp_path: Path) -> None:
    found = result(tmp_path, [*negotiation(1, {0: 0}), *negotiation(1, {0: 9000})])
    assert found.reason == ONE_RANK
    assert said(tmp_path) == ""


def test_ranks_that_come_at_once_are_blamed_for_nothing(tmp_path: Path) -> None:
    result(tmp_path, [*negotiation(1, {0: 5, 1: 5}), *negotiation(1, {0: 9000, 1: 9000})])
    assert said(tmp_path) == ""


@pytest.mark.parametrize("cache", [0, 1024])
def test_the_sleeping_rank_of_a_real_job_is_named(reference: Reference, cache: int) -> None:
    """Rank 2 sleeps 50 ms a step; other ranks were last to start."""
    path = reference(f"horovod/hvd_torch_np4_rank2_50ms_cache{cache}.json")
    found = tensor_times(open_horovod_timeline(path))
    assert found is not None
    assert found.late_s_by_rank.index(max(found.late_s_by_rank)) == 2


def said(folder: Path) -> str:
    """What the verdict says of the timeline that was read last."""
    return sentence(compute(open_horovod_timeline(folder / "timeline.json")))


def test_without_a_timeline_there_is_nothing() -> None:
    assert tensor_times(TraceBuilder(1, end_s=1.0).build()) is None


@given(st.lists(st.tuples(st.integers(-1000, 1000), st.integers(0, 100)), max_size=40))
def test_the_union_is_what_counting_gives(intervals: list[tuple[int, int]]) -> None:
    start = np.array([begin for begin, _ in intervals], np.int64)
    length = np.array([length for _, length in intervals], np.int64)
    covered = {moment for begin, size in intervals for moment in range(begin, begin + size)}
    assert union_ns(start, start + length) == len(covered)
