"""Which lines of the program's functions go round together, as the agent read it in bytecode.

And what the variables were that count turns of loops, when the agent looked.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt

from perfscope.trace.model import Frame, Function, Rank, Trace
from perfscope.trace.operands import frame_of
from perfscope.trace.samples import LOOP_TURN_DTYPE

LARGEST = 1 << 62
"""Numbers that are no smaller are none of a clock, and count nothing."""

MOST_TURNS = 1 << 24
"""A loop that turns more often has no steps that anyone would look at."""

Lines = tuple[int, int]
"""First and last line of a loop."""

Handed = tuple[int | str, int | str]
"""A line, or a key of what functions hand to each other, and who takes it."""

RETURNED = "<returned>"
"""What stands for the result of a function, which whoever calls it takes."""

_KEPT = "polling_frames"
"""Where a trace has its own, as `attribution.activities` keeps what stacks do."""

T = TypeVar("T")


def loops_of(ranks: Iterable[Rank]) -> dict[Function, frozenset[Lines]]:
    """The loops of each function that samples met; none where the agent did not tell them."""
    return _told(ranks, "lines", _lines)


def polling_loops(ranks: Iterable[Rank]) -> dict[Function, frozenset[Lines]]:
    """Those of them that keep nothing of what they look at: they wait until it has changed."""
    return _told(ranks, "polls", _lines)


def polling_frames(trace: Trace) -> frozenset[int]:
    """The frames in them: they go round until a time has come or another thread changed a thing.

    They are found once: what all ranks told of their loops is long.
    """
    kept: dict[str, Any] = vars(trace)
    if _KEPT not in kept:
        polls = polling_loops(trace.ranks)
        loops = loops_of(trace.ranks) if polls else {}
        kept[_KEPT] = frozenset(
            place
            for place, frame in enumerate(trace.frames)
            if frame.key in polls and innermost(loops[frame.key], frame.line) in polls[frame.key]
        )
    found: frozenset[int] = kept[_KEPT]
    return found


def counted_loops(rank: Rank) -> list[tuple[Function, Lines] | None]:
    """The loops of a rank's `loop_turns`, by their places there; None of what tells none."""
    return [_loop(one) for one in _listed(rank.metadata.get("loop_turns"))]


def _loop(told: object) -> tuple[Function, Lines] | None:
    place = _place(told)
    lines = _lines(told.get("lines")) if isinstance(told, Mapping) else None
    return (place, lines) if place and lines else None


def values_seen(metadata: Mapping[str, Any], offset_ns: int) -> npt.NDArray[np.void]:
    """The rows of `loop_turns`: of each loop those looks that are what they should be."""
    found = []
    for number, told in enumerate(_listed(metadata.get("loop_turns"))):
        known = told if isinstance(told, Mapping) else {}
        moments, values = _listed(known.get("at_ns")), _listed(known.get("values"))
        for at, value in zip(moments, values, strict=False):
            if _counts(at) and _counts(value):
                found.append((at + offset_ns, number, value))
    return np.sort(np.array(found, LOOP_TURN_DTYPE), order="t")


def last_values(rank: Rank) -> list[int | None]:
    """What the variables were when the program ended, by their places in `loop_turns`."""
    told = _listed(rank.metadata.get("loop_turns"))
    last = [one.get("last") if isinstance(one, Mapping) else None for one in told]
    return [one if _counts(one) else None for one in last]


def _counts(value: object) -> TypeGuard[int]:
    return type(value) is int and abs(value) < LARGEST


def _place(told: object) -> Function | None:
    frame = frame_of(told.get("place")) if isinstance(told, Mapping) else None
    return None if frame is None else frame.key


def handed_on(ranks: Iterable[Rank]) -> dict[Function, frozenset[Handed]]:
    """Of each function lines whose results others take, and keys between it and other functions."""
    return _told(ranks, "passed", _handed)


def updating(ranks: Iterable[Rank]) -> frozenset[Frame]:
    """The lines of the program from which a model was updated, as far as they were looked at."""
    told = {str(one) for rank in ranks for one in _listed(rank.metadata.get("updates"))}
    return frozenset(frame for one in told if (frame := frame_of(one)) is not None)


def _told(
    ranks: Iterable[Rank], what: str, read: Callable[[object], T | None]
) -> dict[Function, frozenset[T]]:
    found: dict[Function, set[T]] = {}
    for rank in ranks:
        told = rank.metadata.get("loops")
        for one in told if isinstance(told, list) else ():
            if (place := _place(one)) is not None:
                own = found.setdefault(place, set())
                own.update(filter(None, map(read, _listed(one.get(what)))))
    return {function: frozenset(lines) for function, lines in found.items() if lines}


def innermost(loops: Iterable[Lines], line: int) -> Lines | None:
    """The smallest loop that has a line."""
    around = [lines for lines in loops if lines[0] <= line <= lines[1]]
    return min(around, key=lambda lines: (lines[1] - lines[0], lines), default=None)


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _pair(told: object, is_fit: Callable[[object], bool]) -> tuple[Any, Any] | None:
    pair = _listed(told)
    return (pair[0], pair[1]) if len(pair) == 2 and all(map(is_fit, pair)) else None


def _two(told: object) -> Lines | None:
    return _pair(told, lambda one: isinstance(one, int) and one > 0)


def _handed(told: object) -> Handed | None:
    return _pair(told, lambda one: isinstance(one, str) or _counts(one))


def _lines(told: object) -> Lines | None:
    pair = _two(told)
    return pair if pair and pair[0] <= pair[1] else None
