"""Programs in C that use MPI, from Debian's sources: fetched, started, and how they end."""

import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.mpi_suites.outcomes import CACHE, HUNG, Ending, Place, recorded_command, run

APT_SOURCES = Path("/etc/apt")
# Intel MPI's package has no compiler, and its binary interface is MPICH's.
BUILT_WITH = {"mpich": "mpich", "openmpi": "openmpi", "intelmpi": "mpich"}
# Process ids, times, ports and addresses are other ones each time.
CHANGING = re.compile(r"0x[0-9a-f]+|[0-9]+([.][0-9]+)?(e[+-][0-9]+)?")
OWN_WORDS = "perfscope: "
# Where a library shows the stack of a program that crashed: "[host:12] [ 3] ./a(main+0x2)[0x55]".
# A recorded call has a frame more, and that the program crashed is told by its exit code.
STACK_FRAME = re.compile(r"^(\[[^\]]*\] ?)?\[ ?#\] .*\[#\]$")


@dataclass(frozen=True)
class Program:
    """A line of a list of tests."""

    name: str  # with its directory and its arguments
    directory: Path  # where it was built
    words: Sequence[str]  # the program and its arguments
    ranks: int  # so many it wants
    variables: Mapping[str, str] = field(default_factory=dict)  # that it wants in its environment


def do(*command: object, cwd: Path, log: Path) -> int:
    """Runs a step whose output goes to a file; its exit code."""
    with log.open("ab") as output:
        words = [str(word) for word in command]
        return subprocess.run(words, cwd=cwd, stdout=output, stderr=output, check=False).returncode


def fetch(package: str) -> Path:
    """The unpacked source of a Debian package; package lists of its own leave the machine's alone.

    Raises:
        OSError: there is no such source, or no network.
    """
    place = CACHE / f"{package}-source"
    found = next(place.glob(f"{package}-*/"), None)
    if found is not None:
        return found
    lists = place / "lists"
    for part in ("parts", "partial"):
        (lists / part).mkdir(parents=True, exist_ok=True)
    _write_own_sources(lists / "parts")
    options = [
        word
        for setting in (
            "Dir::Etc::sourcelist=/dev/null",
            f"Dir::Etc::sourceparts={lists / 'parts'}",
            f"Dir::State::lists={lists}",
        )
        for word in ("-o", setting)
    ]
    log = place / "fetch.log"
    for words in (("update",), ("source", "--only-source", package)):
        if do("apt-get", *options, *words, cwd=place, log=log):
            raise OSError(f"the source of {package} cannot be had: {log.read_text()[-2000:]}")
    return next(place.glob(f"{package}-*/"))


def _write_own_sources(directory: Path) -> None:
    """The places that this machine has its packages from, asked for their sources."""
    for path in (APT_SOURCES / "sources.list", *(APT_SOURCES / "sources.list.d").iterdir()):
        if path.suffix not in {".list", ".sources"} or not path.exists():
            continue
        text = re.sub(r"^deb(?=\s)", "deb-src", path.read_text(), flags=re.MULTILINE)
        text = re.sub(r"^Types:.*", "Types: deb-src", text, flags=re.MULTILINE)
        (directory / path.name).write_text(text)


def printed(output: str) -> tuple[str, ...]:
    """What a job printed, whatever the order of its ranks' lines, but for stacks of crashes."""
    lines = (CHANGING.sub("#", line).strip() for line in output.splitlines())
    own = (line for line in lines if not STACK_FRAME.match(line))
    return tuple(sorted(line for line in own if line and not line.startswith(OWN_WORDS)))


def run_job(
    place: Place, program: Program, is_recorded: bool, *, passes: Callable[[str], bool]
) -> Ending:
    """How a program ends: its exit code, what it says of itself, and the lines that it prints."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        job = Place(place.mpi, program.ranks, place.longest_s)
        command = job.command(*program.words)
        if is_recorded:
            command = recorded_command(command, directory / "trace")
        libraries = {"LD_LIBRARY_PATH": str(job.binaries.parent / "lib")}
        end, output = run(
            command,
            place=program.directory,
            binaries=job.binaries,
            longest_s=place.patience_s(is_recorded),
            variables={**program.variables, **libraries},
        )
    if end == HUNG:
        return Ending(end, {program.name: "began"}, output)
    verdict = "no errors" if passes(output) else "errors"
    return Ending(end, {program.name: f"{verdict}, exit code {end}"}, output, printed(output))
