"""Two ranks, really started by each mpirun: one world of two, or two worlds of one."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from perfscope.doctor.check import Check, Outcome, State, Surroundings
from perfscope.doctor.launchers import FoundLauncher, found_launchers
from perfscope.doctor.running import Finished, finish, last_line
from perfscope.foreign import mentions
from perfscope.record.launcher import Flavor
from perfscope.structures import dataclass
from perfscope.units import format_seconds

_PROGRAM = """
import os
from mpi4py import MPI
world, vendor = MPI.COMM_WORLD, MPI.get_vendor()
version = ".".join(map(str, vendor[1]))
text = "perfscope-doctor %d %d %s %s\\n" % (world.rank, world.size, vendor[0], version)
os.write(1, text.encode())
"""
_HAS_MPI4PY = "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI"
_TOLD = re.compile(r"perfscope-doctor (\d+) (\d+) (.*)")
_MOST_LAUNCHERS = 5
_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
_ROOT_FIX = "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
_HANGS = {
    Flavor.OPEN_MPI: "export OMPI_MCA_btl=self,sm,vader; getent hosts $(hostname)",
    Flavor.MPICH: "mpirun -iface lo -n 2 ...; getent hosts $(hostname)",
    Flavor.INTEL_MPI: "export I_MPI_FABRICS=shm; getent hosts $(hostname)",
}


@dataclass(frozen=True)
class Attempt:
    """One way to start two ranks."""

    fix: str = ""  # how a user would start them this way, "" for the plain way
    arguments: tuple[str, ...] = ()  # what is added behind mpirun
    variables: Mapping[str, str] = field(default_factory=dict)  # what is added to the environment


_PLAIN = Attempt()
_OTHER_WAYS = {
    Flavor.OPEN_MPI: (
        Attempt(_ROOT_FIX, variables=_AS_ROOT),
        Attempt("mpirun --oversubscribe -n N ...", ("--oversubscribe",)),
        Attempt(f"{_ROOT_FIX}; mpirun --oversubscribe -n N ...", ("--oversubscribe",), _AS_ROOT),
    ),
    Flavor.INTEL_MPI: (Attempt("mpirun -ppn N -n N ... (N: the ranks a node)", ("-ppn", "2")),),
}


def look(around: Surroundings) -> Sequence[Outcome]:
    """Starts two ranks with every mpirun found, the one that `mpirun` means first."""
    if around.python is None:
        return []
    program = (around.python, "-c", _HAS_MPI4PY)
    done = finish(program, environment=around.environment, timeout_s=around.timeout_s)
    if done.exit_code != 0:
        return []  # the check of mpi4py says it
    found = found_launchers(around.environment, around.python)[:_MOST_LAUNCHERS]
    outcomes = [_start(around, around.python, launcher) for launcher in found]
    pairs = list(zip(found, outcomes, strict=True))
    ways = [
        f"{outcome.fix}; start with {launcher.path}".removeprefix("; ")
        for state in (State.OK, State.WARNING)
        for launcher, outcome in pairs
        if outcome.state is state
    ]
    return [_with_fix(outcome, ways, around.python, launcher) for launcher, outcome in pairs]


def _start(around: Surroundings, python: Path, launcher: FoundLauncher) -> Outcome:
    outcomes: list[Outcome] = []
    for attempt in (_PLAIN, *_OTHER_WAYS.get(launcher.flavor, ())):
        began = time.monotonic()
        command: list[str | Path] = [
            launcher.path,
            *attempt.arguments,
            "-n",
            "2",
            python,
            "-c",
            _PROGRAM,
        ]
        variables = {**around.environment, **attempt.variables}
        done = finish(command, environment=variables, timeout_s=around.timeout_s)
        outcome = judge(launcher, done, attempt, seconds=time.monotonic() - began)
        outcomes.append(outcome)
        if outcome.state is not State.PROBLEM:
            return outcome
        if done.is_late or outcome.details["worlds"]:
            break  # another way of starting changes nothing
    return outcomes[0]


def judge(launcher: FoundLauncher, done: Finished, attempt: Attempt, *, seconds: float) -> Outcome:
    """What two ranks that were started have told."""
    title = f"2 ranks, {launcher.name}"
    told = [(int(m[1]), int(m[2]), m[3]) for m in _TOLD.finditer(done.stdout)]
    worlds = sorted((rank, size) for rank, size, _ in told)
    details = {"launcher": str(launcher.path), "worlds": worlds, "seconds": seconds}
    if worlds == [(0, 2), (1, 2)]:
        text = f"{launcher.path} started 2 ranks in one world in {format_seconds(seconds)}"
        if not attempt.fix:
            return Outcome(title, State.OK, f"{text}, {told[0][2]}", details=details)
        why = f"{text}, but not with plain mpirun -n 2"
        return Outcome(title, State.WARNING, why, attempt.fix, details)
    if len(worlds) > 1 and all(size == 1 for _, size in worlds):
        why = (
            f"{launcher.path} started {len(worlds)} separate worlds of 1 rank: mpi4py uses "
            f"{told[0][2]}, which does not match this launcher. The training would run "
            f"{len(worlds)} times instead of in parallel"
        )
        return Outcome(title, State.PROBLEM, why, "", details)
    if done.is_late:
        why = f"{launcher.path} did not start 2 ranks in time"
        fix = _HANGS.get(launcher.flavor, "getent hosts $(hostname)")
        return Outcome(title, State.PROBLEM, why, fix, details)
    error = _error(done)
    why = f"{launcher.path} did not start 2 ranks: {error or 'no output'}"
    return Outcome(title, State.PROBLEM, why, _fix_of(error, launcher), details)


def _error(done: Finished) -> str:
    text = f"{done.stdout}\n{done.stderr}"
    for mark in ("as root", "not enough slots", "Error:", "error:", "rror"):
        for line in text.splitlines():
            if mentions(line, mark):
                return line.strip()
    return last_line(text)


def _fix_of(error: str, launcher: FoundLauncher) -> str:
    if "root" in error:
        return _ROOT_FIX
    if "slots" in error:
        return "mpirun --oversubscribe -n N ..."
    return f"{launcher.path} -n 2 hostname (must print two lines; then: module list, ldd)"


def _with_fix(
    outcome: Outcome, ways: Sequence[str], python: Path, launcher: FoundLauncher
) -> Outcome:
    """The fix of separate worlds names a launcher that was seen to work; others only warn."""
    if outcome.state is not State.PROBLEM:
        return outcome
    fix = outcome.fix
    if not fix and ways:
        fix = f"{ways[0]} instead of {launcher.path}"
    elif not fix:
        beside = python.parent / "mpirun"
        fix = f"{python} -m pip install mpich, then start with {beside} -n N ..."
    # Only what `mpirun` means stands in the way of what is typed next.
    is_aside = not launcher.is_first and bool(ways)
    state = State.WARNING if is_aside else State.PROBLEM
    return Outcome(outcome.title, state, outcome.summary, fix, outcome.details)


CHECK = Check("two_ranks", look)
