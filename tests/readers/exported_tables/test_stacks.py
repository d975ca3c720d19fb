"""Stack samples in exported tables: what is found in a recording is found in its tables."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfscope.dataframes.source import Source
from perfscope.document.analysis import analysis
from perfscope.errors import UnreadableInputError
from perfscope.export import csv, parquet
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.readers.exported_tables.columns import Texts
from perfscope.readers.exported_tables.stacks import Stacks
from perfscope.readers.registry import open_trace
from perfscope.trace.model import Trace
from tests.readers.exported_tables.test_tables import SAMPLE, Write, both, cell, changed, exported
from tests.support.environments import REPOSITORY
from tests.support.trace_invariants import check_trace

SAMPLES = ("rank_zero_evaluation", "ddp_slow_rank", "daal4py_imbalance", "sgan_evaluation")


@both
def test_samples_and_stacks_come_back_exactly(write: Write, tmp_path: Path) -> None:
    trace, back = open_trace(SAMPLE), open_trace(exported(tmp_path, write))
    check_trace(back)
    assert trace.has_stacks

    def seen(one: Trace) -> list[Any]:
        stacks = [[one.frames[level] for level in stack] for stack in one.stacks]
        return [
            [(row["t"], row["tid"], stacks[row["stack"]]) for row in r.stacks] for r in one.ranks
        ]

    assert seen(back) == seen(trace)


@pytest.mark.parametrize("name", SAMPLES)
def test_each_finding_is_that_of_the_recording_or_not_measured(name: str, tmp_path: Path) -> None:
    trace = open_trace(REPOSITORY / "sample_traces" / name)
    parquet.write(Source(trace), tmp_path / "out")
    mine, others = (judged(one) for one in (trace, open_trace(tmp_path / "out")))
    assert "fail" in {told[0] for told in mine.values()}
    for finding, told in mine.items():
        again = others.get(finding, ("not_measured",))
        if again[0] == "not_measured":
            assert told[0] != "fail", finding
        else:
            assert again == told, finding


def judged(trace: Trace) -> Mapping[str, Any]:
    """Status, saving and lines of each finding."""
    found = analysis(trace, Options())["findings"]
    return {
        one["id"]: (one["status"], one["gain_s"], [row["line"] for row in one["where"]])
        for one in found
    }


def test_phases_that_samples_told_are_told_once(tmp_path: Path) -> None:
    trace = open_trace(REPOSITORY / "sample_traces" / "rank_zero_evaluation")
    csv.write(Source(trace), tmp_path / "out")
    mine, others = (compute(one) for one in (trace, open_trace(tmp_path / "out")))
    assert others.efficiency.productive_share == mine.efficiency.productive_share


@pytest.mark.parametrize(
    ("column", "text"),
    [("stack", "99999"), ("stack", "-4"), ("tid", "-1"), ("tid", str(1 << 40)), ("rank", "77")],
)
def test_samples_of_nothing_are_left_out(column: str, text: str, tmp_path: Path) -> None:
    place = exported(tmp_path)
    count = sum(len(rank.stacks) for rank in open_trace(place).ranks)
    changed(place, "samples", cell(1, column, text))
    back = open_trace(place)
    check_trace(back)
    assert sum(len(rank.stacks) for rank in back.ranks) == count - 1


@pytest.mark.parametrize("moment", ["", str(1 << 62), str(-(1 << 63))])
def test_moments_that_cannot_be_are_refused(moment: str, tmp_path: Path) -> None:
    place = exported(tmp_path)
    changed(place, "samples", cell(1, "t_ns", moment))
    with pytest.raises(UnreadableInputError) as raised:
        open_trace(place / "tables.json")
    assert "samples of rank" in raised.value.why


def test_a_table_of_stacks_without_order_has_none(tmp_path: Path) -> None:
    place = exported(tmp_path)
    changed(place, "stacks", cell(1, "stack", "5"))
    assert not open_trace(place).has_stacks


def test_names_with_brackets_and_colons_are_taken_apart() -> None:
    text = "<lambda> (a b (1).py:7);f(x) (C:/x;y.py:0);nothing;g (:12)"
    columns = {"stack": np.array([0]), "frames": Texts(np.array([0]), [text])}
    frames = [(one.function, one.file, one.line) for one in Stacks(columns).frames]
    assert frames[0] == ("<lambda>", "a b (1).py", 7)
    assert frames[1] == ("f(x)", "C:/x;y.py", 0)
    assert frames[-1][1:] == ("", 12)
