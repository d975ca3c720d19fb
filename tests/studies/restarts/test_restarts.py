"""A job over its attempts: what was kept and lost, in recordings with known times and real ones."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from perfscope.errors import UsageError
from perfscope.readers.recording.layout import HeaderFlag
from perfscope.readers.recording.reader import open_attempts
from perfscope.report.studies.sections.restarts import interval
from perfscope.schema.enums import PhaseKind
from perfscope.schema.restarts import Restarts
from perfscope.studies.restarts.labels import verdict
from perfscope.studies.restarts.restarts import restarts, starts_of
from tests.support.environments import Mpi
from tests.support.processes import perfscope_started
from tests.support.recording import job_variables, perfscope_command
from tests.support.write_recording import MONO_START_NS, REAL_START_NS, ProcessWriter, write_run

JOB = """
import os, signal, sys
import perfscope
from mpi4py import MPI

last, at = int(sys.argv[1]), int(sys.argv[2])
for number in range(last):
    perfscope.step()
    MPI.COMM_WORLD.Barrier()
    if number % 4 == 3:
        with perfscope.phase("checkpoint"):
            MPI.COMM_WORLD.Barrier()
    if number == at and MPI.COMM_WORLD.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def attempt(directory: Path, *, at_s: float, ranks: int, killed_s: float | None = None) -> Path:
    """Steps of a second from 2 s on, a checkpoint of 0.5 s behind every third, 12 s in all."""
    end_s = 12.0 if killed_s is None else killed_s
    for rank in range(ranks):
        flags = HeaderFlag.MPI | (HeaderFlag(0) if killed_s else HeaderFlag.FINALIZED)
        process = ProcessWriter(rank=rank, size=ranks, pid=100 + rank, start_s=at_s, flags=flags)
        process.op("MPI_Barrier", at_s + 1.0, at_s + 1.5, comm=0xFFFFFFFF, seq=0)
        for number in range(int(end_s - 2)):
            process.step(number, at_s + 2.0 + number, at_s + 3.0 + number)
        for end in range(5, int(end_s), 3):
            process.phase(PhaseKind.CHECKPOINT, at_s + end - 0.5, at_s + end - 0.1 * rank)
        if killed_s and rank:  # it was writing when it ended: that one is none
            process.phase(PhaseKind.CHECKPOINT, at_s + end_s - 0.1, None)
        process.header |= {"alive_ns": process.mono(at_s + end_s)}
        process.write(directory)
    start_ns = round(at_s * 1e9)
    write_run(
        directory,
        start_unix_ns=REAL_START_NS + start_ns,
        start_mono_ns=MONO_START_NS + start_ns,
        end_mono_ns=MONO_START_NS + start_ns + round(end_s * 1e9),
        exit_code=137 if killed_s else 0,
    )
    return directory


def found_in(*directories: Path) -> Restarts:
    starts = [start for path in directories for start in starts_of(path.name, open_attempts(path))]
    return restarts(starts)


def test_attempts_of_different_commands_are_said_to_be(tmp_path: Path) -> None:
    found = found_in(attempt(tmp_path / "a", at_s=0.0, ranks=1))
    alike = {"a": ["python", "train.py"], "b": ["python", "train.py"]}
    assert "command" not in verdict(found, alike)[1]
    told = verdict(found, alike | {"c": ["python", "other.py"]})[1]
    assert "2 different commands, a by python train.py and c by python other.py" in told


def test_seconds_between_checkpoint_and_end_are_lost(tmp_path: Path) -> None:
    first = attempt(tmp_path / "a", at_s=0.0, ranks=3, killed_s=10.0)
    second = attempt(tmp_path / "b", at_s=30.0, ranks=2)
    found = found_in(second, first)
    one, two = found.attempts
    # checkpoints were complete at 5 and 8 s
    assert (one.ranks, one.checkpoints, one.lost_steps) == (3, 2, 2)
    assert (one.start_up_s, one.lost_s, one.kept_s) == pytest.approx((2.0, 2.0, 6.0), abs=1e-6)
    assert (two.ranks, two.lost_s) == (2, 0.0)
    assert two.gap_s == pytest.approx(20.0)
    assert found.elapsed_s == pytest.approx(42.0)
    parts = (found.gap_s, found.start_up_s, found.kept_s, found.lost_s)
    assert sum(parts) == pytest.approx(found.elapsed_s)
    assert found.interval is not None
    assert found.interval.seconds == pytest.approx(3.0)
    assert found.interval.best_s == pytest.approx((2 * 0.5 * 22.0) ** 0.5)
    assert "A checkpoint every 4.69 s (now every 3.00 s) would cost least" in interval(found)
    status, sentence = verdict(found, {})
    assert (status, "2.00 s (4.8 %) was lost between" in sentence) == ("warn", True), sentence
    assert "1 did not reach the end by itself" in sentence


def test_without_a_checkpoint_every_step_is_lost(tmp_path: Path) -> None:
    found = found_in(attempt(tmp_path / "a", at_s=0.0, ranks=1, killed_s=4.0))
    assert found.attempts[0].lost_s == pytest.approx(2.0)
    assert found.interval is None
    assert interval(found) == ""


def test_a_job_without_a_failure_is_said_to_have_ended(tmp_path: Path) -> None:
    _, sentence = verdict(found_in(attempt(tmp_path / "a", at_s=0.0, ranks=1)), {})
    assert "was work that was kept; the attempt reached its end." in sentence


def test_jobs_beside_each_other_are_no_attempts(tmp_path: Path) -> None:
    attempt(tmp_path / "a", at_s=0.0, ranks=1)
    attempt(tmp_path / "b", at_s=4.0, ranks=1)
    with pytest.raises(UsageError, match="ran at the same time"):
        found_in(tmp_path / "a", tmp_path / "b")


def test_ranks_that_come_and_go_in_one_recording(tmp_path: Path, mpich: Mpi) -> None:
    """A script starts three ranks, of which one is killed, and then two, as elastic jobs do."""
    (tmp_path / "job.py").write_text(JOB, encoding="utf-8")
    words = [
        " ".join(map(str, mpich.python_command(ranks, "job.py", *more)))
        for ranks, more in ((3, ("40", "9")), (2, ("12", "99")))
    ]
    (tmp_path / "elastic.sh").write_text("\n".join(words), encoding="utf-8")
    with perfscope_started(["sh", "elastic.sh"], cwd=tmp_path) as job:
        job.communicate(timeout=120)
        assert job.returncode == 0
    found = shown(tmp_path, "trace")
    one, two = found["attempts"]
    assert (one["ranks"], one["checkpoints"], one["lost_steps"] > 0) == (3, 2, True)
    assert (two["ranks"], two["checkpoints"], two["lost_s"]) == (2, 3, 0.0)
    assert "killed (9)" in one["ending"] or "unknown" in one["ending"]
    page = (tmp_path / "restarts" / "study.html").read_text(encoding="utf-8")
    assert "trace #1" in page


def shown(directory: Path, *recordings: str) -> dict[str, Any]:
    done = subprocess.run(
        perfscope_command("restarts", *recordings, "--json"),
        cwd=directory,
        env=job_variables(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)["restarts"]
    return found


def test_a_job_whose_ranks_come_and_go_reached_its_end_with_those_it_had_then(
    tmp_path: Path,
) -> None:
    """One of two ranks is killed, the other one goes on alone: nothing of it is another attempt."""
    groups = ([[1.0, 0, 2]], [[1.0, 1, 2], [7.0, 0, 1]])
    for rank, (end_s, own) in enumerate(zip((6.0, 12.0), groups, strict=True)):
        process = ProcessWriter(rank=rank, size=2, pid=100 + rank, flags=HeaderFlag.AGENT)
        told = [[process.mono(at_s), number, size] for at_s, number, size in own]
        horovod = {"elastic": {"driver": 1, "groups": told}}
        process.metadata = {"schema": 1, "role": "rank", "frameworks": {"horovod": horovod}}
        for number in range(int(end_s - 2)):
            process.step(number, 2.0 + number, 3.0 + number)
        process.header |= {"alive_ns": process.mono(end_s)}
        if rank:
            process.header |= {"exit_ns": process.mono(end_s)}
            process.flags |= HeaderFlag.EXITED
        process.write(tmp_path)
    start_ns = MONO_START_NS
    write_run(tmp_path, start_unix_ns=REAL_START_NS, start_mono_ns=start_ns, exit_code=0)
    [one] = restarts(starts_of("run", open_attempts(tmp_path))).attempts
    assert (one.ended_well, one.ranks, one.lost_s) == (True, 2, 0.0)
    assert one.ending == "exit code 0, with the ranks that it had then"
    assert one.kept_s > 0
