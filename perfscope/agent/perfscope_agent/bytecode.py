"""Which expression of the source a frame is calling, read from its bytecode.

From the instruction that a frame is at, the stack of values is followed backwards to what put the
called object there. Nothing is run and no value is looked at. The table of instructions is imported
with this module, in the main thread: sampler and program would wait for each other's import.
"""

from __future__ import annotations

import opcode
import sys

from . import branches
from .kinds import CodeType

_VERSION = sys.version_info[:2]
_MOST_INSTRUCTIONS = 200
_IN_GLOBALS = {"LOAD_GLOBAL", "LOAD_NAME"}
_IN_FRAME = {"LOAD_FAST", "LOAD_FAST_CHECK"}
_IN_CELLS = {"LOAD_DEREF", "LOAD_CLASSDEREF"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}
_SILENT = {"PUSH_NULL", "NOP", "RESUME", "GET_ITER", "KW_NAMES", "PRECALL"}
_PROTOCOLS = {
    "FOR_ITER": "__next__",
    "GET_ITER": "__iter__",
    "BEFORE_WITH": "__enter__",
    "SETUP_WITH": "__enter__",
    "CONTAINS_OP": "__contains__",
}
_LOOP_ENDS = {"JUMP_BACKWARD", "JUMP_ABSOLUTE"}
"""Where the interpreter lets others look, and nothing is done."""

_COPIES = {"DUP_TOP": 1, "DUP_TOP_TWO": 2}
"""How many values are copied, by Pythons that have no COPY."""

_BEHIND_LOOPS = {"END_FOR", "POP_TOP"}
_OPERATORS = ("BINARY_", "INPLACE_", "COMPARE_OP", "CONTAINS_OP", "UNARY_NEG", "STORE_SUBSCR")

LONGEST = 1 << 16
"""Bytes of a function's code that are looked through."""

NO_OPERATION = frozenset(("CACHE", "EXTENDED_ARG", "NOP"))

GLOBAL, LOCAL, CONSTANT, UNKNOWN = "global", "local", "constant", "unknown"

_names = opcode.opname
_jumps = {*opcode.hasjrel, *opcode.hasjabs}


class Expression:
    """What is called: a root, and the attributes that lead from it to the called object.

    `operands` are further roots, of an operator that works on several values. What `is_iterated`
    is not called now: it made, or is, the thing that was asked for its next item.
    """

    def __init__(
        self,
        root: tuple[str, object],
        attributes: tuple[str, ...],
        operands: tuple[tuple[str, object], ...] = (),
    ) -> None:
        self.is_iterated = False
        self.root = root
        self.attributes = attributes
        self.operands = operands

    def values(self) -> tuple[tuple[str, object], ...]:
        """The values that are worked on."""
        return self.operands or (self.root,)


def is_known() -> bool:
    """Whether this Python's bytecode is one that is understood here."""
    return sys.implementation.name == "cpython" and (3, 9) <= _VERSION <= (3, 13)


def called(code: CodeType, last: int) -> Expression | None:
    """What the instruction at offset `last` calls; None where it calls nothing that can be told."""
    raw = code.co_code
    if not 0 <= last < len(raw):
        return None
    last = without_caches(code, last)
    name, argument = _names[raw[last]], branches.argument(raw, last)
    if name in _LOOP_ENDS:
        iterated = _iterated(code, raw, last)
        if iterated is not None:
            iterated.is_iterated = True
        return iterated
    if name in _PROTOCOLS:
        found = made_before(raw, last, 1)
        asked = _expression(code, found or [])
        told = Expression(asked.root, (*asked.attributes, _PROTOCOLS[name]))
        return None if found is None else told
    if name.startswith(_OPERATORS):
        found = made_before(raw, last, 1 if name.startswith("UNARY") else 2)
        return None if found is None else _operation(code, found)
    above, own = call_shape(name, argument)
    if not own:
        return None
    last = complete(raw, last)
    found = made_before(raw, last, above + own)
    if found is not None:
        return _expression(code, _callee(found, above))
    places = branches.way_to(raw, last, above + own)
    callee = _callee(_single(raw, places), above)
    is_sure = branches.is_straight(raw, [place for place, _ in places[: len(callee) + 1]], last)
    return _expression(code, callee) if callee and is_sure else None


def without_caches(code: CodeType, last: int) -> int:
    """The instruction that a frame is at.

    While it calls Python code, and when others may look once it has called C, the frame stands
    behind the caches of the call.
    """
    while 0 < last < len(code.co_code) and _names[code.co_code[last]] == "CACHE":
        last -= 2
    return last


def taken(code: CodeType, last: int) -> list[tuple[str, int]] | None:
    """The instructions that made what the one at offset `last` takes, the called object included.

    None where it takes nothing, or the way to it has branches.
    """
    raw, makers = code.co_code, _taken(code, last)
    return None if makers is None else [one for place, _ in makers for one in _read_at(raw, place)]


def first_taken(code: CodeType, last: int) -> int | None:
    """The offset of the first of these instructions."""
    makers = _taken(code, last)
    return makers[0][0] if makers else None


def _taken(code: CodeType, last: int) -> list[tuple[int, int]] | None:
    raw = code.co_code
    if not 0 <= last < len(raw):
        return None
    name, argument = _names[raw[last]], branches.argument(raw, last)
    count = sum(call_shape(name, argument))
    if not count and name.startswith(_OPERATORS):
        count = 1 if name.startswith("UNARY") else 3 if name == "STORE_SUBSCR" else 2
    return _makers(raw, complete(raw, last), count) if count else None


def _read_at(raw: bytes, place: int) -> list[tuple[str, int]]:
    """The instruction at an offset; of a copy, as of `self.x` in `self.x *= y`, what made that."""
    name, argument = _names[raw[place]], branches.argument(raw, place)
    depth = argument if name == "COPY" else _COPIES.get(name, 0)
    below = _makers(raw, place, depth) if depth else None
    if below is None:
        return [(name, argument)]
    if name == "COPY":
        heights = [height for _, height in below]
        below = below[: next((at for at, one in enumerate(heights) if one > 1), len(below))]
    return [one for earlier, _ in below for one in _read_at(raw, earlier)]


def between(code: CodeType, start: int, end: int) -> list[tuple[str, int]]:
    """The instructions from one offset up to another."""
    raw = code.co_code
    places = range(start, min(end, len(raw)), 2)
    return [(_names[raw[place]], branches.argument(raw, place)) for place in places]


def paths(code: CodeType, instructions: list[tuple[str, int]]) -> list[tuple[object, ...]]:
    """What instructions read: number of a variable or name of a global one, and attributes."""
    found: list[tuple[object, ...]] = []
    is_open = False
    for name, argument in instructions:
        if name in _ATTRIBUTES:
            if is_open:
                shift = 1 if name == "LOAD_ATTR" and _VERSION >= (3, 12) else 0
                found[-1] += (code.co_names[argument >> shift],)
        elif name not in _SILENT and name != "CACHE":
            roots = _read(code, name, argument)
            is_open = bool(roots)
            found += [(root,) for root in roots]
    return list(dict.fromkeys(found))


def name(code: CodeType, path: tuple[object, ...]) -> str:
    """What a path is called in the source: `self.weights`."""
    root = path[0]
    if type(root) is int:
        cells = code.co_cellvars
        if _VERSION >= (3, 11):  # an argument that is kept in a cell has one number
            cells = tuple([one for one in cells if one not in code.co_varnames])
        names = code.co_varnames + cells + code.co_freevars
        root = names[root] if root < len(names) else "?"
    return ".".join([str(root), *[str(attribute) for attribute in path[1:]]])


def _read(code: CodeType, name: str, argument: int) -> list[object]:
    if name == "LOAD_FAST_LOAD_FAST":
        return [argument >> 4, argument & 15]
    if name == "STORE_FAST_LOAD_FAST":
        return [argument & 15]
    kind, root = _root(code, name, argument)
    return [root] if kind in (GLOBAL, LOCAL) else []


def stored(code: CodeType, place: int, passed: frozenset[str] = NO_OPERATION) -> int | str | None:
    """The variable that the value on top is put into at an offset; None where it is not put there.

    That is a local's number or a global's name; `passed` are the instructions that may come first.
    """
    raw = code.co_code
    place = behind(raw, place, passed)
    name = _names[raw[place]] if place < len(raw) else ""
    argument = branches.argument(raw, place) if name else 0
    if name.startswith("STORE_FAST"):
        return argument if name == "STORE_FAST" else argument >> 4
    return code.co_names[argument] if name in ("STORE_NAME", "STORE_GLOBAL") else None


def stored_local(code: CodeType, last: int) -> int | None:
    """The local that the result of the instruction at offset `last` is put into at once."""
    found = stored(code, last + 2)
    return found if type(found) is int else None


def behind(raw: bytes, place: int, passed: frozenset[str]) -> int:
    """The first offset from `place` on at which another instruction than these is."""
    while place < len(raw) and _names[raw[place]] in passed:
        place += 2
    return place


def works(code: CodeType, last: int) -> bool:
    """Whether the instruction at offset `last` calls something or is an operator."""
    raw = code.co_code
    if not 0 <= last < len(raw):
        return False
    name = _names[raw[last]]
    if name in _LOOP_ENDS:
        return _left_before(raw, last) >= 0
    return name.startswith(_OPERATORS) or bool(call_shape(name, branches.argument(raw, last))[1])


def _left_before(raw: bytes, last: int) -> int:
    """The instruction that ended an inner loop just before this one; -1 where none did.

    What asks a thing of C for its next item lets nobody look meanwhile: whoever waits for that
    sees the frame at the end of the loop around it.
    """
    if _VERSION < (3, 10):
        return -1
    ends = last
    while ends >= 2 and (raw[ends - 2] == 0 or _names[raw[ends - 2]] in _BEHIND_LOOPS):
        ends -= 2
    caches = 1 if _VERSION >= (3, 12) else 0
    for place in range(ends - 2, -1, -2):
        if _names[raw[place]] == "FOR_ITER":
            exit_at = place + 2 * (1 + caches + branches.argument(raw, place))
            if ends <= exit_at <= last:
                return place
    return -1


def _iterated(code: CodeType, raw: bytes, last: int) -> Expression | None:
    """What made the thing that an inner loop has just come to the end of."""
    place = _left_before(raw, last)
    found = None if place < 0 else made_before(raw, place, 1)
    if not found:
        return None
    while found and found[-1][0] in _SILENT:
        found = found[:-1]
    if not found:
        return None
    name, argument, _ = found[-1]
    above, own = call_shape(name, argument)
    if not own:
        return _expression(code, found)
    before = [one for one in found[:-1] if one[0] != "PRECALL"]
    return _expression(code, _callee(before, above))


def call_shape(name: str, argument: int) -> tuple[int, int]:
    """How many values an instruction finds above the called object, and for that: 0 for no call."""
    own = 2 if _VERSION >= (3, 11) else 1
    if name == "CALL_FUNCTION_EX":
        return 1 + (argument & 1), own
    if name == "CALL_METHOD":
        return argument, 2
    if name in ("CALL", "PRECALL", "CALL_FUNCTION"):
        return argument, own
    if name in ("CALL_KW", "CALL_FUNCTION_KW"):
        return argument + 1, own
    return 0, 0


def complete(raw: bytes, last: int) -> int:
    """Where all is there that an instruction takes: of a call of Python 3.11, its PRECALL."""
    if _names[raw[last]] == "CALL" and _VERSION == (3, 11):
        for earlier in range(last - 2, max(last - 8, -1), -2):
            if _names[raw[earlier]] == "PRECALL":
                return earlier
    return last


def _effect(raw: bytes, place: int, height: int) -> int:
    if height == 1 and _names[raw[place]] == "STORE_FAST_LOAD_FAST":
        return 1  # what it loads is all that is missing; what it stores belongs to what came before
    return branches.effect(raw, place)


def made_before(raw: bytes, last: int, values: int) -> list[tuple[str, int, int]] | None:
    """The instructions that put the uppermost values on the stack, with its height after each.

    Heights are counted from the lowest of these values. None where the way there has branches.
    """
    makers = _makers(raw, last, values)
    if makers is not None:
        return _single(raw, makers)
    found = _single(raw, _makers(raw, last, values + 1) or [])
    if [height for _, _, height in found[:2]] != [1, 2]:
        return None
    # the upper of two variables that are loaded at once
    return [(name, argument, height - 1) for name, argument, height in found[1:]]


def _single(raw: bytes, makers: list[tuple[int, int]]) -> list[tuple[str, int, int]]:
    """What stands at some offsets; an instruction that loads two variables counts as two."""
    found: list[tuple[str, int, int]] = []
    for place, height in makers:
        name, argument = _names[raw[place]], branches.argument(raw, place)
        if name == "LOAD_FAST_LOAD_FAST":
            found.append(("LOAD_FAST", argument >> 4, height - 1))
            name, argument = "LOAD_FAST", argument & 15
        found.append((name, argument, height))
    return found


def _makers(raw: bytes, last: int, values: int) -> list[tuple[int, int]] | None:
    """The offsets of the same instructions, with the same heights."""
    found: list[tuple[int, int]] = []
    height, place = values, last - 2
    while place >= 0 and len(found) < _MOST_INSTRUCTIONS:
        operation = raw[place]
        if operation in _jumps:
            return None
        if operation and _names[operation] != "EXTENDED_ARG":
            found.append((place, height))
            height -= _effect(raw, place, height)
            if height <= 0:
                return found[::-1] if height == 0 else None
        place -= 2
    return None


def _callee(found: list[tuple[str, int, int]], above: int) -> list[tuple[str, int, int]]:
    """Of the instructions behind a call those before its arguments."""
    if not above or not found:
        return found
    own = found[-1][2] - above
    for place in range(len(found) - 1, 0, -1):
        before, _, height = found[place - 1]
        if height <= own < found[place][2] and not branches.takes_argument(before):
            return found[:place]
    return found


def _expression(code: CodeType, found: list[tuple[str, int, int]]) -> Expression:
    root: tuple[str, object] = (UNKNOWN, None)
    attributes: list[str] = []
    for name, argument, _ in found:
        if name in _ATTRIBUTES:
            shift = 1 if name == "LOAD_ATTR" and _VERSION >= (3, 12) else 0
            attributes.append(code.co_names[argument >> shift])
        elif name == "LOAD_SUPER_ATTR":
            root, attributes = (UNKNOWN, None), [code.co_names[argument >> 2]]
        elif name not in _SILENT:
            root, attributes = _root(code, name, argument), []
    return Expression(root, tuple(attributes))


def _root(code: CodeType, name: str, argument: int) -> tuple[str, object]:
    if name in _IN_GLOBALS:
        shift = 1 if name == "LOAD_GLOBAL" and _VERSION >= (3, 11) else 0
        return GLOBAL, code.co_names[argument >> shift]
    if name in _IN_FRAME:
        return LOCAL, argument
    if name in _IN_CELLS:
        return LOCAL, argument if _VERSION >= (3, 11) else code.co_nlocals + argument
    if name == "LOAD_CONST":
        return CONSTANT, code.co_consts[argument]
    return UNKNOWN, None


def _operation(code: CodeType, found: list[tuple[str, int, int]]) -> Expression | None:
    """An operator: the roots of all values in it, as any of them may decide what is done."""
    variables = _IN_FRAME | _IN_GLOBALS | _IN_CELLS
    roots = [_root(code, name, argument) for name, argument, _ in found if name in variables]
    return Expression(roots[0], (), tuple(roots)) if roots else None
