"""Every MPI function that mpi4py calls is recorded, or named with the reason why not."""

import fnmatch
import re
import subprocess
from pathlib import Path

from tests.support.environments import REPOSITORY, Mpi
from tests.support.requirements import require_tool

DOCUMENT = REPOSITORY / "docs" / "mpi-calls.md"
HANDLED = {"MPI_Request_free", "MPI_Cancel"}  # not timed: requests are followed through them


def symbols(library: Path, kind: str) -> set[str]:
    """Names of MPI functions, large-count forms as those that they are forms of."""
    command = [str(word) for word in (require_tool("nm"), "-D", kind, library)]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1].split("@")[0] for line in table.splitlines()}
    return {re.sub(r"_c$", "", name) for name in names if name.startswith("MPI_")}


def documented() -> list[str]:
    """Patterns of names in the table of what is not recorded."""
    section = DOCUMENT.read_text(encoding="utf-8").split("## Not recorded, and why")[1]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return [pattern for row in rows for pattern in re.findall(r"`([^`]+)`", row)]


def called(mpi: Mpi) -> set[str]:
    """What the modules of mpi4py need of an MPI library."""
    program = "import mpi4py; print(mpi4py.__path__[0])"
    place = subprocess.run([mpi.python, "-c", program], capture_output=True, text=True, check=True)
    modules = [*Path(place.stdout.strip()).glob("MPI.*.so")]
    assert modules
    return set().union(*(symbols(module, "--undefined-only") for module in modules))


def test_of_every_function_is_said_what_becomes_of_it(library: Path, mpich: Mpi) -> None:
    patterns, ours = documented(), symbols(library, "--defined-only")
    rest = called(mpich) - ours
    assert len(rest) > 200
    assert {n for n in rest if not any(fnmatch.fnmatch(n, p) for p in patterns)} == set()
    unused = [p for p in patterns if not any(fnmatch.fnmatch(name, p) for name in rest)]
    assert unused == []


def test_recorded_functions_have_a_code_and_their_large_form(library: Path) -> None:
    text = (REPOSITORY / "native" / "recorder" / "operations.def").read_text(encoding="utf-8")
    coded = set(re.findall(r"^OPERATION\(\d+, (MPI_\w+),", text, re.MULTILINE))
    starts = {"MPI_Start_send", "MPI_Start_recv"}
    assert symbols(library, "--defined-only") - HANDLED == coded - starts
