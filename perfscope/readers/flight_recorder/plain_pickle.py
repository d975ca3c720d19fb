"""Pickles of plain data, read without executing anything.

The opcodes of `pickletools` are followed by hand: those that make numbers, texts, lists, tuples and
dictionaries. Any other one, as is needed to name or call something, ends the reading.
"""

import pickletools
from collections.abc import Callable
from typing import Any

MOST_OPCODES = 5_000_000
CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_TUPLE": tuple,
}
VALUES = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
}
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
PUTS, GETS = {"PUT", "BINPUT", "LONG_BINPUT"}, {"GET", "BINGET", "LONG_BINGET"}
IGNORED = {"PROTO", "FRAME"}


class NotPlainError(ValueError):
    """A pickle is damaged, or would have to be executed to be read."""


def plain_value(content: bytes) -> Any:
    """The value of a pickle that holds nothing but plain data.

    Raises:
        NotPlainError: it ends early, is no pickle, or names or calls something.
    """
    machine = _Machine()
    try:
        for number, (opcode, argument, _) in enumerate(pickletools.genops(content)):
            if number > MOST_OPCODES:
                raise NotPlainError("it is too long")
            if opcode.name == "STOP":
                return machine.stack.pop()
            machine.take(opcode.name, argument)
    except NotPlainError:
        raise
    except (ValueError, IndexError, KeyError, TypeError, RecursionError, AttributeError) as error:
        raise NotPlainError(f"it is damaged: {str(error)[:100] or type(error).__name__}") from error
    raise NotPlainError("it has no end")


class _Machine:
    """The stack of a pickle, its marks, and what it remembers."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self._marks: list[int] = []
        self._memory: dict[int, Any] = {}

    def take(self, name: str, argument: Any) -> None:
        """Follows one opcode."""
        if name in IGNORED:
            return
        if name in CONSTANTS:
            self.stack.append(CONSTANTS[name]())
        elif name in VALUES:
            self.stack.append(argument)
        elif name in PUTS:
            self._memory[int(argument)] = self.stack[-1]
        elif name == "MEMOIZE":
            self._memory[len(self._memory)] = self.stack[-1]
        elif name in GETS:
            self.stack.append(self._memory[int(argument)])
        elif name == "MARK":
            self._marks.append(len(self.stack))
        else:
            self._build(name)

    def _build(self, name: str) -> None:
        """Lists, tuples and dictionaries from what is on the stack."""
        if name in TUPLES:
            self.stack[-TUPLES[name] :] = [tuple(self.stack[-TUPLES[name] :])]
        elif name == "TUPLE":
            self.stack.append(tuple(self._marked()))
        elif name in ("APPEND", "APPENDS"):
            items = self._marked() if name == "APPENDS" else [self.stack.pop()]
            target = self.stack[-1]
            if not isinstance(target, list):
                raise NotPlainError("it adds to what is no list")
            target.extend(items)
        elif name in ("SETITEM", "SETITEMS"):
            items = self._marked() if name == "SETITEMS" else [self.stack.pop(-2), self.stack.pop()]
            target = self.stack[-1]
            if not isinstance(target, dict) or len(items) % 2:
                raise NotPlainError("it sets members of what has none")
            if not all(isinstance(key, str | int) for key in items[::2]):
                raise NotPlainError("it has keys that are neither texts nor numbers")
            target.update(zip(items[::2], items[1::2], strict=True))
        else:
            raise NotPlainError(f"it would have to be executed ({name})")

    def _marked(self) -> list[Any]:
        place = self._marks.pop()
        items = self.stack[place:]
        del self.stack[place:]
        return items
