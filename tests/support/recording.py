"""Runs the real `perfscope` command on real jobs."""

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests.support import forked_runs
from tests.support.environments import REPOSITORY, Environment

_RECORDED_TO = re.compile(r"^perfscope: recording to (.*)/$", re.MULTILINE)
_INHERITED = ("HOME", "LANG", "LC_ALL", "PATH", "TMPDIR", "USER", "CI", "HYPOTHESIS_PROFILE")
JOB_TIMEOUT_S = 120.0
WAITS_WITHOUT_CPU = {"GOMP_SPINCOUNT": "0", "OPENBLAS_THREAD_TIMEOUT": "4"}
"""Threads of PyTorch and numpy that have nothing to do leave their CPU at once.

Else each waits for the next operation on its CPU, which is as busy with other tests: small
operations take ten times as much of it.
"""


@dataclass(frozen=True)
class Recorded:
    """A finished `perfscope run`."""

    exit_code: int  # of perfscope, negative after a signal
    stdout: str  # what the job printed
    stderr: str  # what the job and perfscope printed
    directory: Path  # the run directory, which may not exist when the job never started

    @property
    def run_file(self) -> dict[str, Any]:
        """The contents of run.json."""
        document = json.loads((self.directory / "run.json").read_text(encoding="utf-8"))
        assert isinstance(document, dict)
        return document

    @property
    def record_files(self) -> list[Path]:
        """One file for each process that was recorded."""
        return sorted(self.directory.glob("*/*.rec"))


class Recorder(Protocol):
    """What the fixture `record` is."""

    def __call__(
        self,
        command: Sequence[str | Path],
        *,
        options: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        output: Path | None = None,
        timeout_s: float = JOB_TIMEOUT_S,
    ) -> Recorded:
        """Runs `perfscope run` on a command and waits for its end."""


def perfscope_command(*arguments: str | Path) -> list[str]:
    """A command line of this installation's perfscope."""
    script = Path(sys.executable).with_name("perfscope")
    start = [script] if script.exists() else [sys.executable, "-m", "perfscope"]
    return [str(word) for word in (*start, *arguments)]


def job_variables(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment that jobs of the tests start with: that of a login, and what is added."""
    variables = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    variables.setdefault("LANG", "C.UTF-8")
    variables["SELDOM_COLLECTED"] = "1"  # scripts/environments.py: in what loads PyTorch
    variables["LIGHT_START"] = str(REPOSITORY / "tests/support/light_start.py")  # there, too
    variables.update(WAITS_WITHOUT_CPU)
    variables["MPIR_CVAR_CH4_PROGRESS_THROTTLE"] = "1"  # a rank of MPICH that waits leaves its CPU
    variables.update(extra or {})
    return variables


def record(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    output: Path,
    options: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
    timeout_s: float = JOB_TIMEOUT_S,
) -> Recorded:
    """Runs `perfscope run` on a command and waits for its end."""
    words = perfscope_command("run", "--output", output, *options, "--", *command)
    done = None
    if forked_runs.can_run(variables):
        of_job, of_login = job_variables(variables), job_variables()
        done = forked_runs.run(
            words, cwd=cwd, variables=of_job, login=of_login, timeout_s=timeout_s
        )
    if done is None:
        done = run_plain(words, cwd=cwd, variables=variables, timeout_s=timeout_s)
    told = _RECORDED_TO.search(done.stderr)
    directory = cwd / told[1] if told else output
    return Recorded(done.returncode, done.stdout, done.stderr, directory)


def record_with(
    library: Path, job: Sequence[str], *, cwd: Path
) -> subprocess.CompletedProcess[str]:
    """Records a job with a recorder that lies elsewhere than that of this installation."""
    code = f"""
import sys
from pathlib import Path
from perfscope.record import launch
from perfscope.record import job as record
record.recorder_library = lambda: Path({str(library)!r})
options = launch.RecordingOptions()
sys.exit(record.record({list(job)!r}, output=Path("trace"), options=options, quiet=True))
"""
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=cwd,
        env=job_variables(),
        capture_output=True,
        text=True,
        check=False,
    )


def record_and_analyze(
    command: Sequence[str | Path],
    *,
    place: Path,
    options: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
    timeout_s: float = JOB_TIMEOUT_S,
) -> tuple[Recorded, dict[str, Any]]:
    """Runs `perfscope run` in a directory to a good end; the run, and its result document."""
    done = record(
        command,
        cwd=place,
        output=place / "trace",
        options=options,
        variables=variables,
        timeout_s=timeout_s,
    )
    assert done.exit_code == 0, done.stderr
    return done, analysis_of(done.directory)


def analysis_of(directory: Path, *options: str | Path) -> dict[str, Any]:
    """The result document of a recording, without its page."""
    done = analyze(directory, "--json", "--no-report", *options)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert isinstance(document, dict)
    return document


def run_plain(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    variables: Mapping[str, str] | None = None,
    timeout_s: float = JOB_TIMEOUT_S,
) -> subprocess.CompletedProcess[str]:
    """Runs the same command without perfscope, for comparison."""
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=job_variables(variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def run_with(
    command: list[str],
    cwd: Path,
    packages: Environment | None,
    variables: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a command of perfscope with packages of another environment of the same Python."""
    paths = [REPOSITORY]
    if packages is not None:
        paths.append(next(packages.prefix.glob("lib/python3*/site-packages")))
    path = os.pathsep.join(map(str, paths))
    return run_plain(
        command, cwd=cwd, variables={"PYTHONPATH": path, **(variables or {})}, timeout_s=250
    )


def analyze(directory: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs `perfscope analyze` on a recording, in this process: another one starts for a second."""
    from perfscope.cli.group import execute

    words = ["analyze", *map(str, (directory, *arguments))]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    with working_in(REPOSITORY, job_variables()), redirect_stdout(out), redirect_stderr(err):
        code = execute(words)
    shown = []
    for stream in (out, err):
        stream.flush()
        stream.seek(0)
        shown.append(stream.read())
    return subprocess.CompletedProcess(words, code, *shown)


@contextmanager
def working_in(home: Path, variables: Mapping[str, str]) -> Iterator[None]:
    """Another working directory, and these variables alone, for as long as it lasts."""
    before, known = Path.cwd(), dict(os.environ)
    os.chdir(home)
    os.environ.clear()
    os.environ.update(variables)
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(known)
