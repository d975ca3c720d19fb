"""What ranks gave to large collectives: digests, to be compared with those of the other ranks.

Of values nothing is written but a digest with the key of the job, so that no file tells whether
they are those that somebody guesses.
"""

from __future__ import annotations

from . import operand_arrays, places
from .kinds import Any
from .library import types
from .recorder import Recorder, place_text

MOST_LOOKS = 64
"""At calls like one another."""
FIRST_LOOKS = 8
LOOK_EVERY = 16
LEAST_BYTES = 1 << 18
"""Of a collective that is large."""

_MOST_ROWS = 32
_MASK = (1 << 64) - 1


class Row:
    """Calls like one another: what some of them were given."""

    def __init__(self, operation: Any, size: int, place: str | None) -> None:
        self.operation, self.size, self.place = operation, size, place
        self.calls = 0
        self.looks: list[list[Any]] = []
        """Of each the group that it was in, its members, its ordinal there, and a digest."""

    def is_due(self) -> bool:
        """Counts a call, and tells whether to look at it; other ranks look at the same ones."""
        number, self.calls = self.calls, self.calls + 1
        is_one = number < FIRST_LOOKS or mixed(number) % LOOK_EVERY == 0
        return is_one and len(self.looks) < MOST_LOOKS

    def see(
        self, group: object, members: int, ordinal: int, content: object, *, varies: bool
    ) -> None:
        """Takes note of what one was given, by anything that has one text in all processes.

        Its digest is even where it holds one value throughout: that all ranks hold the same one
        tells nothing.
        """
        digest = operand_arrays.of_parts((ordinal, content)) | 1
        digest -= not varies
        self.looks.append([operand_arrays.of_parts((group,)), members, ordinal, digest])

    def told(self) -> list[Any]:
        """For the metadata."""
        return [self.operation, self.size, self.place, self.calls, self.looks]


_rows: dict[tuple[Any, ...], Row] = {}


def row(operation: str, size: int, code: Any, last: int) -> Row | None:
    """The calls of an operation and a size in one instruction; None where they are too many."""
    key = operation, size, code.co_filename, code.co_name, code.co_firstlineno, last
    found = _rows.get(key)
    if found is None and len(_rows) < _MOST_ROWS:
        found = _rows[key] = Row(operation, size, None)
    return found


def mixed(number: int) -> int:
    """Another number, which tells nothing of what comes in turn."""
    return (number * 0x9E3779B97F4A7C15 & _MASK) >> 32


def told(rec: Recorder | None) -> list[list[Any]]:
    """Calls like one another, of MPI and of frameworks; none where no other rank can compare."""
    if rec is None or not operand_arrays.are_common():
        return []
    native: dict[int, Row] = {}
    words, look = (types["u64"] * 10)(), 0
    while rec.given(look, words):
        number, operation, size, calls, code, last, *seen = list(words)
        found = native.get(number)
        if found is None:
            found = native[number] = Row(operation, size, _place(code, last))
        found.calls = calls
        found.see(*seen, varies=bool(seen[-1] & 1))
        look += 1
    return [one.told() for one in (*native.values(), *_rows.values()) if one.looks]


def _place(code: int, last: int) -> str | None:
    """The line of an instruction of the program; None of code that no stack has shown.

    That code is kept from then on, so that no other one can have its address.
    """
    met = places.met.get(code)
    if met is None or last >= len(met[0].co_code):
        return None
    return place_text(met[1], met[2], places.line_of(met[0], last))


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    _rows.clear()
