"""The job's output, input, exit code and environment are those it has without perfscope."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.environments import Mpi
from tests.support.recording import Recorder, job_variables, perfscope_command, run_plain

TALKER = "import sys; print('out', flush=True); print('err', file=sys.stderr); sys.exit(3)"
RANK = """
import sys
from mpi4py import MPI
world = MPI.COMM_WORLD
total = world.allreduce(world.rank)
if world.rank == 0:
    print("total", total)
"""


def without_perfscope(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if not line.startswith("perfscope: ")]


def test_stdout_and_stderr_are_the_jobs_own(record: Recorder) -> None:
    recorded = record([sys.executable, "-c", TALKER])
    assert recorded.stdout == "out\n"
    assert without_perfscope(recorded.stderr) == ["err"]
    assert recorded.exit_code == 3


def test_quiet_adds_nothing(record: Recorder) -> None:
    assert record([sys.executable, "-c", TALKER], options=["--quiet"]).stderr == "err\n"


def test_stdin_reaches_the_job(tmp_path: Path) -> None:
    done = subprocess.run(
        perfscope_command("run", "--", "cat"),
        cwd=tmp_path,
        env=job_variables(),
        input="through\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "through\n"


@pytest.mark.parametrize("code", [0, 3, 126, 127, 255])
def test_exit_code_is_the_jobs(record: Recorder, code: int) -> None:
    recorded = record(["sh", "-c", f"exit {code}"])
    assert recorded.exit_code == code
    assert recorded.run_file["exit_code"] == code
    assert recorded.run_file["signal"] is None


@pytest.mark.parametrize("number", [2, 6, 9, 11, 15])
def test_a_signal_that_kills_the_job_becomes_128_and_its_number(
    record: Recorder, number: int
) -> None:
    recorded = record(["sh", "-c", f"kill -{number} $$"])
    assert recorded.exit_code == 128 + number
    assert recorded.run_file["signal"] == number


def test_missing_command_is_127_and_leaves_no_directory(record: Recorder, tmp_path: Path) -> None:
    recorded = record(["no-such-command-here", "4"])
    assert recorded.exit_code == 127
    assert (
        recorded.stderr
        == "perfscope: cannot start no-such-command-here: No such file or directory\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_command_that_cannot_be_executed_is_126(record: Recorder, tmp_path: Path) -> None:
    (tmp_path / "script").write_text("#!/bin/sh\n", encoding="utf-8")
    assert record(["./script"]).exit_code == 126
    assert record([tmp_path]).exit_code == 126
    assert not (tmp_path / "trace").exists()


def test_script_with_a_missing_interpreter_fails_as_in_a_shell(
    record: Recorder, tmp_path: Path
) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n", encoding="utf-8")
    script.chmod(0o755)
    assert record([script]).exit_code == 127
    assert not (tmp_path / "trace").exists()


def test_script_without_an_interpreter_line_is_run_by_the_shell(
    record: Recorder, tmp_path: Path
) -> None:
    script = tmp_path / "script"
    script.write_text('echo "$1"\n', encoding="utf-8")
    script.chmod(0o755)
    assert record([script, "word"]).stdout == "word\n"


def test_a_program_of_this_directory_is_not_looked_for_in_the_path(
    record: Recorder, tmp_path: Path
) -> None:
    (tmp_path / "true").write_text("#!/bin/sh\necho mine\n", encoding="utf-8")
    (tmp_path / "true").chmod(0o755)
    assert record(["./true"]).stdout == "mine\n"


def test_options_of_the_command_are_not_perfscopes(tmp_path: Path) -> None:
    done = subprocess.run(
        perfscope_command("run", "--quiet", "echo", "--output", "-q", "--", "x"),
        cwd=tmp_path,
        env=job_variables(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "--output -q -- x\n"
    assert (tmp_path / "trace" / "run.json").exists()


def test_signals_are_as_without_perfscope(record: Recorder, tmp_path: Path) -> None:
    """Ignored and blocked signals and open files, as the kernel shows them to the job."""
    command = ["sh", "-c", "grep -E '^Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd | wc -l"]
    assert record(command).stdout == run_plain(command, cwd=tmp_path).stdout


def test_mpi_job_prints_and_ends_as_before(mpi: Mpi, record: Recorder, tmp_path: Path) -> None:
    command = mpi.python_command(2, "-c", RANK)
    recorded = record(command, variables=mpi.variables)
    plain = run_plain(command, cwd=tmp_path, variables=mpi.variables)
    assert (
        (recorded.exit_code, recorded.stdout)
        == (plain.returncode, plain.stdout)
        == (0, "total 1\n")
    )
    assert without_perfscope(recorded.stderr) == plain.stderr.splitlines()
    assert recorded.run_file["launcher"]["flavour"] == mpi.flavor
    assert recorded.run_file["ranks_requested"] == 2
    assert "recorded 2 ranks in trace/" in recorded.stderr


def test_a_failure_before_mpi_starts_keeps_its_exit_code(
    mpi: Mpi, record: Recorder, tmp_path: Path
) -> None:
    command = mpi.python_command(2, "-c", "raise SystemExit(7)")
    recorded = record(command, variables=mpi.variables)
    plain = run_plain(command, cwd=tmp_path, variables=mpi.variables)
    assert recorded.exit_code == plain.returncode != 0
    assert recorded.run_file["exit_code"] == plain.returncode
