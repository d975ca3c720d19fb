"""An exported OTF2 archive, read by perfscope again, gives the numbers of the recording."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from perfscope.analyst.opened import OpenedTrace
from perfscope.analyst.source import Source
from perfscope.export import chrome, csv, otf2, parquet
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.readers.registry import open_trace
from perfscope.trace.model import Trace
from perfscope.trace.operations import name_of
from tests.export.expected import intervals
from tests.export.test_chrome import exported, readable_spans
from tests.export.test_csv_and_parquet import check_equal, expected, from_csv, from_parquet
from tests.support.environments import REPOSITORY, Mpi
from tests.support.recording import Recorder

SAMPLE = REPOSITORY / "sample_traces" / "rank_zero_evaluation"
PROGRAM = REPOSITORY / "tests" / "programs" / "exchanging.py"


def through_otf2(trace: Trace, directory: Path) -> tuple[Trace, int]:
    """The trace as read from its export, and by how much its clock is ahead."""
    notes = otf2.write(Source(trace), directory)
    assert notes == []
    back = open_trace(directory)
    return back, back.origin_unix_ns - trace.origin_unix_ns


def check_numbers(trace: Trace, back: Trace, shift_ns: int) -> None:
    """Sums by rank and operation, and efficiencies over the same time, are equal."""
    for rank, again in zip(trace.ranks, back.ranks, strict=True):
        mine = {name_of(code): total for code, total in rank.totals.items()}
        assert {name_of(code): total for code, total in again.totals.items()} == mine
    results = compute(trace)
    focus = results.focus
    start, end = (moment - shift_ns for moment in (focus.start_ns, focus.end_ns))
    window = Options(focus=f"{start / 1e9:.9f}:{end / 1e9:.9f}")
    others = compute(back, window).efficiency
    for name in ("parallel_efficiency", "load_balance", "communication_efficiency"):
        value = getattr(results.efficiency, name).value
        assert getattr(others, name).value == pytest.approx(value, rel=1e-8), name


def test_the_sample_has_the_same_efficiency(tmp_path: Path) -> None:
    trace = open_trace(SAMPLE)
    back, shift_ns = through_otf2(trace, tmp_path / "out")
    check_numbers(trace, back, shift_ns)


def test_a_real_run_comes_back_from_every_format(
    tmp_path: Path, record: Recorder, mpich: Mpi
) -> None:
    recorded = record(mpich.python_command(2, PROGRAM))
    assert recorded.exit_code == 0, recorded.stderr
    trace = open_trace(recorded.directory)
    back, shift_ns = through_otf2(trace, tmp_path / "otf2")
    check_numbers(trace, back, shift_ns)
    check_messages(trace, back, shift_ns)
    assert readable_spans(exported(trace)) == intervals(trace, steps_by_number=True)
    source = Source(trace)
    csv.write(source, tmp_path / "csv")
    check_equal(from_csv(tmp_path / "csv"), expected(source))
    parquet.write(source, tmp_path / "parquet")
    check_equal(from_parquet(tmp_path / "parquet"), expected(source))
    steps = OpenedTrace(trace).steps()
    assert steps.groupby(["rank", "epoch"]).size().tolist() == [5, 5, 5, 5]


def check_messages(trace: Trace, back: Trace, shift_ns: int) -> None:
    """The same messages, with the same times."""
    mine, again = OpenedTrace(trace).messages(), OpenedTrace(back).messages()
    assert len(mine) == 2 * 10 + 10 + 2 * 10
    moments = [column for column in mine if column.endswith(("t0_ns", "t1_ns"))]
    again[moments] += shift_ns
    columns = ["source", "target", "tag", "bytes", *moments]
    order = ["send_t0_ns", "source", "receive_t0_ns"]
    left, right = (
        frame.sort_values(order)[columns].reset_index(drop=True) for frame in (mine, again)
    )
    pd.testing.assert_frame_equal(left, right)


def test_chrome_of_a_real_trace_is_json(tmp_path: Path) -> None:
    chrome.write(Source(open_trace(SAMPLE)), tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text(encoding="ascii"))["traceEvents"]
