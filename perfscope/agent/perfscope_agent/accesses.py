"""What an instruction picks items of, only writes into, or combines, read from the bytecode."""

from __future__ import annotations

import opcode

from . import branches, bytecode
from .kinds import CodeType

_names = opcode.opname
_OPERATORS = ("BINARY_", "INPLACE_")
_ITEMS = {"BINARY_SUBSCR", "BINARY_SLICE"}
_MOVES = ("COPY", "SWAP", "DUP", "ROT")
"""What changes the order of values on the stack, as `x[y] += z` does: it reads what it writes."""

_MADE = ("LOAD_CONST", "LOAD_SMALL_INT", "BUILD_")
"""What begins instructions that make a value of none that was there before."""

_QUIET = {"PUSH_NULL", "NOP", "KW_NAMES", "PRECALL"}


def indexed(code: CodeType, last: int) -> str:
    """The name of the container that an instruction takes items of, by one index for all axes.

    Empty of other instructions, of an index for each axis, and of what was made in the same line.
    """
    raw = code.co_code
    if not 0 <= last < len(raw) or _names[raw[last]] != "BINARY_SUBSCR":
        return ""
    found = bytecode.made_before(raw, last, 2) or []
    is_of_axes = not found or found[-1][0] == "BUILD_TUPLE"
    return "" if is_of_axes else variable(code, made_at(found, 1))


def picked(code: CodeType, last: int) -> tuple[str, int]:
    """The container that an instruction takes items of by one index, and the axis of that.

    Of an index for each axis all others take all there is, as in `table[:, numbers]`.
    """
    raw = code.co_code
    name = indexed(code, last)
    is_items = not name and 0 <= last < len(raw) and _names[raw[last]] == "BINARY_SUBSCR"
    found = (bytecode.made_before(raw, last, 2) or []) if is_items else []
    if not found or found[-1][0] != "BUILD_TUPLE":
        return name, 0
    axes = range(found[-1][1])
    some = [axis for axis in axes if not _is_all(code, made_at(found[:-1], 2 + axis))]
    name = variable(code, made_at(found, 1))
    return (name, some[0]) if name and len(some) == 1 else ("", 0)


def written(code: CodeType, last: int) -> str:
    """The name of what an instruction only writes into: items that it stores, or `out=`."""
    raw = code.co_code
    if not 0 <= last < len(raw):
        return ""
    name, argument = _names[raw[last]], branches.argument(raw, last)
    if name == "STORE_SUBSCR":
        return variable(code, made_at(bytecode.made_before(raw, last, 3) or [], 2))
    above, own = bytecode.call_shape(name, argument)
    last = bytecode.complete(raw, last)
    found = (bytecode.made_before(raw, last, above + own) or []) if own else []
    in_stack = name.endswith("_KW")
    names = [one for one in found if one[0] == "KW_NAMES"] or (found[-1:] if in_stack else [])
    keywords = code.co_consts[names[-1][1]] if names else ()
    if type(keywords) is not tuple or "out" not in keywords:
        return ""
    behind = len(keywords) - keywords.index("out") - 1 + in_stack
    return variable(code, made_at(found, above + own - behind))


def met(code: CodeType, last: int) -> list[str]:
    """The names of the two values that an operator takes, where both are read from variables."""
    raw = code.co_code
    name = _names[raw[last]] if 0 <= last < len(raw) else ""
    if not name.startswith(_OPERATORS) or name in _ITEMS:
        return []
    found = bytecode.made_before(raw, last, 2) or []
    if any(not one[0].startswith("LOAD_") for one in found):
        return []
    both = bytecode.paths(code, [one[:2] for one in found])
    return [bytecode.name(code, path) for path in both] if len(both) == 2 else []


def adds(code: CodeType, last: int) -> bool:
    """Whether an instruction is an operator that adds or subtracts: it needs values that are 0."""
    return branches.symbol_at(code.co_code, last).endswith(("_ADD", "_SUBTRACT"))


def computed(code: CodeType) -> list[str]:
    """The variables of a function that the results of operators are put into, but for items."""
    raw = code.co_code
    operators = [
        place
        for place in range(0, len(raw), 2)
        if _names[raw[place]].startswith(_OPERATORS) and _names[raw[place]] not in _ITEMS
    ]
    stored = [bytecode.stored_local(code, place) for place in operators]
    return sorted({code.co_varnames[one] for one in stored if one is not None})


def made(code: CodeType) -> dict[str, int]:
    """The variables that a function puts something into at one instruction alone, and where."""
    raw = code.co_code
    given = code.co_argcount + code.co_kwonlyargcount
    found: dict[str, list[int]] = {name: [-1] for name in code.co_varnames[:given]}
    for place in range(0, len(raw), 2):
        name, argument = _names[raw[place]], branches.argument(raw, place)
        for one in _stored(code, name, argument):
            found.setdefault(one, []).append(place)
    return {name: own[0] for name, own in found.items() if len(own) == 1 and own[0] >= 0}


def _stored(code: CodeType, name: str, argument: int) -> list[str]:
    if name in ("STORE_NAME", "STORE_GLOBAL"):
        return [code.co_names[argument]]
    return [code.co_varnames[one] for one in stored_locals(name, argument)]


def stored_locals(name: str, argument: int) -> tuple[int, ...]:
    """The numbers of the locals that an instruction puts something into."""
    if name == "STORE_FAST":
        return (argument,)
    if name == "STORE_FAST_STORE_FAST":
        return (argument >> 4, argument & 15)
    return (argument >> 4,) if name == "STORE_FAST_LOAD_FAST" else ()


def updated(code: CodeType) -> list[str]:
    """What a function changes by what that was before, as `p -= step` does, and has not made."""
    raw = code.co_code
    places = range(0, len(raw), 2)
    made = {
        bytecode.stored_local(code, place)
        for place in places
        if _names[raw[place]].startswith(_MADE)
        or (bytecode.works(code, place) and not _is_in_place(raw, place))
    }
    own = {code.co_varnames[number] for number in made if number is not None}
    changed = {_changed(code, place) for place in places if _is_in_place(raw, place)}
    read = {indexed(code, place): place for place in reversed(places)}
    for place in places:
        if _names[raw[place]] == "STORE_SUBSCR":
            name = written(code, place)
            changed.update([name] if read.get(name, place) < place else [])
    changed.update(_put_back(code))
    return sorted(changed - own - {""})


def _changed(code: CodeType, place: int) -> str:
    """The name of what an operator changes in place."""
    paths = bytecode.paths(code, bytecode.taken(code, place) or [])
    return bytecode.name(code, paths[0]) if paths else ""


def _is_in_place(raw: bytes, place: int) -> bool:
    return branches.symbol_at(raw, place).startswith(("INPLACE_", "NB_INPLACE_"))


def _put_back(code: CodeType) -> list[str]:
    """The attributes that a function reads and then puts something into."""
    told = bytecode.between(code, 0, len(code.co_code))
    stores = [at for at, (name, _) in enumerate(told) if name == "STORE_ATTR" and at]
    read: set[tuple[object, ...]] = set()
    found: list[tuple[object, ...]] = []
    begin = 0
    for at in stores:
        read.update(bytecode.paths(code, told[begin:at]))
        owner = bytecode.paths(code, told[at - 1 : at])
        path = (*owner[0], code.co_names[told[at][1]]) if owner else ()
        found += [path] if path in read else []
        begin = at + 1
    return [bytecode.name(code, path) for path in found]


def made_at(found: list[tuple[str, int, int]], level: int) -> list[tuple[str, int]]:
    """The instructions that made the value at one height of the stack, from 1 on."""
    if any(one[0].startswith(_MOVES) for one in found):
        return []
    ends = [place for place, one in enumerate(found) if one[2] == level]
    end = ends[-1] + 1 if ends else 0
    below = [place for place, one in enumerate(found[:end]) if one[2] == level - 1]
    return [one[:2] for one in found[below[-1] + 1 if below else 0 : end]]


def _is_all(code: CodeType, instructions: list[tuple[str, int]]) -> bool:
    """Whether what was made is a slice without bounds."""
    *made, (name, argument) = instructions or [("", 0)]
    if name == "BUILD_SLICE":
        return all(one == "LOAD_CONST" and code.co_consts[at] is None for one, at in made)
    return name == "LOAD_CONST" and not made and code.co_consts[argument] == slice(None)


def variable(code: CodeType, instructions: list[tuple[str, int]]) -> str:
    """The name of a variable or of its attribute; empty where it was made of any."""
    if any(not one.startswith("LOAD_") and one not in _QUIET for one, _ in instructions):
        return ""
    found = bytecode.paths(code, instructions)
    return bytecode.name(code, found[0]) if len(found) == 1 else ""


def container(code: CodeType, last: int) -> tuple[object, ...]:
    """The path of the variable, or its attribute, that a test for membership searches; () none."""
    found = made_at(bytecode.made_before(code.co_code, last, 2) or [], 2)
    paths = bytecode.paths(code, found) if variable(code, found) else []
    return paths[0] if paths else ()
