"""How often the program's loops have turned, from the variables that count their turns.

Stack samples see each turn of a loop only where it takes several times as long as they are apart.
But many loops have a number for each turn, `for step in range(...)` or `sweep += 1`, which a look
now and then suffices to read. No code of the program runs for that.
"""

from __future__ import annotations

import opcode
import time

from . import bytecode, callees, files, loops, notes, operands, own_threads, recorder
from .pace import Budget
from .places import Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Dict, List, Tuple

    from .recorder import Recorder

    _Root = Tuple[object, ...]
    _Counted = Tuple[Tuple[int, int], Tuple[int, int], _Root]
    """A loop's instructions, its lines, and the variable that counts its turns."""

_MOST_FRAMES = 64
_MOST_LOOPS = 16
_MOST_SEEN = 512
"""Looks at a loop that are kept; of more, every second one."""

_MOST_FOUND = 1000
"""Functions that are looked through, and loops whose turns are kept until the end."""

_LEAST_SEEN = 3
_LARGEST = 1 << 53
_KINDS = ((int, (int.__index__,)),)
_ADDS = {"BINARY_OP", "INPLACE_ADD"}
_CONSTANTS = {"LOAD_CONST", "LOAD_SMALL_INT"}
_PASSED = bytecode.NO_OPERATION | {"UNPACK_SEQUENCE", "TO_BOOL"}

_names = opcode.opname


class _Seen:
    """What a variable was, and when."""

    def __init__(self, code: CodeType, lines: tuple[int, int], root: object) -> None:
        self.code, self.lines, self.root = code, lines, root
        self.at_ns: List[int] = []
        self.values: List[int] = []
        self._looks, self._every = 0, 1

    def last(self) -> int | None:
        """What the variable is at the end, where it is still there: one of the main module."""
        value: Any = own_threads.contents("__main__").get(str(self.root))
        if self.code.co_name != "<module>" or type(value) is not int:
            return None
        return value if self.values[-1] <= value < _LARGEST else None

    def see(self, at_ns: int, value: int) -> None:
        """Takes note of a look."""
        self._looks += 1
        if self._looks % self._every:
            return
        self.at_ns.append(at_ns)
        self.values.append(value)
        if len(self.values) > _MOST_SEEN:
            self._every *= 2
            del self.at_ns[::2], self.values[::2]


class Looker:
    """Looks from the sampler's thread, within what that may cost."""

    def __init__(self, rec: Recorder) -> None:
        self._library = rec
        self._variables = callees.variables_at(rec) if operands.is_known() else None
        self._places = Places()
        self._budget = Budget()
        self._counted: Dict[int, Tuple[CodeType, List[_Counted]]] = {}
        self._seen: Dict[Tuple[int, int], _Seen] = {}

    def look(self) -> None:
        """Looks once, if that is due."""
        if self._variables is None or not self._budget.is_left():
            return
        begin_ns = time.thread_time_ns()
        try:
            if self._library.can_look_at_operands():
                self._look(self._variables)
        except Exception as error:
            self._variables = None
            notes.failure("turns of loops are not counted", error)
        self._budget.spent_ns += time.thread_time_ns() - begin_ns

    def told(self) -> list[dict[str, Any]]:
        """What was seen, of the loops that were seen most."""
        kept = sorted(self._seen.values(), key=lambda one: -len(one.values))[:_MOST_LOOPS]
        return [
            {
                "place": self._place(one.code),
                "lines": one.lines,
                "at_ns": list(one.at_ns),
                "values": list(one.values),
                "last": one.last(),
            }
            for one in kept
            if len(one.values) >= _LEAST_SEEN and one.values[0] != one.values[-1]
        ]

    def _place(self, code: CodeType) -> str:
        function, file, _ = self._places.where(code, 0)
        return recorder.place_text(function, file, code.co_firstlineno)

    def _look(self, variables: tuple[int, int]) -> None:
        asked, loops_asked = [], []
        for code, last in self._library.operand_places(_MOST_FRAMES):
            around = [one for one in self._of(code) if one[0][0] <= last <= one[0][1]]
            if around:
                asked.append((code, last, tuple([root for _, _, root in around])))
                loops_asked.append(around)
        if not asked:
            return
        told = self._library.operands(tuple(asked), _KINDS, (), 0, *variables)
        now_ns = self._library.now()
        for place, answers in told:
            code = asked[place][0]
            for (instructions, lines, root), answer in zip(loops_asked[place], answers):
                if answer and answer[2] is int and abs(answer[3][0]) < _LARGEST:
                    key = id(code), instructions[0]
                    if key in self._seen or len(self._seen) < _MOST_FOUND:
                        seen = self._seen.setdefault(key, _Seen(code, lines, root[0]))
                        seen.see(now_ns, answer[3][0])

    def _of(self, code: CodeType) -> list[_Counted]:
        known = self._counted.get(id(code))
        if known is None:
            if len(self._counted) >= _MOST_FOUND:
                return []
            found = counted(code) if files.is_program(code.co_filename) else []
            known = self._counted[id(code)] = (code, found)
        return known[1]


def counted(code: CodeType) -> list[_Counted]:
    """The loops of a function whose turns a variable counts."""
    raw, found = code.co_code, []
    every = loops.with_lines(code)
    for (begin, end), lines in every:
        at = bytecode.behind(raw, begin, _PASSED)
        is_for = at < len(raw) and _names[raw[at]] == "FOR_ITER"
        inner = [one for one, _ in every if begin < one[0] and one[1] <= end]
        root = _stored(code, at + 2) if is_for else _counter(code, begin, end, inner)
        if root is not None:
            found.append(((begin, end), lines, root))
    return found


def _stored(code: CodeType, place: int) -> _Root | None:
    """The variable that is given the value on top, or the first one of several in it."""
    found = bytecode.stored(code, place, _PASSED)
    return None if found is None else (found,)


def _counter(code: CodeType, begin: int, end: int, inner: list[tuple[int, int]]) -> _Root | None:
    """The variable that a loop adds a constant to in each turn, by `x += 1`."""
    raw = code.co_code
    for place in range(begin, end, 2):
        if _names[raw[place]] not in _ADDS or any(one[0] <= place <= one[1] for one in inner):
            continue
        before = [_names[raw[at]] for at in range(max(begin, place - 4), place, 2)]
        if not before or before[-1] not in _CONSTANTS:
            continue
        root = _stored(code, place + 2)
        if root is not None:
            return root
    return None


looker: Looker | None = None


def start(rec: Recorder) -> None:
    """Looks from now on."""
    global looker
    looker = Looker(rec)


def look() -> None:
    """Looks once, if that is due."""
    if looker is not None:
        looker.look()


def told() -> list[dict[str, Any]]:
    """What was seen so far, for the metadata."""
    return looker.told() if looker is not None else []


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    global looker
    looker = None
