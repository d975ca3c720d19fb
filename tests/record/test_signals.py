"""Signals reach the job once, whoever sends them, and the terminal behaves as without perfscope."""

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.support.processes import kill_session, perfscope_started, status
from tests.support.recording import job_variables, perfscope_command
from tests.support.waiting import wait_for, wait_for_text

# Counts what it gets until the file `end` is there; leaves the counts in `got`.
COUNTER = """
import json, os, signal, sys, time
got = {}
def note(number, frame):
    got[number] = got.get(number, 0) + 1
    open('noted', 'w').write(str(number))
for number in (1, 2, 3, 10, 12, 15):
    signal.signal(number, note)
open('ready', 'w').write(str(os.getpid()))
while not os.path.exists('end'):
    time.sleep(0.05)
open('got', 'w').write(json.dumps(sorted(got.items())))
"""
PASSED_ON = [
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGTERM,
]


@pytest.mark.parametrize("number", PASSED_ON, ids=lambda number: number.name)
def test_a_signal_to_perfscope_reaches_the_job_once(number: signal.Signals, tmp_path: Path) -> None:
    with perfscope_started([sys.executable, "-c", COUNTER], cwd=tmp_path) as process:
        wait_for_text(tmp_path / "ready")
        process.send_signal(number)
        counts = counted_after_a_pause(tmp_path)
        assert process.wait(timeout=30) == 0
    assert counts == [(int(number), 1)]


@pytest.mark.parametrize("number", PASSED_ON, ids=lambda number: number.name)
def test_a_signal_to_the_group_reaches_the_job_once(number: signal.Signals, tmp_path: Path) -> None:
    with perfscope_started([sys.executable, "-c", COUNTER], cwd=tmp_path) as process:
        wait_for_text(tmp_path / "ready")
        os.killpg(process.pid, number)
        counts = counted_after_a_pause(tmp_path)
        assert process.wait(timeout=30) == 0
    assert counts == [(int(number), 1)]


def test_a_signal_to_perfscope_and_to_its_group_at_once_is_one(tmp_path: Path) -> None:
    """`timeout` sends both; without perfscope the second one comes while the first is pending."""
    rounds, late = 8, 0
    with perfscope_started([sys.executable, "-c", COUNTER], cwd=tmp_path) as process:
        wait_for_text(tmp_path / "ready")
        for _ in range(rounds):
            begin = time.monotonic()
            process.send_signal(signal.SIGTERM)
            time.sleep(0.001)
            os.killpg(process.pid, signal.SIGTERM)
            late += time.monotonic() - begin > 0.04  # on a busy host these were two
            time.sleep(0.2)
        process.send_signal(signal.SIGUSR1)  # alone, and so the job's as well
        counts = dict(counted_after_a_pause(tmp_path))
        assert process.wait(timeout=30) == 0
    assert counts[signal.SIGUSR1] == 1
    assert rounds <= counts[signal.SIGTERM] <= rounds + late


def counted_after_a_pause(directory: Path) -> list[tuple[int, int]]:
    """What COUNTER has counted: a signal, and a second copy of it where one follows."""
    wait_for_text(directory / "noted")
    subprocess.run(["sleep", "0.4"], check=True)
    (directory / "end").touch()
    text = wait_for_text(directory / "got")
    return [(number, count) for number, count in json.loads(text)]


@contextmanager
def on_a_terminal(command: list[str], directory: Path) -> Generator[tuple[int, int], None, None]:
    """A command as the foreground job of a terminal of its own: its pid and the other end."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(directory)
        os.execvpe(command[0], command, job_variables())
    try:
        yield pid, terminal
    finally:
        kill_session(pid)
        os.close(terminal)


def test_control_c_reaches_the_job_once_and_its_exit_code_counts(tmp_path: Path) -> None:
    command = perfscope_command("run", "--", sys.executable, "-c", COUNTER + "sys.exit(9)")
    with on_a_terminal(command, tmp_path) as (pid, terminal):
        wait_for_text(tmp_path / "ready")
        os.write(terminal, b"\x03")
        assert counted_after_a_pause(tmp_path) == [(int(signal.SIGINT), 1)]
        _, wait_status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(wait_status) == 9


def test_control_c_ends_a_job_that_does_not_handle_it_as_without_perfscope(tmp_path: Path) -> None:
    job = ["sh", "-c", "echo > ready; exec sleep 60"]  # a fork might miss it
    with on_a_terminal(perfscope_command("run", "--", *job), tmp_path) as (pid, terminal):
        wait_for_text(tmp_path / "ready")
        os.write(terminal, b"\x03")
        _, wait_status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(wait_status) == 128 + signal.SIGINT
    assert '"signal": 2' in (tmp_path / "trace" / "run.json").read_text(encoding="utf-8")


def test_control_z_stops_and_a_continue_resumes(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(COUNTER, encoding="utf-8")
    command = perfscope_command("run", "--", sys.executable, "job.py")
    # A shell with job control puts the job into the foreground and takes the terminal back.
    shell = ["bash", "--norc", "-i"]
    with on_a_terminal(shell, tmp_path) as (_, terminal):
        os.write(terminal, f"{shlex.join(command)}\n".encode())
        pid = int(wait_for_text(tmp_path / "ready"))
        perfscope = psutil.Process(pid).ppid()
        os.write(terminal, b"\x1a")
        wait_for("both to stop", lambda: status(pid) == status(perfscope) == psutil.STATUS_STOPPED)
        os.write(terminal, b"fg\n")
        wait_for(
            "both to go on", lambda: psutil.STATUS_STOPPED not in (status(pid), status(perfscope))
        )
        (tmp_path / "end").touch()
        assert wait_for_text(tmp_path / "got") == "[]"
        os.write(terminal, b"echo $? > code\n")
        assert wait_for_text(tmp_path / "code") == "0\n"


def test_a_stopped_job_is_waited_for(tmp_path: Path) -> None:
    """Batch systems suspend jobs with SIGSTOP: perfscope goes on waiting and sees the end."""
    with perfscope_started([sys.executable, "-c", COUNTER], cwd=tmp_path) as process:
        pid = int(wait_for_text(tmp_path / "ready"))
        os.kill(pid, signal.SIGSTOP)
        wait_for("the job to stop", lambda: status(pid) == psutil.STATUS_STOPPED)
        os.kill(pid, signal.SIGCONT)
        (tmp_path / "end").touch()
        assert process.wait(timeout=30) == 0


def test_an_ignored_hangup_stays_ignored(tmp_path: Path) -> None:
    command = ["nohup", *perfscope_command("run", "--", "grep", "SigIgn", "/proc/self/status")]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=job_variables(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    ignored = int(done.stdout.split()[1], 16)
    assert ignored & 1 << (signal.SIGHUP - 1)
