"""Paraver traces whose tasks have several threads: no figure may be that of the first one alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from perfscope.cli.main import main
from perfscope.document.invariants import broken
from perfscope.metrics.compute import compute
from perfscope.metrics.efficiency.hybrid import thread_work
from perfscope.readers.paraver.reader import open_paraver
from perfscope.schema.check import problems
from tests.support.paraver_files import by_time, call, header, states, world, write

FACTORS = ("parallel_efficiency", "load_balance", "communication_efficiency")


def document(path: Path, *options: str) -> dict[str, Any]:
    """What `perfscope analyze` writes of a trace."""
    out = path.with_suffix(".out")
    main(["analyze", str(path), "-o", str(out), *options])
    found: dict[str, Any] = json.loads((out / "analysis.json").read_text(encoding="utf-8"))
    assert list(problems(found)) == []
    assert broken(found) == []
    return found


def serial_run(path: Path, *, threads: int = 4, named: int = 4) -> Path:
    """The first thread computes all the time, the others a fifth of it: 40 % of four threads."""
    lines = states(1, 1, (0, 100, 1))
    for thread in range(2, threads + 1):
        lines += states(1, thread, (0, 40, 2), (40, 60, 1), (60, 100, 7))
    lines.append("2:1:1:1:1:100000:40000001:0")
    return write(path, header(100, [named]), by_time(lines))


def test_efficiency_is_that_of_all_threads(tmp_path: Path) -> None:
    found = document(serial_run(tmp_path / "a.prv"))
    metrics = found["metrics"]
    assert [metrics[name]["value"] for name in FACTORS] == pytest.approx([0.4, 0.4, 1.0])
    assert metrics["parallel_efficiency"]["useful"] == "running_on_all_threads"
    assert metrics["serialization_efficiency"]["value"] is None
    assert metrics["transfer_efficiency"]["value"] is None
    assert found["verdict"]["status"] == "fail"
    assert "All is well" not in found["verdict"]["sentence"]
    [finding] = [row for row in found["findings"] if row["id"] == "idle_threads"]
    assert finding["status"] == "fail"
    assert finding["gain_s"] == pytest.approx(60e-6)
    for variant in ("pop", "bsc", "pypop"):
        rows = found["hardware"]["variants"][variant]
        assert rows["parallel_efficiency"]["value"] == pytest.approx(0.4)
        assert rows["serialization_efficiency"]["value"] is None


def test_ranks_and_threads_together(tmp_path: Path) -> None:
    """Two ranks of two threads; the first rank is in MPI for half of the time."""
    lines = [
        *states(1, 1, (0, 50, 1), (50, 100, 13)),
        *states(1, 2, (0, 50, 1), (50, 100, 0)),
        *call(1, 2, 8, 50, 100, ":50100004:1"),
        *states(2, 1, (0, 90, 1), (90, 100, 13)),
        *states(2, 2, (0, 30, 1), (30, 100, 0)),
        *call(2, 2, 8, 90, 100, ":50100004:1"),
    ]
    path = write(tmp_path / "a.prv", header(100, [2, 2], 1), [world(2), *by_time(lines)])
    found = document(path)
    values = [found["metrics"][name]["value"] for name in FACTORS]
    assert values == pytest.approx([220 / 400, 55 / 90, 0.9])
    found["hardware"]["useful_s_by_thread"][0] *= 2
    assert any(said.startswith("work: parallel") for said in broken(found))
    [finding] = [row for row in found["findings"] if row["id"] == "idle_threads"]
    evidence = {row["label"]: row["value"] for row in finding["evidence"]}
    assert evidence["Of it, efficiency of the ranks (outside MPI)"] == pytest.approx(0.7)
    inside = evidence["Of it, efficiency of the threads inside the ranks"]
    assert inside == pytest.approx(0.55 / 0.7)


@pytest.mark.parametrize(("threads", "named"), [(3, 4), (4, 1)])
def test_threads_without_records_and_threads_without_a_name(
    tmp_path: Path, threads: int, named: int
) -> None:
    found = document(serial_run(tmp_path / "a.prv", threads=threads, named=named))
    metric = found["metrics"]["parallel_efficiency"]
    if threads < named:
        assert metric["value"] is None
        assert "how much each of them worked" in metric["reason"]
        assert "not known" in found["verdict"]["sentence"]
        assert found["hardware"] is None
    else:
        assert metric["value"] == pytest.approx(0.4)


def test_threads_that_are_seen_by_events_alone(tmp_path: Path) -> None:
    lines = [*call(1, 2, 8, 10, 20), "2:1:1:1:2:50000:60000018:1", "2:1:1:1:1:100000:40000001:0"]
    found = document(write(tmp_path / "a.prv", header(100, [2]), lines))
    assert [found["metrics"][name]["value"] for name in FACTORS] == [None] * 3
    assert found["verdict"]["status"] == "info"


def test_streams_of_accelerators_are_no_threads(tmp_path: Path) -> None:
    path = serial_run(tmp_path / "a.prv")
    path.write_text(path.read_text() + "2:1:1:1:2:100000:63000006:1\n", encoding="utf-8")
    metric = document(path)["metrics"]["parallel_efficiency"]
    assert metric["value"] is None
    assert "streams of accelerators" in metric["reason"]


def test_a_part_of_the_run_tells_nothing_of_the_threads(tmp_path: Path) -> None:
    found = document(serial_run(tmp_path / "a.prv"), "--foa", "0.00001:0.00005")
    metric = found["metrics"]["parallel_efficiency"]
    assert metric["value"] is None
    assert "over the whole trace only" in metric["reason"]


def test_one_thread_each_is_as_before(tmp_path: Path) -> None:
    lines = [*states(1, 1, (0, 100, 1)), "2:1:1:1:1:100000:40000001:0"]
    trace = open_paraver(write(tmp_path / "a.prv", header(100, [1]), lines))
    results = compute(trace)
    assert not results.efficiency.is_hybrid
    assert not isinstance(thread_work(trace, results.focus), str)
    assert results.efficiency.parallel_efficiency.useful == "outside_communication"
