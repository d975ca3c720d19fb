"""Lists that the program searches from the start: `x in names`, `rows.index(x)`, `rows.pop(0)`.

How long one such operation takes grows with the length of the list. The bytecode tells which
instructions do that, and what variable they do it with; looks tell whether that is a list, and how
long it is.
"""

from __future__ import annotations

import opcode

from . import accesses, bytecode, loops, own_threads, recorder
from .by_place import ByPlace, Noted
from .kinds import Any, CodeType
from .places import line_of, line_ranges
from .secrets.redact import redact_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Tuple

    from .places import Places
    from .recorder import Recorder

    _Path = Tuple[object, ...]
    _Found = Tuple[int, _Path, str]
    """The instruction, the path of what it searches, and what it does with that."""

IN, FIND, COUNT, REMOVE, SHIFT = "in", "index", "count", "remove", "shift"
"""A test for membership, searches by methods, and moving all that is behind."""

_METHODS = {"index": FIND, "count": COUNT, "remove": REMOVE, "pop": SHIFT, "insert": SHIFT}
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_MOST_BESIDE = 4
_LONGEST = 1 << 12
"""Bytes of a function's code."""

_names = opcode.opname


class _Seen:
    """How long what one instruction searches was, look by look."""

    def __init__(self, code: CodeType, found: _Found) -> None:
        self.code, (self.last, self.path, self.how) = code, found
        self.name = bytecode.name(code, self.path)
        self.met = self.asked = self.looks = self.total = self.most = 0
        self.kind = ""

    def is_due(self) -> bool:
        """Whether to look where it is met: ever more rarely at what was never a list."""
        self.met += 1
        return self.looks > 0 or self.met >> self.asked > 0

    def see(self, kind: str, length: int) -> None:
        """Takes note of a look."""
        self.kind = kind
        self.looks += 1
        self.total += length
        self.most = max(self.most, length)

    def told(self, places: Places) -> dict[str, Any]:
        """All of it, for the metadata."""
        line = line_of(self.code, self.last)
        ranges = [(start, end) for start, end, one in line_ranges(self.code) if one == line]
        inside = [name for one in ranges for name, _ in bytecode.between(self.code, *one)]
        return {
            "place": recorder.place_text(*places.where(self.code, self.last)),
            "name": redact_value(self.name),
            "how": self.how,
            "kind": self.kind,
            "looks": self.looks,
            "length": self.total / self.looks,
            "most": self.most,
            "asked": self.asked,
            "instructions": len(inside) - inside.count("CACHE"),
        }


class Searched:
    """Looks at lists where the main thread searches them."""

    def __init__(self, rec: Recorder) -> None:
        self._library = rec
        self._places = ByPlace(by_place)
        self.seen = Noted()
        self._kinds: tuple[tuple[Any, ...], ...] = ((list, (list.__len__,)),)

    def look(self, own: list[tuple[CodeType, int]], variables: tuple[int, int]) -> None:
        """Looks once at what the innermost of the program's places searches."""
        for code, last in own[:1]:
            place = bytecode.without_caches(code, last)
            found = [one for at in self._places.of(code, place) for one in self._one(code, at)]
            due = [one for one in found if one.is_due()]
            due.sort(key=lambda one: one.asked)
            if not due:
                continue
            self._learn_kinds()
            paths = tuple([one.path for one in due[:_MOST_BESIDE]])
            asked = ((code, last, paths),)
            for _, answers in self._library.operands(asked, self._kinds, (), 0, *variables):
                for one, answer in zip(due, answers):
                    one.asked += 1
                    if answer and answer[0] == len(one.path) and self._is_list(answer[2]):
                        one.see(str(answer[2].__name__), answer[3][0])

    def _is_list(self, kind: Any) -> bool:
        return any(kind is one[0] for one in self._kinds)

    def _one(self, code: CodeType, found: _Found) -> list[_Seen]:
        return self.seen.of((id(code), found[0]), lambda: _Seen(code, found))

    def _learn_kinds(self) -> None:
        deque = own_threads.contents("_collections").get("deque")
        if deque is not None and len(self._kinds) == 1:
            self._kinds += ((deque, (deque.__len__,)),)


def by_place(code: CodeType) -> dict[int, list[_Found]]:
    """By instruction what may have been searched when the main thread is met there.

    A search keeps the interpreter's lock, and is met where its loop next gives that away: so at
    each place of a loop stands all that the loop itself searches.
    """
    found: dict[int, list[_Found]] = {}
    if len(code.co_code) > _LONGEST:
        return found
    around = loops.ranges(code)
    for one in searches(code):
        inner = [(end - begin, begin, end) for begin, end in around if begin <= one[0] <= end]
        _, begin, end = min(inner, default=(0, one[0], one[0]))
        for place in range(begin, end + 2, 2):
            found.setdefault(place, []).append(one)
    return found


def searches(code: CodeType) -> list[_Found]:
    """The instructions of a function that search a variable, or an attribute of one."""
    found = []
    for place in range(0, len(code.co_code), 2):
        name = _names[code.co_code[place]]
        if name == "CONTAINS_OP":
            path = accesses.container(code, place)
            found += [(place, path, IN)] if path else []
        elif bytecode.works(code, place) and name != "PRECALL":
            found += _by_method(code, place)
    return found


def _by_method(code: CodeType, place: int) -> list[_Found]:
    taken = bytecode.taken(code, place) or []
    for at, (name, _) in enumerate(taken):
        path = bytecode.paths(code, taken[: at + 1]) if name in _ATTRIBUTES else []
        how = _METHODS.get(str(path[0][-1]), "") if len(path) == 1 and len(path[0]) > 1 else ""
        given = taken[at + 1 :]
        if how and given and (how != SHIFT or _is_at_begin(code, given)):
            return [(place, path[0][:-1], how)]
    return []


def _is_at_begin(code: CodeType, given: list[tuple[str, int]]) -> bool:
    """Whether the first argument is 0: behind it lies all of the list."""
    loads = [one for one in given if one[0].startswith("LOAD_")]
    return bool(loads) and loads[0][0] == "LOAD_CONST" and _is_zero(code.co_consts[loads[0][1]])


def _is_zero(constant: object) -> bool:
    """Whether it is the number: others may warn where they are compared with one."""
    return type(constant) is int and constant == 0
