"""The MPI programs of Open MPI's source, as Debian has it: its examples, and those that its runtime
is tested with, many of which end badly on purpose.
"""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.mpi_suites.outcomes import CACHE, Ending, Place
from benchmarks.mpi_suites.programs import BUILT_WITH, Program, do, fetch, run_job

DIRECTORIES = ("examples", "orte/test/mpi")


def build(mpi: str) -> Path:
    """The directory of the programs for an MPI library; what does not compile there is left out.

    Raises:
        OSError: the source cannot be had, or the library has no compiler here.
    """
    place = CACHE / f"openmpi-tests-{BUILT_WITH[mpi]}"
    if (place / "built").exists():
        return place
    compiler = Place(BUILT_WITH[mpi], 1, 0).binaries / "mpicc"
    if not compiler.exists():
        raise OSError(f"{compiler} is needed")
    place.mkdir(parents=True, exist_ok=True)
    for directory in DIRECTORIES:
        for source in sorted((fetch("openmpi") / directory).glob("*.c")):
            words = ("-w", "-O1", source, "-o", place / source.stem, "-lm")
            do(compiler, *words, cwd=place, log=place / "build.log")
    (place / "built").touch()
    return place


def programs(place: Place, built: Path) -> Iterator[Program]:
    """What was built."""
    for path in sorted(built.iterdir()):
        if not path.suffix and path.name != "built":
            yield Program(path.name, built, (f"./{path.name}",), place.ranks)


def run_program(place: Place, program: Program, is_recorded: bool) -> Ending:
    """How a program ends: they say nothing of themselves, so what counts is that they end."""
    return run_job(place, program, is_recorded, passes=lambda _output: True)
