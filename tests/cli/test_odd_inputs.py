"""Every command and every file of its input: what is no readable file is an error or a note."""

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perfscope.cli.main import main
from perfscope.errors import UnreadableInputError
from perfscope.readers import open_recording
from perfscope.readers.recording.layout import HEADER_BYTES
from tests.support.write_recording import two_ranks

LONGEST_S = 60


@pytest.fixture(autouse=True)
def _no_hanging() -> Iterator[None]:
    """What waits for a FIFO ends as a failure."""

    def fail(*_: object) -> None:
        pytest.fail("it waits forever")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(LONGEST_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 42)


def write(path: Path, text: str) -> None:
    path.write_text(text)


ODD: dict[str, Callable[[Path], None]] = {
    "fifo": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "loop": lambda path: path.symlink_to(path),
    "folder": lambda path: path.mkdir(),
    "sparse": sparse,
    "nan": lambda path: write(path, "NaN"),
    "deep": lambda path: write(path, "[" * 200_000),
}
PARTS = (
    "run.json",
    "node0/101-5000.rec",
    "node0/101-5000.def",
    "node0/101-5000.json",
    "node0/101-5000.memory.json",
    "node0/101-5000.stacks.json",
    "node0/101-5000.stacks-0.json.gz",
    "node0/100-5000.ends",
)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", PARTS)
def test_parts_of_a_recording(tmp_path: Path, name: str, odd: str) -> None:
    """What is left of the recording is read, and what could not be is named."""
    two_ranks(tmp_path)
    run = json.loads((tmp_path / "run.json").read_text()) | {"options": {"stacks": {"hz": 100}}}
    (tmp_path / "run.json").write_text(json.dumps(run))
    state = {"pid": 101, "main_thread": 101, "is_over": True, "segments": [
        {"file": "101-5000.stacks-0.json.gz", "begin_ns": 10**12, "end_ns": 2 * 10**12}
    ]}  # fmt: skip
    (tmp_path / "node0/101-5000.stacks.json").write_text(json.dumps(state))
    (tmp_path / name).unlink(missing_ok=True)
    ODD[odd](tmp_path / name)
    trace = open_recording(tmp_path)
    told = [*trace.notes, *(trace.stack_sampling.reasons.values() if trace.stack_sampling else ())]
    told += [memory.reason for memory in trace.memory_recordings]
    is_named = any(Path(name).name in note for note in told)
    # files of stacks that nothing names, and a state that says nothing, are no part of the run
    assert is_named or "stacks" in name or (odd, name) == ("loop", "node0/101-5000.memory.json")


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    "command",
    ["analyze", "whatif", "export", "compare", "history", "scaling", "sweep", "configs", "series"],
)
def test_commands(
    tmp_path: Path, command: str, odd: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three lines that a person can act on, whatever lies where the input should be."""
    run, path = tmp_path / "run", tmp_path / "input.json"
    two_ranks(run)
    ODD[odd](path)
    (tmp_path / "sweep").mkdir()
    ODD[odd](tmp_path / "sweep" / "plan.json")
    arguments = {
        "analyze": ["analyze", str(path)],
        "whatif": ["whatif", str(path), "--edit", "level_ranks"],
        "export": ["export", str(path), "--to", "csv", "-o", str(tmp_path / "out")],
        "compare": ["compare", str(run), str(path), "-o", str(tmp_path / "out")],
        "history": ["history", str(path)],
        "scaling": ["scaling", str(run), str(path), "-o", str(tmp_path / "out")],
        "sweep": ["sweep", "--resume", "-o", str(tmp_path / "sweep")],
        "configs": ["sweep", "--configs", str(path), "--dry-run", "--", "true"],
        "series": ["scaling", str(run), "--external", str(path), "-o", str(tmp_path / "out")],
    }[command]
    assert main(arguments) in (2, 3)
    lines = capsys.readouterr().err.splitlines()
    assert "Traceback" not in "".join(lines)
    assert not any("unexpected error" in line for line in lines)


@pytest.mark.parametrize("odd", ["fifo", "device", "folder"])
def test_results_are_not_written_into_what_is_no_file(
    tmp_path: Path, odd: str, capsys: pytest.CaptureFixture[str]
) -> None:
    two_ranks(tmp_path)
    ODD[odd](tmp_path / "analysis.json")
    assert main(["analyze", str(tmp_path)]) == 2
    assert "Cannot write" in capsys.readouterr().err
    assert main(["analyze", str(tmp_path), "-o", str(tmp_path / "out")]) == 0


def test_records_are_read_from_a_file_that_is_mostly_holes(tmp_path: Path) -> None:
    """As `tar -S` and `cp --sparse` make them, and far larger than memory."""
    whole, holes = tmp_path / "whole", tmp_path / "holes"
    two_ranks(whole)
    shutil.copytree(whole, holes)
    with (holes / "node0/100-5000.rec").open("r+b") as file:
        file.truncate(1 << 40)
        file.seek((1 << 39) + 4096 * 64)
        file.write(bytes(4096))
    expected, found = open_recording(whole), open_recording(holes)
    assert found.ranks[0].operations.tolist() == expected.ranks[0].operations.tolist()
    assert found.notes == expected.notes


def test_a_file_of_records_that_becomes_shorter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read, not mapped: a mapping of what is gone would end the process by SIGBUS."""
    from perfscope.readers.recording import record_file

    two_ranks(tmp_path)
    path = tmp_path / "node0/100-5000.rec"
    extents = record_file._extents

    def shortened(descriptor: int, slots: int) -> Iterator[tuple[int, int]]:
        found = list(extents(descriptor, slots))
        os.truncate(path, HEADER_BYTES + 64)
        return iter(found)

    monkeypatch.setattr(record_file, "_extents", shortened)
    found = record_file.read_record_file(path)
    assert len(found.records) <= 1


def test_nothing_readable_is_three_lines(tmp_path: Path) -> None:
    two_ranks(tmp_path)
    for path in tmp_path.glob("*/*.rec"):
        path.unlink()
        os.mkfifo(path)
    with pytest.raises(UnreadableInputError) as error:
        open_recording(tmp_path)
    assert "a FIFO, not a file" in error.value.why
