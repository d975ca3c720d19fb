"""Functions of the program, and what they are given at the moments at which all ranks look.

What a function does is decided by its arguments, by what it and the functions that it calls read of
the module, and by what it draws, receives or reads elsewhere. Where the first two are known, and
nothing of the third kind is in reach, ranks that call it with the same do the same, each for
itself, at whichever of its lines a look meets them.
"""

from __future__ import annotations

import opcode
import sys

from . import accesses, branches, bytecode, recorder, relatives
from .by_place import most_seen
from .contents import AtMeetings
from .kinds import Any, CodeType
from .operand_arrays import NUMBER, of_parts
from .secrets.redact import redact_value
from .worked_on import MOST_CALLERS, Operand, Site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Optional, Tuple

    from .places import Places

    _Paths = Tuple[Tuple[object, ...], ...]

_MOST_CODES = 32
"""Functions that one reaches; of one that reaches more it is not known what decides it."""

_MOST_PATHS = 64
_TAKES_MORE = 4 | 8
"""Flags of a code that takes arguments without a name."""

_LEARNING = ("rand", "rank", "environ", "dropout", "multinomial", "bernoulli", "poisson")
_ASKING = frozenset(
    "normal uniform shuffle sample choice permutation getenv recv process_index input open read "
    "time normal_ uniform_ exponential_".split()
)
"""Parts of names, and whole ones, of what draws numbers or asks for something elsewhere."""

_MOST_FOUND = 400
_names = opcode.opname


class Called:
    """One function, and what it was given."""

    def __init__(self, code: CodeType, reached: list[CodeType]) -> None:
        self.code, self.reached = code, reached
        own = [(number,) for number in range(code.co_argcount + code.co_kwonlyargcount)]
        read = [path for one in reached for path in _outside(one)]
        self.paths: _Paths = tuple(dict.fromkeys([*own, *read]))
        self.names = [bytecode.name(code, path) for path in self.paths]
        self._arguments = self.names[: len(own)]
        self._outside: Optional[int] = None
        self.looks = 0
        self.at_meetings = AtMeetings()
        self.operands: Dict[str, Operand] = {}
        self.callers: Dict[Site, int] = {}

    def see(
        self, meeting: int, seen: list[tuple[str, Any, int, Any]], everywhere: list[object]
    ) -> None:
        """Takes note of a look; `everywhere`: texts of all that decides it, 0 of what nobody knows.

        Numbers alone decide little that takes long: where no array is given, nothing is noted.
        """
        given = [one for one in seen if one[0].partition("[")[0] in self._arguments]
        if all(array.kind == NUMBER for _, array, _, _ in given):
            return
        self.looks += 1
        for name, array, content, _ in given:
            self.operands.setdefault(name, Operand()).see(array, content, {})
        own, read = everywhere[: len(self._arguments)], everywhere[len(self._arguments) :]
        outside = of_parts(tuple(read)) if 0 not in read else 0
        # what is another one later may have been another one than that of other ranks meanwhile
        self._outside = outside if self._outside in (None, outside) else 0
        if self._outside and 0 not in own:
            self.at_meetings.see(meeting, of_parts(tuple(own)))

    def told(self, places: Places) -> dict[str, Any]:
        """All of it, for the metadata."""
        callers = sorted(self.callers.items(), key=lambda one: -one[1])
        # of functions that it calls, what is no variable of their own, which it may have made
        changed = set(accesses.updated(self.code))
        for one in self.reached[1:]:
            changed.update([name for name in accesses.updated(one) if "." in name])
        operands = list(self.operands.items())
        return {
            "place": recorder.place_text(*places.where(self.code, 0)),
            "looks": self.looks,
            "callers": [[one.place(places), looks] for one, looks in callers[:MOST_CALLERS]],
            "outside": self._outside or 0,
            "at_meetings": self.at_meetings.told(),
            "updated": sorted([redact_value(name) for name in changed]),
            "operands": [one.told(name) for name, one in operands if one.looks],
        }


class Calls:
    """The functions that were met."""

    def __init__(self) -> None:
        self._found: Dict[int, Tuple[CodeType, Optional[Called]]] = {}
        self._named: Dict[str, List[CodeType]] = {}
        self._modules = 0  # that were loaded when its functions were listed
        self._is_whole = False

    def of(self, code: CodeType) -> Called | None:
        """What is known of a function; None where nobody can tell what decides what it does."""
        if len(sys.modules) != self._modules:
            self._list()
        known = self._found.get(id(code))
        if known is None:
            if len(self._found) >= _MOST_FOUND:
                return None
            known = self._found[id(code)] = code, self._made(code)
        return known[1]

    def _list(self) -> None:
        """Lists the program's functions anew: another module has been loaded."""
        self._modules = len(sys.modules)
        codes, self._is_whole = relatives.codes()
        self._named.clear()
        for one in codes:
            self._named.setdefault(one.co_name, []).append(one)
        for key, (code, called) in list(self._found.items()):
            if called is None or self._reached(code) != called.reached:
                del self._found[key]

    def told(self, places: Places) -> list[dict[str, Any]]:
        """For the metadata: those that were met at meetings most often."""
        found = [one for _, one in list(self._found.values()) if one is not None]
        found = [one for one in found if one.operands and one.at_meetings.told()]
        return most_seen(found, places)

    def _made(self, code: CodeType) -> Called | None:
        has_all = self._is_whole and not code.co_flags & _TAKES_MORE
        if not code.co_argcount or not has_all or _stores_arguments(code):
            return None
        reached = self._reached(code)
        if not reached or any(map(_learns, reached)):
            return None
        called = Called(code, reached)
        return None if len(called.paths) > _MOST_PATHS else called

    def _reached(self, code: CodeType) -> list[CodeType]:
        """The function first, and those that it calls, by their names, or are defined in it.

        Empty where they are too many, or one of them reads variables of another function around it.
        """
        found, left = [code], [code]
        if code.co_freevars:
            return []
        while left:
            one = left.pop()
            inner = [part for part in one.co_consts if type(part) is type(code)]
            named = [other for name in one.co_names for other in self._named.get(name, ())]
            if len(found) > _MOST_CODES or any(other.co_freevars for other in named):
                return []
            for other in [*inner, *named]:
                if all(other is not known for known in found):
                    found.append(other)
                    left.append(other)
        return found


def _learns(code: CodeType) -> bool:
    """Whether a function may learn more than it is given: it draws, receives, reads or asks.

    What a library knows no look sees, so that the names of what it has for that have to tell.
    """
    names = [name.lower() for name in code.co_names]
    is_named = any(part in name for name in names for part in _LEARNING)
    told = bytecode.between(code, 0, len(code.co_code))
    return is_named or not _ASKING.isdisjoint(names) or any(one == "IMPORT_NAME" for one, _ in told)


def _outside(code: CodeType) -> list[tuple[object, ...]]:
    """What a function reads of its module, by paths that lead there."""
    told = bytecode.between(code, 0, len(code.co_code))
    return [path for path in bytecode.paths(code, told) if type(path[0]) is str]


def _stores_arguments(code: CodeType) -> bool:
    """Whether some argument is replaced in the function: a look does not see what was given."""
    raw = code.co_code
    arguments = range(code.co_argcount + code.co_kwonlyargcount)
    for place in range(0, len(raw), 2):
        name, argument = _names[raw[place]], branches.argument(raw, place)
        if name in ("STORE_DEREF", "DELETE_DEREF"):
            return True
        gone = (argument,) if name == "DELETE_FAST" else ()
        if any(one in arguments for one in (*accesses.stored_locals(name, argument), *gone)):
            return True
    return False
