"""The test suite of MPICH: the directory test/mpi of its source, as Debian has it.

Its programs are built with the MPI library that they are to run under; Intel MPI, whose package has
no compiler, runs those built with MPICH, whose binary interface it shares.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

from benchmarks.mpi_suites.outcomes import CACHE, Ending, Place
from benchmarks.mpi_suites.programs import BUILT_WITH, Program, do, fetch, run_job

DIRECTORIES = (
    *("attr", "comm", "errhan", "group", "info", "init", "topo", "pt2pt", "mpi_t", "spawn", "io"),
    *("errors/attr", "errors/coll", "errors/comm", "errors/group", "errors/io", "errors/pt2pt"),
    *("errors/rma", "errors/topo", "threads/comm", "threads/init", "threads/pt2pt"),
    *("threads/rma", "threads/spawn", "coll", "datatype", "rma"),
)


def _fetch_source() -> Path:
    return fetch("mpich") / "test" / "mpi"


def build(mpi: str) -> Path:
    """The directory of the programs for an MPI library; made once.

    Raises:
        OSError: the source cannot be had, or the library has no compiler here.
    """
    place = CACHE / f"mpich-tests-{BUILT_WITH[mpi]}"
    if (place / "built").exists():
        return place
    compiler = Place(BUILT_WITH[mpi], 1, 0).binaries / "mpicc"
    if shutil.which("make") is None or not compiler.exists():
        raise OSError(f"make and {compiler} are needed")
    source = _fetch_source()
    place.mkdir(parents=True, exist_ok=True)
    log = place / "build.log"
    options = ("--disable-fortran", "--disable-cxx", "--enable-threads=multiple", "--enable-spawn")
    flags = (f"--with-mpi={compiler.parent.parent}", f"CC={compiler}", "CFLAGS=-w -O1")
    if do(source / "configure", *options, *flags, cwd=place, log=log):
        raise OSError(f"the suite cannot be configured: see {log}")
    for tool in ("util", "dtpools"):
        do("make", "-s", cwd=place / tool, log=log)
    for directory in DIRECTORIES:
        names = {program.words[0][2:] for program in _listed(place, directory)}
        if names:
            do("make", "-k", "-s", *sorted(names), cwd=place / directory, log=log)
    (place / "built").touch()
    return place


def _listed(place: Path, directory: str) -> Iterator[Program]:
    """The programs of a directory's list: a name, a number of ranks and settings in each line."""
    list_file = place / directory / "testlist"
    if not list_file.exists():  # only those that configure wrote are here
        list_file = _fetch_source() / directory / "testlist"
    for line in list_file.read_text().splitlines():
        name, ranks, *rest = [*line.split(), "", ""]
        if name.startswith("#") or not ranks.isdigit():
            continue
        settings = [word.split("=", 1) for word in rest if "=" in word]
        arguments = [value for key, value in settings if key == "arg"]
        variables = dict(v.split("=", 1) for key, v in settings if key == "env" and "=" in v)
        words = (f"./{name}", *arguments)
        title = " ".join((f"{directory}/{name}", *arguments))
        yield Program(title, place / directory, words, int(ranks), variables)


def programs(place: Path, directory: str, most_ranks: int) -> list[Program]:
    """What was built of a directory's list and wants no more ranks."""
    found = _listed(place, directory)
    return [p for p in found if p.ranks <= most_ranks and (p.directory / p.words[0]).exists()]


def run_program(place: Place, program: Program, is_recorded: bool) -> Ending:
    """How a program ends: its exit code, and the lines that it prints, in any order."""
    return run_job(place, program, is_recorded, passes=lambda output: "No Errors" in output)
