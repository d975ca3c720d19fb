"""The test suite of mpi4py: the `test` directory of its source distribution on PyPI."""

import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.mpi_suites.outcomes import CACHE, Ending, Place, recorded_command, run

VERSION = "4.1.2"
NOTING = Path(__file__).with_name("noting.py")


def fetch() -> Path:
    """The suite's directory; downloaded once.

    Raises:
        OSError: PyPI has no source distribution, or cannot be reached.
    """
    source = CACHE / f"mpi4py-{VERSION}"
    if not source.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        words = ["download", "--quiet", "--no-deps", "--no-binary", "mpi4py", "--dest", CACHE]
        command = [sys.executable, "-m", "pip", *words, f"mpi4py=={VERSION}"]
        done = subprocess.run([str(w) for w in command], capture_output=True, check=False)
        if done.returncode:
            raise OSError(done.stderr.decode(errors="replace"))
        with tarfile.open(CACHE / f"mpi4py-{VERSION}.tar.gz") as archive:
            archive.extractall(CACHE, filter="data")
    return source / "test"


def parts(suite: Path) -> list[str]:
    """The modules of the suite, each a job of its own: one that dies takes no other with it."""
    return sorted(path.stem for path in suite.glob("test_*.py"))


def run_part(
    place: Place, suite: Path, part: str, is_recorded: bool, *, options: Sequence[str] = ()
) -> Ending:
    """How a module's tests end, run with more options of the suite's own."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        notes = directory / "notes"
        notes.mkdir()
        program = (NOTING, notes, suite / "main.py", "-q", *options, "-i", f"^{part}[.]py$")
        command = place.command(place.binaries / "python", *program)
        if is_recorded:
            command = recorded_command(command, directory / "trace")
        longest_s = place.patience_s(is_recorded)
        end, output = run(command, place=directory, binaries=place.binaries, longest_s=longest_s)
        return Ending(end, _noted(notes), output)


def _noted(notes: Path) -> Mapping[str, str]:
    """The last that was noted of each test of each rank."""
    outcomes = {}
    for file in sorted(notes.iterdir()):
        for line in file.read_text().splitlines():
            test, outcome = line.split("\t")
            outcomes[f"{test} on {file.name}"] = outcome
    return outcomes
