"""Where in the program's loops a call is made, and whether a turn of a loop ends between two calls.

A call's place is the instruction at which each function on the stack is. Loops are jumps back in
their bytecode. Two calls share the loops that both are in. In one turn of the innermost one that
they share, calls come in the order of their instructions: in the function of the loop or, where
that is at the same one for both, in what it calls there.
"""

from __future__ import annotations

import sys

from . import files, loops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Dict, List, Tuple

    _Frame = Tuple[CodeType, int]
    Loop = Tuple[int, int, int]
    """The function, counted from the outermost one, and where in its bytecode the loop is."""

_MOST_KEPT = 1000
_MOST_FRAMES = 200


class Site:
    """A place of the program, with all that calls it."""

    def __init__(self, frames: tuple[_Frame, ...]) -> None:
        self.frames = frames  # outermost first
        self.loops: list[Loop] = [
            (level, begin, end)
            for level, (code, last) in enumerate(frames)
            for begin, end in loops.ranges(code)
            if begin <= last <= end
        ]
        self._known: dict[Site, tuple[list[Loop], bool]] = {}

    def shared(self, other: Site) -> list[Loop]:
        """The loops that this place and another one are in, outermost first."""
        return self._beside(other)[0]

    def ends_turn(self, following: Site, loop: Loop | None) -> bool:
        """Whether a call here is the last one in a turn of a loop that both places are in.

        What shares a loop inside of that one may come several times in a turn.
        """
        common, is_behind = self._beside(following)
        return loop is None or (common[-1:] == [loop] and not is_behind)

    def _beside(self, other: Site) -> tuple[list[Loop], bool]:
        """The loops shared with another place, and whether that is behind this one without them."""
        known = self._known.get(other)
        if known is None:
            level = 0
            for mine, theirs in zip(self.frames, other.frames):
                if mine != theirs:
                    break
                level += 1
            known = self._known[other] = self._compared(other, level)
        return known

    def _compared(self, other: Site, level: int) -> tuple[list[Loop], bool]:
        """The same, of places that differ from one level of the stack on."""
        found = [loop for loop in self.loops if loop[0] < level]
        if level >= min(len(self.frames), len(other.frames)):
            return found, False
        (code, mine), (theirs, last) = self.frames[level], other.frames[level]
        if code is not theirs:
            return found, False
        here = [loop for loop in self.loops if loop[0] == level and loop[1] <= last <= loop[2]]
        return found + here, last > mine


_OFTEN, _SELDOM = 64, 8
"""So many calls of one kind from one place; then only each so many times it is looked where."""

_kept: Dict[Tuple[int, ...], Site] = {}
_met: Dict[object, List[Any]] = {}
"""By kind of call where it came from last, and how many of them did one after the other."""

_is_own: Dict[str, bool] = {}


def here() -> Site | None:
    """The innermost place of the program on this thread's stack; None where none of it is there."""
    frame: FrameType | None = sys._getframe(1)
    codes: List[CodeType] = []
    key: List[int] = []
    own = 0  # so many of the frames are of the program, or called by it
    while frame is not None:
        if len(codes) > _MOST_FRAMES:
            return None  # of a function that calls itself
        code = frame.f_code
        is_own = _is_own.get(code.co_filename)
        if is_own is None:
            is_own = _is_own[code.co_filename] = files.is_program(code.co_filename)
        if is_own or codes:
            codes.append(code)
            key += (id(code), frame.f_lasti)
            if is_own:
                own = len(codes)
        frame = frame.f_back
    if not own:
        return None
    place = tuple(key[: 2 * own])
    found = _kept.get(place)
    if found is None:
        if len(_kept) >= _MOST_KEPT:
            return None  # of a program that makes code all the time, each place is a new one
        found = _kept[place] = Site(tuple(zip(codes[:own], key[1::2]))[::-1])
    return found


def of(key: object) -> Site | None:
    """The place that a call of some kind comes from."""
    known = _met.get(key)
    if known is None:
        if len(_met) >= _MOST_KEPT:
            _met.clear()
        known = _met[key] = [None, 0]
    known[1] += 1
    if known[1] <= _OFTEN or known[1] % _SELDOM == 0:
        site = here()
        if site is not known[0]:
            known[:] = site, 0
    found: Site | None = known[0]
    return found


def innermost_shared(places: list[Site]) -> Loop | None:
    """The innermost loop that all of some places are in, None where there is none."""
    first = places[0]
    common = first.loops
    for place in places[1:]:
        common = common[: len(first.shared(place))]
    return common[-1] if common else None
