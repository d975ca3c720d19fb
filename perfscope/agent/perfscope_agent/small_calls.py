"""What takes the time of the program's loops: long operations, or many that are over at once.

A call of NumPy or PyTorch on a few values takes about as long as one that does nothing. How long
one takes is told by two things: how long the main thread needs to come back to where it was noted,
which is a turn of the loop there, and which part of the samples in that loop met which instruction.
What a call on one value takes on this machine is timed when the program is over.
"""

from __future__ import annotations

import opcode
import sys
import time

from . import accesses, branches, bytecode, loops, metadata, recorder
from .files import is_program
from .kinds import Any, CodeType
from .pace import Budget
from .secrets.redact import redact_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Tuple

    from .places import Places
    from .recorder import Recorder

    _Place = Tuple[CodeType, int]
    _Told = List[Dict[str, Any]]

_MOST_LOOPS = 200
_MOST_CODES = 200
_MOST_KNOWN = 20000
_MOST_PLACES = 64
"""Instructions of one loop that are told apart, those of libraries that it calls included."""

_MOST_TIMES = 256
"""How often turns of one loop are timed, each time some of them."""

_MOST_TOLD = 32
_FEWEST_LOOKS = 5
_MOST_NAMES = 16
_LONGEST = 1 << 12
"""Bytes of a loop's code that are looked through."""

_RECENT = 32
"""Looks that may still be followed by the time of a turn."""

_names = opcode.opname
_TIMES, _CALLS = 7, 50
_VALUES = 1 << 14


class _Loop:
    """A loop of the program's, or what of a function is in none, and what samples there saw."""

    def __init__(self, code: CodeType, begin: int, end: int) -> None:
        self.code = code
        self.begin, self.end = begin, end
        self.looks = self.turns = 0
        self.turn_ns: list[float] = []
        self.counts: dict[tuple[int, int], int] = {}
        self._kept: dict[int, CodeType] = {}

    def see(self, innermost: _Place, count: int) -> None:
        """Takes note of so many samples that met an instruction, of whichever function."""
        self.looks += count
        code, last = innermost
        key = id(code), last
        if key in self.counts or len(self.counts) < _MOST_PLACES:
            self._kept[id(code)] = code
            self.counts[key] = self.counts.get(key, 0) + count

    def timed(self, turns: int, sum_ns: float, squares: float) -> None:
        """Takes note of turns that followed each other: of long ones more, as they take more."""
        self.turns += turns
        if len(self.turn_ns) < _MOST_TIMES and sum_ns:
            self.turn_ns.append(squares / sum_ns)

    def told(self, places: Places, lines: tuple[int, int] | None) -> dict[str, Any]:
        """For the metadata."""
        function, file, _ = places.where(self.code, 0)
        return {
            "place": recorder.place_text(function, file, self.code.co_firstlineno),
            "lines": lines,
            "looks": self.looks,
            "counts": sorted(self.counts.values(), reverse=True),
            "whole": [redact_value(one) for one in self._whole()[:_MOST_NAMES]],
            "turns": self.turns,
            "turn_ns": int(sorted(self.turn_ns)[len(self.turn_ns) // 4]) if self.turn_ns else 0,
        }

    def _whole(self) -> list[str]:
        is_short = min(self.end, len(self.code.co_code)) - self.begin <= _LONGEST
        return taken_whole(self.code, self.begin, self.end) if is_short else []


class SmallCalls:
    """The loops that were met, and how long their turns took."""

    def __init__(self) -> None:
        self._loops: dict[tuple[int, int, int], _Loop] = {}
        self._ranges: dict[int, tuple[CodeType, list[tuple[int, int]]]] = {}
        self._known: dict[tuple[int, int], tuple[CodeType, _Loop | None]] = {}
        self._recent: dict[int, _Loop] = {}
        self._budget = Budget()

    def see(self, places: list[_Place], at_ns: int, count: int) -> None:
        """Takes note of a sample of the main thread, which stands for so many; innermost first."""
        known = self._known
        for code, last in places:
            place = id(code), last
            loop = known[place][1] if place in known else self._learn(code, last)
            if loop is not None:
                break
        else:
            return
        loop.see(places[0], count)
        if len(self._recent) >= _RECENT:
            self._recent.pop(next(iter(self._recent)))
        self._recent[at_ns] = loop

    def time(self, rec: Recorder) -> None:
        """Takes note of what was timed since the last call."""
        if not rec.turns_are_timed():
            return
        for noted_ns, code, last, *told in rec.turn_times():
            loop = self._recent.get(noted_ns)
            # what a library comes back to may be a loop of its own
            if loop is not None and code == id(loop.code) and self._loop(loop.code, last) is loop:
                loop.timed(*told)

    def told(self, places: Places, looked: dict[int, int]) -> _Told:
        """For the metadata, of the loops that were seen most.

        `looked`: by the identity of their code, how often it was looked at what functions work on.
        """
        found = [one for one in self._loops.values() if one.looks >= _FEWEST_LOOKS and one.turn_ns]
        found.sort(key=lambda one: -one.looks)
        told = []
        for one in found[:_MOST_TOLD]:
            known = dict(loops.with_lines(one.code))
            row = one.told(places, known.get((one.begin, one.end)))
            told.append({**row, "operand_looks": looked.get(id(one.code), 0)})
        return told

    def _learn(self, code: CodeType, last: int) -> _Loop | None:
        """The loop of a place of the program's; None of a library's, and where they are too many.

        Code is known by its identity, and therefore kept.
        """
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        loop = self._loop(code, last) if is_program(code.co_filename) else None
        self._known[id(code), last] = code, loop
        return loop

    def _loop(self, code: CodeType, last: int) -> _Loop | None:
        around = [one for one in self._ranges_of(code) if one[0] <= last <= one[1]]
        begin, end = min(around, key=lambda one: one[1] - one[0], default=(-1, bytecode.LONGEST))
        found = self._loops.get((id(code), begin, end))
        if found is None and id(code) in self._ranges and len(self._loops) < _MOST_LOOPS:
            found = self._loops[id(code), begin, end] = _Loop(code, begin, end)
        return found

    def _ranges_of(self, code: CodeType) -> list[tuple[int, int]]:
        known = self._ranges.get(id(code))
        if known is None:
            if len(self._ranges) >= _MOST_CODES or not self._budget.is_left():
                return []
            begin_ns = time.thread_time_ns()
            known = self._ranges[id(code)] = code, loops.ranges(code)
            self._budget.spent_ns += time.thread_time_ns() - begin_ns
        return known[1]


def taken_whole(code: CodeType, begin: int, end: int) -> list[str]:
    """The variables that operators and calls between two instructions take, and no items of them.

    Of a call they count where all that it takes are variables.
    """
    raw = code.co_code
    found: list[str] = []
    for place in range(max(begin, 0), min(end + 2, len(raw)), 2):
        name = _names[raw[place]]
        if name.startswith(_OPERATORS) and not _is_item(raw, place):
            count = 1 if name.startswith("UNARY_") else 2
            made = bytecode.made_before(raw, place, count) or []
            levels = [accesses.made_at(made, level + 1) for level in range(count)]
            found += [accesses.variable(code, one) for one in levels if one]
        elif name.startswith("CALL"):
            instructions = bytecode.taken(code, place) or []
            if all(one.startswith(_LOADS) for one, _ in instructions):
                paths = bytecode.paths(code, instructions)
                found += [bytecode.name(code, path) for path in paths]
    return [one for one in dict.fromkeys(found) if one]


def _is_item(raw: bytes, place: int) -> bool:
    name = _names[raw[place]]
    return "SUBSCR" in branches.symbol_at(raw, place) or "SLICE" in name


_OPERATORS = ("BINARY_", "INPLACE_", "COMPARE_", "UNARY_")
_LOADS = ("LOAD_", "PUSH_NULL", "PRECALL", "KW_NAMES", "CACHE", "EXTENDED_ARG", "COPY")


def measure(budget: Budget) -> bool:
    """When all is over: times what calls on one value take here, and a value of many."""
    operands = metadata.facts.get("operands")
    if not isinstance(operands, dict) or not operands.get("small_calls") or not budget.is_left():
        return False
    begin_ns = time.monotonic_ns()
    found = {}
    for name, take in (("numpy", _of_numpy), ("torch", _of_torch)):
        library: Any = sys.modules.get(name)
        if library is not None:
            found[name] = take(library)
    metadata.facts["empty_calls"] = found
    budget.spent_ns += time.monotonic_ns() - begin_ns
    return True


def _of_numpy(numpy: Any) -> dict[str, float]:
    one, many = numpy.ones(1), numpy.ones(_VALUES)
    empty_ns = [_least_ns(lambda: one + one, _CALLS), _least_ns(one.sum, _CALLS)]
    value_ns = _least_ns(lambda: numpy.add(many, many, many), 1) / _VALUES
    return {"empty_ns": sum(empty_ns) / len(empty_ns), "value_ns": value_ns}


def _of_torch(torch: Any) -> dict[str, float]:
    one, many = torch.ones(1, device="cpu"), torch.ones(_VALUES, device="cpu")
    empty_ns = _least_ns(lambda: one + one, _CALLS)
    return {"empty_ns": empty_ns, "value_ns": _least_ns(lambda: many + many, 1) / _VALUES}


def _least_ns(action: Any, times: int) -> float:
    """What it takes at least, of this thread's CPU time: other threads of a core slow it down."""
    spent_ns = []
    for _ in range(_TIMES):
        begin_ns = time.thread_time_ns()
        for _ in range(times):
            action()
        spent_ns.append((time.thread_time_ns() - begin_ns) / times)
    return min(spent_ns)


seen = SmallCalls()


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    global seen
    seen = SmallCalls()
