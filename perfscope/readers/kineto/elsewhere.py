"""Profiles read by other processes, which keep what devices did, and tell what is asked of it."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from perfscope.errors import UnreadableInputError
from perfscope.readers.common.spread import Attempt, as_given
from perfscope.readers.kineto.communication import named_by_user
from perfscope.readers.kineto.file import DeviceTable, KinetoContents, read_kineto
from perfscope.readers.kineto.processes import split
from perfscope.trace.devices import DEVICE_DTYPE
from perfscope.trace.elsewhere import Elsewhere
from perfscope.trace.model import Table

Parts = tuple[list[KinetoContents], list[str]]


def read_parts(path: Path) -> Parts:
    """The processes of the host in a file, and what could not be given to any."""
    return split(read_kineto(path))


def read_elsewhere(
    place: Elsewhere, paths: Sequence[Path], communication: Sequence[str]
) -> list[Parts | UnreadableInputError]:
    """What was read of each file without what devices did, which stays there.

    Kernels that the user names as communication, by these globs, are it there.
    """
    attempt = Attempt(partial(_named_parts, globs=communication))
    handles = place.start(attempt, [path.absolute() for path in paths])
    found: list[Parts | UnreadableInputError] = place.take(place.start(_briefly, handles))
    for one, handle, path in zip(found, handles, paths, strict=True):
        as_given(one, path)
        for number, contents in enumerate(() if isinstance(one, UnreadableInputError) else one[0]):
            told = contents.elsewhere
            [rows] = place.start(_rows, [handle], [number])
            assert told is not None
            contents.elsewhere = replace(told, place=place, handle=rows)
    return found


def _named_parts(path: Path, *, globs: Sequence[str]) -> Parts:
    parts, notes = read_parts(path)
    return [named_by_user(part, globs) for part in parts], notes


def _briefly(found: Parts | UnreadableInputError) -> Any:
    """The parts with the number of rows and their names in the place of the rows."""
    if isinstance(found, UnreadableInputError):
        return found
    parts, notes = found
    return [_brief(part) for part in parts], notes


def _brief(contents: KinetoContents) -> KinetoContents:
    rows = contents.device
    return replace(
        contents,
        device=np.empty(0, DEVICE_DTYPE),
        device_processes=contents.device_processes[:0],
        elsewhere=DeviceTable(len(rows), contents.device_names),
    )


def _rows(found: Parts, number: int) -> Table:
    return found[0][number].device
