"""A command that is interrupted says so by its exit code, and leaves nothing half-written."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from perfscope.cli.main import main
from perfscope.errors import ExitCode
from tests.cli.test_analyze import write_recording
from tests.support.recording import job_variables, perfscope_command
from tests.support.waiting import wait_for


@contextmanager
def started(*words: str, cwd: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        perfscope_command(*words),
        cwd=cwd,
        env=job_variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def computes(process: subprocess.Popen[str]) -> Callable[[], bool]:
    """Whether a command has begun to load what it computes with."""
    return lambda: "numpy" in Path(f"/proc/{process.pid}/maps").read_text(encoding="utf-8")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "words",
    [
        ["analyze", "one"],
        ["compare", "one", "two"],
        ["whatif", "one", "--edit", "remove:evaluation"],
        ["export", "one", "--to", "chrome", "-o", "out.json"],
    ],
    ids=lambda words: str(words[0]),
)
def test_an_interrupt_ends_a_command(
    words: list[str], number: signal.Signals, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_recording(tmp_path / name)
    before = sorted(tmp_path.rglob("*"))
    with started(*words, cwd=tmp_path) as process:
        wait_for("the command to compute", computes(process))
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=30)
    assert (process.returncode, stdout, stderr) == (128 + number, "", "")
    assert sorted(tmp_path.rglob("*")) == before


INTERRUPTED = """
import os, signal, sys
from pathlib import Path
from perfscope.cli.main import main

def replace(self, target):
    assert self.exists()
    os.kill(os.getpid(), signal.SIGTERM)

Path.replace = replace
sys.exit(main())
"""


def test_an_interrupt_between_two_files_leaves_whole_ones(tmp_path: Path) -> None:
    write_recording(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, "analyze", str(tmp_path)],
        env=job_variables(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (143, "")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_program_that_calls_the_command_keeps_its_handlers() -> None:
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    assert main(["--version"]) == ExitCode.OK
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
