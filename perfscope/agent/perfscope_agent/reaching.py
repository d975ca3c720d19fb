"""Which of the values that a function puts into a variable are in it at an instruction.

A loop that begins with putting something into a variable leaves there nothing of what other loops
have put into it, as two loops of a function do that call their batches the same.
"""

from __future__ import annotations

import bisect
import opcode

from . import accesses, branches, bytecode
from .kinds import CodeType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Tuple

    _Lines = Tuple[int, int]
    _Stores = Dict[str, List[int]]
    """By variable where it is set."""

_names = opcode.opname
_NAMED = ("STORE_NAME", "STORE_GLOBAL")
_BEFORE = bytecode.NO_OPERATION | {"GET_ITER"}
"""What stands between the call that a loop goes through and the loop."""


class Reaching:
    """Where the variables of a function are set, and where it jumps to."""

    def __init__(self, code: CodeType, loops: list[_Lines]) -> None:
        raw = code.co_code
        self._code, self._loops = code, loops
        self._stores: _Stores = {}
        self._targets: list[int] = []
        for place in range(0, len(raw), 2):
            for name in _set_at(code, place):
                self._stores.setdefault(name, []).append(place)
            to = branches.target(raw, place)
            self._targets += [] if to is None else [to]
        self._targets.sort()
        self._straight = {start: self._branches_at(start, end) for start, end in loops}

    def bounds(self, variable: str, place: int) -> _Lines:
        """The first and last instruction that may have made what the variable is at `place`.

        Behind `place` are those of a loop that goes round again.
        """
        stores = self._stores.get(variable, [])
        number = bisect.bisect_left(stores, place)
        if number and not self._is_target_within(stores[number - 1], place):
            return stores[number - 2] + 1 if number > 1 else 0, place - 1
        around = [loop for loop in self._loops if loop[0] <= place <= loop[1]]
        for start, end in sorted(around, reverse=True):
            first = bisect.bisect_left(stores, start)
            if first < number and stores[first] < self._straight[start]:
                inside = [last for at, last in around if start < at and last <= end]
                return _begin(self._code, start), max([place - 1, *inside])
        return 0, len(self._code.co_code)

    def _is_target_within(self, store: int, place: int) -> bool:
        """Whether anything may be done between two instructions without the first one."""
        at = bisect.bisect_right(self._targets, store)
        return at < len(self._targets) and self._targets[at] <= place

    def _branches_at(self, start: int, end: int) -> int:
        """The first instruction of a loop that not each turn of it may come past."""
        raw = self._code.co_code
        jumps = (at for at in range(start + 2, end, 2) if branches.target(raw, at) is not None)
        return next(jumps, end)


def _set_at(code: CodeType, place: int) -> list[str]:
    """The variables that an instruction puts something into."""
    name, argument = _names[code.co_code[place]], branches.argument(code.co_code, place)
    if name in _NAMED:
        return [code.co_names[argument]]
    return [code.co_varnames[one] for one in accesses.stored_locals(name, argument)]


def _begin(code: CodeType, start: int) -> int:
    """The instruction that made what a loop goes through; of other loops their first one."""
    raw = code.co_code
    if _names[raw[start]] != "FOR_ITER":
        return start
    before = start - 2
    while before > 0 and _names[raw[before]] in _BEFORE:
        before -= 2
    return max(before, 0)
