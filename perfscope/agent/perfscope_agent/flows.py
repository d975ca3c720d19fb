"""What a function passes on: lines whose result is taken at another line, or outlives the function.

Read from the bytecode, as names. Between functions what is handed on has a key: that of an
attribute (`Agent.memory`, or `.memory` of anything else than `self`), of an argument or variable
that functions share (`memory`, or `=memory` where it gets another value), of what a function is
given (`store()`). Whether a method of a library keeps it is not known: that key begins with `?`.
"""

from __future__ import annotations

import bisect
import opcode

from . import branches, bytecode, places
from .reaching import Reaching
from .stores import SWAPS, stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Dict, List, Tuple, Union

    _Lines = Tuple[int, int]
    _Made = Dict[str, List[Tuple[int, int]]]
    """By variable where something is put into it, and the call that has made that."""
    _Edge = Tuple[Union[int, str], Union[int, str]]

RETURNED = "<returned>"
"""The key of what a function returns or yields, to whoever calls it."""

MOST = 200
"""Pairs of lines that are kept of a function."""

_WRITERS = 4

_VARIABLES = (bytecode.LOCAL, bytecode.GLOBAL)
_PUTS = frozenset(
    "append appendleft extend extendleft insert add put put_nowait push store remember".split()
)
"""Methods that put what they are given into what they are of; others may do anything with it.

Those of PyTorch that change what they are of end in `_`.
"""
_DROPS = bytes([opcode.opmap["POP_TOP"]])
_names = opcode.opname
_MOVES = {
    **dict.fromkeys(("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF"), 1),
    **dict.fromkeys(("GET_ITER", "RETURN_VALUE", "YIELD_VALUE", "UNPACK_SEQUENCE"), 1),
    "STORE_ATTR": 2,
    "STORE_SUBSCR": 3,
}
"""Instructions that hand on a value, and how many they take: the value, and what it is put into."""
_CALLS = frozenset(name for name in _names if name != "PRECALL" and bytecode.call_shape(name, 0)[1])
_ENDS = ("RETURN_VALUE", "YIELD_VALUE")
_NO_VALUE = ("STORE_", "UNPACK_", "FOR_ITER", "MAKE_FUNCTION", "SET_FUNCTION")
"""What a variable is set after that is handed on elsewhere, or is a function that is defined."""
_TURNS = frozenset(("GET_ITER", "FOR_ITER"))
_DISPLAYS = frozenset(("BUILD_LIST", "BUILD_MAP", "BUILD_SET"))


class Flows:
    """What a function passes on: inside (`pairs` of lines), to others and from them (`edges`)."""

    def __init__(self, code: CodeType, loops: list[_Lines]) -> None:
        self.pairs: list[_Lines] = []
        self.edges: list[_Edge] = []
        self._made: _Made = {}
        self._read_from: dict[int, tuple[list[str], bool]] = {}
        if bytecode.is_known() and len(code.co_code) <= bytecode.LONGEST:
            self._code, self._loops, self._reaching = code, loops, Reaching(code, loops)
            self._assigned: set[tuple[str, int]] = set()
            self._displays = _displays(code)
            self._read()

    def fed_back(self, last: int) -> list[str]:
        """What the call at an instruction takes that derives from what it has returned before.

        Another one whose result nobody takes may have written into whatever it was given.
        """
        made = {name: list(makers) for name, makers in self._made.items()}
        nodes = self._read_from
        for place in [one for one in nodes if one != last and _dropped(self._code, one)]:
            for text in nodes[place][0]:
                bisect.insort(made.setdefault(text, []), (place, place))
        ends = {at: max([e for start, e in self._loops if start <= at], default=-1) for at in nodes}
        before = {at: self._taken(at, made, ends[at]) - {at} for at in nodes}
        found = []
        for text in nodes[last][0] if last in nodes else ():
            left, met = list(self._makers(text, last, made, ends[last])), set()
            while left:
                one = left.pop()
                left += () if one in met else before.get(one, ())
                met.add(one)
            found += [text] if last in met else []
        return found

    def _read(self) -> None:
        code = self._code
        nodes = self._nodes()
        lines = dict(zip(nodes, places.lines_of(code, nodes)))
        made = self._made
        for place in nodes:
            for name in _written(code, place):
                made.setdefault(name, []).append((place, place))
                self._assigned.add((name, place))
        given = {place: owner for place in nodes for owner in _given(code, place)}
        for place, owner in given.items():
            for begin in self._taken(place, made, -1):
                bisect.insort(made.setdefault(owner, []), (place, begin))
        found: dict[_Lines, bool] = {}
        edges: set[_Edge] = set()
        for place in nodes:
            end = max([end for start, end in self._loops if start <= place], default=-1)
            for begin in self._taken(place, made, end):
                pair = lines[begin], lines[place]
                is_move = not _is_call(code, place) and begin == place
                if not is_move:
                    found[pair] = found.get(pair, False) or place <= end
            edges.update((key, lines[place]) for key in self._read_at(place, made))
            edges.update((lines[place], key) for key in self._put_at(place, given.get(place)))
        # what comes once is left out before what goes round
        self.pairs = sorted(sorted(found, key=lambda pair: not found[pair])[:MOST])
        self.edges = sorted(edges, key=str)

    def _nodes(self) -> list[int]:
        """The instructions that hand something on, more than a constant or an empty list."""
        code, found = self._code, []
        for place in range(0, len(code.co_code), 2):
            if _takes(code, place):
                texts, is_made = self._read_from[place] = _paths(code, place)
                if texts or is_made or _is_call(code, place):
                    found.append(place)
        return found

    def _taken(self, place: int, made: _Made, end: int) -> set[int]:
        """The calls whose results a call takes; itself, where it takes one at once.

        Of those that put something into the same variable the last few before it count, as branches
        have one each, and of those behind it the last few in the loop around it, which ends at
        `end`.
        """
        texts, is_nested = self._read_from[place]
        found = {place} if is_nested else set()
        return found.union(*[self._makers(text, place, made, end) for text in texts])

    def _makers(self, text: str, place: int, made: _Made, end: int) -> set[int]:
        """The calls that have made what a path leads to at an instruction."""
        found: set[int] = set()
        parts = text.split(".")
        for count in range(1, len(parts) + 1):
            name = ".".join(parts[:count])
            first, last = self._reaching.bounds(name, place)
            writers = [
                one
                for one in made.get(name, [])
                if first <= one[0] <= last or (name, one[0]) not in self._assigned
            ]
            behind = bisect.bisect_right(writers, (place, place))
            later = writers[behind : bisect.bisect_right(writers, (end, end))]
            few = writers[max(0, behind - _WRITERS) : behind] + later[-_WRITERS:]
            found.update([begin for _, begin in few])
        return found

    def _read_at(self, place: int, made: _Made) -> set[str]:
        """The keys of what a line takes that this turn of its function has not made."""
        code = self._code
        found: set[str] = set()
        inside = [(start, end) for start, end in self._loops if start <= place <= end]
        start, end = min(inside, default=(0, len(code.co_code)))
        called = _dropped(code, place)
        changed = "" if called is None else _name(code, called)
        for text in self._read_from[place][0]:
            root = text.partition(".")[0]
            if text == changed or any(start <= put <= end for put, _ in made.get(root, ())):
                continue
            found.update(_keys(code, text))
            if root in _arguments(code) and root != _owner(code):
                found.add(f"{code.co_name}()")
            elif root not in code.co_varnames:
                found.add(f"={root}")
        return found

    def _put_at(self, place: int, owner: str | None) -> set[str]:
        """The keys of what a line puts something into, or gives it to."""
        code = self._code
        name = _names[code.co_code[place]]
        if name in _ENDS:
            return {RETURNED}
        found = set(self._outliving(owner)) if owner else set()
        for text in _written(code, place):
            if "." in text:
                found.update(_keys(code, text)[-1:])
            elif text not in code.co_varnames:
                found.add(f"={text}")
        called = _dropped(code, place)
        if called is not None and called.root[0] in _VARIABLES:
            parts = _name(code, called).split(".")
            if ".".join(parts[:-1]) not in self._displays:  # their methods are Python's own
                found.add(f"{parts[-1]}()")
            if len(parts) > 1 and not owner:
                found.update(f"?{key}" for key in self._outliving(".".join(parts[:-1])))
        return found

    def _outliving(self, text: str) -> list[str]:
        """The key of what a path leads to; none where that is a variable of this function alone."""
        own = self._code.co_varnames
        is_own = "." not in text and text in own and text not in _arguments(self._code)
        return [] if is_own else _keys(self._code, text)[-1:]


def _owner(code: CodeType) -> str:
    """The variable that stands for the object of a method."""
    is_method = "." in getattr(code, "co_qualname", "") and code.co_argcount
    return code.co_varnames[0] if is_method and code.co_varnames[0] == "self" else "self"


def _arguments(code: CodeType) -> tuple[str, ...]:
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _keys(code: CodeType, text: str) -> list[str]:
    """What a path is called in other functions as well, the outermost object first."""
    root, *attributes = text.split(".")
    own = f".{attributes[0]}" if attributes else ""
    if root == _owner(code):
        method = getattr(code, "co_qualname", "").partition(".<locals>")[0]
        first = [f"{method.rpartition('.')[0]}{own}"] if own else []
    else:
        first = [root, own] if own else [root]
    return first + [f".{one}" for one in attributes[1:]]


def _takes(code: CodeType, place: int) -> bool:
    """Whether an instruction calls something, or hands on what no call has just made."""
    if _is_call(code, place):
        return True
    name = _names[code.co_code[place]]
    if name not in _MOVES:
        return False
    before = place - 2
    while before > 0 and _names[code.co_code[before]] in bytecode.NO_OPERATION:
        before -= 2
    last = _names[code.co_code[before]]
    is_taken = name.startswith("STORE_") and last.startswith(_NO_VALUE)
    is_taken = is_taken or (name == "UNPACK_SEQUENCE" and last == "FOR_ITER")
    return name in ("STORE_SUBSCR", *_ENDS) or not (is_taken or _is_call(code, before))


def _displays(code: CodeType) -> set[str]:
    """The variables that are nothing but lists, dictionaries or sets the function has begun."""
    raw = code.co_code
    found: dict[str, bool] = {}
    before = 0
    for place in range(0, len(raw), 2):
        if _names[raw[place]].startswith(("STORE_FAST", "STORE_NAME", "STORE_GLOBAL")):
            is_display = _names[raw[before]] in _DISPLAYS
            for name in stored(code, place - 2):
                found[name] = found.get(name, True) and is_display
        if _names[raw[place]] not in bytecode.NO_OPERATION:
            before = place
    return {name for name, is_display in found.items() if is_display}


def _is_call(code: CodeType, place: int) -> bool:
    return _names[code.co_code[place]] in _CALLS


def _instructions(code: CodeType, place: int) -> list[tuple[str, int]]:
    """Those that made what a call takes, or the value that is handed on."""
    if _is_call(code, place):
        return bytecode.taken(code, place) or []
    parts = _parts(code, place, _MOVES[_names[code.co_code[place]]])
    return parts[0] if parts else []


def _parts(code: CodeType, place: int, count: int) -> list[list[tuple[str, int]]]:
    """What made each of the uppermost values, the lowest first; none where there are branches."""
    made: list[tuple[str, int, int]] = []
    swaps: list[int] = []
    for name, argument, height in bytecode.made_before(code.co_code, place, count) or ():
        if name in SWAPS:
            swaps += SWAPS[name] or (argument,)
        else:
            made.append((name, argument, height))
    heights = range(1, count + 1) if made else ()
    ends = [0, *(max(at for at, one in enumerate(made, 1) if one[2] <= top) for top in heights)]
    parts = [[one[:2] for one in made[start:end]] for start, end in zip(ends, ends[1:])]
    for depth in swaps if len(swaps) < count else ():
        if depth <= len(parts):
            parts[-1], parts[-depth] = parts[-depth], parts[-1]
    return parts


def _paths(code: CodeType, place: int) -> tuple[list[str], bool]:
    """What is taken, by its names, and whether a call makes some of it.

    Of a comprehension or lambda in it, also what that reads.
    """
    instructions = _instructions(code, place)
    found = [bytecode.name(code, path) for path in bytecode.paths(code, instructions)]
    is_made = False
    for name, argument in instructions:
        is_made = is_made or name in _CALLS
        inner = code.co_consts[argument] if name == "LOAD_CONST" else None
        if type(inner) is type(code):
            found += (*inner.co_names, *inner.co_freevars)
    return found, is_made


def _name(code: CodeType, called: bytecode.Expression) -> str:
    return bytecode.name(code, (called.root[1], *called.attributes))


def _written(code: CodeType, place: int) -> list[str]:
    """The variables that a call's result, or what is handed on, is put into."""
    name = _names[code.co_code[place]]
    if name == "STORE_ATTR":
        parts = _parts(code, place, 2)
        owners = bytecode.paths(code, parts[1]) if parts else []
        attribute = code.co_names[branches.argument(code.co_code, place)]
        return [f"{bytecode.name(code, one)}.{attribute}" for one in owners[-1:]]
    if name == "STORE_SUBSCR" or name in _ENDS:
        return []
    return stored(code, place - 2 if name.startswith(("STORE_", "UNPACK_")) else place, _TURNS)


def _dropped(code: CodeType, place: int) -> bytecode.Expression | None:
    """What a call calls whose result nobody takes."""
    raw = code.co_code
    behind = bytecode.behind(raw, place + 2, bytecode.NO_OPERATION)
    is_dropped = _is_call(code, place) and raw[behind : behind + 1] == _DROPS
    return bytecode.called(code, place) if is_dropped else None


def _given(code: CodeType, place: int) -> list[str]:
    """The variable that something is put into at an offset, as `list.append` or `x[i] =` does."""
    if _names[code.co_code[place]] == "STORE_SUBSCR":
        parts = _parts(code, place, 3)
        paths = bytecode.paths(code, parts[1]) if parts else []
        return [bytecode.name(code, path) for path in paths[:1]]
    called = _dropped(code, place)
    method = called.attributes[-1] if called is not None and called.attributes else ""
    if called is None or not (method in _PUTS or method.rstrip("_") == method[:-1] != ""):
        return []
    if called.root[0] in _VARIABLES:
        return [bytecode.name(code, (called.root[1], *called.attributes[:-1]))]
    paths = bytecode.paths(code, _instructions(code, place))  # that of `self.x[i].copy_(y)` first
    return [bytecode.name(code, path) for path in paths[:1]]
