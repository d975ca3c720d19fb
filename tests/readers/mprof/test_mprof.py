"""Memory over time from memory_profiler: known growth by call, children, and odd files."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from perfscope.document.analysis import analysis
from perfscope.errors import UnreadableInputError
from perfscope.metrics.results import Options
from perfscope.readers.mprof import reader
from perfscope.readers.registry import open_trace
from perfscope.trace.model import Format
from tests.support.requirements import require_reference
from tests.support.trace_invariants import check_trace

MIB = 1 << 20
BEGIN_S = 1_795_188_496.0


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def leak(path: Path, *, calls: int, kept_mib: float, between_mib: float = 0.0) -> Path:
    """A loop of calls of a second, of which each keeps some memory, and some beside them."""
    lines = ["CMDLINE python train.py --password hunter2"]
    size, now = 100.0, BEGIN_S
    for _ in range(calls):
        lines.append(f"MEM {size:f} {now:.4f}")
        after = size + kept_mib
        lines.append(f"FUNC model.forward {size:f} {now:.4f} {after:f} {now + 0.5:.4f} 0")
        lines.append(f"MEM {after:f} {now + 0.75:.4f}")
        size, now = after + between_mib, now + 1.0
    return write(path, *lines)


def test_a_real_file_gives_the_known_growth() -> None:
    known = json.loads(require_reference("expected.json").read_text())["generated"]
    known = known["mprof_leak_5MiB_per_call.dat"]
    trace = open_trace(require_reference("samples/mprof_leak_5MiB_per_call.dat"))
    check_trace(trace)
    assert trace.format is Format.MPROF
    (rank,) = trace.ranks
    assert len(rank.process_samples) == known["MEM_records"]
    assert len(rank.call_samples) == known["FUNC_records"]
    kept = rank.call_samples["kept_bytes"][-1] / known["FUNC_records"] / MIB
    assert kept == pytest.approx(known["MiB_per_call"], abs=5e-4)
    assert trace.command == ("python", "grow.py")


def test_calls_are_summed_by_function_in_their_order(tmp_path: Path) -> None:
    calls = [("a", 1), ("b", 2), ("a", 4), ("b", 8), ("a", 16)]
    lines = [
        f"FUNC {name} 100 {BEGIN_S + i} {100 + kept} {BEGIN_S + i + 0.5} 0"
        for i, (name, kept) in enumerate(calls)
    ]
    (rank,) = open_trace(write(tmp_path / "a.dat", f"MEM 1 {BEGIN_S}", *lines)).ranks
    assert rank.call_samples["calls"].tolist() == [1, 1, 2, 2, 3]
    assert (rank.call_samples["kept_bytes"] // MIB).tolist() == [1, 2, 5, 10, 21]


@pytest.mark.parametrize(("bound", "most"), [("MOST_LINES", 3), ("MOST_BYTES", 100)])
def test_a_file_that_would_fill_the_memory_is_refused(
    bound: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.dat", *(f"MEM 1.0 {BEGIN_S + i}" for i in range(6)))
    assert len(open_trace(path).ranks[0].process_samples) == 6
    monkeypatch.setattr(reader, bound, most)
    with pytest.raises(UnreadableInputError, match="is too long"):
        open_trace(path)


def test_growth_by_call_is_a_finding_with_its_function(tmp_path: Path) -> None:
    trace = open_trace(leak(tmp_path / "a.dat", calls=120, kept_mib=2.0))
    check_trace(trace)
    assert "hunter2" not in " ".join(trace.command)
    found = {one["id"]: one for one in analysis(trace, Options())["findings"]}["memory_growth"]
    assert found["status"] in ("fail", "warn")
    assert "model.forward" in found["summary"] + found["title"]
    assert "2.00 MiB" in (found["summary"] + str(found["evidence"])).replace("\xa0", " ")


def test_memory_that_stays_is_no_growth(tmp_path: Path) -> None:
    document = analysis(open_trace(leak(tmp_path / "a.dat", calls=120, kept_mib=0.0)), Options())
    found = {one["id"]: one for one in document["findings"]}["memory_growth"]
    assert found["status"] == "pass"
    assert document["metrics"]["parallel_efficiency"]["value"] is None


def test_children_are_descendants_of_the_process(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.dat",
        f"MEM 10.0 {BEGIN_S}",
        f"CHLD 0 30.5 {BEGIN_S + 0.001}",
        f"CHLD 1 1.5 {BEGIN_S + 0.002}",
        f"MEM 11.0 {BEGIN_S + 1}",
        f"CHLD 0 31.0 {BEGIN_S + 1.001}",
    )
    rows = open_trace(path).ranks[0].tree_samples
    assert rows["own_bytes"].tolist() == [10 * MIB, 11 * MIB]
    assert rows["descendants_bytes"].tolist() == [32 * MIB, 31 * MIB]
    assert rows["descendants"].tolist() == [2, 1]


@pytest.mark.parametrize(
    "line",
    [
        f"MEM nan {BEGIN_S}",
        f"MEM -4 {BEGIN_S}",
        "MEM 4 inf",
        "MEM 4 -7",
        "MEM 4",
        f"FUNC f 1 {BEGIN_S} 2",
        f"CHLD 0 1e300 {BEGIN_S}",
        "\x1b[31mMEM",
        "x" * 100_000,
    ],
)
def test_lines_that_say_nothing_are_counted(tmp_path: Path, line: str) -> None:
    trace = open_trace(
        write(tmp_path / "a.dat", f"MEM 1.0 {BEGIN_S}", line, f"MEM 2 {BEGIN_S + 1}")
    )
    assert len(trace.ranks[0].process_samples) == 2
    assert any("left out 1 line" in note for note in trace.notes)


def test_a_cut_line_costs_no_more_than_itself(tmp_path: Path) -> None:
    content = leak(tmp_path / "a.dat", calls=20, kept_mib=1.0).read_bytes()
    for length in range(len(content) - 40, len(content)):
        (tmp_path / "a.dat").write_bytes(content[:length])
        trace = open_trace(tmp_path / "a.dat")
        assert len(trace.ranks[0].process_samples) >= 38
        assert trace.wall_ns <= 20 * 10**9


def test_a_file_without_memory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError, match="holds no memory"):
        open_trace(write(tmp_path / "a.dat", "CMDLINE python train.py"))


def test_what_mprof_itself_writes_is_read(tmp_path: Path) -> None:
    """The real tool, on a program that keeps 4 MiB in each of 30 calls."""
    program = tmp_path / "grow.py"
    program.write_text(
        "import time\nkept = []\n@profile\ndef grow():\n    kept.append(bytearray(4 << 20))\n"
        "    time.sleep(0.02)\nfor _ in range(30): grow()\n"
    )
    words = ["-m", "mprof", "run", "--interval", "0.02", "-o", "out.dat", "grow.py"]
    subprocess.run([sys.executable, *words], cwd=tmp_path, check=True, capture_output=True)
    (rank,) = open_trace(tmp_path / "out.dat").ranks
    assert len(rank.call_samples) == 30
    assert np.diff(rank.call_samples["kept_bytes"])[5:].mean() == pytest.approx(4 * MIB, rel=0.05)
