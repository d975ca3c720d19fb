"""How a rank ended is told by whatever tells it."""

from pathlib import Path
from typing import Any

import pytest

from perfscope.readers import open_recording
from perfscope.readers.recording.layout import HeaderFlag
from perfscope.schema.enums import EndKind
from perfscope.trace.model import Ending, Rank
from tests.support.write_recording import ProcessWriter, write_run

MPI = HeaderFlag.MPI
DONE = MPI | HeaderFlag.FINALIZE_ENTERED | HeaderFlag.FINALIZED


def rank_of(
    directory: Path,
    flags: HeaderFlag,
    *,
    exit_code: int = 0,
    ends: str = "",
    alive_s: float = 5.0,
    **run: Any,
) -> Rank:
    process = ProcessWriter(rank=0, size=1, flags=flags)
    process.op("MPI_Barrier", 1.0, 2.0)
    process.header |= {"alive_ns": process.mono(alive_s), "exit_code": exit_code}
    process.write(directory)
    if ends:
        (directory / "node0" / "7.ends").write_text(ends.format(mono=process.mono))
    write_run(directory, **({"launcher": {"kind": "mpirun"}} | run))
    return open_recording(directory).ranks[0]


@pytest.mark.parametrize(
    ("flags", "exit_code", "kind", "code"),
    [
        (DONE | HeaderFlag.EXITED, 0, EndKind.FINALIZED, 0),
        (DONE | HeaderFlag.EXITED, 1, EndKind.FINALIZED, 1),
        (DONE, 0, EndKind.FINALIZED, None),
        (MPI | HeaderFlag.EXITED, 3, EndKind.EXITED, 3),
        (HeaderFlag.EXITED, 0, EndKind.EXITED, 0),
        (MPI | HeaderFlag.ABORTED, 7, EndKind.ABORTED, 7),
        (MPI, 0, EndKind.UNKNOWN, None),
    ],
)
def test_by_the_flags_alone(
    tmp_path: Path, flags: HeaderFlag, exit_code: int, kind: EndKind, code: int | None
) -> None:
    ending = rank_of(tmp_path, flags, exit_code=exit_code).ending
    assert (ending.kind, ending.code) == (kind, code)


@pytest.mark.parametrize(
    ("flags", "status", "kind", "code"),
    [
        (MPI, 9, EndKind.KILLED, 9),
        (MPI, 139, EndKind.KILLED, 11),  # with a core dump
        (DONE, 6, EndKind.ABORTED_IN_TEARDOWN, 6),
        (MPI | HeaderFlag.ABORTED, 9, EndKind.ABORTED, 0),
        (MPI, 256 * 5, EndKind.EXITED, 5),
        (DONE, 0, EndKind.FINALIZED, 0),
    ],
)
def test_by_what_the_launcher_saw(
    tmp_path: Path, flags: HeaderFlag, status: int, kind: EndKind, code: int
) -> None:
    seen = f"100 5000 {status} 1006000000000\n"
    ending = rank_of(tmp_path, flags, ends=seen).ending
    assert (ending.kind, ending.code) == (kind, code)


def test_an_earlier_process_with_the_same_pid_is_another(tmp_path: Path) -> None:
    ends = "100 4000 9 1006000000000\n100 0 9 1001000000000\nnonsense\n99 5000 9 1006000000000\n"
    rank = rank_of(tmp_path, MPI, ends=ends)
    assert rank.ending.kind is EndKind.UNKNOWN
    rank = rank_of(tmp_path, MPI, ends=ends + "100 0 11 1005500000000\n")
    assert rank.ending == Ending(EndKind.KILLED, 11, "seen by its launcher")


def test_the_end_is_when_it_was_seen_unless_that_was_late(tmp_path: Path) -> None:
    rank = rank_of(tmp_path, MPI, ends="100 5000 9 1005200000000\n")
    assert rank.end_ns == 5_700_000_000
    rank = rank_of(tmp_path, MPI, ends="100 5000 9 1009000000000\n")
    assert rank.end_ns == 5_500_000_000


def test_the_command_itself(tmp_path: Path) -> None:
    rank_of(tmp_path, MPI)
    write_run(tmp_path, launcher={"kind": "direct"}, exit_code=3)
    ending = open_recording(tmp_path).ranks[0].ending
    assert (ending.kind, ending.code) == (EndKind.EXITED, 3)


@pytest.mark.parametrize(
    ("flags", "kind"),
    [
        (HeaderFlag(0), EndKind.KILLED),
        (MPI, EndKind.KILLED),
        (DONE, EndKind.ABORTED_IN_TEARDOWN),
        (HeaderFlag.EXITED, EndKind.ABORTED_IN_TEARDOWN),
    ],
)
def test_a_command_that_a_signal_killed(tmp_path: Path, flags: HeaderFlag, kind: EndKind) -> None:
    rank_of(tmp_path, flags)
    write_run(tmp_path, launcher={"kind": "direct"}, exit_code=128 + 9, signal=9)
    ending = open_recording(tmp_path).ranks[0].ending
    assert (ending.kind, ending.code) == (kind, 9)


def test_killed_after_python_had_run_its_exit_handlers(tmp_path: Path) -> None:
    process = ProcessWriter(rank=0, size=1, flags=MPI)
    process.metadata = {"role": "rank", "program_end_ns": process.mono(4.0)}
    process.header |= {"alive_ns": process.mono(5.0)}
    path = process.write(tmp_path)
    (path.parent / "7.ends").write_text(
        f"{process.pid} {process.start_ticks} 6 {process.mono(5)}\n"
    )
    write_run(tmp_path, launcher={"kind": "torchrun"})
    ending = open_recording(tmp_path).ranks[0].ending
    assert (ending.kind, ending.code) == (EndKind.ABORTED_IN_TEARDOWN, 6)
