"""Jobs beside each other, inside each other, one after the other, and in odd places."""

import shlex
from pathlib import Path

from tests.support.environments import Mpi
from tests.support.processes import perfscope_started
from tests.support.recording import Recorder
from tests.whole_jobs.test_endings import PROGRAM, RANKS, analyzed, check_work, texts


def test_two_jobs_at_once(mpich: Mpi, tmp_path: Path) -> None:
    command = mpich.python_command(RANKS, PROGRAM, "well")
    with (
        perfscope_started(command, cwd=tmp_path) as one,
        perfscope_started(command, cwd=tmp_path) as other,
    ):
        assert [one.wait(timeout=60), other.wait(timeout=60)] == [0, 0]
    for name in ("trace", "trace-2"):
        document = analyzed(tmp_path / name)
        check_work(document)
        assert texts(document) == ["finalized"] * RANKS
        assert not [row for row in document["quality"] if row["id"] == "separate_worlds"]


def test_a_job_inside_a_job(mpich: Mpi, record: Recorder, tmp_path: Path) -> None:
    """A rank starts a job of its own after its work, as ensembles and tuners do."""
    inner = shlex.join(mpich.python_command(3, PROGRAM, "well"))
    script = tmp_path / "outer.py"
    script.write_text(
        "import os, runpy, subprocess, sys, time\n"
        f"sys.argv = [{str(PROGRAM)!r}, 'well']\n"
        "from mpi4py import MPI\n"
        "started = time.monotonic()\n"
        f"runpy.run_path({str(PROGRAM)!r}, run_name='__main__')\n"
        "if MPI.COMM_WORLD.rank == 0:\n"
        "    clean = {k: v for k, v in os.environ.items()\n"
        "             if not k.startswith(('PMI', 'HYD', 'MPI'))}\n"
        f"    subprocess.run({inner!r}, shell=True, check=True, env=clean)\n"
        "MPI.COMM_WORLD.Barrier()\n",
        encoding="utf-8",
    )
    recorded = record(mpich.python_command(RANKS, script))
    assert recorded.exit_code == 0, recorded.stderr
    document = analyzed(recorded.directory)
    check_work(document)
    [notes] = [row["detail"] for row in document["quality"] if row["id"] == "recording_notes"]
    assert "2 MPI worlds" in notes
    assert "3 of 3 ranks" in notes


def test_a_script_that_starts_two_jobs(mpich: Mpi, record: Recorder, tmp_path: Path) -> None:
    """One after the other; the longer one is analyzed, and the other is named."""
    jobs = [mpich.python_command(RANKS, PROGRAM, "well")] * 2
    script = tmp_path / "jobs.sh"
    script.write_text("\n".join(shlex.join(job) for job in jobs) + "\n", encoding="utf-8")
    recorded = record(["sh", script])
    assert recorded.exit_code == 0
    document = analyzed(recorded.directory)
    check_work(document)
    [notes] = [row["detail"] for row in document["quality"] if row["id"] == "recording_notes"]
    assert "2 MPI worlds" in notes


def test_a_path_with_spaces_and_letters_of_any_kind(
    mpich: Mpi, record: Recorder, tmp_path: Path
) -> None:
    place = tmp_path / "Läufe und Ergebnisse 数 'x' <b>"
    place.mkdir()
    program = place / "träin &.py"
    program.write_bytes(PROGRAM.read_bytes())
    command = mpich.python_command(RANKS, program, "well")
    recorded = record(command, cwd=place, output=place / "mein lauf")
    assert recorded.exit_code == 0
    document = analyzed(recorded.directory)
    check_work(document)
    assert document["run"]["command"][-2] == str(program)
    assert "<b>" not in (recorded.directory / "report.html").read_text(encoding="utf-8")
