"""Jobs that end in every way: `perfscope run`, `perfscope analyze`, and what the report says."""

import json
import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from perfscope.errors import ExitCode
from tests.programs.ending import STEPS
from tests.support.environments import Mpi
from tests.support.processes import is_alive, perfscope_started
from tests.support.recording import Recorder, analyze
from tests.support.waiting import wait_for, wait_for_pids

PROGRAM = Path(__file__).parents[1] / "programs" / "ending.py"
RANKS = 2
RAISED_AT = "ending.py:" + str(
    1
    + PROGRAM.read_text(encoding="utf-8")
    .splitlines()
    .index('    raise ValueError("no such batch")')
)
KILLED = 9
"""What Hydra may end with in place of a rank's own code: it ends the other ranks with SIGKILL, and
hands on the code of whichever it hears of first, recorded or not."""
LAUNCHERS = ("mpirun", "mpiexec", "mpiexec.hydra", "prterun")


def analyzed(directory: Path) -> dict[str, Any]:
    """The result document of a recording; the command must not stumble, and tells damage."""
    done = analyze(directory)
    document = json.loads((directory / "analysis.json").read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    damage = document["run"]["damage"]
    assert done.returncode == (ExitCode.INCOMPLETE if damage else ExitCode.OK)
    assert (done.stderr == "") == (not damage)
    assert bool(damage) == bool(document["run"]["incomplete_ranks"])
    assert "Traceback" not in done.stdout
    assert (directory / "report.html").stat().st_size > 0
    return document


def check_work(document: dict[str, Any], *, ranks: int = RANKS) -> None:
    """All that was recorded before the end is in the result, and the ledger is exact."""
    calls = {row["name"]: row for row in document["collectives"]["operations"]}
    assert calls["MPI_Allreduce"]["calls"] >= ranks * STEPS
    assert calls["MPI_Allreduce"]["detailed_calls"] >= ranks * STEPS
    assert document["collectives"]["matched_calls"] >= ranks * STEPS
    assert document["run"]["recorded_ranks"] == document["run"]["ranks"] == ranks
    start, end = document["run"]["focus_of_analysis_s"]
    assert end - start >= STEPS * 0.02
    for place, ending in enumerate(document["run"]["endings"]):
        life_ns = sum(account["ns_by_rank"][place] for account in document["ledger"])
        assert 0 < life_ns <= round(ending["end_s"] * 1e9) + 1


def texts(document: dict[str, Any]) -> list[str]:
    return [row["text"] for row in document["run"]["endings"]]


def first(document: dict[str, Any]) -> list[int]:
    return [row["rank"] for row in document["run"]["endings"] if row["is_first"]]


@pytest.mark.parametrize(
    ("ending", "code", "text", "sentence"),
    [
        ("kill", 9, "killed by SIGKILL (9)", "rank 1 was killed by SIGKILL (9)"),
        ("abort", 7, "called MPI_Abort with code 7", "rank 1 called MPI_Abort with code 7"),
        (
            "leave",
            5,
            "exited with code 5 without MPI_Finalize",
            "rank 1 exited with code 5 without MPI_Finalize",
        ),
    ],
)
def test_one_rank_takes_the_others_along(
    ending: str, code: int, text: str, sentence: str, mpich: Mpi, record: Recorder
) -> None:
    recorded = record(mpich.python_command(RANKS, PROGRAM, ending))
    assert recorded.exit_code in (code, KILLED)
    assert recorded.run_file["exit_code"] == recorded.exit_code
    document = analyzed(recorded.directory)
    check_work(document)
    assert texts(document)[1] == text
    assert first(document) == [1]
    assert document["run"]["incomplete_ranks"] == [0, 1]
    assert document["verdict"]["sentence"].startswith("The run was cut short ")
    assert (
        f"after the start: {sentence}; 1 other rank ended after it."
        in (document["verdict"]["sentence"])
    )


def test_all_ranks_killed(mpich: Mpi, record: Recorder) -> None:
    recorded = record(mpich.python_command(RANKS, PROGRAM, "kill", "everybody"))
    assert recorded.exit_code == KILLED
    document = analyzed(recorded.directory)
    check_work(document)
    assert texts(document) == ["killed by SIGKILL (9)"] * RANKS
    assert document["run"]["incomplete_ranks"] == [0, 1]


@pytest.mark.parametrize(
    ("ends", "code", "text"),
    [
        ("os.kill(os.getpid(), 9)", 128 + KILLED, "killed by SIGKILL (9)"),
        ("os._exit(137)", 137, "exited with code 137"),
    ],
)
def test_a_program_without_a_launcher(ends: str, code: int, text: str, record: Recorder) -> None:
    steps = "import os, perfscope, time\nfor n in range(5): perfscope.step(); time.sleep(0.02)\n"
    recorded = record([sys.executable, "-c", steps + ends])
    assert recorded.exit_code == code
    document = analyzed(recorded.directory)
    assert texts(document) == [text]
    assert (
        f": rank 0 {'was ' if 'killed' in text else ''}{text}. "
        in (document["verdict"]["sentence"])
    )


def test_an_exception_that_aborts(mpich: Mpi, record: Recorder) -> None:
    recorded = record(mpich.python_command(RANKS, "-m", "mpi4py", PROGRAM, "fail"))
    assert recorded.exit_code in (1, KILLED)
    document = analyzed(recorded.directory)
    check_work(document)
    ending = document["run"]["endings"][1]
    assert (
        ending["text"] == f"ended with ValueError at {RAISED_AT}, then called MPI_Abort with code 1"
    )
    assert ending["exception"] == {
        "type": "ValueError",
        "message": "no such batch",
        "file": str(PROGRAM),
        "line": int(RAISED_AT.partition(":")[2]),
    }
    [row] = [row for row in document["quality"] if row["id"] == "endings"]
    assert "ValueError: no such batch" in row["detail"]


def test_an_exception_that_hangs_the_job_until_somebody_ends_it(mpich: Mpi, tmp_path: Path) -> None:
    command = mpich.python_command(RANKS, PROGRAM, "fail")
    with perfscope_started(command, cwd=tmp_path) as process:
        metadata = wait_for("the exception", lambda: noted_exception(tmp_path / "trace"))
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)
    document = analyzed(tmp_path / "trace")
    check_work(document)
    assert metadata["exception"]["type"] == "ValueError"
    assert first(document) == [1]
    # it notes the exception a moment before it enters MPI_Finalize
    ends = r"(waited in MPI_Finalize until|was killed by SIGTERM)"
    told = re.escape(f"ended with ValueError at {RAISED_AT}, then ") + ends
    assert re.match(told, texts(document)[1])
    assert document["run"]["endings"][0]["in_operation"] == "MPI_Allreduce"


def noted_exception(directory: Path) -> dict[str, Any] | None:
    """The metadata of the rank that noted an exception, as soon as there is one."""
    for path in directory.glob("*/*.json"):
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict) and content.get("exception"):
            return content
    return None


def interrupt(process: psutil.Process) -> None:
    os.killpg(process.pid, signal.SIGINT)


def kill_launcher(process: psutil.Process) -> None:
    for child in process.children(recursive=True):
        if child.name() in LAUNCHERS:
            child.kill()


@pytest.mark.parametrize(
    ("action", "sentence"),
    [
        (interrupt, "The run was stopped by SIGINT (Ctrl-C), "),
        (kill_launcher, "the command itself was killed by SIGKILL, and its ranks ended with it."),
        (psutil.Process.kill, "nothing tells"),
    ],
    ids=["ctrl_c", "kill_mpirun", "kill_perfscope"],
)
def test_stopped_from_outside(
    action: Callable[[psutil.Process], None], sentence: str, mpich: Mpi, tmp_path: Path
) -> None:
    command = mpich.python_command(RANKS, PROGRAM, "wait", "everybody")
    with perfscope_started(command, cwd=tmp_path) as process:
        pids = wait_for_pids(tmp_path, RANKS)
        action(psutil.Process(process.pid))
        process.wait(timeout=30)
        if action is not psutil.Process.kill:
            wait_for("the end of the ranks", lambda: not any(map(is_alive, pids)))
    document = analyzed(tmp_path / "trace")
    check_work(document)
    assert document["run"]["incomplete_ranks"] == [0, 1]
    told = document["verdict"]["sentence"]
    if action is psutil.Process.kill:  # the job goes on until the test ends it
        assert document["run"]["exit_code"] is None
        assert told.startswith("The run was cut short")
    else:
        assert sentence in told


@pytest.mark.parametrize(("code", "kind"), [(0, "stopped on request"), (3, "killed")])
def test_what_a_job_sends_home_did_not_fail_where_the_job_did_not(
    code: int, kind: str, tmp_path: Path
) -> None:
    steps = "import perfscope, time\nfor n in range(5): perfscope.step(); time.sleep(0.02)"
    worker = f"{steps}\nopen('done', 'w').close()\ntime.sleep(60)"
    job = (
        "import os, subprocess, sys, time\n"
        f"one = subprocess.Popen([sys.executable, '-c', {worker!r}])\n"
        "while not os.path.exists('done'): time.sleep(0.02)\n"
        f"one.terminate()\none.wait()\nsys.exit({code})"
    )
    with perfscope_started([sys.executable, "-c", job], cwd=tmp_path) as process:
        assert process.wait(timeout=120) == code
    document = analyzed(tmp_path / "trace")
    assert [ending["kind"] for ending in document["run"]["endings"]] == [kind]
    assert ("cut short" in document["verdict"]["sentence"]) == (code != 0)


def test_a_job_that_forks(mpich: Mpi, record: Recorder) -> None:
    recorded = record(mpich.python_command(RANKS, PROGRAM, "fork", "everybody"))
    assert recorded.exit_code == 0
    document = analyzed(recorded.directory)
    check_work(document)
    assert texts(document) == ["finalized"] * RANKS
    assert document["run"]["incomplete_ranks"] == []
    assert "cut short" not in document["verdict"]["sentence"]
