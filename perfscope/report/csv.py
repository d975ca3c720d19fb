"""The tables of a page as CSV, one file each, for spreadsheets and other programs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from perfscope.files import write_output
from perfscope.output import csv_cell
from perfscope.report.table import Cell, Table


def as_csv(table: Table) -> str:
    """All rows of a table: numbers as they are, their units in the head, nothing where missing."""
    heads = [
        f"{column.title} [{column.unit}]" if column.unit else column.title
        for column in table.columns
    ]
    rows = [map(_written, row) for row in replace(table, most=None).cells]
    return "".join(f"{','.join(row)}\n" for row in (map(csv_cell, heads), *rows))


def _written(cell: Cell) -> str:
    if cell.is_absent or cell.exact:
        return cell.exact
    text = f"{cell.text} ({cell.note})" if cell.note else cell.text
    return csv_cell(" ".join(text.split()))


def tables_in(shown: Any) -> Iterator[Table]:
    """The tables that stand anywhere in what a page shows, in its order."""
    if isinstance(shown, Table):
        yield shown
    elif isinstance(shown, Mapping):
        yield from tables_in(tuple(shown.values()))
    elif isinstance(shown, Sequence) and not isinstance(shown, str):
        for part in shown:
            yield from tables_in(part)
    elif is_dataclass(shown):
        yield from tables_in([getattr(shown, one.name) for one in fields(shown)])


def write_tables(contexts: Any, directory: Path) -> None:
    """Writes each table of a page that has rows as <its id>.csv in a directory, made if need be.

    Raises:
        OSError: a file cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for table in filter(None, tables_in(contexts)):
        write_output(directory / f"{table.id}.csv", as_csv(table).encode("utf-8"))
