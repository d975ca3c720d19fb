"""The stacks that samples of an export refer to, taken apart again."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from perfscope.arrays import Bools
from perfscope.readers.exported_tables.columns import Kind, Texts, Wanted
from perfscope.trace.model import STACK_DTYPE, Frame, Table

WANTED: Mapping[str, Wanted] = {
    "samples": {
        "rank": Kind.INTEGER,
        "tid": Kind.INTEGER,
        "t_ns": Kind.INTEGER,
        "stack": Kind.INTEGER,
    },
    "stacks": {"stack": Kind.INTEGER, "frames": Kind.TEXT},
}
"""The columns that are read, by table."""
_LEVEL = re.compile(r"(.*?) \(([^\n]*?):(\d{1,9})\)(?:;|$)")
"""`function (file:line);...`, outermost first."""
MOST_TID = (1 << 32) - 1


class Stacks:
    """Frames and stacks as `Trace` has them, from the texts of a table."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        """Reads all of them; their numbers are their places."""
        self._frames: dict[Frame, int] = {}
        words: Texts = columns["frames"]
        told = [self._levels(text) for text in words.texts]
        numbers = columns["stack"].tolist()
        is_sound = numbers == list(range(len(numbers)))
        found = [told[code] if code >= 0 else () for code in words.codes if is_sound]
        self.stacks = [stack for stack in found if stack]
        is_told = np.array([bool(stack) for stack in found], np.bool_)
        self._places = np.where(is_told, np.cumsum(is_told) - 1, -1)

    def _levels(self, text: str) -> tuple[int, ...]:
        found = (Frame(one[1], one[2], int(one[3])) for one in _LEVEL.finditer(text))
        return tuple(self._frames.setdefault(frame, len(self._frames)) for frame in found)

    @property
    def frames(self) -> list[Frame]:
        """Each once, in the order of their places."""
        return list(self._frames)

    def samples(self, columns: Mapping[str, Any]) -> tuple[Table, Bools]:
        """The samples, and which of them have a thread and a stack that is there."""
        table = np.zeros(len(columns["rank"]), STACK_DTYPE)
        tid, stack = columns["tid"], columns["stack"]
        is_known: Bools = (tid >= 0) & (tid <= MOST_TID)
        is_known &= (stack >= 0) & (stack < len(self._places))
        place = np.append(self._places, -1)[np.where(is_known, stack, -1)]
        is_known &= place >= 0
        table["t"] = columns["t_ns"]
        table["tid"], table["stack"] = np.where(is_known, tid, 0), np.where(is_known, place, 0)
        return table, is_known
