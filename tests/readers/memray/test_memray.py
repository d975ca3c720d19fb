"""Captures of the real memray: known growth, the line that keeps it, damaged ones."""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from perfscope.document.analysis import analysis
from perfscope.errors import UnreadableInputError
from perfscope.metrics.results import Options
from perfscope.readers.memray import reader
from perfscope.readers.registry import open_trace, open_traces
from perfscope.trace.model import Format
from tests.support.trace_invariants import check_trace

MIB = 1 << 20
PROGRAM = """
import time
kept = []
def keep(): kept.append(bytearray(4 << 20))
def pass_by():
    held = bytearray(30 << 20)
    time.sleep(0.02)
for _ in range(10): keep(); pass_by()
"""


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten calls that keep 4 MiB each, and 30 MiB that are given back each time."""
    place = tmp_path_factory.mktemp("capture")
    (place / "grow.py").write_text(PROGRAM)
    words = ["-m", "memray", "run", "-q", "-o", "capture.bin", "grow.py", "--token=hunter2abc"]
    subprocess.run([sys.executable, *words], cwd=place, check=True, capture_output=True)
    return place / "capture.bin"


def test_the_heap_and_its_lines_are_the_known_ones(capture: Path) -> None:
    trace = open_trace(capture)
    check_trace(trace)
    assert trace.format is Format.MEMRAY
    assert "hunter2abc" not in " ".join(trace.command)
    (rank,) = trace.ranks
    assert growth(rank.process_samples["rss_bytes"].tolist()) > 30 * MIB
    (table,) = trace.tool_reports[0].tables
    assert [row[0] for row in table.rows[:2]] == ["keep", "pass_by"]
    assert [row[4] for row in table.rows[:2]] == [10, 1]
    assert [row[3] for row in table.rows[:2]] == [
        pytest.approx(40 * MIB, rel=0.01),
        pytest.approx(30 * MIB, rel=0.01),
    ]


def growth(sizes: list[int]) -> int:
    return sizes[-1] - sizes[0]


def test_the_line_that_keeps_memory_is_named(capture: Path) -> None:
    document = analysis(open_trace(capture), Options())
    (rank,) = document["memory"]["lines"]["ranks"]
    first = rank["lines"][0]
    assert (first["function"], first["line"], first["count"]) == ("keep", 4, 10)
    assert first["kept_bytes"] == pytest.approx(40 * MIB, rel=0.01)
    assert document["metrics"]["parallel_efficiency"]["value"] is None


def test_a_capture_of_another_process_is_left_aside(capture: Path) -> None:
    sample = Path(__file__).parents[3] / "sample_traces" / "horovod_straggler"
    trace = open_traces([sample, capture])
    assert any("left aside: it does not say which rank" in note for note in trace.notes)
    assert not trace.tool_reports
    assert not trace.memory_recordings


@pytest.mark.parametrize("share", [0.02, 0.5, 0.99])
def test_a_damaged_capture_is_an_error_or_what_is_whole(
    capture: Path, tmp_path: Path, share: float
) -> None:
    content = capture.read_bytes()
    path = tmp_path / "cut.bin"
    path.write_bytes(content[: int(share * len(content))])
    with suppress(UnreadableInputError):
        check_trace(open_trace(path))


def test_what_memray_refuses_is_told_in_its_words(capture: Path, tmp_path: Path) -> None:
    path = tmp_path / "other.bin"
    path.write_bytes(capture.read_bytes()[:60])
    with pytest.raises(UnreadableInputError, match="cannot be read as a capture") as raised:
        open_trace(path)
    assert "memray" in raised.value.why


@pytest.mark.parametrize(
    ("number", "action"), [(12, "Install memray 1.19."), (99, "Install the release that wrote it.")]
)
def test_a_capture_of_another_release_is_told_with_the_one_that_reads_it(
    capture: Path, tmp_path: Path, number: int, action: str
) -> None:
    """Only the number in the head is changed, as memray looks at nothing else first."""
    content = bytearray(capture.read_bytes())
    place = content.index(reader.MAGIC) + len(reader.MAGIC)
    content[place : place + 4] = number.to_bytes(4, "little")
    (tmp_path / "other.bin").write_bytes(content)
    with pytest.raises(UnreadableInputError, match="of another release of memray") as raised:
        open_trace(tmp_path / "other.bin")
    assert f"It has format {number}," in raised.value.why
    assert raised.value.action == action
