"""Brings in what killed processes left in node-local directories of this machine."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

_ENDINGS = (".def", ".rec")
_SCRATCH = ("*/*.memory-*.tmp", "*/*.stacks-*.json")


def bring_in(directory: Path) -> int:
    """Completes the files of killed processes of this machine; how many there were.

    A process that ends by itself copies its records and removes its node-local files; of one that
    was killed they lie where it ran, with what it recorded since it last copied.
    """
    count = 0
    for record in directory.glob("*/*.rec"):
        for left in _left_by(record.stem):
            with contextlib.suppress(OSError):
                for ending in _ENDINGS:
                    shutil.copyfile(left / f"own{ending}", record.with_suffix(ending))
                shutil.rmtree(left)
                count += 1
    return count


def remove_scratch(directory: Path) -> None:
    """Removes what other tools left unfinished in killed ranks: it may hold command lines."""
    for pattern in _SCRATCH:
        for path in directory.glob(pattern):
            with contextlib.suppress(OSError):
                path.unlink()


def _left_by(name: str) -> Iterator[Path]:
    """Directories of a process that is gone, by its pid and start; only the user's own count."""
    pid = name.partition("-")[0]
    if not pid.isdigit() or Path("/proc", pid).exists():
        return
    places = (os.environ.get("PERFSCOPE_LOCAL_DIR"), os.environ.get("TMPDIR"), "/tmp", "/var/tmp")
    for place in dict.fromkeys(place for place in places if place):
        for path in Path(place).glob(f"perfscope-{name}-*"):
            if not path.is_symlink() and path.is_dir() and path.stat().st_uid == os.getuid():
                yield path
