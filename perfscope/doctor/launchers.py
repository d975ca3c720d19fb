"""The mpirun that are found: those in PATH and the one beside the job's Python."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from perfscope.doctor.running import finish
from perfscope.record.launcher import Flavor, mpi_flavor
from perfscope.structures import dataclass

_NAME = re.compile(r"(mpirun|mpiexec)(\.[A-Za-z0-9_-]+)?|orterun|prterun")
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?")
_TIMEOUT_S = 15.0


@dataclass(frozen=True)
class FoundLauncher:
    """One mpirun."""

    path: Path  # as it would be typed
    flavor: Flavor  # whose it is
    version: str  # as it says, "" when it does not
    is_first: bool  # whether `mpirun` alone starts it

    @property
    def name(self) -> str:
        """Flavor and version."""
        return f"{self.flavor.value} {self.version}".strip()


def found_launchers(environment: Mapping[str, str], python: Path | None) -> list[FoundLauncher]:
    """One mpirun of each flavor and place, by PATH; the one beside the job's Python last."""
    launchers: list[FoundLauncher] = []
    known: set[tuple[Path, Flavor]] = set()
    for path in _candidates(environment, python):
        flavor = mpi_flavor(str(path))
        # mpirun and mpiexec of one installation are one launcher.
        place = (path.resolve().parent, flavor)
        if place in known or flavor is Flavor.UNKNOWN:
            continue
        known.add(place)
        done = finish([path, "--version"], environment=environment, timeout_s=_TIMEOUT_S)
        version = _VERSION.search(done.stdout)
        is_first = not launchers and path.name == "mpirun"
        launchers.append(
            FoundLauncher(path, flavor, version[0] if version else "", is_first=is_first)
        )
    return launchers


def _candidates(environment: Mapping[str, str], python: Path | None) -> Iterator[Path]:
    directories = [Path(d) for d in environment.get("PATH", os.defpath).split(os.pathsep) if d]
    if python is not None:
        directories.append(python.parent)
    for directory in dict.fromkeys(directories):
        try:
            names = [path.name for path in directory.iterdir() if _NAME.fullmatch(path.name)]
        except OSError:
            continue
        for name in sorted(names, key=lambda name: (not name.startswith("mpirun"), name)):
            path = directory / name
            if path.is_file() and os.access(path, os.X_OK):
                yield path
