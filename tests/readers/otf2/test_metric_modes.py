"""Modes of OTF2 metrics: what was counted is the same, in whatever way the archive says it."""

from pathlib import Path

import pytest

from perfscope.metrics.compute import compute
from perfscope.metrics.host.counted_work import counted_work
from perfscope.readers.otf2 import reader as otf2
from perfscope.readers.registry import open_trace
from perfscope.trace.counters import CounterKind
from tests.support.otf2_archives import ArchiveWriter

UINT64 = 4
START, POINT, LAST, NEXT = 0, 16, 32, 48
ACCUMULATED, ABSOLUTE, RELATIVE = range(3)
MS = 1_000_000


def series(directory: Path, mode: int, values: list[int], **names: list[int]) -> Path:
    """An archive of one rank with values a millisecond apart, and the end of its last region."""
    writer = ArchiveWriter(directory)
    writer.ranks(1)
    region = writer.region("main")
    told = {"flops": values, **names}
    metrics = {name: writer.metric(name, UINT64, mode=mode) for name in told}
    writer.event(0, "Enter", 0, region)
    for at in range(len(values)):
        for name, column in told.items():
            writer.event(0, "Metric", (at + 1) * MS, metrics[name], [(UINT64, column[at])])
    writer.event(0, "Leave", (len(values) + 1) * MS, region)
    return writer.close()


@pytest.mark.parametrize(
    ("mode", "expected", "kind"),
    [
        *((ACCUMULATED | t, [3, 5, 5], CounterKind.GROWING) for t in (START, POINT, LAST, NEXT)),
        *((ABSOLUTE | timing, [3, 5, 5], CounterKind.VALUE) for timing in (POINT, LAST, NEXT)),
        *((RELATIVE | timing, [3, 8, 13], CounterKind.GROWING) for timing in (POINT, LAST)),
        (RELATIVE | NEXT, [0, 3, 8, 13], CounterKind.GROWING),
    ],
)
def test_each_mode(tmp_path: Path, mode: int, expected: list[int], kind: CounterKind) -> None:
    trace = open_trace(series(tmp_path / "a", mode, [3, 5, 5]))
    rows = trace.ranks[0].counters
    assert rows["value"].tolist() == expected
    assert rows["t"].tolist() == [1 * MS, 2 * MS, 3 * MS, 4 * MS][: len(expected)]
    assert trace.counter_kinds == {"flops": kind}


@pytest.mark.parametrize("timing", [LAST, NEXT])
def test_the_sum_outlives_thinning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timing: int
) -> None:
    monkeypatch.setattr(otf2, "MOST_SAMPLES", 16)
    values = [number % 7 for number in range(1000)]
    trace = open_trace(series(tmp_path / "a", RELATIVE | timing, values))
    rows = trace.ranks[0].counters
    assert len(rows) <= 17
    assert rows["value"][-1] == sum(values)
    for at, value in zip(rows["t"].tolist(), rows["value"].tolist(), strict=True):
        assert value == sum(values[: at // MS - (timing == NEXT)])


@pytest.mark.parametrize(
    ("mode", "is_counted"),
    [(ACCUMULATED, True), (RELATIVE | LAST, True), (ABSOLUTE | POINT, False)],
)
def test_instructions_per_cycle_come_from_what_grows(
    tmp_path: Path, mode: int, is_counted: bool
) -> None:
    """1, 2, 3, ... times 500 instructions and 1000 cycles in each millisecond."""
    steps = [0, *range(1, 21)]
    sums = [sum(steps[: place + 1]) for place in range(len(steps))]
    told = steps if mode & 15 == RELATIVE else sums
    trace = open_trace(
        series(
            tmp_path / "a",
            mode,
            told,
            PAPI_TOT_INS=[500 * value for value in told],
            PAPI_TOT_CYC=[1000 * value for value in told],
        )
    )
    found = counted_work(compute(trace))
    assert [(work.instructions, work.ipc) for work in found] == (
        [(500.0 * sum(steps), 0.5)] if is_counted else []
    )


def test_metrics_of_one_name_that_differ_are_only_values(tmp_path: Path) -> None:
    writer = ArchiveWriter(tmp_path / "a")
    writer.ranks(1)
    for mode in (ACCUMULATED, ABSOLUTE | POINT):
        writer.metric("flops", UINT64, mode=mode)
    writer.event(0, "Enter", 0, writer.region("main"))
    assert open_trace(writer.close()).counter_kinds == {"flops": CounterKind.VALUE}
