"""Recordings that are not of one whole job: what is said, withheld and returned."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perfscope.cli.main import main
from perfscope.document.invariants import broken
from perfscope.errors import ExitCode
from perfscope.readers.recording.layout import NO_ID
from tests.support.write_recording import ProcessWriter, write_run

ALLREDUCES = 40
Change = Callable[[list[ProcessWriter]], None]


def job(
    *,
    calls: tuple[int, int] = (ALLREDUCES, ALLREDUCES),
    late_s: float = 0.0,
    programs: tuple[str, str] = ("train.py", "train.py"),
    apart: bool = False,
) -> list[ProcessWriter]:
    """Two ranks that reduce ten times a second; the second one is `late_s` behind the first.

    Args:
        calls: allreduces of each rank.
        late_s: seconds by which all that rank 1 does comes later.
        programs: what each rank runs.
        apart: whether each rank communicates with itself alone.
    """
    ranks = []
    for rank in (0, 1):
        process = ProcessWriter(rank=rank, size=2, pid=100 + rank, start_s=late_s * rank)
        begin = 0.1 + late_s * rank
        process.communicator(0, 77 + apart * rank, [rank] if apart else [0, 1])
        process.op("MPI_Init", begin, begin + 0.4, comm=NO_ID, seq=NO_ID)
        for number in range(calls[rank]):
            enter = begin + 0.5 + number / 10 + rank * 0.02
            end = begin + 0.5 + number / 10 + 0.05
            process.op("MPI_Allreduce", enter, end, sent=80, received=80)
        end = begin + 0.5 + ALLREDUCES / 10
        process.op("MPI_Finalize", end, end + 0.2, comm=NO_ID, seq=NO_ID)
        process.header |= {
            "init_exit_ns": process.mono(begin + 0.4),
            "finalize_enter_ns": process.mono(end),
            "alive_ns": process.mono(end + 0.3),
            "exit_ns": process.mono(end + 0.3),
        }
        process.metadata = {"schema": 1, "role": "rank", "argv": programs[rank].split()}
        ranks.append(process)
    return ranks


CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "one after the other": ({"late_s": 8.0}, "mixed_runs", "were not recorded at the same time"),
    "overlapping runs": ({"late_s": 1.0}, "mixed_runs", "cannot be of one run"),
    "hardly shifted runs": ({"late_s": 0.1}, "mixed_runs", "cannot be of one run"),
    "other programs": (
        {"programs": ("train.py", "serve.py"), "apart": True},
        "unequal_programs",
        "run different programs, which do not communicate",
    ),
    "other programs of one Python": (
        {"programs": ("python -u train.py", "python serve.py"), "apart": True},
        "unequal_programs",
        "rank 1 serve.py, rank 0 train.py",
    ),
    "fewer calls": ({"calls": (40, 25)}, "unequal_calls", "calls of the ranks do not fit"),
    "no calls": ({"calls": (40, 0)}, "unequal_calls", "calls of the ranks do not fit"),
}
WHOLE: dict[str, dict[str, Any]] = {
    "a whole job": {},
    "one call fewer at the end": {"calls": (40, 39)},
    "a program under two names": {
        "programs": ("python train.py", "/usr/bin/python3 ./train.py"),
        "apart": True,
    },
    "a program of several parts": {"programs": ("train.py", "io_server.py")},
}


def analyzed(folder: Path, *options: str, **plan: Any) -> tuple[int, dict[str, Any]]:
    """The exit code of an analysis of such a recording, and its document."""
    for process in job(**plan):
        process.write(folder / "job")
    write_run(folder / "job")
    code = main(["analyze", str(folder / "job"), "-o", str(folder / "out"), *options])
    return code, json.loads((folder / "out" / "analysis.json").read_text())


@pytest.mark.parametrize("name", CASES)
def test_what_is_no_whole_job_is_the_verdict(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, kind, words = CASES[name]
    code, document = analyzed(tmp_path, "--no-report", **plan)
    told = capsys.readouterr()
    first = document["run"]["damage"][0]
    assert code == ExitCode.INCOMPLETE
    assert (first["id"], first["spoils"]) == (kind, ["every_rank", "to_the_end"])
    assert words in first["text"]
    assert document["verdict"]["status"] == "fail"
    assert document["verdict"]["sentence"].startswith(first["text"])
    assert "Figures that need every rank are withheld." in document["verdict"]["sentence"]
    assert f"Damaged recording: {first['text']}" in " ".join(told.err.split())
    assert broken(document) == []


@pytest.mark.parametrize("name", CASES)
def test_what_it_spoils_is_withheld(name: str, tmp_path: Path) -> None:
    plan, _, _ = CASES[name]
    code, document = analyzed(tmp_path, "--no-strict", **plan)
    assert code == ExitCode.OK
    why = document["metrics"]["parallel_efficiency"]["reason"]
    assert why == document["metrics"]["load_balance"]["reason"]
    assert document["metrics"]["parallel_efficiency"]["value"] is None
    assert why[1:] == document["run"]["damage"][0]["text"].rstrip(".")[1:]
    assert not document["replay"]["available"]
    for finding in document["findings"]:
        assert (finding["gain_s"], finding["gain_interval_s"]) == (None, None)
        assert finding["first_action"] is None
    assert document["verdict"]["combined_gain_s"] is None
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Figures that need every rank are withheld." in page


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_job_is_not_called_damaged(name: str, tmp_path: Path) -> None:
    code, document = analyzed(tmp_path, "--no-report", **WHOLE[name])
    assert document["run"]["damage"] == []
    assert code == ExitCode.OK
    assert document["metrics"]["parallel_efficiency"]["value"] is not None


@pytest.mark.parametrize("size", [None, 0, 4096])
def test_a_rank_whose_file_is_gone_or_cut_is_missing(size: int | None, tmp_path: Path) -> None:
    analyzed(tmp_path, "--no-report")
    (file,) = (tmp_path / "job").glob("*/101-*.rec")
    if size is None:
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:size])
    code = main(["analyze", str(tmp_path / "job"), "-o", str(tmp_path / "out"), "--no-report"])
    verdict = json.loads((tmp_path / "out" / "analysis.json").read_text())["verdict"]
    assert code == ExitCode.INCOMPLETE
    words = "Rank 1 of 2 ranks is missing: no recording of it can be read."
    assert verdict["sentence"].startswith(words)
