"""The variables that the result of a call is put into, read from the bytecode that follows it."""

from __future__ import annotations

import opcode

from . import branches, bytecode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import List, Tuple

    _Made = List[Tuple[str, int]]
    """The instructions that loaded a value; none of the result itself, or of a part of it."""

SPLITS = frozenset(("UNPACK_SEQUENCE", "UNPACK_EX"))
SWAPS: dict[str, tuple[int, ...]] = {"SWAP": (), "ROT_TWO": (2,), "ROT_THREE": (3, 2)}
"""Instructions that reorder the stack, and the places that change with the uppermost in turn."""

_PASSED = frozenset((*bytecode.NO_OPERATION, "BEFORE_WITH", "SETUP_WITH"))
"""What stands between a call and the variable that its result, or what `with` makes of it, has."""

_names = opcode.opname


def stored(code: CodeType, place: int, passed: frozenset[str] = frozenset()) -> list[str]:
    """The variables that the result of a call is put into at once: all that it is split into.

    So is one that gets in the same statement what another of them has held until then, as in
    `now, before = step(now, before), now`. `passed` are instructions that may come first.
    """
    raw = code.co_code
    stack = _Stack(code)
    following = place + 2
    while following < len(raw) and stack.values:
        at, following = following, following + 2
        name, argument = _names[raw[at]], branches.argument(raw, at)
        if name in _PASSED or name in passed:
            continue
        if name == "JUMP_FORWARD":  # to where the branches meet
            following = branches.target(raw, at) or len(raw)
        elif not stack.follows(name, argument):
            break
    return stack.found + [name for name, source in stack.moved if source in stack.found]


class _Stack:
    """What lies on the interpreter's stack, from the result of a call upwards."""

    def __init__(self, code: CodeType) -> None:
        self.values: list[_Made] = [[]]
        self.found: list[str] = []
        self.moved: list[tuple[str, str]] = []
        """Variables that something else is put into meanwhile, and what that is called."""

        self._code = code

    def follows(self, name: str, argument: int) -> bool:
        """Takes an instruction into account; False of one that ends or uses up what is there."""
        if name.startswith("LOAD_"):
            return self._load(name, argument)
        if name.startswith("STORE_"):
            return self._store(name, argument)
        if name in SPLITS:
            is_plain = name == "UNPACK_SEQUENCE"
            parts = argument if is_plain else (argument & 255) + 1 + (argument >> 8)
            self.values += [self.values.pop()] * parts
            return True
        depths = SWAPS.get(name, ()) or (argument,)
        if max(depths) > len(self.values):
            return False
        if name in SWAPS:
            for depth in depths:
                top, other = self.values[-1], self.values[-depth]
                self.values[-1], self.values[-depth] = other, top
        elif name in ("COPY", "DUP_TOP"):
            self.values.append(self.values[-(argument or 1)])
        else:
            return False
        return True

    def _load(self, name: str, argument: int) -> bool:
        if name == "LOAD_ATTR":
            made = self.values[-1]
            self.values[-1] = [*made, (name, argument)] if made else made
        elif name == "LOAD_FAST_LOAD_FAST":
            self.values += [[("LOAD_FAST", argument >> 4)], [("LOAD_FAST", argument & 15)]]
        else:
            self.values.append([(name, argument)])
        return True

    def _store(self, name: str, argument: int) -> bool:
        code = self._code
        if name == "STORE_ATTR":
            owner = self._named(self.values.pop())
            return self._put(f"{owner}.{code.co_names[argument]}" if owner else "")
        if name in ("STORE_NAME", "STORE_GLOBAL"):
            return self._put(code.co_names[argument])
        if name == "STORE_DEREF":
            return self._put(self._named([("LOAD_DEREF", argument)]))
        first = argument if name == "STORE_FAST" else argument >> 4
        if not name.startswith("STORE_FAST") or not self._put(code.co_varnames[first]):
            return False
        if name == "STORE_FAST_STORE_FAST":
            return self._put(code.co_varnames[argument & 15])
        return name == "STORE_FAST" or self._load("LOAD_FAST", argument & 15)

    def _named(self, made: _Made) -> str:
        found = bytecode.paths(self._code, made)
        return bytecode.name(self._code, found[-1]) if found else ""

    def _put(self, variable: str) -> bool:
        """Puts the uppermost value into a variable."""
        if not variable or not self.values:
            return False
        made = self.values.pop()
        if made:
            self.moved.append((variable, self._named(made)))
        else:
            self.found.append(variable)
        return True
