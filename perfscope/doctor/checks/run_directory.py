"""Where recordings would be written: its file system and the room there."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from perfscope.doctor.check import Check, Outcome, State, Surroundings
from perfscope.filesystem import file_system
from perfscope.record.launch import DEFAULT_MAX_BYTES
from perfscope.units import format_bytes

_TITLE = "Run directory"
_LITTLE_BYTES = 4 * DEFAULT_MAX_BYTES
_SCARCE_BYTES = 64 * 1024 * 1024


def look(around: Surroundings) -> Sequence[Outcome]:
    """Writes a file and looks at what lies beneath."""
    place = around.directory.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    found = file_system(place)
    details = {"path": str(place), "file_system": found.kind, "is_network": found.is_network}
    problem = _write_problem(place)
    if problem is not None:
        why = f"{place} is not writable: {problem}"
        return [Outcome(_TITLE, State.PROBLEM, why, _elsewhere(around), details)]
    free_bytes = _free_bytes(place)
    details["free_bytes"] = free_bytes
    where = f"{place} is on {found.kind}, {format_bytes(free_bytes)} free"
    if found.is_network:
        where += "; ranks record to node-local storage and copy there every 5 s"
    if free_bytes < _SCARCE_BYTES:
        return [Outcome(_TITLE, State.PROBLEM, where, _elsewhere(around), details)]
    if free_bytes < _LITTLE_BYTES:
        why = f"{where}: room for {free_bytes // DEFAULT_MAX_BYTES} full ranks"
        return [
            Outcome(_TITLE, State.WARNING, why, f"{_elsewhere(around)} or --max-size 16M", details)
        ]
    return [Outcome(_TITLE, State.OK, where, details=details)]


def _elsewhere(around: Surroundings) -> str:
    """The command that records to the roomiest of the usual places."""
    names = ("SCRATCH", "WORK", "TMPDIR", "HOME")
    places = [Path(text) for name in names if (text := around.environment.get(name))]
    places.append(Path(tempfile.gettempdir()))
    sound = [place for place in places if place.is_dir() and os.access(place, os.W_OK)]
    best = max(sound, key=_free_bytes, default=places[-1])
    return f"perfscope run --output {best / 'trace'} -- ..."


def _free_bytes(place: Path) -> int:
    room = os.statvfs(place)
    return room.f_bavail * room.f_frsize


def _write_problem(place: Path) -> str | None:
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"x" * 4096)
    except OSError as error:
        return error.strerror or type(error).__name__
    return None


CHECK = Check("run_directory", look)
