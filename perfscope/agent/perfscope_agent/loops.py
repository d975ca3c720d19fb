"""The loops of the program's functions that stack samples met: which lines go round together.

A sample says at which line a function is. Whether that line comes once in a turn of a loop around
it, or goes round in a loop of its own, is in the bytecode: a loop jumps back to where it began.
Jumps with which a coroutine waits for another one are none. A loop that keeps nothing of what it
looks at polls: it goes round until another thread or process has changed something.
"""

from __future__ import annotations

import opcode

from . import branches, bytecode, places, recorder, relatives

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Tuple

    _Lines = Tuple[int, int]

_MOST_LOOPS = 32
_BEHIND_HANDLER = 8
"""Bytes in which a handler drops its exception before it goes on."""

_KEEPING = ("STORE_", "DELETE_", "POP_TOP", "FOR_ITER", "YIELD_", "IMPORT_")
"""What begins instructions that keep something, or call something for what it does."""

_names = opcode.opname


def told() -> list[dict[str, Any]]:
    """The loops of all that was met, and what it passes on; functions with neither are left out."""
    found = []
    for (code, function, file), passed in relatives.handed_on(list(places.met.values()), ranges):
        loops = of_code(code)[:_MOST_LOOPS]
        if loops or passed:
            place = recorder.place_text(function, file, code.co_firstlineno)
            one: dict[str, Any] = {"place": place, "lines": [lines for lines, _ in loops]}
            polls = [lines for lines, is_polling in loops if is_polling]
            parts = {"polls": polls, "passed": passed}
            found.append({**one, **{name: part for name, part in parts.items() if part}})
    return found


def of_code(code: CodeType) -> list[tuple[_Lines, bool]]:
    """First and last line of each loop of a function, outer ones first, and whether it polls."""
    found: dict[_Lines, bool] = {}
    for (begin, end), lines in with_lines(code):
        found[lines] = found.get(lines, True) and _polls(code.co_code, begin, end)
    return sorted(found.items(), key=lambda one: (one[0][0], -one[0][1]))


def with_lines(code: CodeType) -> list[tuple[tuple[int, int], _Lines]]:
    """The first and last instruction of each loop of a function, and its lines."""
    ends, handlers = _jumps_back(code)
    known = places.line_ranges(code) if ends else []
    found = []
    for begin, end in ends.items():
        parts = [(begin, end)] + [(place, place) for to, place in handlers if to == begin]
        found.append(((begin, end), _lines(known, parts)))
    return found


def ranges(code: CodeType) -> list[tuple[int, int]]:
    """The first and last instruction of each loop of a function, outer loops first."""
    return sorted(_jumps_back(code)[0].items(), key=lambda one: (one[0], -one[1]))


def _jumps_back(code: CodeType) -> tuple[dict[int, int], list[tuple[int, int]]]:
    """Where loops begin and from where they are jumped back to last; handlers that go on there."""
    raw = code.co_code
    ends: dict[int, int] = {}
    handlers: list[tuple[int, int]] = []
    for place in range(0, len(raw) if len(raw) <= bytecode.LONGEST else 0, 2):
        begin = branches.target(raw, place)
        if begin is None or begin > place or "NO_INTERRUPT" in _names[raw[place]]:
            continue
        if _leaves_handler(raw, place):
            handlers.append((begin, place))
        else:
            ends[begin] = place
    # where a `with` ends the loop's body, the way past its handler and that from it are one
    ends.update({begin: place for begin, place in handlers if begin not in ends})
    return ends, handlers


def _polls(raw: bytes, begin: int, end: int) -> bool:
    return not any(_names[raw[place]].startswith(_KEEPING) for place in range(begin, end, 2))


def _leaves_handler(raw: bytes, place: int) -> bool:
    """Whether a handler of exceptions ends in a jump back, which makes no loop of its own.

    It may lie behind all else in the bytecode, and goes back from there to what follows it in the
    source: where that is the next turn of a loop, the handler belongs to it.
    """
    before = [_names[raw[one]] for one in range(max(0, place - _BEHIND_HANDLER), place, 2)]
    return "POP_EXCEPT" in before


def _lines(ranges: list[tuple[int, int, int]], parts: list[tuple[int, int]]) -> _Lines:
    inside = [
        line
        for start, stop, line in ranges
        for begin, end in parts
        if line and start <= end and stop > begin
    ]
    return min(inside, default=0), max(inside, default=0)
