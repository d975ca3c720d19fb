"""The lines that keep memory: which window counts, which line is named, and when none is."""

from typing import Any

import numpy as np
import pytest

from perfscope.findings.core.finding import Finding
from perfscope.trace.model import Trace
from perfscope.trace.stack_spans import (
    MEMORY_WINDOW_DTYPE,
    KeptPlace,
    MemoryRecording,
    MemoryWindow,
)
from tests.findings.analyzed import Analyzed, analyze_trace
from tests.findings.test_memory import MIB, series
from tests.support.trace_builder import to_ns

NUMPY = ("ones", "/venv/lib/python3.11/site-packages/numpy/core.py", 5)
LEAK = KeptPlace(24 * MIB, 300, (NUMPY, ("remember", "train.py", 77), ("main", "train.py", 9)))
BUFFER = KeptPlace(32 * MIB, 1, (("forward", "network.py", 37),))
SMALL = KeptPlace(MIB // 2, 900, (("note", "train.py", 50),))


def watched(
    *windows: tuple[float, float, tuple[KeptPlace, ...], bool],
    rank: int = 0,
    is_growth: bool = False,
) -> Analyzed:
    """Two growing ranks, of which one was watched in these windows."""
    trace: Trace = series(growth=4 * MIB)
    rows = [(to_ns(begin), to_ns(end)) for begin, end, _, _ in windows]
    trace.ranks[rank].memory_windows = np.array(rows, MEMORY_WINDOW_DTYPE)
    kept = [
        MemoryWindow(sum(p.kept_bytes for p in places), sum(p.count for p in places), places, last)
        for _, _, places, last in windows
    ]
    trace.memory_recordings = [MemoryRecording(rank, "memray 1.20.0", kept, "", is_growth)]
    return analyze_trace(trace)


def growth(analyzed: Analyzed) -> Finding:
    return analyzed.findings["memory_growth"]


def test_the_line_of_the_program_that_keeps_memory_is_named() -> None:
    found = growth(watched((2.0, 50.0, (BUFFER, LEAK, SMALL), False)))
    assert [(frame.function, frame.file, frame.line) for frame in found.where] == [
        ("remember", "train.py", 77)
    ]
    assert "train.py:77" in found.actions[0]
    kept = next(row for row in found.evidence if row.label.startswith("Kept by remember"))
    assert "24.0 MiB in 300 allocations" in str(kept.value)


def test_where_the_process_grew_is_not_said_to_be_kept() -> None:
    """memory_profiler reads how large the process is, and not what is allocated."""
    analyzed = watched((2.0, 50.0, (BUFFER, LEAK, SMALL), False), is_growth=True)
    found = growth(analyzed)
    assert "train.py:77: the process grew there, 24.0 MiB" in found.actions[0]
    assert any(row.label.startswith("Growth at remember") for row in found.evidence)


AGENT = KeptPlace(
    90 * MIB, 900, (("stack", "/x/perfscope_agent/recorder.py", 9), ("main", "train.py", 9))
)


def test_what_recording_keeps_is_not_the_programs() -> None:
    judged = watched((10.0, 30.0, (AGENT, LEAK), False))
    [detail] = judged.results.memory_detail
    assert [line.file for line in detail.lines] == ["train.py"]
    assert detail.lines[0].line == 77


LIBRARY = KeptPlace(24 * MIB, 300, (NUMPY,))


@pytest.mark.parametrize("places", [(BUFFER,), (SMALL,), (LIBRARY,), ()])
def test_a_buffer_small_change_and_libraries_are_not_named(places: tuple[KeptPlace, ...]) -> None:
    found = growth(watched((2.0, 50.0, places, False)))
    assert not found.where
    assert not any("Look at" in action for action in found.actions)


def test_the_longest_window_behind_the_warm_up_counts_and_never_the_last() -> None:
    early = KeptPlace(90 * MIB, 500, (("load", "data.py", 3),))
    late = KeptPlace(1, 1, (("end", "train.py", 99),))
    analyzed = watched(
        (0.1, 30.0, (early,), False), (31.0, 40.0, (LEAK,), False), (40.0, 61.0, (late,), True)
    )
    (detail,) = analyzed.results.memory_detail
    assert detail.window_s == pytest.approx((31.0, 40.0))
    assert growth(analyzed).where[0].line == 77


def test_a_run_that_the_end_closed_names_no_line() -> None:
    assert not growth(watched((2.0, 61.0, (LEAK,), True))).where


def test_without_it_the_flag_is_named() -> None:
    found = growth(analyze_trace(series(growth=4 * MIB)))
    assert "--memory-detail 0" in found.actions[-1]


def test_a_rank_that_was_not_growing_tells_as_well() -> None:
    trace = watched((2.0, 50.0, (LEAK,), False), rank=1)
    assert "on rank 1" in growth(trace).actions[0]


def test_the_document_holds_lines_and_reasons() -> None:
    document: Any = watched((2.0, 50.0, (LEAK, BUFFER), False)).document()
    (rank,) = document["memory"]["lines"]["ranks"]
    assert [line["kept_bytes"] for line in rank["lines"]] == [32 * MIB, 24 * MIB]
    assert rank["lines"][1]["allocator"]["function"] == "ones"
    assert rank["lines"][0]["allocator"] is None
    empty: Any = watched().document()
    (rank,) = empty["memory"]["lines"]["ranks"]
    assert rank["reason"]
    assert rank["lines"] == []
