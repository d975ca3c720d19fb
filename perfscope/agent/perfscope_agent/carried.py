"""Variables that a loop makes anew from what they were: how much each holds, and whether it grows.

`table = concat([table, piece])` copies all that there is for each piece that is added. The bytecode
tells which calls take what they made in the turn before; looks tell how many values that holds.
"""

from __future__ import annotations

import opcode

from . import bytecode, loops, operand_arrays, own_threads, recorder, stores
from .by_place import ByPlace, Noted
from .kinds import Any, CodeType
from .secrets.redact import redact_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Tuple

    from .places import Places
    from .recorder import Recorder

    _Path = Tuple[object, ...]
    _Made = Tuple[str, _Path, bool, int]
    """Name and path of a variable, whether the loop reads it elsewhere too, and the call."""

_MOST_BESIDE = 8
"""Variables that are looked at together; where a loop makes more anew, they take turns."""

_MOVES = 0.1
"""Of the looks in which one had grown, those in which it lay elsewhere: more of what is made anew,
which takes the memory of the last but one again."""

_LONGEST = 1 << 12
"""Bytes of a function's code: of each variable that is found all other reads in its loop are."""

_MOST_OF_CODE = 64
"""Such calls of one function: what more of them would tell is not worth the time to find them."""

_SIZED = (set, frozenset, str, bytes, bytearray)
_NUMBERS = (int, float, complex, bool)
_LEAVES = (type, type(opcode), type(lambda: None), type(len), type(None), *_NUMBERS)

_names = opcode.opname


class _Seen:
    """How much one variable held, look by look."""

    def __init__(self, code: CodeType, last: int, path: _Path, name: str, is_read: bool) -> None:
        self.code, self.last, self.path = code, last, path
        self.name, self.is_read = name, is_read
        self.is_innermost = True
        self.met = self.asked = 0
        self.looks = self.grew = self.moved = self.shrank = self.since = 0
        self.fewest = self.most = self._before = self._identity = 0

    def is_due(self) -> bool:
        """Whether to look where it is met now: again and again only at what has ever held a value.

        What leads nowhere, and what holds nothing, as a number does, is asked after twice as many.
        """
        self.met += 1
        return self.most > 0 or self.met >> self.asked > 0

    def see(self, values: int, identity: int) -> None:
        """Takes note of a look."""
        if self.looks:
            self.grew += values > self._before
            self.moved += values > self._before and identity != self._identity
            self.shrank += values < self._before
            self.since = 0 if values > self._before else self.since + 1
        self.fewest = min(self.fewest, values) if self.looks else values
        self.most, self._before, self._identity = max(self.most, values), values, identity
        self.looks += 1

    def told(self, places: Places) -> dict[str, Any]:
        """All of it, for the metadata."""
        return {
            "place": recorder.place_text(*places.where(self.code, self.last)),
            "name": redact_value(self.name),
            "is_innermost": self.is_innermost,
            "is_read": self.is_read,
            "looks": self.looks,
            "values": [self.fewest, self.most],
            # what grew in its place was not copied; what is made anew may get its old place again
            "grew": self.grew if self.moved > _MOVES * self.grew else 0,
            "shrank": self.shrank,
            "since": self.since,
        }


class Carried:
    """Looks at such variables where the main thread makes them."""

    def __init__(self, rec: Recorder) -> None:
        self._library = rec
        self._made = ByPlace(of_code)
        self.seen = Noted()
        self._kinds: tuple[tuple[Any, ...], ...] = ()
        self._sized: tuple[Any, ...] = ()

    def look(self, own: list[tuple[CodeType, int]], variables: tuple[int, int]) -> None:
        """Looks once at those that are made at the program's places, innermost first."""
        asked, seen = [], []
        for number, (code, last) in enumerate(own):
            place = bytecode.without_caches(code, last)
            found = [one for made in self._made.of(code, place) for one in self._one(code, made)]
            for one in found:
                one.is_innermost = one.is_innermost and (number == 0 or place != one.last)
            found = [one for one in found if one.is_due()]
            if found:
                found.sort(key=lambda one: one.asked)
                seen.append(found[:_MOST_BESIDE])
                asked.append((code, last, tuple([one.path for one in seen[-1]])))
        if not asked:
            return
        self._learn_kinds()
        told = self._library.values_held(tuple(asked), self._kinds, (), *variables)
        for at, answers in told:
            for one, answer in zip(seen[at], answers):
                one.asked += 1
                if answer:
                    one.see(*answer)

    def _one(self, code: CodeType, made: _Made) -> list[_Seen]:
        """What has been seen of a variable so far; nothing where that are too many."""
        name, path, is_read, last = made
        return self.seen.of((id(code), last, name), lambda: _Seen(code, last, path, name, is_read))

    def _learn_kinds(self) -> None:
        array = own_threads.contents("numpy").get("ndarray")
        tensor = own_threads.contents("torch").get("Tensor")
        if self._kinds and (array, tensor) == self._sized:
            return
        deque = own_threads.contents("_collections").get("deque")
        sized = _SIZED if deque is None else (*_SIZED, deque)
        # what is made from these is asked by the functions of these, which are of C
        kinds: list[tuple[Any, ...]] = [(kind, (kind.__len__,), True) for kind in sized]
        kinds += [(kind, (), True) for kind in _LEAVES]
        if array is not None:
            kinds.append((array, operand_arrays.getters(array, ("size",), ()), True))
        if tensor is not None:
            kinds.append((tensor, operand_arrays.getters(tensor, (), ("numel",))))
        self._kinds, self._sized = tuple(kinds), (array, tensor)


def of_code(code: CodeType) -> dict[int, list[_Made]]:
    """By its instruction what a loop of a function makes anew from what that was before.

    A call that keeps the interpreter's lock is met where its loop next gives that away: so at each
    place of a loop stands all that it makes.
    """
    found: dict[int, list[_Made]] = {}
    if len(code.co_code) > _LONGEST:
        return found
    around = loops.ranges(code)
    own, count = code.co_varnames + code.co_cellvars, 0
    for place in range(0, len(code.co_code), 2):
        if count >= _MOST_OF_CODE:
            break
        names = stores.stored(code, place) if bytecode.works(code, place) else []
        inner = [(end - begin, begin, end) for begin, end in around if begin <= place <= end]
        _, begin, end = min(inner, default=(0, 0, len(code.co_code)))
        # what outlives a call of the function may go round in a loop of whoever calls it
        kept = [one for one in names if inner or "." in one or one not in own]
        for one in _made(code, place, kept, (begin, end)) if kept else ():
            count += 1
            for at in range(begin, end + 2, 2) if inner else (one[3],):
                found.setdefault(at, []).append(one)
    return found


def _made(code: CodeType, place: int, names: list[str], loop: tuple[int, int]) -> list[_Made]:
    """The calls up to one whose result is put into a variable, that take what this held."""
    first, (begin, end) = bytecode.first_taken(code, place), loop
    if first is None:
        return []
    found: list[_Made] = []
    others: set[str] | None = None
    for one in range(first, place + 2, 2):
        is_one = bytecode.works(code, one) and _names[code.co_code[one]] != "PRECALL"
        taken = bytecode.taken(code, one) if is_one else None
        for path in bytecode.paths(code, taken or []):
            # a method is called of what it is an attribute of
            heads = [path[:count] for count in range(len(path), 0, -1)]
            own = [head for head in heads if bytecode.name(code, head) in names]
            if own:
                name = bytecode.name(code, own[0])
                if others is None:
                    rest = bytecode.between(code, begin, first)
                    rest += bytecode.between(code, place + 2, end)
                    others = {bytecode.name(code, path) for path in bytecode.paths(code, rest)}
                is_read = any(other == name or other.startswith(name + ".") for other in others)
                found.append((name, own[0], is_read, one))
    return found
