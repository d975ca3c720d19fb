"""Paraver traces that hold less than their header promises: it is said, and nothing is made up."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from perfscope.cli.main import main
from perfscope.errors import UnreadableInputError
from perfscope.metrics.compute import compute
from perfscope.readers.paraver.reader import open_paraver
from perfscope.schema.check import problems
from perfscope.schema.enums import EndKind
from tests.support.paraver_files import barrier_run, call, header, states, world, write
from tests.support.trace_invariants import check_trace


def document(path: Path) -> dict[str, Any]:
    """What `perfscope analyze` writes of a trace, whatever it exits with."""
    out = path.with_suffix(".out")
    main(["analyze", str(path), "-o", str(out)])
    found: dict[str, Any] = json.loads((out / "analysis.json").read_text(encoding="utf-8"))
    assert list(problems(found)) == []
    return found


def test_a_header_alone_is_no_trace(tmp_path: Path) -> None:
    path = write(tmp_path / "a.prv", header(100, [1, 1], 1), [world(2), "# nothing else"])
    with pytest.raises(UnreadableInputError, match="no record of any task"):
        open_paraver(path)


def test_a_file_may_end_before_a_task_is_created(tmp_path: Path) -> None:
    """Its last record begins at 0 and says that the task is created 11 us later."""
    path = write(tmp_path / "a.prv", header(100, [1, 1], 1), [world(2), "1:1:1:1:1:0:11000:2"])
    trace = open_paraver(path)
    check_trace(trace)
    assert [(rank.start_ns, rank.detail_end_ns) for rank in trace.ranks] == [(11_000, 11_000)]


@pytest.mark.parametrize("compressed", [False, True])
def test_a_cut_trace_is_judged_up_to_there(tmp_path: Path, compressed: bool) -> None:
    """Two thirds of the lines: what is told is the same as of a run that ended there."""
    lines = barrier_run(2, us=300)
    kept = [line for line in lines if int(line.split(":")[5]) < 200_000]
    path = write(tmp_path / "a.prv", header(300, [1, 1], 1), [world(2), *kept])
    if compressed:
        whole = path.with_suffix(".prv.gz")
        content = "\n".join([header(300, [1, 1], 1), world(2), *lines, ""]).encode()
        stored = gzip.compress(content, compresslevel=0)
        whole.write_bytes(stored[: len(stored) * 2 // 3])
        path = whole
    trace = open_paraver(path)
    assert {rank.ending.kind for rank in trace.ranks} == {EndKind.UNKNOWN}
    [end_ns] = {rank.detail_end_ns for rank in trace.ranks}
    assert end_ns is not None
    assert 180_000 <= end_ns <= 200_000
    results = compute(trace)
    assert results.focus.end_ns == end_ns
    assert results.efficiency.parallel_efficiency.value == pytest.approx(0.78, abs=0.02)
    found = document(path)
    assert "cut off" in found["verdict"]["sentence"]
    assert "cut short" not in found["verdict"]["sentence"]
    assert found["hardware"] is None
    assert found["replay"]["ideal_runtime_s"] is not None
    status = {row["id"]: row["status"] for row in found["quality"]}
    assert status["dropped_records"] == "fail"
    assert "killed" not in " ".join(ending["text"] for ending in found["run"]["endings"])


def test_a_task_without_records_is_a_missing_rank(tmp_path: Path) -> None:
    lines = [world(3), *barrier_run(2)]
    path = write(tmp_path / "a.prv", header(100, [1, 1, 1], 1), lines)
    trace = open_paraver(path)
    assert [rank.number for rank in trace.ranks] == [0, 1]
    assert trace.missing_ranks == [2]
    found = document(path)
    assert found["run"]["missing_ranks"] == [2]
    assert found["hardware"] is None
    assert found["metrics"]["serialization_efficiency"]["value"] is None


def test_a_missing_first_task(tmp_path: Path) -> None:
    lines = [line for line in barrier_run(3) if line.split(":")[3] != "1"]
    path = write(tmp_path / "a.prv", header(100, [1, 1, 1], 1), [world(3), *lines])
    trace = open_paraver(path)
    assert trace.missing_ranks == [0]
    assert trace.ranks[0].number == 1
    assert len(trace.ranks[0].operations) == 5


def test_ends_are_what_the_trace_tells(tmp_path: Path) -> None:
    """One rank finalizes, one ends without MPI_Finalize, one inside a call."""
    lines = [
        *call(1, 3, 32, 80, 90),
        *call(2, 2, 8, 80, 90),
        *call(3, 2, 8, 80, 90)[:1],
        *(f"2:1:1:{task}:1:100000:40000001:0" for task in (1, 2, 3)),
    ]
    trace = open_paraver(write(tmp_path / "a.prv", header(100, [1, 1, 1]), lines))
    kinds = [rank.ending.kind for rank in trace.ranks]
    assert kinds == [EndKind.FINALIZED, EndKind.EXITED, EndKind.UNKNOWN]


def test_states_alone_may_reach_the_end(tmp_path: Path) -> None:
    lines = [*states(1, 1, (0, 60, 1), (60, 100, 0)), *states(2, 1, (0, 95, 1))]
    trace = open_paraver(write(tmp_path / "a.prv", header(100, [1, 1]), lines))
    assert [rank.detail_end_ns for rank in trace.ranks] == [None, None]
    assert all(rank.ending.is_natural for rank in trace.ranks)


@pytest.mark.parametrize(("ends", "is_known"), [("-1000", False), ("15000", True)])
def test_no_efficiency_where_calls_end_by_guess(tmp_path: Path, ends: str, is_known: bool) -> None:
    """The end of a barrier stands before the begin of the trace: work until the next is no wait."""
    lines = [line.replace(":12000:50000002:0", f":{ends}:50000002:0") for line in barrier_run()]
    found = document(write(tmp_path / "a.prv", header(100, [1, 1], 1), [world(2), *lines]))
    metric = found["metrics"]["parallel_efficiency"]
    assert (metric["value"] is not None) == is_known
    if not is_known:
        assert "calls of rank 0 end nowhere in the trace" in metric["reason"]
