"""The places of stacks as ids of names: function, file and line, each made up once."""

from __future__ import annotations

import os

from . import files
from .kinds import Any
from .library import Library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Iterable, Iterator

    from .recorder import Recorder

_FAR = 400
"""Bytes of code behind which a line is looked for by the interpreter itself."""
_own_function: list[Any] = []
_MAX_CACHED = 20000
_MAX_MET = 1000
_LOADER = "<frozen importlib._bootstrap>"
OWN = 0
"""Stands for a place of the agent's own."""

met: dict[int, tuple[CodeType, str, str]] = {}
"""By its identity code of the program that stacks have shown first, with function and file."""


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    met.clear()


class Places:
    """Ids of places by code and instruction.

    Code is known by its identity: its hash looks at all that it consists of, each time. What is
    known is therefore kept.
    """

    def __init__(self) -> None:
        self._names: dict[tuple[int, int], int] = {}
        self._kept: dict[int, CodeType] = {}
        self._leaves: dict[tuple[str, str], int] = {}
        self._directory = os.getcwd()

    def name(self, rec: Recorder, place: tuple[CodeType, int]) -> int:
        """The id of a place: code, and offset of the instruction in it."""
        code, last = place
        known = self._names.get((id(code), last))
        return self._learn(rec, code, last) if known is None else known

    def where(self, code: CodeType, last: int) -> tuple[str, str, int]:
        """Function, file and line of a place."""
        file = code.co_filename
        if file[:1] not in ("/", "<"):
            file = os.path.normpath(os.path.join(self._directory, file))
        return getattr(code, "co_qualname", code.co_name), file, line_of(code, last)

    def leaf(self, rec: Recorder, function: str, file: str) -> int:
        """The id of a function that has no code of Python."""
        known = self._leaves.get((function, file))
        if known is None:
            known = self._leaves[(function, file)] = rec.place(function, file, 0)
        return known

    def _learn(self, rec: Recorder, code: CodeType, last: int) -> int:
        if len(self._names) >= _MAX_CACHED:
            self._names.clear()
            self._kept.clear()
        known = OWN
        if not code.co_filename.startswith(files.AGENT):
            function, file, line = self.where(code, last)
            known = rec.place(function, file, line)
            if len(met) < _MAX_MET and files.is_program(code.co_filename):
                met[id(code)] = (code, function, file)
        self._kept[id(code)] = code
        self._names[(id(code), last)] = known
        return known


def is_loading(places: list[tuple[CodeType, int]]) -> bool:
    """Whether a stack of these places, the innermost first, loads a module.

    A program that runs as a module is loaded does its work in functions of its own.
    """
    for code, _ in places:
        if code.co_filename == _LOADER:
            return True
        if code.co_name != "<module>" and files.is_program(code.co_filename):
            return False
    return False


def line_of(code: CodeType, last: int) -> int:
    """The line of an instruction; a frame would look for it each time.

    A jump back to the head of a loop may have none, and is where Python gives way: it belongs to
    the line before it. Line 0 is that of a module's or a text's code that has not begun. The code
    of a module has thousands of lines, which Python goes through thirty times as fast by itself.
    """
    found = _line_by_python(code, last) if last > _FAR else 0
    return found if found > 0 else lines_of(code, [last])[0]


def _line_by_python(code: CodeType, last: int) -> int:
    """The same as the interpreter's own function has it, -1 for none; 0 where there is none."""
    if not _own_function:
        try:
            _own_function.append(Library(None).function("PyCode_Addr2Line", "int object i32"))
        except (AttributeError, OSError):  # of a Python that hides its functions
            _own_function.append(None)
    return int(_own_function[0](code, last)) if _own_function[0] is not None else 0


def lines_of(code: CodeType, offsets: list[int]) -> list[int]:
    """The same of many instructions, in order, of which the code is gone through once."""
    found = code.co_firstlineno
    told: list[int] = []
    for start, _, line in _lines(code):
        while len(told) < len(offsets) and offsets[len(told)] < start:
            told.append(found)
        if len(told) == len(offsets):
            break
        found = found if line is None else line
    return told + [found] * (len(offsets) - len(told))


def line_ranges(code: CodeType) -> list[tuple[int, int, int]]:
    """Where the instructions of each line begin and end, in order, and that line."""
    starts = [(start, line or 0) for start, _, line in _lines(code)]
    ends = [start for start, _ in starts[1:]] + [len(code.co_code)]
    return [(start, end, line) for (start, line), end in zip(starts, ends)]


def _lines(code: CodeType) -> Iterable[tuple[int, int | None, int | None]]:
    """Where the instructions of a line begin, in order, and that line; where they end, if told.

    Python's own iterator where there is one: the code of a module has thousands of lines.
    """
    return code.co_lines() if hasattr(code, "co_lines") else _from_table(code)


def _from_table(code: CodeType) -> Iterator[tuple[int, None, int]]:
    start, line = 0, code.co_firstlineno
    for step, lines in zip(code.co_lnotab[::2], code.co_lnotab[1::2]):
        start, line = start + step, line + (lines - 256 if lines >= 128 else lines)
        yield start, None, line
