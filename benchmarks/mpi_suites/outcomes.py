"""How a part of a suite ends, unrecorded and recorded, and where the two differ."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.jobs import AS_ROOT, ROOT, prefix

CACHE = ROOT / ".envs" / "suites"

# What mpirun needs to start more ranks than cores, and to count places rightly.
ARGUMENTS = {"mpich": (), "openmpi": ("--oversubscribe",), "intelmpi": ("-ppn", "{ranks}")}
HUNG = "did not end"
RECORDED_PATIENCE = 3


@dataclass(frozen=True)
class Place:
    """Where a suite runs."""

    mpi: str  # mpich, openmpi or intelmpi: an environment below .envs/
    ranks: int  # of each job
    longest_s: float  # an unrecorded job is ended after so long

    def patience_s(self, is_recorded: bool) -> float:
        """A job is ended after so long: how fast it is on a busy machine is no outcome."""
        return RECORDED_PATIENCE * self.longest_s if is_recorded else self.longest_s

    @property
    def binaries(self) -> Path:
        """The directory of its Python and its mpirun."""
        return prefix(self.mpi) / "bin"

    def command(self, *program: object) -> list[str]:
        """The command line that starts a program on the ranks."""
        arguments = [word.format(ranks=self.ranks) for word in ARGUMENTS[self.mpi]]
        return [str(w) for w in (self.binaries / "mpirun", *arguments, "-n", self.ranks, *program)]


@dataclass(frozen=True)
class Ending:
    """How one job ended."""

    end: str  # exit code of the launcher, or that it did not end
    # outcome of each test by its name; the job itself where it is one test
    tests: Mapping[str, str] = field(default_factory=dict)
    output: str = ""  # what it printed
    # lines of it that must be the same; None where nothing can be told
    printed: tuple[str, ...] | None = None


def recorded_command(command: Sequence[str], directory: Path) -> list[str]:
    """The same command under `perfscope run`, which says nothing but what went wrong."""
    script = Path(sys.executable).with_name("perfscope")
    return [str(script), "run", "--quiet", "--output", str(directory), "--", *command]


def run(
    command: Sequence[str],
    *,
    place: Path,
    binaries: Path,
    longest_s: float,
    variables: Mapping[str, str] | None = None,
) -> tuple[str, str]:
    """How a command ends, and what it prints; it and what it started is ended in the end.

    Args:
        command: the job, or perfscope with the job.
        place: the directory that it starts in.
        binaries: where the job's MPI is: its mpirun looks for its other parts in PATH.
        longest_s: it is ended after so long.
        variables: more for its environment.
    """
    search = f"{binaries}{os.pathsep}{os.environ['PATH']}"
    with subprocess.Popen(
        command,
        cwd=place,
        env={**os.environ, **AS_ROOT, "PATH": search, **(variables or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as job:
        try:
            output, _ = job.communicate(timeout=longest_s)
            end = str(job.returncode)
        except subprocess.TimeoutExpired:
            end = HUNG
            os.killpg(job.pid, signal.SIGTERM)
            output = _last_words(job)
    return end, output.decode(errors="replace")


def _last_words(job: subprocess.Popen[bytes]) -> bytes:
    """The output of a job that was told to end; one that does not is killed."""
    try:
        output, _ = job.communicate(timeout=10)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        output, _ = job.communicate()
    return output


def differences(plain: Ending, recorded: Ending) -> list[str]:
    """A line for each test whose outcome is another one when it is recorded.

    Unrecorded, a job that does not end says nothing of the tests that it did not come to.
    """
    found = []
    for name in sorted({*plain.tests, *recorded.tests}):
        outcome, again = (ending.tests.get(name, "not run") for ending in (plain, recorded))
        if outcome != again and not (plain.end == HUNG and outcome in ("not run", "began")):
            found.append(f"{name}: {outcome}, recorded {again}")
    if plain.end not in (recorded.end, HUNG):
        found.append(f"exit code: {plain.end}, recorded {recorded.end}")
    if plain.printed is not None:
        missing = Counter(plain.printed) - Counter(recorded.printed or ())
        added = Counter(recorded.printed or ()) - Counter(plain.printed)
        if _text(missing) != _text(added):
            found += [f"not printed: {line}" for line in sorted(missing)]
            found += [f"printed: {line}" for line in sorted(added)]
    return found


def _text(lines: Counter[str]) -> list[str]:
    """The characters of some lines: launchers put a line into the middle of another rank's."""
    return sorted(one for line in lines.elements() for one in line if one not in " #")


@dataclass(frozen=True)
class Comparison:
    """A part of a suite, unrecorded and recorded."""

    tests: int  # so many were run unrecorded, on all ranks
    passed: int  # so many of them passed or were skipped
    is_whole: bool  # the part came to its end unrecorded
    different: tuple[str, ...]  # a line for each test with another outcome when recorded


GOOD = ("passed", "skipped", "failed as expected", "no errors, exit code 0", "ran")


def compare(run_once: Callable[[bool], Ending], tries: int = 3) -> Comparison:
    """What differs every time: some tests of the suites end now so and now so, unrecorded too."""
    plain = run_once(False)
    different = differences(plain, run_once(True))
    for _ in range(tries - 1):
        if not different:
            break
        again = differences(run_once(False), run_once(True))
        different = [line for line in different if line in again]
    passed = sum(outcome in GOOD for outcome in plain.tests.values())
    return Comparison(len(plain.tests), passed, plain.end != HUNG, tuple(different))
