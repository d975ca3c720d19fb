"""What files of other tools say in figures of their own, which enter none of perfscope's."""

from perfscope.schema.enums import Quantity
from perfscope.structures import dataclass

Cell = str | int | float | None


@dataclass(frozen=True)
class ToolColumn:
    """One column of such a table: its title and what its cells are."""

    title: str
    quantity: Quantity


@dataclass(frozen=True)
class ToolTable:
    """Rows as the tool tells them, most important first; a cell is null where it tells nothing."""

    title: str
    columns: tuple[ToolColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]  # at most 1,000
    rows_left_out: int


@dataclass(frozen=True)
class ToolReport:
    """One file of another tool: who wrote it, what it comes to in sentences, and its tables."""

    tool: str
    file: str
    says: tuple[str, ...]
    tables: tuple[ToolTable, ...]
