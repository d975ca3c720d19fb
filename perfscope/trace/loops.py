"""Which lines of the program's functions go round together, as the agent read it in bytecode."""

from collections.abc import Iterable, Mapping
from typing import Any

from perfscope.trace.model import Function, Rank

Lines = tuple[int, int]
"""First and last line of a loop."""


def loops_of(ranks: Iterable[Rank]) -> dict[Function, frozenset[Lines]]:
    """The loops of each function that samples met; none where the agent did not tell them."""
    return _told(ranks, "lines")


def polling_loops(ranks: Iterable[Rank]) -> dict[Function, frozenset[Lines]]:
    """Those of them that keep nothing of what they look at: they wait until it has changed."""
    return _told(ranks, "polls")


def _told(ranks: Iterable[Rank], what: str) -> dict[Function, frozenset[Lines]]:
    found: dict[Function, set[Lines]] = {}
    for rank in ranks:
        told = rank.metadata.get("loops")
        for one in told if isinstance(told, list) else ():
            place = str(one.get("place", "")).split("\x1f") if isinstance(one, Mapping) else []
            if len(place) == 3:
                own = found.setdefault((place[0], place[1]), set())
                own.update(filter(None, map(_lines, _listed(one.get(what)))))
    return {function: frozenset(lines) for function, lines in found.items() if lines}


def innermost(loops: Iterable[Lines], line: int) -> Lines | None:
    """The smallest loop that has a line."""
    around = [lines for lines in loops if lines[0] <= line <= lines[1]]
    return min(around, key=lambda lines: (lines[1] - lines[0], lines), default=None)


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _lines(told: object) -> Lines | None:
    pair = _listed(told)
    if len(pair) != 2 or not all(isinstance(one, int) for one in pair):
        return None
    first, last = pair
    return (first, last) if 0 < first <= last else None
