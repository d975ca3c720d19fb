"""A job that hangs: what is seen from outside while it does, and what --on-hang keeps of it."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from perfscope.record import hang_watch
from perfscope.watch import hang, live
from perfscope.watch.look import look
from tests.support.environments import Environment, Mpi
from tests.support.processes import started
from tests.support.recording import job_variables, perfscope_command
from tests.support.waiting import wait_for, wait_for_text
from tests.support.write_recording import write_run

JOB = """
import os, time
import numpy
import perfscope
from mpi4py import MPI

world = MPI.COMM_WORLD
values = numpy.zeros(100)


def forget_the_others():
    open('hanging', 'w').write('yes')
    while not os.path.exists('go on'):
        time.sleep(0.02)


def train(number):
    if number == 20 and world.rank == 1:
        forget_the_others()
    world.Allreduce(MPI.IN_PLACE, values)


for number in range(25):
    perfscope.step(samples=8)
    train(number)
"""

TORCH_JOB = """
import os, time, sys
import torch
import torch.distributed as dist

own = int(os.environ["PMI_RANK"])
meeting = "file://" + os.path.abspath("meeting")
dist.init_process_group("gloo", init_method=meeting, rank=own, world_size=2)
values = torch.zeros(4)


def forget_the_others(how):
    open('hanging ' + how, 'w').write('yes')
    while not os.path.exists('go on ' + how):
        time.sleep(0.02)


for how in sys.argv[1:]:
    dist.barrier()
    if dist.get_rank() == 1:
        forget_the_others(how)
    if how == 'wait':
        dist.all_reduce(values, async_op=True).wait()
    else:
        dist.all_reduce(values)
dist.destroy_process_group()
"""


def watch(directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        perfscope_command("watch", directory, "--once", *options),
        env=job_variables(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def picture_of_step(number: int, directory: Path) -> str | None:
    """What was kept when this was the last step: ranks that start slowly stand still, too."""
    texts = (path.read_text(encoding="utf-8") for path in directory.glob("hang-*.txt"))
    return next((text for text in texts if f"The last step of all was {number}." in text), None)


def test_a_hang_is_explained_from_another_shell_and_kept(tmp_path: Path, mpich: Mpi) -> None:
    (tmp_path / "job.py").write_text(JOB, encoding="utf-8")
    (tmp_path / "rich.py").write_text("raise SystemExit('a module of the job')", encoding="utf-8")
    command = perfscope_command("run", "--on-hang", "1", "--", *mpich.python_command(3, "job.py"))
    with started(command, cwd=tmp_path) as job:
        wait_for_text(tmp_path / "hanging")
        kept = wait_for("a picture", lambda: picture_of_step(19, tmp_path / "trace"))
        seen = watch(tmp_path / "trace", "--stalled-after", "1")
        (tmp_path / "go on").touch()
        _, told = job.communicate(timeout=60)
        assert job.returncode == 0, told
    # rank 1 came to 20 allreduces; in the one with ordinal 20 the others wait
    for text in (kept, seen.stdout):
        assert "MPI_Allreduce #20 on MPI_COMM_WORLD: ranks 0, 2 wait for rank 1" in text
        assert "forget_the_others() (job.py:" in text
        assert "The last step of all was 19." in text
    assert "train() (job.py:" in kept.partition("Python stacks")[2]
    assert seen.returncode == 1
    assert "no rank has begun or finished a call, phase or step" in told
    over = watch(tmp_path / "trace")
    assert (over.returncode, "over, exit code 0" in over.stdout) == (0, True)
    assert "hang-1.txt" in (tmp_path / "trace" / "run.json").read_text(encoding="utf-8")


START = r"""
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    while (atoi(getenv("PMI_RANK")) == 1 && access("go on", F_OK))
        usleep(20000);
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    return 0;
}
"""


def test_a_job_without_python_that_does_not_start_is_noticed(tmp_path: Path, mpich: Mpi) -> None:
    (tmp_path / "start.c").write_text(START, encoding="ascii")
    compiler = mpich.environment.prefix / "bin" / "mpicc"
    subprocess.run([compiler, "-o", "start", "start.c"], cwd=tmp_path, check=True)
    command = perfscope_command("run", "--on-hang", "1", "--", *mpich.command(2, "./start"))
    with started(command, cwd=tmp_path) as job:
        # on a slow machine an earlier picture may be of a job of which nothing is recorded yet
        kept = wait_for("a picture", lambda: start_that_is_seen(tmp_path / "trace"))
        seen = watch(tmp_path / "trace", "--stalled-after", "1")
        (tmp_path / "go on").touch()
        _, told = job.communicate(timeout=60)
        assert job.returncode == 0, told
    for text in (kept, seen.stdout):
        assert "1 process of the 2 that the command asks for can be seen in it" in text
    assert seen.returncode == 1
    processes = kept.partition("Processes of the job on this host")[2]
    assert len(re.findall(r"\./start$", processes, re.MULTILINE)) >= 2  # the absent one, too


def start_that_is_seen(directory: Path) -> str | None:
    texts = (path.read_text(encoding="utf-8") for path in directory.glob("hang-*.txt"))
    return next((text for text in texts if "No process has come out of MPI_Init" in text), None)


def test_a_job_of_which_nothing_is_recorded_is_told_by_its_processes(tmp_path: Path) -> None:
    script = "while [ ! -e 'go on' ]; do sleep 0.05; done; : --password=hunter2"
    command = perfscope_command("run", "--on-hang", "1", "--", "sh", "-c", script)
    with started(command, cwd=tmp_path) as job:
        kept = wait_for_text(tmp_path / "trace" / "hang-1.txt")
        (tmp_path / "go on").touch()
        _, told = job.communicate(timeout=60)
        assert job.returncode == 0, told
    assert "nothing is recorded: no process of the job has called MPI" in kept
    assert "sh -c while" in kept
    assert "hunter2" not in kept


def all_reduce_is_told(number: int, directory: Path) -> bool:
    told = rf"torch\.distributed\.all_reduce .*#{number} .*\(all ranks\) .* rank 0 +rank 1\n"
    return re.search(told, watch(directory).stdout) is not None


def test_a_collective_of_torch_that_has_not_returned_is_told(
    tmp_path: Path, mpich: Mpi, environment: Callable[[str], Environment]
) -> None:
    """The first one returns when all have called it, the other one is waited for."""
    (tmp_path / "job.py").write_text(TORCH_JOB, encoding="utf-8")
    ways = {"at once": 1, "wait": 3}  # after how many others, barriers among them
    ranks = mpich.command(2, environment("torch").python, "job.py", *ways)
    with started(perfscope_command("run", "--", *ranks), cwd=tmp_path) as job:
        for how, number in ways.items():
            wait_for_text(tmp_path / f"hanging {how}")
            wait_for("it", partial(all_reduce_is_told, number, tmp_path / "trace"))
            (tmp_path / f"go on {how}").touch()
        _, errors = job.communicate(timeout=60)
        assert job.returncode == 0, errors


def test_that_nothing_can_be_read_is_told_once_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two looks a second: for five seconds there is nothing, then a job, then nothing again."""
    write_run(tmp_path, end_mono_ns=None, exit_code=None)
    job, now_s = replace(look(tmp_path), stalled_s=0.0), [0.0]
    looks = [*[None] * 10, job, *[None] * 5, job, *[None] * 3]
    left = iter(looks)

    def is_over(wait_s: float) -> bool:
        now_s[0] += wait_s
        return now_s[0] > 0.5 * len(looks)

    monkeypatch.setattr(hang, "_is_over", is_over)
    monkeypatch.setattr(hang, "_look", lambda *_: next(left))
    monkeypatch.setattr("perfscope.watch.hang.time.monotonic", lambda: now_s[0])
    hang.watch(tmp_path, 2.0)
    assert re.findall(r"perfscope: (.*): whether", capsys.readouterr().err) == ["2.00 s"] * 2


def test_a_job_runs_also_without_its_watcher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "missing"))
    with hang_watch.watching(tmp_path, 1.0):
        pass
    assert "No such file or directory; the job runs without" in capsys.readouterr().err


def test_a_page_is_written_anew_until_the_job_is_over(tmp_path: Path) -> None:
    script = "import os, time\nwhile not os.path.exists('end'): time.sleep(0.05)"
    page = tmp_path / "live.html"
    command = perfscope_command("run", "--", sys.executable, "-c", script)
    with started(command, cwd=tmp_path):
        wait_for("a run directory", (tmp_path / "trace").is_dir)
        watching = perfscope_command("watch", "trace", "--html", page, "--interval", "0.5")
        with started(watching, cwd=tmp_path) as watcher:
            first = wait_for_text(page)
            (tmp_path / "end").touch()
            assert watcher.wait(timeout=60) == 0
    assert 'http-equiv="refresh"' in first
    assert 'http-equiv="refresh"' not in page.read_text(encoding="utf-8")


def test_a_picture_is_of_after_the_pause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "import os, time\nwhile not os.path.exists('end'): time.sleep(0.05)"
    command = perfscope_command("run", "--", sys.executable, "-c", script)
    pauses = []
    with started(command, cwd=tmp_path) as job:
        wait_for("a run directory", (tmp_path / "trace").is_dir)

        def pause(pause_s: float) -> None:
            if list(tmp_path.glob("live.html")):  # it was shown once
                pauses.append(pause_s)
                (tmp_path / "end").touch()
                job.wait()

        monkeypatch.setattr("perfscope.watch.live.time.sleep", pause)
        page = tmp_path / "live.html"
        live.show(live.View(tmp_path / "trace", page), is_terminal=False)
    assert len(pauses) == 1


def test_ctrl_c_ends_watching_and_not_the_job(tmp_path: Path) -> None:
    script = "import os, time\nwhile not os.path.exists('end'): time.sleep(0.05)"
    command = perfscope_command("run", "--", sys.executable, "-c", script)
    with started(command, cwd=tmp_path) as job:
        wait_for("a run directory", (tmp_path / "trace").is_dir)
        watching = perfscope_command("watch", "trace", "--html", "live.html")
        with started(watching, cwd=tmp_path) as watcher:
            wait_for_text(tmp_path / "live.html")
            watcher.send_signal(signal.SIGINT)
            assert watcher.wait(timeout=60) == 130
        assert job.poll() is None
        (tmp_path / "end").touch()
        assert job.wait(timeout=60) == 0


def test_a_page_that_cannot_be_written_is_told_in_three_lines(tmp_path: Path) -> None:
    job = perfscope_command("run", "--", sys.executable, "-c", "pass")
    with started(job, cwd=tmp_path) as running:
        assert running.wait(timeout=60) == 0
    done = watch(tmp_path / "trace", "--html", str(tmp_path / "missing" / "live.html"))
    lines = done.stderr.splitlines()
    assert (done.returncode, lines[1], len(lines)) == (2, "No such file or directory.", 3)


def test_what_is_no_recording_is_told_in_three_lines(tmp_path: Path) -> None:
    done = watch(tmp_path / "nothing")
    assert (done.returncode, done.stdout) == (3, "")
    assert len(done.stderr.splitlines()) == 3
