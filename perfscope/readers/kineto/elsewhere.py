"""Profiles of which other processes read the files, and keep what devices did.

They tell what is asked of it. So it is for all tools whose files become such contents.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from perfscope.errors import UnreadableInputError
from perfscope.readers.common.spread import as_given, attempt, attempts, elsewhere, readable
from perfscope.readers.detect import ReadOptions
from perfscope.readers.kineto.communication import named_by_user
from perfscope.readers.kineto.file import DeviceTable, KinetoContents
from perfscope.structures import dataclass
from perfscope.trace.devices import DEVICE_DTYPE
from perfscope.trace.elsewhere import Elsewhere
from perfscope.trace.model import Table


@dataclass(frozen=True)
class FileRead:
    """What was read of a file."""

    processes: list[KinetoContents]
    notes: list[str]
    more: Any = None  # what else the reader of its format wants to know of it


Reading = Callable[[Path], FileRead]


def read_files(
    paths: Sequence[Path], read: Reading, options: ReadOptions
) -> tuple[list[FileRead], list[str]]:
    """What was read of each file that can be read, and what is to be said of all of them.

    `read` is a function that can be found by its name, or a `partial` of such a one.

    Raises:
        UnreadableInputError: none of them can be read.
    """
    whole, notes = readable(_read_all(paths, read, options.communication))
    return whole, [*notes, *(note for one in whole for note in one.notes)]


def processes_of(read: Sequence[FileRead]) -> list[KinetoContents]:
    """The processes of all files."""
    return [one for found in read for one in found.processes]


def _read_all(
    paths: Sequence[Path], read: Reading, communication: Sequence[str]
) -> list[FileRead | UnreadableInputError]:
    """What was read of each file, or why it could not be, in the order of the paths.

    Where other processes read, what devices did stays there; kernels that the user names as
    communication, by these globs, are it there.
    """
    place = elsewhere()
    return attempts(paths, read) if place is None else _held(place, paths, read, communication)


def _held(
    place: Elsewhere, paths: Sequence[Path], read: Reading, communication: Sequence[str]
) -> list[FileRead | UnreadableInputError]:
    named = partial(_named, read=read, globs=communication)
    handles = place.start(partial(attempt, named), [path.absolute() for path in paths])
    found: list[FileRead | UnreadableInputError] = place.take(place.start(_briefly, handles))
    for one, handle, path in zip(found, handles, paths, strict=True):
        if isinstance(one, UnreadableInputError):
            as_given(one, path)
            continue
        for number, contents in enumerate(one.processes):
            as_given(contents, path)
            told = contents.elsewhere
            [rows] = place.start(_rows, [handle], [number])
            assert told is not None
            contents.elsewhere = replace(told, place=place, handle=rows)
    return found


def _named(path: Path, *, read: Reading, globs: Sequence[str]) -> FileRead:
    found = read(path)
    return replace(found, processes=[named_by_user(one, globs) for one in found.processes])


def _briefly(found: FileRead | UnreadableInputError) -> FileRead | UnreadableInputError:
    """The processes with the number of rows and their names in the place of the rows."""
    if isinstance(found, UnreadableInputError):
        return found
    return replace(found, processes=[_brief(one) for one in found.processes])


def _brief(contents: KinetoContents) -> KinetoContents:
    rows = contents.device
    return replace(
        contents,
        device=np.empty(0, DEVICE_DTYPE),
        device_processes=contents.device_processes[:0],
        elsewhere=DeviceTable(len(rows), contents.device_names),
    )


def _rows(found: FileRead, number: int) -> Table:
    return found.processes[number].device
