"""Brings in what processes left in node-local directories of this machine."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from perfscope.record.summary import MAGIC, files_of

_ENDINGS = (".def", ".rec")
_SCRATCH = ("*/*.memory-*.tmp", "*/*.stacks-*.json")

_UNNAMED = "*/*.rec.new"
"""Files of records that have not got their name: where a process was killed before, they are
empty; where the file system refused it, they hold all that it recorded."""


def bring_in(directory: Path) -> list[tuple[Path, Path]]:
    """Completes the files of processes of this machine whose records are not all there.

    A process that ends by itself copies its records and removes its node-local files; of one that
    was killed, or found no room for them, they lie where it ran.

    Returns:
        Node-local directories that could not be brought in, each with the record file that lacks
        what it holds.
    """
    left_there = []
    for definitions in files_of(directory, "*/*.def"):
        record = definitions.with_suffix(".rec")
        for left in _left_by(record.stem):
            has_records = any(_has_records(left / name) for name in ("own.rec", "own.rec.new"))
            if not has_records or _is_completed(record, left):
                shutil.rmtree(left, ignore_errors=True)
            else:
                left_there.append((left, record))
    return left_there


def _is_completed(record: Path, left: Path) -> bool:
    try:
        for ending in _ENDINGS:
            _complete(record.with_suffix(ending), left / f"own{ending}")
    except OSError:
        return False
    return True


def _complete(target: Path, source: Path) -> None:
    """Copies over what is there: cut to nothing first, it would be lost where there is no room."""
    with source.open("rb") as whole, target.open("r+b" if target.exists() else "wb") as stream:
        shutil.copyfileobj(whole, stream)
        stream.truncate()


def remove_scratch(directory: Path) -> None:
    """Removes what killed processes left unfinished; that of other tools may hold command lines."""
    scratch = [path for pattern in _SCRATCH for path in files_of(directory, pattern)]
    scratch += [path for path in files_of(directory, _UNNAMED) if not _has_records(path)]
    for path in scratch:
        with contextlib.suppress(OSError):
            path.unlink()


def _has_records(path: Path) -> bool:
    """Whether a file of records tells whose they are."""
    try:
        with path.open("rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


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
