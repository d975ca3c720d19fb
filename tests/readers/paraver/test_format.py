"""Legal oddities of Paraver traces: big counters, several applications, order, units, calls."""

import random
from pathlib import Path

import numpy as np
import pytest

from perfscope.matching.waits import split_operations
from perfscope.metrics.compute import compute
from perfscope.readers.paraver.reader import open_paraver
from perfscope.readers.registry import open_trace
from tests.findings.analyzed import analyze_trace
from tests.support.paraver_files import barrier_run, call, header, states, world, write
from tests.support.trace_invariants import check_trace

WORLD = ":50100004:1"


def test_counters_of_64_bits_without_a_sign(tmp_path: Path) -> None:
    """PAPI's values have 64 bits: above 2^63 a counter went back, and its sum is not known."""
    lines = [
        *states(1, 1, (0, 100, 1)),
        "2:1:1:1:1:50000:42000050:7:42000059:9:42000008:18446744073709551611",
        "2:1:1:1:1:100000:42000050:18446744073709551615:42000059:1:60000032:18446744073709551615",
    ]
    trace = open_paraver(write(tmp_path / "a.prv", header(100, [1]), lines))
    check_trace(trace)
    [rank] = trace.ranks
    assert rank.compute is not None
    assert (rank.compute.instructions, rank.compute.cycles) == (None, 10)
    assert sorted(rank.counters["value"].tolist()) == [-5, -1, 1, 7, 9]
    assert "counts 1 time fewer than no instructions" in " ".join(trace.notes)


@pytest.mark.parametrize("separator", [":", ",", ",3:", ",3,"])
def test_applications_are_separated_as_tools_write_it(tmp_path: Path, separator: str) -> None:
    """Extrae lists the communicators of all applications for each of them."""
    first = (
        "#Paraver (01/02/2024 at 10:00):100000_ns:1(4):2:3(1:1,1:1,1:1)"
        + separator
        + "2(1:1,1:1),4"
    )
    lines = [
        f"c:{application}:{listed}"
        for application in (1, 2)
        for listed in ("1:3:1:2:3", "2:2:1:2", "1:2:1:2", "3:1:3")
    ]
    lines += ["i:1:4:1:0:2:0", "I:2:4:1:0:2:0"]
    for application, tasks in ((1, 3), (2, 2)):
        for task in range(1, tasks + 1):
            where = f"2:0:{application}:{task}:1"
            enter = 10 * task
            lines += [f"{where}:{enter}000:50000002:8{WORLD}", f"{where}:40000:50000002:0"]
            lines += [f"{where}:100000:40000001:0"]
    trace = open_paraver(write(tmp_path / "a.prv", first, lines))
    check_trace(trace)
    worlds = [trace.communicators[int(rank.operations["comm"][0])].members for rank in trace.ranks]
    assert worlds == [(0, 1, 2)] * 3 + [(3, 4)] * 2
    waits = split_operations(trace)
    assert (waits.need - waits.pool.enter).tolist() == [20_000, 10_000, 0, 10_000, 0]


def test_a_communicator_of_which_nothing_tells_the_members(tmp_path: Path) -> None:
    """Two meanings of one number, and calls of a set of tasks that is neither."""
    lines = ["c:1:2:2:1:2", "c:1:2:2:2:3", *call(3, 2, 8, 10, 20, ":50100004:2")]
    trace = open_paraver(write(tmp_path / "a.prv", header(20, [1, 1, 1], 2), lines))
    assert trace.ranks[-1].operations["comm"].tolist() == [-1]
    assert "gives 1 communicator several meanings" in " ".join(trace.notes)


def test_one_sided_calls_and_files_are_communication(tmp_path: Path) -> None:
    """Extrae has types of their own for MPI's one-sided calls and its files."""
    lines = [*call(1, 4, 72, 10, 40), *call(1, 5, 147, 40, 90), "2:1:1:1:1:100000:40000001:0"]
    trace = open_paraver(write(tmp_path / "a.prv", header(100, [1]), lines))
    assert compute(trace).efficiency.outside_s == pytest.approx([20e-6])


def test_records_out_of_order_say_the_same(tmp_path: Path) -> None:
    lines = barrier_run(3)
    first = header(100, [1, 1, 1], 1)
    straight = open_paraver(write(tmp_path / "a.prv", first, [world(3), *lines]))
    shuffled = list(lines)
    # what one thread does at one time stands in the order in which it did it
    random.Random(3).shuffle(shuffled)
    shuffled.sort(key=lambda line: -int(line.split(":")[5]) // 40_000)
    ordered = {line: place for place, line in enumerate(lines)}
    same_time = sorted(shuffled, key=lambda line: (line.split(":")[5], ordered[line]))
    mixed = [*same_time[::2], *same_time[1::2]]
    mixed.sort(key=lambda line: (-int(line.split(":")[5]) // 40_000, ordered[line]))
    found = open_paraver(write(tmp_path / "b.prv", first, [world(3), "# a comment", "", *mixed]))
    assert "out of order" in " ".join(found.notes)
    for left, right in zip(straight.ranks, found.ranks, strict=True):
        assert np.array_equal(left.operations, right.operations)
        assert left.compute == right.compute


def test_tasks_one_after_the_other_are_in_order(tmp_path: Path) -> None:
    lines = sorted(barrier_run(3), key=lambda line: line.split(":")[3])
    trace = open_paraver(write(tmp_path / "a.prv", header(100, [1, 1, 1], 1), [world(3), *lines]))
    assert trace.ranks[0].detail_end_ns is None
    assert "out of order" not in " ".join(trace.notes)
    assert trace.ranks[2].operations["t0"].tolist() == list(range(10_000, 100_000, 20_000))


@pytest.mark.parametrize(
    ("unit", "ns"), [("", 1_000), ("_us", 1_000), ("_ns", 1), ("_ms", 1_000_000)]
)
def test_units_of_time(tmp_path: Path, unit: str, ns: int) -> None:
    first = f"#Paraver (01/02/2024 at 10:00):100{unit}:0:1:1(1:0)"
    path = write(tmp_path / "a.prv", first, ["1:0:1:1:1:0:40:1", "1:0:1:1:1:40:100:0"])
    trace = open_trace(path)
    assert trace.wall_ns == 100 * ns
    assert trace.ranks[0].compute is not None
    assert trace.ranks[0].compute.useful_ns == 40 * ns


def test_time_in_which_tracing_was_off_is_no_work(tmp_path: Path) -> None:
    lines = [*states(1, 1, (0, 30, 1), (30, 90, 14), (90, 100, 1)), "2:1:1:1:1:100000:40000001:0"]
    trace = open_paraver(write(tmp_path / "a.prv", header(100, [1]), lines))
    found = compute(trace).efficiency.parallel_efficiency
    assert found.value is None
    assert "tracing was switched off for 60" in (found.reason or "")


def test_applications_that_start_at_different_times(tmp_path: Path) -> None:
    """The second one runs in the last third, and works for half of it."""
    first = "#Paraver (01/02/2024 at 10:00):90000_ns:1(4):2:1(1:1),1(1:1),0"
    lines = [
        "1:1:1:1:1:0:60000:1",
        "1:2:2:1:1:0:30000:2",
        "1:2:2:1:1:30000:60000:2",
        "2:2:2:1:1:60000:40000001:1",
        "1:2:2:1:1:60000:75000:1",
        "2:2:2:1:1:75000:50000002:8",
        "1:2:2:1:1:75000:90000:13",
        "2:2:2:1:1:90000:50000002:0",
    ]
    trace = open_paraver(write(tmp_path / "a.prv", first, lines))
    check_trace(trace)
    assert [(rank.start_ns, rank.end_ns) for rank in trace.ranks] == [(0, 60_000), (60_000, 90_000)]
    assert compute(trace).efficiency.outside_s == pytest.approx([60e-6, 15e-6])


def test_a_message_that_ends_with_the_trace_is_replayed(tmp_path: Path) -> None:
    """Nothing comes after the last call: the unchanged run takes as long as it did."""
    lines = [*call(1, 1, 1, 10, 20), *call(2, 1, 2, 10, 20)]
    lines.append("3:1:1:1:1:10000:10000:1:1:2:1:10000:20000:100:7")
    trace = open_paraver(write(tmp_path / "a.prv", header(20, [1, 1]), lines))
    assert analyze_trace(trace).replay.relative_error == 0.0
