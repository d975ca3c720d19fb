"""A table as declared once: what its columns are called, hold and look like, whatever prints it.

The page renders it with the macro `listing`, a terminal with `studies.terminal.print_table`,
Markdown with `studies.markdown.table`. A number that is missing stays None until it is written, and
is then `units.MISSING` everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from typing import Any

from perfscope.report.formats import UNITS, number
from perfscope.report.labels import StatusWord, band
from perfscope.report.text import shortened
from perfscope.report.views import Linked, Place, Shown
from perfscope.structures import dataclass
from perfscope.units import MISSING

Getter = Callable[[Any], Any]


class Kind(str, Enum):
    """What the cells of a column are."""

    NUMBER = "number"
    TEXT = "text"
    CODE = "code"
    CODED = "coded"  # a text in which code may stand between backticks
    PLACE = "place"  # in the code of the user
    SIGN = "sign"  # a `StatusWord`
    BAND = "band"  # an efficiency, with the sign of its band
    KEYED = "keyed"  # a `Shown`: a name with its color
    LINES = "lines"  # several texts, or places in the code, each on a line of its own
    LINK = "link"  # a `Linked`: a name that leads to a file beside the page


@dataclass(frozen=True)
class Note:
    """A second text in each cell of a column, "" where there is none."""

    get: Getter = field(compare=False)  # the text from a row
    is_below: bool = True  # it stands on a line of its own on the page
    is_everywhere: bool = False  # the terminal and Markdown show it too, in brackets


@dataclass(frozen=True)
class Column:
    """One column: its title, what it takes from a row, and how that is written."""

    title: str  # its head
    # a key or an attribute of the row, a place in it, or a function of it
    get: str | int | Getter = field(compare=False)
    # makes a text of a number
    write: Callable[[float | None], str] | None = field(default=None, compare=False)
    kind: Kind = Kind.NUMBER  # how its cells look; all but numbers stand to the left
    longest: int = 60  # characters of a text that are shown
    note: Note | None = None  # a second text in its cells
    depth: Getter | None = field(default=None, compare=False)  # how far a row's heading is indented
    absent: str = MISSING  # what is said where a row has nothing
    # what a pointer that rests on a cell brings up, "" or None for nothing
    hint: Getter | None = field(default=None, compare=False)

    @property
    def is_number(self) -> bool:
        """Whether its cells stand to the right."""
        return self.kind in (Kind.NUMBER, Kind.BAND)

    @property
    def unit(self) -> str:
        """Of its numbers as they are, "" where that is not known or they have none."""
        return UNITS.get(self.write, "") if self.write else ""

    def cell(self, row: Any) -> Cell:
        """What stands in a row."""
        value = _value(row, self.get)
        note = str(self.note.get(row) or "") if self.note else ""
        depth = int(self.depth(row)) if self.depth else 0
        hint = str(self.hint(row) or "") if self.hint else ""
        return Cell(self, value, self._text(value), note, depth, hint)

    def _text(self, value: Any) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, StatusWord):
            return value.word
        if isinstance(value, Shown):
            return value.label
        if isinstance(value, Linked):
            return value.label
        if isinstance(value, Place):
            where = value.function or "function unknown"
            return f"{where} ({value.location})" if value.location else where
        if isinstance(value, tuple):
            return "; ".join(map(self._text, value)) or self.absent
        known = number(value)
        return (
            self.absent if known is None else self.write(known) if self.write else f"{known:,.15g}"
        )


@dataclass(frozen=True)
class Cell:
    """One cell: what it holds, as it is and as text."""

    column: Column
    value: Any
    text: str
    note: str
    depth: int
    hint: str

    @property
    def is_absent(self) -> bool:
        """Whether the row has nothing there, which is what its text says."""
        return self.value is None

    @property
    def exact(self) -> str:
        """A number as programs read it, "" of anything else: what a page sorts by and copies."""
        known = number(self.value)
        return "" if known is None else f"{known:.12g}"

    @property
    def band(self) -> StatusWord:
        """In which band an efficiency lies."""
        return band(number(self.value))

    @property
    def told(self) -> str:
        """All of it that is shown where a cell is one line of text."""
        shown = "  " * self.depth + shortened(self.text, self.column.longest)
        is_told = self.note and self.column.note and self.column.note.is_everywhere
        return f"{shown} ({self.note})" if is_told else shown


@dataclass(frozen=True)
class Table:
    """Rows and what is shown of them."""

    id: str  # its name on the page
    caption: str  # what it holds, in a line
    columns: Sequence[Column]  # from left to right; the first one heads the rows
    rows: Sequence[Any]  # everything there is
    most: int | None = None  # rows that are shown at most
    noun: str = "rows"  # what several rows are called
    more: int = 0  # rows beyond these that the document itself leaves out
    file: str = "analysis.json"  # holds all rows
    # whether the page shows the caption; else it is for screen readers alone
    has_caption: bool = True
    # whether its rows mean something in this order alone, as with a sum of those above
    is_fixed: bool = False

    def __bool__(self) -> bool:
        """Whether there is anything to show."""
        return bool(self.rows)

    @property
    def cells(self) -> list[list[Cell]]:
        """The rows that are shown."""
        return [[column.cell(row) for column in self.columns] for row in self.rows[: self.most]]

    @property
    def left_out(self) -> int:
        """How many rows are not shown."""
        return max(len(self.rows) - len(self.rows[: self.most]), 0) + self.more

    def first(self, most: int) -> Table:
        """The same table with fewer rows shown."""
        return replace(self, most=most if self.most is None else min(most, self.most))


def _value(row: Any, get: str | int | Getter) -> Any:
    """What a row holds; what is neither there nor measured is None."""
    if callable(get):
        return get(row)
    if isinstance(get, int):
        return row[get] if get < len(row) else None
    return row.get(get) if isinstance(row, Mapping) else getattr(row, get)
